// @module-tag long
import { readFileSync, rmSync, writeFileSync } from 'node:fs';
import { describe, expect, test } from 'vitest';
import { type DriverProcess, startDriver } from '../../../testing/crash/driver-process.ts';
import { faultShimSupport } from '../../../testing/crash/fault-shim.ts';
import { readSession } from '../../../testing/crash/judge.ts';
import { OPEN_STORE } from '../../support/processes/bundled-program.ts';
import {
  exitCode,
  must,
  runModule,
  SESSION,
  say,
  says,
  succeeds,
  TestHome,
  told,
  transcriptLines,
  until,
} from '../../support/store/store-faults.ts';

const PAGE = 4096;
const { supported, reason } = faultShimSupport();
const texts = (seen: Awaited<ReturnType<typeof readSession>>): unknown[] =>
  seen.flatMap(({ entry }) => (entry as { message?: { content?: unknown } }).message?.content ?? []);

const numberOf = (text: unknown): string => String(text).split(' ')[0] ?? '';

/** Forty lines in the file, none of them synced: the journal keeps them all. */
async function unsynced(at: TestHome): Promise<{ driver: DriverProcess; wanted: readonly string[] }> {
  const plan = { path: '.jsonl$', calls: ['fsync', 'fdatasync'], at: 1, action: 'eio', count: -1 } as const;
  const driver = await startDriver(at.options('jsonl', plan));
  await must(driver, SESSION);
  const wanted = Array.from({ length: 40 }, (_, n) => `${n} `.padEnd(700, 'x'));
  for (const text of wanted) await must(driver, { op: 'append', id: 's', ...say(text) });
  await until('the file has them', () => readFileSync(at.transcript).includes('39 xxx'));
  return { driver, wanted };
}

function wipe(at: TestHome, page: number): void {
  const bytes = readFileSync(at.transcript);
  bytes.fill(0, page * PAGE, (page + 1) * PAGE);
  writeFileSync(at.transcript, bytes);
}

describe.skipIf(!supported)(`before anything was synced${supported ? '' : ` (skipped: ${reason})`}`, () => {
  test('T01f: a page of NULs is redone from the journal after a crash', async () => {
    using at = new TestHome();
    const { driver, wanted } = await unsynced(at);
    driver.kill();
    await driver.exited;
    wipe(at, 3);
    await using next = await startDriver(at.options('jsonl'));
    await must(next, { op: 'append', id: 's', ...say('last') });
    expect(texts(await readSession(next, 's')).map(numberOf)).toEqual([...wanted, 'last'].map(numberOf));
    expect(await must(next, { op: 'verify' })).toMatchObject({ status: 'clean' });
    await next.stop();
    expect(transcriptLines(at.transcript)).toHaveLength(42);
    told('T01f after a crash: redone, writable, clean');
  });

  test('T01f: and in a running process, at the next read', async () => {
    using at = new TestHome();
    const { driver, wanted } = await unsynced(at);
    await using _driver = driver;
    wipe(at, 3);
    await must(driver, { op: 'read', id: 's' });
    expect(texts(await readSession(driver, 's')).map(numberOf)).toEqual(wanted.map(numberOf));
    expect(await must(driver, { op: 'append', id: 's', ...say('last') })).toMatchObject({ firstSeq: 42 });
    told('T01f in a running process: redone at the first read');
  });

  test('a transcript that is removed is written again from the journal', async () => {
    using at = new TestHome();
    const { driver, wanted } = await unsynced(at);
    await using _driver = driver;
    rmSync(at.transcript);
    await must(driver, { op: 'append', id: 's', ...say('last') });
    await until('the file is whole', () => transcriptLines(at.transcript).length === 42);
    expect(texts(await readSession(driver, 's')).map(numberOf)).toEqual([...wanted, 'last'].map(numberOf));
  });
});

/** Takes the lock as other tools do, and holds it until it is stopped. */
const LOCKER = `
import { writeFileSync, rmSync } from 'node:fs';
const [, path] = process.argv;
writeFileSync(path, JSON.stringify({ pid: process.pid, createdAt: new Date().toISOString() }), { flag: 'wx' });
process.stdin.once('data', () => { rmSync(path); process.exit(0); });
console.log('locked');
`;

describe('T37 another tool takes its lock', () => {
  test('its session is not written while the process lives, and is free when it is killed', async () => {
    using at = new TestHome();
    const lock = `${at.transcript}.lock`;
    await using driver = await startDriver(at.options('jsonl'));
    await must(driver, SESSION);
    await must(driver, { op: 'append', id: 's', ...say('one') });
    const locker = runModule(LOCKER, lock);
    await says(locker, 'locked');
    const refused = await until('the lock is seen', async () => {
      const answer = await driver.send({ op: 'append', id: 's', ...say('early') });
      return answer.ok ? undefined : answer;
    });
    expect(refused).toMatchObject({
      code: 'LEASE_HELD',
      outcome: 'none',
      details: { pid: locker.pid, file: lock },
    });
    // A process that opens the store now respects it at its first write.
    await using second = await startDriver(at.options('jsonl'));
    expect(await second.send({ op: 'append', id: 's', ...say('no') })).toMatchObject({ code: 'LEASE_HELD' });
    const gone = new Promise((resolve) => locker.once('exit', resolve));
    locker.kill('SIGKILL');
    await gone;
    for (const each of [driver, second]) await must(each, { op: 'append', id: 's', ...say('free') });
    expect(readFileSync(lock, 'utf8')).toContain(String(locker.pid));
    expect(texts(await readSession(driver, 's')).filter((text) => text !== 'early')).toEqual([
      'one',
      'free',
      'free',
    ]);
    told('T37 foreign lock: refused by two processes while alive, free after SIGKILL, never removed');
  });
});

describe('T20 a home that cannot be written', () => {
  const noChattr = ((): boolean => {
    using at = new TestHome();
    return !(succeeds('chattr', '+i', at.home) && succeeds('chattr', '-i', at.home));
  })();
  const refusal = {
    ok: false,
    code: 'STORE_READ_ONLY',
    outcome: 'none',
    details: { next: expect.stringContaining('writable') },
  };

  test.skipIf(noChattr)('immutable when it is opened: a clear no, and then a yes', async () => {
    using at = new TestHome();
    succeeds('chattr', '+i', at.home);
    const said = await startDriver(at.options('jsonl')).catch(({ details }) => details);
    succeeds('chattr', '-i', at.home);
    expect(said).toMatchObject({ ...refusal, details: { reason: 'EPERM' } });
    await using driver = await startDriver(at.options('jsonl'));
    await must(driver, SESSION);
  });

  test.skipIf(noChattr)('a database that may not be written recovers without a restart', async () => {
    using at = new TestHome();
    const first = await startDriver(at.options('jsonl'));
    await must(first, SESSION);
    await first.stop();
    succeeds('chattr', '+i', `${at.home}/control.db`);
    try {
      await using driver = await startDriver(at.options('jsonl'));
      const append = { op: 'append', id: 's', ...say('one') };
      expect(await driver.send(append)).toMatchObject(refusal);
      // What can be read is read.
      expect(await must(driver, { op: 'tail', id: 's' })).toMatchObject({ lastSeq: 1 });
      succeeds('chattr', '-i', `${at.home}/control.db`);
      expect(await must(driver, append)).toMatchObject({ firstSeq: 2 });
    } finally {
      succeeds('chattr', '-i', `${at.home}/control.db`);
    }
  });

  test.skipIf(!succeeds('prlimit', '--version'))(
    'too few descriptors to open: reported, nothing written',
    () => {
      using at = new TestHome();
      const open = `import { openStore } from ${JSON.stringify(OPEN_STORE)};
      await openStore({ kind: 'jsonl', home: process.argv[1] }).then(
        () => process.exit(0), ({ code, outcome, message, details }) => {
          process.exit(code === 'STORE_FAILED' && outcome === 'none' && message.includes('too many open files') && details.next ? 7 : 1);
        });`;
      const codes = ['24', '28', '32'].map((limit) => {
        const args = [`--nofile=${limit}`, process.execPath, '--input-type=module', '-e', open, at.home];
        return exitCode('prlimit', ...args);
      });
      expect(codes).toEqual([7, 7, 7]);
    },
  );
});
