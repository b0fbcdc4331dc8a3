import { createHash } from 'node:crypto';

/** Beyond this a key is remembered by its hash: an index takes no entry of any length. */
const MAX_KEY_BYTES = 500;

/** For what callers name things by, which may be any text: different for different ones, and safe to store. */
export function keyText(key: string): string {
  return shortened(JSON.stringify(key));
}

/** Of a key that was written down by an earlier version, for which other ones were long. */
export function normalKeyText(text: string): string {
  return text.startsWith('"') ? shortened(text) : text;
}

function shortened(json: string): string {
  return Buffer.byteLength(json) <= MAX_KEY_BYTES
    ? json
    : `sha256:${createHash('sha256').update(json).digest('hex')}`;
}
