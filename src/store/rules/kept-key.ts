import { keyText } from '../port/key-text.ts';

const HASHED = /^sha256-json:([0-9a-f]{64})$/;

/** Converts a copied key to the form in a table of whole keys. For a long key, the copy may contain only its hash. */
export function keptKey(text: string): string {
  return text.startsWith('"') ? (JSON.parse(text) as string) : text.replace('sha256:', 'sha256-json:');
}

/** The inverse of `keptKey`. */
export function textOfKept(kept: string): string {
  const hash = HASHED.exec(kept)?.[1];
  return hash === undefined ? keyText(kept) : `sha256:${hash}`;
}

/** The two possible stored forms of a key: whole, or as it came with a copy. */
export function keptForms(key: string): [whole: string, copied: string] {
  return [key, keptKey(keyText(key))];
}
