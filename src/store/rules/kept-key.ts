import { keyText } from '../port/key-text.ts';

const HASHED = /^sha256-json:([0-9a-f]{64})$/;

/** A key of a copy as it stands in a table of whole keys: of a long one only its hash may have come. */
export function keptKey(text: string): string {
  return text.startsWith('"') ? (JSON.parse(text) as string) : text.replace('sha256:', 'sha256-json:');
}

/** The way back. */
export function textOfKept(kept: string): string {
  const hash = HASHED.exec(kept)?.[1];
  return hash === undefined ? keyText(kept) : `sha256:${hash}`;
}

/** How a key may stand there: whole, or as it came with a copy. */
export function keptForms(key: string): [whole: string, copied: string] {
  return [key, keptKey(keyText(key))];
}
