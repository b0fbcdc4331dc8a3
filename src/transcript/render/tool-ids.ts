import { crc32 } from 'node:zlib';
import type { FamilyRules } from './target.ts';

/**
 * J3: every call of a request gets an id that the family accepts and no other call has. An acceptable id stays
 * unchanged. The result depends only on the earlier calls, so a growing history keeps its ids (J7).
 */
export function createToolIds({
  pattern,
  length,
  exact = false,
}: FamilyRules['callId']): (id: string) => string {
  const used = new Set<string>();
  /** How often an id was tried before, so that a thousand calls with the same id do not each try a thousand names. */
  const tries = new Map<string, number>();
  const fits = (id: string): boolean =>
    id.length > 0 && id.length <= length && (!exact || id.length === length) && id.search(pattern) === -1;
  return (id) => {
    let mapped = id;
    let n = tries.get(id) ?? 0;
    for (; !fits(mapped) || used.has(mapped); n++) {
      // Seven base-36 digits can hold a CRC-32. A collision only costs another attempt.
      const digest = crc32(`${n}:${id}`).toString(36).padStart(7, '0');
      const readable = id.replace(pattern, '').slice(0, length - digest.length);
      mapped = exact ? `${digest}${'0'.repeat(length)}`.slice(0, length) : readable + digest;
    }
    if (mapped !== id) tries.set(id, n);
    used.add(mapped);
    return mapped;
  };
}

const NAME = /[^a-zA-Z0-9_-]/g;

/** Tool names in a form that every API accepts. A call must have a name, even if its record does not. */
export function toolName(name: unknown): string {
  const clean = typeof name === 'string' ? name.replace(NAME, '_').slice(0, 64) : '';
  return clean === '' ? 'unknown_tool' : clean;
}
