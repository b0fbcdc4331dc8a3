// @module-tag long
import { lstatSync, mkdirSync, readFileSync, rmSync, statSync, symlinkSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { describe, expect, test } from 'vitest';
import { type Answer, type DriverProcess, startDriver } from '../../../testing/crash/driver-process.ts';
import { faultShimSupport } from '../../../testing/crash/fault-shim.ts';
import { createHistory } from '../../../testing/crash/history.ts';
import { assertClean, judgeHistory, readSession } from '../../../testing/crash/judge.ts';
import {
  appendOne,
  appendRun,
  cannotMount,
  judgeFresh,
  mountTmpfs,
  must,
  SESSION,
  say,
  succeeds,
  TestHome,
  told,
  transcriptLines,
} from '../../support/store/store-faults.ts';

const noMount = cannotMount();
const skipped = (why: string | undefined): string => (why === undefined ? '' : ` (skipped: ${why})`);
const mounts = `small disks${skipped(noMount)}`;
const noPrlimit = succeeds('prlimit', '--version') ? undefined : 'needs prlimit';

const codes = (answers: readonly Answer[]): string =>
  [...new Set(answers.filter(({ ok }) => !ok).map(({ code, outcome }) => `${code}/${outcome}`))].join(', ');

describe.skipIf(noMount !== undefined)(mounts, () => {
  test.each(['jsonl', 'sqlite'])(
    'T04 %s: a disk is filled, freed and used on: nothing lost',
    async (store) => {
      using at = new TestHome();
      using _disk = mountTmpfs(at.home, '6m');
      const history = createHistory();
      const ballast = join(at.home, 'ballast');
      writeFileSync(ballast, Buffer.alloc(4 * 1024 * 1024));
      await using driver = await startDriver(at.options(store));
      await must(driver, SESSION);
      const refused: Answer[] = [];
      let filled = 0;
      for (; refused.length < 5 && filled < 2000; filled++) {
        const answer = await appendOne(driver, history, [2000]);
        if (!answer.ok) refused.push(answer);
      }
      expect(refused).toMatchObject(Array.from({ length: 5 }, () => ({ code: 'STORE_FULL' })));
      expect(await must(driver, { op: 'tail', id: 's' })).toMatchObject({ ok: true });
      assertClean(judgeHistory(history, new Map([['s', await readSession(driver, 's')]])));
      rmSync(ballast);
      for (let k = 0; k < 20; k++)
        expect(await appendOne(driver, history, [2000])).toMatchObject({ ok: true });
      await driver.stop();
      const { before } = await judgeFresh(at.options(store), history);
      if (store === 'jsonl') {
        const qs = transcriptLines(at.transcript).map(({ q }) => q);
        expect(qs).toEqual(qs.map((_, index) => index + 1));
      }
      told(`T04 ${store}: full after ${filled} appends (${codes(refused)}); ${before.line}`);
    },
  );

  test('T20: a file system that became read-only is a coded error, and nothing is lost', async () => {
    using at = new TestHome();
    using disk = mountTmpfs(at.home, '8m');
    const history = createHistory();
    await appendRun(at.options('jsonl'), history, { count: 5 });
    disk.remount('ro');
    const failed = await startDriver(at.options('jsonl')).then(
      async (driver) => {
        const answer = await appendOne(driver, history);
        await driver[Symbol.asyncDispose]();
        return answer;
      },
      ({ details }) => details as Answer,
    );
    expect(failed).toMatchObject({ ok: false, code: expect.stringMatching(/^STORE_/) });
    disk.remount('rw');
    const { after } = await judgeFresh(at.options('jsonl'), history);
    expect(after).toMatchObject({ acknowledged: 6, unknown: 0 });
    told(`T20 read-only: ${failed.code}/${failed.outcome}; ${after.line}`);
  });
});

describe('a folder that cannot be written', () => {
  const noChattr = ((): string | undefined => {
    using at = new TestHome();
    return succeeds('chattr', '+i', at.home) && succeeds('chattr', '-i', at.home)
      ? undefined
      : 'needs chattr +i';
  })();

  test.skipIf(noChattr !== undefined)(
    `T20 immutable folder${skipped(noChattr)}: acknowledged and kept`,
    async () => {
      using at = new TestHome();
      const history = createHistory();
      await using driver = await startDriver(at.options('jsonl'));
      mkdirSync(dirname(at.transcript), { recursive: true });
      succeeds('chattr', '+i', dirname(at.transcript));
      try {
        await must(driver, SESSION);
        for (let k = 0; k < 5; k++) expect(await appendOne(driver, history)).toMatchObject({ ok: true });
        assertClean(judgeHistory(history, new Map([['s', await readSession(driver, 's')]])));
        await driver.stop();
      } finally {
        succeeds('chattr', '-i', dirname(at.transcript));
      }
      expect(lstatSync(at.transcript, { throwIfNoEntry: false })).toBeUndefined();
      const { after } = await judgeFresh(at.options('jsonl'), history);
      expect(transcriptLines(at.transcript)).toHaveLength(7);
      told(`T20 immutable folder: no file was made, ${after.line}, file caught up`);
    },
  );

  test.skipIf(noPrlimit !== undefined)(`T20 no descriptors left${skipped(noPrlimit)}: recovers`, async () => {
    using at = new TestHome();
    const history = createHistory();
    await using driver = await startDriver(at.options('jsonl'));
    await must(driver, SESSION);
    for (let k = 0; k < 3; k++) await appendOne(driver, history);
    const limit = (soft: string): boolean => succeeds('prlimit', `--pid=${driver.pid}`, `--nofile=${soft}:`);
    expect(limit('3')).toBe(true);
    const answers: Answer[] = [];
    for (let k = 0; k < 5; k++) answers.push(await appendOne(driver, history));
    const created = await driver.send({ ...SESSION, id: 'new', key: 'agent:main:new' });
    answers.push(created, await driver.send({ op: 'read', id: 's' }));
    expect(limit('1024')).toBe(true);
    answers.push(await driver.send({ op: 'read', id: 's' }), await appendOne(driver, history));
    expect(answers.slice(-2)).toMatchObject([{ ok: true }, { ok: true }]);
    await driver.stop();
    const { after } = await judgeFresh(at.options('jsonl'), history);
    expect(after).toMatchObject({ unknown: 0, lost: 0, duplicated: 0 });
    told(`T20 EMFILE: failures ${codes(answers) || 'none'}; ${after.line}`);
  });

  const cannot = noPrlimit ?? faultShimSupport().reason;
  test.skipIf(cannot !== undefined)(
    `T20, T06 a commit fails while no descriptors are left${skipped(cannot)}`,
    async () => {
      using at = new TestHome();
      const history = createHistory();
      await appendRun(at.options('jsonl'), history, { count: 1 });
      const plan = { path: 'control.db-wal$', calls: ['fsync', 'fdatasync'], at: 3, action: 'eio' } as const;
      await using driver = await startDriver(at.options('jsonl', plan));
      await appendOne(driver, history);
      const limit = (soft: string): boolean =>
        succeeds('prlimit', `--pid=${driver.pid}`, `--nofile=${soft}:`);
      limit('3');
      const failed = await appendOne(driver, history);
      expect(limit('1024')).toBe(true);
      const later = [await appendOne(driver, history), await appendOne(driver, history)];
      await driver[Symbol.asyncDispose]();
      const { after } = await judgeFresh(at.options('jsonl'), history);
      told(`T20, T06: first ${codes([failed])}, then ${codes(later) || 'ok'}; ${after.line}`);
      expect(failed).toMatchObject({ ok: false });
      expect(later).toMatchObject([{ ok: true }, { ok: true }]);
    },
  );

  test('T85: a link where the transcript would be is not followed', async () => {
    using at = new TestHome();
    const history = createHistory();
    const target = join(at.root, 'target');
    writeFileSync(target, 'precious\n');
    await using driver = await startDriver(at.options('jsonl'));
    mkdirSync(dirname(at.transcript), { recursive: true });
    symlinkSync(target, at.transcript);
    const created = await driver.send(SESSION);
    const answers = [created, await appendOne(driver, history), await appendOne(driver, history)];
    for (const { ok, code } of answers) if (!ok) expect(code).toMatch(/^STORE_|^FORBIDDEN/);
    const { status } = await driver.send({ op: 'verify', id: 's' });
    await driver.stop();
    await using again = await startDriver(at.options('jsonl'));
    await again.send({ op: 'append', id: 's', ...say('more') });
    await again.stop();
    expect(readFileSync(target, 'utf8')).toBe('precious\n');
    expect(statSync(target).size).toBe(9);
    rmSync(at.transcript);
    await using healed = await startDriver(at.options('jsonl'));
    const seen = await readSession(healed, 's');
    const acknowledged = answers.slice(1).filter(({ ok }) => ok).length;
    expect(seen.length).toBeGreaterThanOrEqual(acknowledged + 1);
    await healed.stop();
    expect(transcriptLines(at.transcript)).toHaveLength(seen.length);
    told(
      `T85: ${codes(answers) || 'acknowledged'}, verify ${status}, target untouched, file made when the link was gone`,
    );
  });
});

// A pipe takes lines until it is full; then the writer would wait in write() for good, the write lock in its hand.
test('T85, T37: a FIFO where the transcript would be does not stop the store', async () => {
  using at = new TestHome();
  mkdirSync(dirname(at.transcript), { recursive: true });
  expect(succeeds('mkfifo', at.transcript)).toBe(true);
  await using driver = await startDriver(at.options('jsonl'));
  await driver.send(SESSION);
  const given: Answer[] = [];
  for (let n = 0; n < 60; n++)
    given.push(await driver.send({ op: 'append', id: 's', ...say('x'.repeat(2000)) }));
  told(`T85 FIFO: ${codes(given) || 'acknowledged'}`);
  const acknowledged = given.filter(({ ok }) => ok).length;
  expect(await readSession(driver, 's')).toHaveLength(acknowledged + 1);
});

/** The highest resident set of a process so far, in bytes. */
function peakRss({ pid }: DriverProcess): number {
  const [, kib = '0'] = /VmHWM:\s+(\d+) kB/.exec(readFileSync(`/proc/${pid}/status`, 'utf8')) ?? [];
  return Number(kib) * 1024;
}

/** What it has read so far, from files and other sources, in bytes. */
function bytesRead({ pid }: DriverProcess): number {
  return Number(/rchar: (\d+)/.exec(readFileSync(`/proc/${pid}/io`, 'utf8'))?.[1]);
}

describe.skipIf(process.platform !== 'linux')('T92 in small', () => {
  /** A session of so many records of 2 KB that was compacted, ten entries kept. */
  async function compacted(at: TestHome, records: number): Promise<void> {
    await using driver = await startDriver({ ...at.options('jsonl'), durability: 'os' });
    await must(driver, SESSION);
    const content = 'x'.repeat(2000);
    for (let done = 0; done < records; done += 100) {
      const messages = Array.from({ length: 100 }, () => ({ role: 'user', content }));
      await must(driver, { op: 'append', id: 's', messages });
    }
    const { entries } = await must(driver, { op: 'read', id: 's', direction: 'backward', limit: 10 });
    const kept = (entries as { entry: { id: string } }[]).at(-1)?.entry.id;
    const compaction = { type: 'compaction', summary: 'all of it', firstKeptEntryId: kept, tokensBefore: 1 };
    await must(driver, { op: 'append', id: 's', entries: [compaction] });
    expect(await driver.stop()).toMatchObject({ code: 0 });
  }

  async function measure(at: TestHome): Promise<{ read: number; rss: number }> {
    await using driver = await startDriver(at.options('jsonl'));
    const { entries, ...page } = await must(driver, { op: 'tail', id: 's' });
    expect(entries).toHaveLength(11);
    expect(page).toMatchObject({ hasMore: false });
    return { read: bytesRead(driver), rss: peakRss(driver) };
  }

  test('opening and tail of 20,000 records cost about what they cost of 100', async () => {
    using small = new TestHome();
    using large = new TestHome();
    await compacted(small, 100);
    await compacted(large, 20_000);
    const file = statSync(large.transcript).size;
    const [few, many] = [await measure(small), await measure(large)];
    const growth = many.rss - few.rss;
    const mib = (bytes: number): string => (bytes / 2 ** 20).toFixed(1);
    told(
      `T92: ${mib(file)} MiB, open and tail read ${mib(few.read)} and ${mib(many.read)} MiB, ` +
        `rss ${mib(few.rss)} and ${mib(many.rss)} MiB`,
    );
    expect(file).toBeGreaterThan(40_000_000);
    expect(many.read - few.read).toBeLessThan(file / 100);
    expect(growth).toBeLessThan(file / 2);
  });
});
