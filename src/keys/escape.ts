import { failure } from '../messages/failure.ts';
import { quoted } from '../messages/quoted.ts';

/**
 * Escaping of opaque ids inside a session key.
 *
 * Ids keep their case and script. Escaped are the key's syntax (`:` `/` `%`), characters that terminals and line
 * formats act on (controls, line separators, bidi controls), and lone surrogates: UTF-8 files and databases would
 * replace each of those with U+FFFD, and two different senders would share a conversation. ASCII becomes `%XX`,
 * anything else `%uXXXX` per code unit.
 */
const NEEDS_ESCAPE =
  /[:/%\u0000-\u001f\u007f-\u009f\u061c\u200e\u200f\u2028-\u202e\u2066-\u2069]|[\ud800-\udbff](?![\udc00-\udfff])|(?<![\ud800-\udbff])[\udc00-\udfff]/g;

const ESCAPE = /%(?:([0-9A-F]{2})|u([0-9A-F]{4}))?/g;

export function escapeUnit(unit: string): string {
  const code = unit.charCodeAt(0);
  const hex = code.toString(16).toUpperCase();
  return code < 0x80 ? `%${hex.padStart(2, '0')}` : `%u${hex.padStart(4, '0')}`;
}

export function escapeKeyPart(id: string): string {
  return id.replace(NEEDS_ESCAPE, escapeUnit);
}

export function unescapeKeyPart(part: string): string {
  return part.replace(ESCAPE, (_whole: string, ascii?: string, unit?: string) => {
    const hex = ascii ?? unit;
    if (hex === undefined) {
      throw failure('INVALID_KEY', 'key.badEscape', { part: quoted(part) }, { details: { part } });
    }
    return String.fromCharCode(Number.parseInt(hex, 16));
  });
}
