import { afterEach, expect, test } from 'vitest';
import { relativeTime } from '../../web/src/admin/channels/relative-time.ts';
import { language } from '../../web/src/i18n/strings.ts';

afterEach(() => {
  language.value = 'en';
});

/** Wednesday, half past midnight, wherever this runs. */
const NOW = new Date(2026, 6, 15, 0, 30);
const at = (...time: [day: number, hour: number, minute: number]): string =>
  new Date(2026, 6, ...time).toISOString();

test.each([
  [at(15, 0, 30), 'now', '现在'],
  [at(15, 0, 27), '3 min ago', '3分钟前'],
  [at(14, 22, 31), '1 hr ago', '1小时前'],
  [at(14, 0, 31), '23 hr ago', '23小时前'],
  [at(14, 0, 29), 'yesterday', '昨天'],
  // Less than two days and yet not yesterday.
  [at(13, 13, 0), '2 days ago', '前天'],
  [at(9, 12, 0), '6 days ago', '6天前'],
  [at(8, 23, 0), '8 Jul', '7月8日'],
  // A clock that is ahead, and no time at all.
  [at(15, 9, 5), '09:05', '09:05'],
  ['soon', '', ''],
])('%s is told as %s, in Chinese as %s', (iso, english, chinese) => {
  expect(relativeTime(iso, NOW.getTime())).toBe(english);
  language.value = 'zh';
  expect(relativeTime(iso, NOW.getTime())).toBe(chinese);
});
