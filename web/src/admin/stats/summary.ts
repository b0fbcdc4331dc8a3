import type { UsageOverview } from 'reprise/client';

export interface Bar {
  readonly name: string;
  readonly value: number;
}

const DAY_MS = 86_400_000;

/** The first of so many days that end today, in UTC as the server counts them. */
export function firstDay(days: number, now: Date): string {
  return new Date(now.getTime() - (days - 1) * DAY_MS).toISOString().slice(0, 10);
}

/** Every day of the period, also those on which nothing happened. */
export function byDay({ from, to, days }: UsageOverview, what: 'totalTokens' | 'cost'): readonly Bar[] {
  const known = new Map(days.map((sum) => [sum.day, sum[what]]));
  const bars: Bar[] = [];
  for (let at = Date.parse(from); at <= Date.parse(to); at += DAY_MS) {
    const name = new Date(at).toISOString().slice(0, 10);
    bars.push({ name, value: known.get(name) ?? 0 });
  }
  return bars;
}

const UNITS = ['B', 'kB', 'MB', 'GB', 'TB', 'PB'];

/** As disks are sold: 79,712,000,000 is `80 GB`. */
export function shortBytes(bytes: number): string {
  let value = bytes;
  let unit = 0;
  for (; value >= 999.5 && unit < UNITS.length - 1; unit++) value /= 1000;
  return `${value < 9.95 && unit > 0 ? value.toFixed(1) : Math.round(value)} ${UNITS[unit]}`;
}
