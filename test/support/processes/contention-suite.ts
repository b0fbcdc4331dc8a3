import type { ChildProcess } from 'node:child_process';
import { randomUUID } from 'node:crypto';
import { expect, test } from 'vitest';
import {
  type DriverOptions,
  type DriverProcess,
  startDriver,
} from '../../../testing/crash/driver-process.ts';
import { type Fleet, startFleet, stopFleet } from '../../../testing/crash/fleet.ts';
import { readSession } from '../../../testing/crash/judge.ts';
import { must, runModule, SESSION, say, says, told } from '../store/store-faults.ts';
import { OPEN_STORE } from './bundled-program.ts';

async function disposeAll(fleet: readonly DriverProcess[]): Promise<void> {
  for (const driver of fleet) await driver[Symbol.asyncDispose]();
}

/** How many dead holders, and how many messages against a release; both are more in the long form. */
const TRIALS = Number(process.env['REPRISE_CRASH_ROUNDS'] ?? 1);
const LONG_MESSAGES = process.env['REPRISE_PUT_RELEASE_ROUNDS'];

async function leaveDeadHolder(options: DriverOptions): Promise<void> {
  await using dead = await startDriver(options);
  // For longer than this test: it is free because its holder is dead.
  await must(dead, { op: 'lease', id: 's', ttlMs: 3_600_000, waitMs: 40_000 });
  dead.kill();
  await dead.exited;
}

/** What leases and inboxes promise to processes that want the same at once; drivers are on the store of this test. */
export function testContention(
  options: () => DriverOptions,
  { short = 300 }: { readonly short?: number } = {},
): void {
  const messages = Number(LONG_MESSAGES ?? short);
  const timeout = 180_000 + TRIALS * 20_000 + messages * 20;
  test('T29, T30: six processes contend for one lease, a dead holder first: never two holders', {
    timeout,
  }, async () => {
    const fleet: Fleet = await startFleet(options(), 6);
    try {
      await must(fleet[0], SESSION);
      let grants = 0;
      const began = performance.now();
      const rounds = async (driver: DriverProcess): Promise<void> => {
        for (let round = 0; round < 4; round++) {
          const { epoch } = await must(driver, { op: 'lease', id: 's', waitMs: 40_000 });
          grants += 1;
          for (const half of ['first', 'second']) {
            const text = JSON.stringify({ pid: driver.pid, round, half });
            await must(driver, { op: 'append', id: 's', epoch, ...say(text) });
          }
          await must(driver, { op: 'release', id: 's' });
        }
      };
      for (let trial = 0; trial < TRIALS; trial++) {
        await leaveDeadHolder(options());
        await Promise.all(fleet.map(rounds));
      }
      const ms = Math.round(performance.now() - began);
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
        `T29/T30 ${options().store}: 6 processes, ${grants} grants in ${ms} ms, epochs ${epochs[0]}-${epochs.at(-1)}, 0 shared`,
      );
    } finally {
      await disposeAll(fleet);
    }
  });

  test('T30c: a message put while the holder leaves is never stranded', { timeout }, async () => {
    const fleet = await startFleet(options(), 2);
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
      for (let n = 0; n < messages; n++) {
        const [released, put] = await Promise.all([
          must(holder, { op: 'release', id }),
          must(sender, { op: 'put', key: SESSION.key, body: { n }, idempotencyKey: randomUUID() }),
        ]);
        if (released['item'] === null) {
          // The lease is gone. A put after that must have got the answer that no process holds it.
          expect(put['held'], `message ${n} is stranded`).toBe(false);
          await must(sender, { op: 'lease', id, waitMs: 0 });
          expect(await runAll(sender)).toBe(1);
          expect(await must(sender, { op: 'release', id })).toMatchObject({ item: null });
          await must(holder, { op: 'lease', id, waitMs: 0 });
          counts.runBySender += 1;
        } else {
          expect(put['held']).toBe(true);
          expect(await runAll(holder)).toBe(1);
          counts.answeredByRelease += 1;
        }
      }
      await must(holder, { op: 'release', id });
      told(`T30c ${options().store}: ${messages} messages, ${JSON.stringify(counts)}, stranded 0`);
      await stopFleet(fleet);
    } finally {
      await disposeAll(fleet);
    }
  });
}

/** Holds a lease, has written under it, and does this when a line comes in. */
const holder = (end: string): string => `
import { openStore } from ${JSON.stringify(OPEN_STORE)};
const { store: kind, home, url } = JSON.parse(process.argv[1]);
const store = await openStore({ kind, home, url });
const { epoch } = await store.lease('s', { ttlMs: 600_000 });
await store.append('s', [{ type: 'message', message: { role: 'user', content: 'held' } }], { epoch });
console.log('holding');
process.stdin.once('data', () => { ${end} });
`;

/** How a process can end by itself. */
export const HOLDER_ENDS: readonly (readonly [string, string])[] = [
  ['abort', 'process.abort();'],
  ['process.exit', 'process.exit(3);'],
  ['an exception nobody catches', "console.error = () => {}; throw new Error('on purpose, by a test');"],
];

export interface HolderEnds {
  readonly ends: typeof HOLDER_ENDS;
  readonly signals: readonly NodeJS.Signals[];
}

/** T41: a holder that ends in the middle of its work blocks no other, however long its lease would last. */
export function testHolderEnds(options: () => DriverOptions, { ends, signals }: HolderEnds): void {
  const testEnd = async (what: string, source: string, end: (child: ChildProcess) => void): Promise<void> => {
    await using other = await startDriver(options());
    await must(other, SESSION);
    const child = runModule(source, JSON.stringify(options()));
    await says(child, 'holding');
    expect(await other.send({ op: 'lease', id: 's', waitMs: 0 })).toMatchObject({ code: 'LEASE_HELD' });
    const gone = new Promise((resolve) => child.once('exit', resolve));
    end(child);
    await gone;
    const { epoch } = await must(other, { op: 'lease', id: 's', waitMs: 0 });
    await must(other, { op: 'append', id: 's', epoch, ...say('next') });
    expect((await readSession(other, 's')).map(({ seq }) => seq)).toEqual([1, 2, 3]);
    told(`T41 ${what}: free at once, epoch ${epoch}, lost 0`);
  };
  test.each(ends)('%s: the lease is free at once', (what, end) =>
    testEnd(what, holder(end), (child) => child.stdin?.write('go\n')),
  );
  test.each(signals)('%s: the lease is free at once', (signal) =>
    testEnd(signal, holder(''), (child) => child.kill(signal)),
  );
}
