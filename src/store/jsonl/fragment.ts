import { decodeLine } from '../../transcript/line.ts';

/**
 * Kinds of a last line without its LF that another program wrote. It may still be growing, so Reprise must not cut
 * it:
 * - `whole`: a record that lacks only its LF;
 * - `half`: a possible beginning of a record;
 * - `garbage`: bytes that no record begins with.
 */
export type FragmentKind = 'whole' | 'half' | 'garbage';

const utf8 = new TextDecoder('utf-8', { fatal: true });
const OPENING_BRACE = 0x7b;
const SPACE = 0x20;

export function fragmentKind(bytes: Buffer): FragmentKind {
  if (decodeLine(bytes).kind === 'record') return 'whole';
  const first = bytes.find((byte) => !isBlank(byte));
  if (first !== undefined && first !== OPENING_BRACE) return 'garbage';
  // JSON escapes control characters, so a raw one is never part of a record. It comes from a power cut (NULs) or
  // binary data.
  if (bytes.some((byte) => byte < SPACE && !isBlank(byte))) return 'garbage';
  return isUtf8SoFar(bytes) ? 'half' : 'garbage';
}

function isBlank(byte: number): boolean {
  return byte === SPACE || byte === 0x09 || byte === 0x0d;
}

/** The last character may be incomplete. */
function isUtf8SoFar(bytes: Buffer): boolean {
  try {
    utf8.decode(bytes, { stream: true });
    return true;
  } catch {
    // The decoder is fatal on purpose: it throws for bytes that are not UTF-8.
    return false;
  } finally {
    // Resets the decoder after an incomplete character; ending it there throws.
    try {
      utf8.decode();
    } catch {
      // Expected after an incomplete character.
    }
  }
}
