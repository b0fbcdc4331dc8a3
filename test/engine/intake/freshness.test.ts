import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import {
  checkResetRules,
  parseResetTrigger,
  type ResetPolicy,
  type ResetRules,
  resetReason,
} from '../../../src/engine/intake/freshness.ts';

fc.configureGlobal({ seed: Number(process.env['REPRISE_PROPERTY_SEED'] ?? 7) });

const MAIN = 'agent:main:main';
const GROUP = 'agent:main:telegram:group:7';
const THREAD = 'agent:main:telegram:group:7:thread:9';
const DIRECT = 'agent:main:telegram:direct:bob';
const MINUTE = 60_000;

interface Asked {
  readonly key?: string;
  readonly channel?: string;
  readonly from: string;
  readonly to: string;
}

const why = (rules: ResetRules, { key = MAIN, channel, from, to }: Asked): string | undefined =>
  resetReason({ rules, sessionKey: key, channel, lastActiveAt: new Date(from), now: new Date(to) });
const daily = (atHour: number, timeZone = 'UTC'): ResetRules => ({
  reset: { mode: 'daily', atHour },
  timeZone,
});

describe('S8 expiry of sessions', () => {
  test('nothing is reset by default', () => {
    const asked = { from: '2020-01-01T00:00:00Z', to: '2026-01-01T00:00:00Z' };
    expect(why({}, asked)).toBeUndefined();
    expect(why({ reset: { mode: 'none', atHour: 4, idleMinutes: 5 } }, asked)).toBeUndefined();
  });

  test('a daily reset happens at its hour, 4 by default, and once', () => {
    const rules: ResetRules = { reset: { mode: 'daily' }, timeZone: 'UTC' };
    expect(why(rules, { from: '2026-03-01T23:00:00Z', to: '2026-03-02T03:59:59.999Z' })).toBeUndefined();
    expect(why(rules, { from: '2026-03-01T23:00:00Z', to: '2026-03-02T04:00:00Z' })).toBe('daily');
    expect(why(rules, { from: '2026-03-02T04:00:00Z', to: '2026-03-03T03:00:00Z' })).toBeUndefined();
    expect(why(rules, { from: '2026-03-02T03:59:59Z', to: '2026-03-02T04:00:01Z' })).toBe('daily');
  });

  test('the hour is that of the zone, or of the host', () => {
    const asked = { from: '2026-01-05T02:30:00Z', to: '2026-01-05T03:30:00Z' };
    expect(why(daily(4, 'Europe/Berlin'), asked)).toBe('daily');
    expect(why(daily(4, 'Europe/London'), asked)).toBeUndefined();
    const at = new Date(2026, 5, 6, 4, 0, 0);
    const host = (lastActiveAt: Date, now: Date): string | undefined =>
      resetReason({ rules: { reset: { mode: 'daily' } }, sessionKey: MAIN, lastActiveAt, now });
    expect(host(new Date(at.getTime() - 1), at)).toBe('daily');
    expect(host(at, new Date(at.getTime() + MINUTE))).toBeUndefined();
  });

  test('an hour that the clock skips counts when it jumps, one that it shows twice counts once', () => {
    // Berlin, 29 March 2026: 02:00 becomes 03:00 at 01:00Z. 25 October: 03:00 becomes 02:00 at 01:00Z.
    const berlin = daily(2, 'Europe/Berlin');
    expect(why(berlin, { from: '2026-03-29T00:30:00Z', to: '2026-03-29T00:59:59Z' })).toBeUndefined();
    expect(why(berlin, { from: '2026-03-29T00:30:00Z', to: '2026-03-29T01:00:00Z' })).toBe('daily');
    expect(why(berlin, { from: '2026-10-24T23:30:00Z', to: '2026-10-25T00:00:00Z' })).toBe('daily');
    expect(why(berlin, { from: '2026-10-25T00:30:00Z', to: '2026-10-25T01:30:00Z' })).toBeUndefined();
  });

  test('a clock that is put back over midnight does not repeat a day', () => {
    // St. John's, 29 October 2006: a minute past midnight, at 02:31Z, it was 23:01 of the 28th again.
    const midnight = daily(0, 'America/St_Johns');
    const from = '2006-10-29T02:29:00Z';
    expect(why(midnight, { from, to: '2006-10-29T02:29:59Z' })).toBeUndefined();
    for (const to of ['02:30:00', '02:31:00', '02:45:00', '03:29:00', '03:30:00', '05:00:00'])
      expect(why(midnight, { from, to: `2006-10-29T${to}Z` }), to).toBe('daily');
    expect(
      why(midnight, { from: '2006-10-29T02:30:30Z', to: '2006-10-29T05:00:00Z' }),
      'only once',
    ).toBeUndefined();
  });

  test('idle counts from the last message, and with daily the earlier one wins', () => {
    const idle: ResetRules = { reset: { mode: 'idle', idleMinutes: 30 } };
    expect(why(idle, { from: '2026-01-01T03:00:00Z', to: '2026-01-01T03:29:59Z' })).toBeUndefined();
    expect(why(idle, { from: '2026-01-01T03:00:00Z', to: '2026-01-01T03:30:00Z' })).toBe('idle');
    const both = (idleMinutes: number): ResetRules => ({
      reset: { mode: 'daily', atHour: 4, idleMinutes },
      timeZone: 'UTC',
    });
    const asked = { from: '2026-01-01T03:00:00Z', to: '2026-01-02T12:00:00Z' };
    expect(why(both(30), asked)).toBe('idle');
    expect(why(both(90), asked)).toBe('daily');
    expect(why(both(90), { ...asked, to: '2026-01-01T03:45:00Z' })).toBeUndefined();
  });

  test('the rule of a channel wins over that of a type, and that over the general one', () => {
    const policy = (idleMinutes: number): ResetPolicy => ({ mode: 'idle', idleMinutes });
    const rules: ResetRules = {
      reset: policy(100),
      resetByType: { direct: policy(10), group: policy(20), thread: policy(30) },
      resetByChannel: { discord: policy(1), quiet: { mode: 'none' } },
    };
    const limit = (key: string, channel?: string): number => {
      for (let minutes = 1; minutes <= 100; minutes++) {
        const now = new Date(minutes * MINUTE);
        if (resetReason({ rules, sessionKey: key, channel, lastActiveAt: new Date(0), now }) !== undefined)
          return minutes;
      }
      return Number.POSITIVE_INFINITY;
    };
    expect([MAIN, DIRECT, GROUP, THREAD].map((key) => limit(key))).toEqual([10, 10, 20, 30]);
    expect(limit('agent:main:slack:channel:dev')).toBe(20);
    expect(limit('agent:main:discord:group:1')).toBe(1);
    expect(limit(THREAD, 'discord')).toBe(1);
    expect(limit(GROUP, 'quiet')).toBe(Number.POSITIVE_INFINITY);
    expect(limit(GROUP, 'constructor')).toBe(20);
    const general: ResetRules = { reset: policy(100), resetByType: { group: policy(20) } };
    const asked = { from: '1970-01-01T00:00:00Z', to: '1970-01-01T01:00:00Z' };
    expect(why(general, { key: THREAD, ...asked })).toBeUndefined();
    expect(why(rules, { key: 'agent:main:subagent:x', ...asked })).toBeUndefined();
  });
});

/** Weeks in which a clock was changed, each by another rule: by an hour, by half of one, at midnight, by a whole day. */
const WINDOWS: readonly (readonly [string, string])[] = [
  ['UTC', '2026-03-26T00:00:00Z'],
  ['Europe/Berlin', '2026-03-26T00:00:00Z'],
  ['Europe/Berlin', '2026-10-22T00:00:00Z'],
  ['America/New_York', '2026-03-05T00:00:00Z'],
  ['America/New_York', '2026-10-29T00:00:00Z'],
  ['Australia/Lord_Howe', '2026-04-02T00:00:00Z'],
  ['Australia/Lord_Howe', '2026-10-01T00:00:00Z'],
  ['America/Sao_Paulo', '2018-02-15T00:00:00Z'],
  ['America/Sao_Paulo', '2018-11-01T00:00:00Z'],
  ['Pacific/Apia', '2011-12-27T00:00:00Z'],
  ['America/St_Johns', '2006-10-26T00:00:00Z'],
  ['Asia/Kathmandu', '2026-01-01T00:00:00Z'],
];
const WINDOW_MINUTES = 7 * 24 * 60;
/** The walk needs a day before the first message, to know which day it is. */
const WARM_UP = 24 * 60;

/** What a wall clock shows, minute by minute: the number of its date, and its hour. */
function walk(zone: string, start: string): { readonly day: number; readonly hour: number }[] {
  const clock = new Intl.DateTimeFormat('sv-SE', { timeZone: zone, dateStyle: 'short', timeStyle: 'short' });
  return Array.from({ length: WINDOW_MINUTES }, (_, i) => {
    const [date = '', time = ''] = clock.format(Date.parse(start) + i * MINUTE).split(' ');
    return { day: Date.parse(`${date}T00:00:00Z`) / 86_400_000, hour: Number(time.slice(0, 2)) };
  });
}

const WALKS = WINDOWS.map(([zone, start]) => ({ zone, start: Date.parse(start), clock: walk(zone, start) }));

/** Slow and plain: go from minute to minute and see whether a new day begins, or the wait is over. */
function slowReason(
  clock: readonly { readonly day: number; readonly hour: number }[],
  { atHour = 4, idleMinutes = Number.POSITIVE_INFINITY }: ResetPolicy,
  { from, to }: { readonly from: number; readonly to: number },
): string | undefined {
  const dayAt = (minute: number): number => {
    const { day, hour } = clock[minute] ?? { day: 0, hour: 0 };
    return hour < atHour ? day - 1 : day;
  };
  let today = Number.NEGATIVE_INFINITY;
  for (let minute = 0; minute <= to; minute++) {
    if (minute > from && dayAt(minute) > today) return 'daily';
    if (minute - from >= idleMinutes) return 'idle';
    today = Math.max(today, dayAt(minute));
  }
  return undefined;
}

describe('expiry, for any clock', () => {
  const minute = fc.integer({ min: WARM_UP, max: WINDOW_MINUTES - 1 });
  const policy = fc.record(
    {
      mode: fc.constant('daily' as const),
      atHour: fc.integer({ min: 0, max: 23 }),
      idleMinutes: fc.oneof(fc.integer({ min: 1, max: 120 }), fc.integer({ min: 1, max: 4000 })),
    },
    { requiredKeys: ['mode', 'atHour'] },
  );
  const asked = { rules: policy, window: fc.constantFrom(...WALKS), a: minute, b: minute };

  test('equals a walk from minute to minute', () => {
    fc.assert(
      fc.property(fc.record(asked), ({ rules: reset, window: { zone, start, clock }, a, b }) => {
        const [from, to] = [Math.min(a, b), Math.max(a, b)];
        const found = resetReason({
          rules: { reset, timeZone: zone },
          sessionKey: MAIN,
          lastActiveAt: new Date(start + from * MINUTE),
          now: new Date(start + to * MINUTE),
        });
        expect(found).toBe(slowReason(clock, reset, { from, to }));
      }),
      { numRuns: 2000 },
    );
  });

  test('an expired session stays expired, for the same reason, and activity after the hour prevents a reset', () => {
    const gap = fc.integer({ min: 0, max: 90 * 24 * 60 });
    fc.assert(
      fc.property(
        fc.record({ ...asked, gap }),
        ({ rules: reset, window: { zone, start }, a, gap: later }) => {
          const rules = { reset, timeZone: zone };
          const lastActiveAt = new Date(start + a * MINUTE);
          const at = (minutes: number): string | undefined =>
            resetReason({
              rules,
              sessionKey: MAIN,
              lastActiveAt,
              now: new Date(lastActiveAt.getTime() + minutes * MINUTE),
            });
          expect(at(0)).toBeUndefined();
          const reason = at(later);
          if (reason === undefined) return;
          expect(at(later + 1)).toBe(reason);
          expect(at(later * 2 + 24 * 60)).toBe(reason);
          expect(at(48 * 60 + later)).toBe(reason);
        },
      ),
      { numRuns: 1000 },
    );
  });
});

describe('reset triggers', () => {
  test.each([
    ['/new', '/new', ''],
    ['/NEW', '/new', ''],
    ['  /Reset  ', '/reset', ''],
    ['/new hello', '/new', 'hello'],
    ['/new\n\n first line\n  second line \n', '/new', 'first line\n  second line'],
    ['/new\u00a0hello', '/new', 'hello'],
    ['\u3000/new\u2003你好\u3000', '/new', '你好'],
    ['/new@reprise_bot hello', '/new', 'hello'],
    ['/New@Reprise_Bot', '/new', ''],
  ])('%j is one', (text, trigger, rest) => {
    expect(parseResetTrigger(text)).toEqual({ trigger, rest });
  });

  test.each([
    '',
    '   ',
    'new',
    '/new-session',
    '/news',
    '/newhello',
    'please /new',
    '/new@',
    '/new@a@b',
    '//new',
    '/new/',
    '/',
  ])('%j is none', (text) => {
    expect(parseResetTrigger(text)).toBeUndefined();
  });

  test('can be others, and then the defaults are not triggers', () => {
    expect(parseResetTrigger('/new', ['Anfang!'])).toBeUndefined();
    expect(parseResetTrigger('ANFANG! los', ['Anfang!'])).toEqual({ trigger: 'Anfang!', rest: 'los' });
    expect(parseResetTrigger('Anfang!@bot los', ['Anfang!'])).toBeUndefined();
    expect(parseResetTrigger('/new', [])).toBeUndefined();
  });
});

describe('bad rules', () => {
  const bad: readonly [unknown, string][] = [
    [{ reset: { mode: 'daily', atHour: 25 } }, 'reset.atHour'],
    [{ reset: { mode: 'daily', atHour: 4.5 } }, 'reset.atHour'],
    [{ reset: { mode: 'idle', idleMinutes: -1 } }, 'reset.idleMinutes'],
    [{ reset: { mode: 'idle', idleMinutes: Number.NaN } }, 'reset.idleMinutes'],
    [{ reset: { mode: 'idle' } }, 'reset.idleMinutes'],
    [{ reset: { mode: 'weekly' } }, 'reset.mode'],
    [{ reset: { mode: 'daily', athour: 4 } }, 'reset.athour'],
    [{ resetByType: { dm: { mode: 'none' } } }, 'resetByType.dm'],
    [{ resetByType: { group: { mode: 'daily', atHour: -1 } } }, 'resetByType.group.atHour'],
    [{ resetByChannel: { telegram: 'daily' } }, 'resetByChannel.telegram'],
    [{ timeZone: 'Europe/Atlantis' }, 'timeZone'],
    [{ resetTriggers: ['/start over'] }, 'resetTriggers'],
    [{ resetTriggers: [''] }, 'resetTriggers'],
  ];
  test.each(bad)('%j is refused by name, with what to do', (rules, field) => {
    const check = (): void => checkResetRules(rules as ResetRules);
    expect(check).toThrow(expect.objectContaining({ code: 'CONFIG_INVALID' }));
    expect(check).toThrow(
      expect.objectContaining({ details: expect.objectContaining({ field, next: expect.any(String) }) }),
    );
  });

  test('good ones pass', () => {
    checkResetRules({});
    checkResetRules({
      reset: { mode: 'daily', atHour: 0, idleMinutes: 0.5 },
      resetByType: { thread: { mode: 'none' } },
      resetByChannel: { telegram: { mode: 'idle', idleMinutes: 60 } },
      timeZone: 'Asia/Kathmandu',
      resetTriggers: ['/new', '重置'],
    });
  });
});
