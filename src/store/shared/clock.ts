/** The wall clock, never backwards within one clock; or a fixed one that moves a millisecond with each entry. */
export function createClock(fixed: string | undefined): () => string {
  let last = fixed === undefined ? 0 : Date.parse(fixed) - 1;
  let text = '';
  return () => {
    const next = fixed === undefined ? Math.max(last, Date.now()) : last + 1;
    // Thousands of entries share a millisecond; its text is made once.
    if (next !== last || text === '') text = new Date(next).toISOString();
    last = next;
    return text;
  };
}

/** UTC with milliseconds and a year of four digits: stored times are compared as text. Undefined for anything else. */
export function canonicalTime(value: unknown): string | undefined {
  if (typeof value !== 'string') return undefined;
  const ms = Date.parse(value);
  const time = Number.isNaN(ms) ? '' : new Date(ms).toISOString();
  return /^\d{4}-/.test(time) ? time : undefined;
}
