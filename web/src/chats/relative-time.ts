import { shortTime } from '../format.ts';
import { language } from '../strings.ts';

const MINUTE = 60_000;
const STEPS = [
  [60, 'minute', MINUTE],
  [24, 'hour', 60 * MINUTE],
  [7, 'day', 24 * 60 * MINUTE],
] as const;

/** How long ago, as people say it; from a week on the day itself says more. */
export function relativeTime(iso: string, now: number = Date.now()): string {
  const ago = now - Date.parse(iso);
  const unit = STEPS.find(([most, , ms]) => Math.round(ago / ms) < most);
  // A clock that is ahead of this one, or no time at all.
  if (unit === undefined || ago < -MINUTE) return shortTime(iso);
  const format = new Intl.RelativeTimeFormat(language.value === 'zh' ? 'zh-CN' : 'en-GB', {
    numeric: 'auto',
    style: 'short',
  });
  return format.format(-Math.max(0, Math.round(ago / unit[2])), unit[1]);
}
