import { randomUUID } from 'node:crypto';
import { join } from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import { describe, expect, test } from 'vitest';
import { type Answer, type DriverProcess, startDriver } from '../../src/testing/crash/driver-process.ts';
import { type Fleet, startFleet, stopFleet } from '../../src/testing/crash/fleet.ts';
import { createHistory } from '../../src/testing/crash/history.ts';
import { readSession } from '../../src/testing/crash/judge.ts';
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
} from '../support/store-faults.ts';

/** Holds the write lock until a line comes in, or for as many milliseconds. */
const HOLDER = `
import { DatabaseSync } from 'node:sqlite';
const [, path, ms] = process.argv;
const db = new DatabaseSync(path, { timeout: 5000 });
db.exec('BEGIN IMMEDIATE');
const end = () => { db.exec('ROLLBACK'); db.close(); process.exit(0); };
if (ms) setTimeout(end, Number(ms)); else process.stdin.once('data', end);
console.log('held');
`;
const CONTROL: Readonly<Record<string, string>> = { jsonl: 'control.db', sqlite: 'store.db' };

async function disposeAll(fleet: readonly DriverProcess[]): Promise<void> {
  for (const driver of fleet) await driver[Symbol.asyncDispose]();
}

describe.each(['jsonl', 'sqlite'])('%s', (store) => {
  test('T26: another process holds the write lock: appends wait, or are refused with nothing written', async () => {
    using at = new TestHome();
    const history = createHistory();
    const control = join(at.home, CONTROL[store] ?? '');
    await using driver = await startDriver(at.options(store));
    await must(driver, SESSION);
    const short = runModule(HOLDER, control, '3000');
    await says(short, 'held');
    const began = performance.now();
    const appends = Promise.all(Array.from({ length: 5 }, () => appendOne(driver, history)));
    // Readers do not wait for writers.
    expect(await must(driver, { op: 'read', id: 's' })).toMatchObject({ lastSeq: 1 });
    const readMs = performance.now() - began;
    expect(await appends).toEqual(Array.from({ length: 5 }, () => expect.objectContaining({ ok: true })));
    const waitedMs = performance.now() - began;
    // The same code waits for both stores; five seconds of it are enough.
    if (store === 'jsonl') {
      const long = runModule(HOLDER, control);
      await says(long, 'held');
      const refused = await appendOne(driver, history);
      expect(refused).toMatchObject({ ok: false, code: 'STORE_BUSY', outcome: 'none' });
      long.stdin?.end('go\n');
    }
    expect(await appendOne(driver, history)).toMatchObject({ ok: true });
    await driver.stop();
    const { after } = await judgeFresh(at.options(store), history);
    expect(after).toMatchObject({ acknowledged: 7, refused: store === 'jsonl' ? 1 : 0, unknown: 0 });
    expect(readMs).toBeLessThan(waitedMs / 2);
    told(
      `T26 ${store}: 5 appends waited ${Math.round(waitedMs)} ms, a read ${Math.round(readMs)}; ${after.line}`,
    );
  });

  test('T29, T30: six processes contend for one lease, a dead holder first: never two holders', async () => {
    using at = new TestHome();
    await using dead = await startDriver(at.options(store));
    await must(dead, SESSION);
    await must(dead, { op: 'lease', id: 's' });
    dead.kill();
    await dead.exited;
    const fleet: Fleet = await startFleet(at.options(store), 6);
    try {
      let grants = 0;
      const began = performance.now();
      const rounds = async (driver: DriverProcess): Promise<void> => {
        for (let round = 0; round < 4; round++) {
          const { epoch } = await must(driver, { op: 'lease', id: 's', waitMs: 20_000 });
          grants += 1;
          for (const half of ['first', 'second']) {
            const text = JSON.stringify({ pid: driver.pid, round, half });
            await must(driver, { op: 'append', id: 's', epoch, ...say(text) });
          }
          await must(driver, { op: 'release', id: 's' });
        }
      };
      await Promise.all(fleet.map(rounds));
      const ms = Math.round(performance.now() - began);
      expect(ms).toBeLessThan(20_000);
      const { base64 } = await must(fleet[0], { op: 'export', id: 's' });
      await stopFleet(fleet);
      const lines = Buffer.from(String(base64), 'base64').toString().trimEnd().split('\n').slice(1);
      const seals = lines.map((line) => JSON.parse(line));
      const epochs: number[] = seals.map(({ seal }) => seal.e);
      expect(epochs).toEqual(epochs.toSorted((a, b) => a - b));
      const owners = new Map<number, Set<number>>();
      for (const { seal, message } of seals) {
        const { pid } = JSON.parse(message.content);
        owners.set(seal.e, (owners.get(seal.e) ?? new Set()).add(pid));
      }
      expect(lines).toHaveLength(2 * grants);
      expect(owners.size).toBe(grants);
      expect([...owners.values()].filter(({ size }) => size > 1)).toEqual([]);
      told(
        `T29/T30 ${store}: 6 processes, ${grants} grants in ${ms} ms, epochs ${epochs[0]}-${epochs.at(-1)}, 0 shared`,
      );
    } finally {
      await disposeAll(fleet);
    }
  });

  test('T30c: a message put while the holder leaves is never stranded', async () => {
    using at = new TestHome();
    const fleet = await startFleet(at.options(store), 2);
    try {
      const [holder, sender = fleet[0]] = fleet;
      const { id } = await must(sender, { op: 'put', key: SESSION.key, body: { n: -1 } });
      await must(holder, { op: 'lease', id });
      const counts = { answeredByRelease: 0, runBySender: 0 };
      const runAll = async (driver: DriverProcess): Promise<number> => {
        for (let ran = 0; ; ran++) {
          const { item } = await must(driver, { op: 'take', id });
          if (item === null) return ran;
          await must(driver, { op: 'settle', inboxId: (item as { inboxId: string }).inboxId, state: 'done' });
        }
      };
      expect(await runAll(holder)).toBe(1);
      for (let n = 0; n < 300; n++) {
        const [released, put] = await Promise.all([
          must(holder, { op: 'release', id }),
          must(sender, { op: 'put', key: SESSION.key, body: { n }, idempotencyKey: randomUUID() }),
        ]);
        if (released['item'] === null) {
          // The lease is gone. Whoever put after that must have been told that nobody is there.
          expect(put['held'], `message ${n} is stranded`).toBe(false);
          await must(sender, { op: 'lease', id, waitMs: 0 });
          expect(await runAll(sender)).toBe(1);
          expect(await must(sender, { op: 'release', id })).toMatchObject({ item: null });
          await must(holder, { op: 'lease', id, waitMs: 5000 });
          counts.runBySender += 1;
        } else {
          expect(put['held']).toBe(true);
          expect(await runAll(holder)).toBe(1);
          counts.answeredByRelease += 1;
        }
      }
      await must(holder, { op: 'release', id });
      told(`T30c ${store}: 300 messages, ${JSON.stringify(counts)}, stranded 0`);
      await stopFleet(fleet);
    } finally {
      await disposeAll(fleet);
    }
  });
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
  const openModule = new URL('../../src/config/open.ts', import.meta.url).href;
  const source = (end: string): string => `
import { openStore } from ${JSON.stringify(openModule)};
const store = await openStore({ kind: 'jsonl', home: process.argv[1] });
const { epoch } = await store.lease('s');
await store.append('s', [{ type: 'message', message: { role: 'user', content: 'held' } }], { epoch });
console.log('holding');
process.stdin.once('data', () => { ${end} });
`;

  test.each([
    ['abort', 'process.abort();'],
    ['process.exit', 'process.exit(3);'],
    ['an exception nobody catches', "console.error = () => {}; throw new Error('on purpose, by a test');"],
  ])('%s: the lease is free within a second', async (what, end) => {
    using at = new TestHome();
    await using other = await startDriver(at.options('jsonl'));
    await must(other, SESSION);
    const child = runModule(source(end), at.home);
    await says(child, 'holding');
    expect(await other.send({ op: 'lease', id: 's', waitMs: 0 })).toMatchObject({ code: 'LEASE_HELD' });
    const gone = new Promise((resolve) => child.once('exit', resolve));
    child.stdin?.write('go\n');
    await gone;
    const began = performance.now();
    const { epoch } = await must(other, { op: 'lease', id: 's', waitMs: 5000 });
    const ms = Math.round(performance.now() - began);
    expect(ms).toBeLessThan(1000);
    await must(other, { op: 'append', id: 's', epoch, ...say('next') });
    const seen = await readSession(other, 's');
    expect(seen.map(({ seq }) => seq)).toEqual([1, 2, 3]);
    told(`T41 ${what}: free after ${ms} ms, epoch ${epoch}, lost 0`);
  });

  test.each(['SIGINT', 'SIGTERM', 'SIGQUIT', 'SIGABRT', 'SIGKILL'] as const)(
    '%s: the lease is free within a second',
    async (signal) => {
      using at = new TestHome();
      await using other = await startDriver(at.options('jsonl'));
      await must(other, SESSION);
      const child = runModule(source(''), at.home);
      await says(child, 'holding');
      const gone = new Promise((resolve) => child.once('exit', resolve));
      child.kill(signal);
      await gone;
      const began = performance.now();
      const { epoch } = await must(other, { op: 'lease', id: 's', waitMs: 5000 });
      const ms = Math.round(performance.now() - began);
      expect(ms).toBeLessThan(1000);
      await must(other, { op: 'append', id: 's', epoch, ...say('next') });
      expect((await readSession(other, 's')).map(({ seq }) => seq)).toEqual([1, 2, 3]);
    },
  );
});
