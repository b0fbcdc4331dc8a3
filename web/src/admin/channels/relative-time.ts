import { shortTime } from '../../i18n/format.ts';
import { type Language, language } from '../../i18n/strings.ts';

const MINUTE = 60_000;
const HOUR = 60 * MINUTE;
const DAY = 24 * HOUR;
const LOCALES: Readonly<Record<Language, string>> = { en: 'en-GB', zh: 'zh-CN' };

/** A relative time such as "2 hours ago"; after a week, the date. */
export function relativeTime(iso: string, now: number = Date.now()): string {
  const ago = now - Date.parse(iso);
  const days = daysBetween(new Date(iso), new Date(now));
  // An invalid time, or one in the future because clocks differ.
  if (!(days < 7) || ago < -MINUTE) return shortTime(iso, new Date(now));
  const words = new Intl.RelativeTimeFormat(LOCALES[language.value], { numeric: 'auto', style: 'short' });
  if (ago < MINUTE) return words.format(0, 'second');
  if (ago < HOUR) return words.format(-Math.floor(ago / MINUTE), 'minute');
  return ago < DAY ? words.format(-Math.floor(ago / HOUR), 'hour') : words.format(-days, 'day');
}

/**
 * Calendar days, so that a message of two evenings ago is not "yesterday". Rounded, because days can have 23 or 25
 * hours.
 */
function daysBetween(from: Date, to: Date): number {
  const [first, last] = [from, to].map((at) => new Date(at).setHours(0, 0, 0, 0));
  return Math.round(((last ?? Number.NaN) - (first ?? Number.NaN)) / DAY);
}
