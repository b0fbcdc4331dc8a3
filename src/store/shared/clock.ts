/** Creates a clock that never goes backwards: the wall clock, or a fixed one that advances 1 ms per call. */
export function createClock(fixed: string | undefined): () => string {
  let last = fixed === undefined ? 0 : Date.parse(fixed) - 1;
  let text = '';
  return () => {
    const next = fixed === undefined ? Math.max(last, Date.now()) : last + 1;
    // Thousands of entries share a millisecond, so its text is formatted only once.
    if (next !== last || text === '') text = new Date(next).toISOString();
    last = next;
    return text;
  };
}

/**
 * Formats a time as UTC with milliseconds and a four-digit year, because stored times are compared as text. @returns
 * `undefined` for anything else.
 */
export function canonicalTime(value: unknown): string | undefined {
  if (typeof value !== 'string') return undefined;
  const ms = Date.parse(value);
  const time = Number.isNaN(ms) ? '' : new Date(ms).toISOString();
  return /^\d{4}-/.test(time) ? time : undefined;
}
