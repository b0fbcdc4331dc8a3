import { createHash } from 'node:crypto';

/** Beyond this a key is remembered by its hash: an index takes no entry of any length. */
const MAX_KEY_CHARS = 500;

/** For what people read and nobody compares: PostgreSQL's text has no NUL and no half of a pair. */
export function plainText(text: string): string {
  return text.toWellFormed().replaceAll('\0', '\ufffd');
}

/** For what callers name things by, which may be any text: different for different ones, and safe to store. */
export function keyText(key: string): string {
  const json = JSON.stringify(key);
  return json.length <= MAX_KEY_CHARS ? json : `sha256:${createHash('sha256').update(json).digest('hex')}`;
}
