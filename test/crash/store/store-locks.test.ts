// @module-tag long
import { join } from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import { type Answer, type DriverProcess, startDriver } from '../../../testing/crash/driver-process.ts';
import { createHistory } from '../../../testing/crash/history.ts';
import { HOLDER_ENDS, testContention, testHolderEnds } from '../../support/processes/contention-suite.ts';
import {
  appendOne,
  judgeFresh,
  must,
  runModule,
  SESSION,
  say,
  says,
  TestHome,
  told,
} from '../../support/store/store-faults.ts';

/** Holds the write lock until a line comes in. */
const HOLDER = `
import { DatabaseSync } from 'node:sqlite';
const [, path] = process.argv;
const db = new DatabaseSync(path, { timeout: 5000 });
db.exec('BEGIN IMMEDIATE');
process.stdin.once('data', () => { db.exec('ROLLBACK'); db.close(); process.exit(0); });
console.log('held');
`;
const CONTROL: Readonly<Record<string, string>> = { jsonl: 'control.db', sqlite: 'store.db' };

describe.each(['jsonl', 'sqlite'])('%s', (store) => {
  test('T26: another process holds the write lock: appends wait, or are refused with nothing written', async () => {
    using at = new TestHome();
    const history = createHistory();
    const control = join(at.home, CONTROL[store] ?? '');
    await using driver = await startDriver(at.options(store));
    await must(driver, SESSION);
    const short = runModule(HOLDER, control);
    await says(short, 'held');
    const began = performance.now();
    const appends = Promise.all(Array.from({ length: 5 }, () => appendOne(driver, history)));
    // Readers do not wait for writers: the lock is let go when they have been answered.
    expect(await must(driver, { op: 'read', id: 's' })).toMatchObject({ lastSeq: 1 });
    short.stdin?.end('go\n');
    expect(await appends).toEqual(Array.from({ length: 5 }, () => expect.objectContaining({ ok: true })));
    const waitedMs = performance.now() - began;
    // The same code waits for both stores; five seconds of it are enough.
    if (store === 'jsonl') {
      const long = runModule(HOLDER, control);
      await says(long, 'held');
      const asked = performance.now();
      const refused = await appendOne(driver, history);
      expect(refused).toMatchObject({ ok: false, code: 'STORE_BUSY', outcome: 'none' });
      // No look at the lock and a refusal: it waited.
      expect(performance.now() - asked).toBeGreaterThan(4000);
      long.stdin?.end('go\n');
    }
    expect(await appendOne(driver, history)).toMatchObject({ ok: true });
    await driver.stop();
    const { after } = await judgeFresh(at.options(store), history);
    expect(after).toMatchObject({ acknowledged: 7, refused: store === 'jsonl' ? 1 : 0, unknown: 0 });
    told(`T26 ${store}: 5 appends waited ${Math.round(waitedMs)} ms; ${after.line}`);
  });

  let shared = new TestHome();
  beforeEach(() => {
    shared = new TestHome();
  });
  afterEach(() => shared[Symbol.dispose]());
  testContention(() => shared.options(store));
});

describe('T37 a damaged lease row', () => {
  const holders: readonly (readonly [string, string])[] = [
    ['empty', ''],
    ['half JSON', '{"bootId":"b","pid":'],
    ['null', 'null'],
    ['a number', '42'],
    ['an empty object', '{}'],
    ['1 MB', 'x'.repeat(1_000_000)],
    ['1 MB of JSON', JSON.stringify({ bootId: 'b'.repeat(1_000_000) })],
  ];

  async function plant(at: TestHome): Promise<DriverProcess> {
    const driver = await startDriver(at.options('jsonl'));
    await must(driver, SESSION);
    await must(driver, { ...SESSION, id: 'other', key: 'agent:main:other' });
    await must(driver, { op: 'lease', id: 's' });
    await must(driver, { op: 'release', id: 's' });
    return driver;
  }

  function damage(at: TestHome, holder: string): void {
    const db = new DatabaseSync(join(at.home, 'control.db'), { timeout: 5000 });
    db.prepare('INSERT OR REPLACE INTO leases VALUES (?, 1, ?, 0, 300)').run('s', holder);
    db.close();
  }

  test('no crash and no hang: a coded error or a takeover', async () => {
    using at = new TestHome();
    await using driver = await plant(at);
    const said: string[] = [];
    for (const [what, holder] of holders) {
      damage(at, holder);
      const answers: Answer[] = [
        await driver.send({ op: 'lease', id: 's', waitMs: 2000 }),
        await driver.send({ op: 'append', id: 's', ...say('after damage') }),
      ];
      for (const { ok, code, outcome } of answers)
        if (!ok) expect({ code, outcome }).toMatchObject({ outcome: 'none' });
      said.push(`${what}: ${answers.map(({ ok, code }) => (ok ? 'ok' : code)).join('/')}`);
      await driver.send({ op: 'release', id: 's' });
      expect(await driver.send({ op: 'append', id: 'other', ...say('unharmed') })).toMatchObject({
        ok: true,
      });
    }
    told(`T37 (lease/append): ${said.join(', ')}`);
    expect(await driver.stop()).toMatchObject({ code: 0 });
  });

  test('does not fail other sessions in the same batch', async () => {
    using at = new TestHome();
    await using driver = await plant(at);
    damage(at, '{"bootId":"b","pid":');
    const answers = await Promise.all(
      ['s', 'other', 's', 'other', 's', 'other'].map((id) => driver.send({ op: 'append', id, ...say('x') })),
    );
    const others = answers.filter((_, index) => index % 2 === 1);
    told(`T37 batch: other session ${others.map(({ ok, code }) => (ok ? 'ok' : code)).join(', ')}`);
    expect(others.every(({ ok }) => ok)).toBe(true);
  });
});

describe('T41 a holder that ends in the middle', () => {
  let at = new TestHome();
  beforeEach(() => {
    at = new TestHome();
  });
  afterEach(() => at[Symbol.dispose]());
  testHolderEnds(() => at.options('jsonl'), {
    ends: HOLDER_ENDS,
    signals: ['SIGINT', 'SIGTERM', 'SIGQUIT', 'SIGABRT', 'SIGKILL'],
  });
});
