import { shortTime } from '../../i18n/format.ts';
import { type Language, language } from '../../i18n/strings.ts';

const MINUTE = 60_000;
const HOUR = 60 * MINUTE;
const DAY = 24 * HOUR;
const LOCALES: Readonly<Record<Language, string>> = { en: 'en-GB', zh: 'zh-CN' };

/** How long ago, as people say it; from a week on the day itself says more. */
export function relativeTime(iso: string, now: number = Date.now()): string {
  const ago = now - Date.parse(iso);
  const days = daysBetween(new Date(iso), new Date(now));
  // No time at all, or a clock that is ahead of this one.
  if (!(days < 7) || ago < -MINUTE) return shortTime(iso, new Date(now));
  const words = new Intl.RelativeTimeFormat(LOCALES[language.value], { numeric: 'auto', style: 'short' });
  if (ago < MINUTE) return words.format(0, 'second');
  if (ago < HOUR) return words.format(-Math.floor(ago / MINUTE), 'minute');
  return ago < DAY ? words.format(-Math.floor(ago / HOUR), 'hour') : words.format(-days, 'day');
}

/** By the calendar: what was said the evening before last is not of yesterday. Rounded, for days of 23 and 25 hours. */
function daysBetween(from: Date, to: Date): number {
  const [first, last] = [from, to].map((at) => new Date(at).setHours(0, 0, 0, 0));
  return Math.round(((last ?? Number.NaN) - (first ?? Number.NaN)) / DAY);
}
