const SECOND = 1000;
const DAY = 86_400_000;

const formatters: Map<string, Intl.DateTimeFormat> = new Map();

/**
 * The last moment up to `now` at which a clock in the zone reached `hour` for the first time on its date. With daylight
 * saving time, an hour that is skipped counts when the clock jumps over it, and one that occurs twice counts once.
 * Without a zone, the zone of the host. Throws a RangeError for an unknown zone.
 */
export function lastTimeAtHour(now: Date, hour: number, timeZone?: string): Date {
  const clock = now.getTime() + offsetAt(now.getTime(), timeZone);
  const midnight = Math.floor(clock / DAY) * DAY;
  // Tomorrow first: if the clock was put back over midnight, it was tomorrow before.
  for (let date = midnight + DAY; ; date -= DAY) {
    const at = firstTimeAt(date + hour * 3_600_000, timeZone);
    if (at <= now.getTime()) return new Date(at);
  }
}

/** When a clock first showed `clock` (a time of day as if it were UTC) or later. */
function firstTimeAt(clock: number, timeZone: string | undefined): number {
  // No zone is a day or more from UTC, and none changed twice in two days, so the offsets a day before and after suffice.
  const before = offsetAt(clock - DAY, timeZone);
  const after = offsetAt(clock + DAY, timeZone);
  const found = [before, after].filter((offset) => offsetAt(clock - offset, timeZone) === offset);
  if (found.length > 0) return clock - Math.max(...found);
  let low = clock - DAY;
  let high = clock + DAY;
  while (high - low > SECOND) {
    const middle = low + Math.floor((high - low) / 2 / SECOND) * SECOND;
    if (offsetAt(middle, timeZone) === before) low = middle;
    else high = middle;
  }
  return high;
}

/** How far the zone's clock is ahead of UTC, in milliseconds. */
function offsetAt(time: number, timeZone: string | undefined): number {
  if (timeZone === undefined) return -new Date(time).getTimezoneOffset() * 60 * SECOND;
  const whole = Math.floor(time / SECOND) * SECOND;
  const parts = new Map(
    formatterFor(timeZone)
      .formatToParts(whole)
      .map(({ type, value }) => [type, value]),
  );
  const part = (type: Intl.DateTimeFormatPartTypes): number => Number(parts.get(type));
  const date = Date.UTC(part('year'), part('month') - 1, part('day'));
  return date + ((part('hour') * 60 + part('minute')) * 60 + part('second')) * SECOND - whole;
}

/** Cached, because creating one takes longer than a thousand uses. There are as many as zones in the configuration. */
function formatterFor(timeZone: string): Intl.DateTimeFormat {
  let formatter = formatters.get(timeZone);
  if (formatter === undefined) {
    formatter = new Intl.DateTimeFormat('en-US', {
      timeZone,
      calendar: 'gregory',
      numberingSystem: 'latn',
      hourCycle: 'h23',
      year: 'numeric',
      month: 'numeric',
      day: 'numeric',
      hour: 'numeric',
      minute: 'numeric',
      second: 'numeric',
    });
    formatters.set(timeZone, formatter);
  }
  return formatter;
}
