import { createHash } from 'node:crypto';

/** Longer keys are stored as their hash, because database indexes limit the length of a key. */
const MAX_KEY_BYTES = 500;

/**
 * Encodes a caller's key, which may be any text, so that it is safe to store. Different keys give different texts.
 */
export function keyText(key: string): string {
  return shortened(JSON.stringify(key));
}

/** Normalizes a stored key. Earlier versions stored longer keys without hashing them. */
export function normalKeyText(text: string): string {
  return text.startsWith('"') ? shortened(text) : text;
}

function shortened(json: string): string {
  return Buffer.byteLength(json) <= MAX_KEY_BYTES
    ? json
    : `sha256:${createHash('sha256').update(json).digest('hex')}`;
}
