/**
 * Converts the times of all formats to ISO 8601 UTC: ISO strings, epoch seconds (claw0), epoch milliseconds (ZyHive,
 * pi messages).
 */
export function isoTime(value: unknown): string {
  if (typeof value === 'number') return fromMs(Math.abs(value) < SECONDS_BELOW ? value * 1000 : value);
  if (typeof value !== 'string') return UNKNOWN_TIME;
  if (ISO.test(value)) return value;
  // SQLite writes "2025-01-01 00:00:01", which Date would read as local time.
  return fromMs(Date.parse(SQLITE.test(value) ? `${value.replace(' ', 'T')}Z` : value));
}

const UNKNOWN_TIME = '1970-01-01T00:00:00.000Z';
/** As seconds this is the year 5138, as milliseconds 1973: no conversation is close to either. */
const SECONDS_BELOW = 1e11;
const MAX_DATE_MS = 8.64e15;
const ISO = /^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(\.\d+)?Z$/;
const SQLITE = /^\d{4}-\d\d-\d\d \d\d:\d\d:\d\d(\.\d+)?$/;

function fromMs(ms: number): string {
  return Number.isFinite(ms) && Math.abs(ms) <= MAX_DATE_MS ? new Date(ms).toISOString() : UNKNOWN_TIME;
}
