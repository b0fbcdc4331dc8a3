export type JsonRecord = Readonly<Record<string, unknown>>;

export function isRecord(value: unknown): value is JsonRecord {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}

export function isBlank(text: string): boolean {
  return text.trim() === '';
}

/** Shortens a text for a message: an id from a broken history can be megabytes long. */
export function quote(text: string): string {
  return text.length > 80 ? `"${text.slice(0, 80)}…"` : `"${text}"`;
}

export function isRecordText(text: string): boolean {
  try {
    return isRecord(JSON.parse(text));
  } catch {
    // Not JSON, or nested deeper than the parser supports: no provider could read it either.
    return false;
  }
}

/**
 * Whether `JSON.stringify(value)` in UTF-8 takes more than `limit` bytes. Uses an explicit stack, because
 * `JSON.stringify` overflows the call stack on deep input, and stops as soon as the answer is known.
 */
export function exceedsJsonBytes(value: unknown, limit: number): boolean {
  const waiting: unknown[] = [value];
  let bytes = 0;
  while (waiting.length > 0) {
    const next = waiting.pop();
    if (Array.isArray(next)) {
      bytes += 2 + Math.max(0, next.length - 1);
      for (const item of next) waiting.push(item ?? null);
    } else if (isRecord(next)) {
      let members = 0;
      for (const [key, member] of Object.entries(next)) {
        if (member === undefined) continue;
        bytes += scalarBytes(key) + 1;
        waiting.push(member);
        members += 1;
      }
      bytes += 2 + Math.max(0, members - 1);
    } else {
      bytes += scalarBytes(next);
    }
    if (bytes > limit) return true;
  }
  return false;
}

function scalarBytes(value: unknown): number {
  if (typeof value === 'string') return Buffer.byteLength(JSON.stringify(value));
  if (typeof value === 'number') return Number.isFinite(value) ? String(value).length : 4;
  return value === false ? 5 : 4;
}
