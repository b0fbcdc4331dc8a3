// @module-tag long
import { appendFileSync, cpSync, statSync } from 'node:fs';
import { describe, expect, test } from 'vitest';
import { type Answer, startDriver } from '../../../testing/crash/driver-process.ts';
import { ALL_WRITES, faultShimSupport, readFaultLog } from '../../../testing/crash/fault-shim.ts';
import { createHistory } from '../../../testing/crash/history.ts';
import { assertClean, judgeHistory, readSession } from '../../../testing/crash/judge.ts';
import {
  appendOne,
  appendRun,
  judgeFresh,
  linesIn,
  must,
  SESSION,
  say,
  TestHome,
  told,
  transcriptLines,
  until,
} from '../../support/store/store-faults.ts';

const { supported, reason } = faultShimSupport();
const title = supported ? 'failing system calls' : `failing system calls (skipped: ${reason})`;
const SYNCS = ['fsync', 'fdatasync'] as const;
const LONG = process.env['REPRISE_CRASH_ROUNDS'] !== undefined;

const outcomes = (answers: readonly Answer[]): string =>
  answers.map(({ ok, code, outcome }) => (ok ? 'ok' : `${code}/${outcome}`)).join(' ');

const journalRows = (at: TestHome): number =>
  at.query<{ n: number }>('SELECT count(*) AS n FROM journal')[0]?.n ?? 0;

describe.skipIf(!supported)(title, () => {
  test('T01d a folder that cannot be synced: the journal keeps the lines of all its new files, and few syncs are tried', async () => {
    const sessions = 40;
    using at = new TestHome();
    const plan = {
      path: 'agents/main/sessions$',
      calls: ['fsync'],
      at: 1,
      action: 'eio',
      count: -1,
    } as const;
    await using driver = await startDriver(at.options('jsonl', plan));
    for (let n = 0; n < sessions; n++)
      await must(driver, { op: 'create', id: `s${n}`, key: `agent:main:session:s${n}` });
    await until('a failed sync', () => readFaultLog(at.log).length > 0);
    for (let n = 0; n < sessions; n++)
      expect(linesIn(at.transcript.replace('s.jsonl', `s${n}.jsonl`))).toBe(1);
    expect(journalRows(at)).toBe(sessions);
    await driver.stop();
    expect(journalRows(at)).toBe(sessions);
    // One sync of the folder serves all files that are new; a sync for each file made 10,000 sessions take 35 s.
    expect(readFaultLog(at.log).length).toBeLessThan(sessions / 2);
    await using again = await startDriver(at.options('jsonl'));
    await until('the files are safe', () => journalRows(at) === 0);
    expect(await must(again, { op: 'verify' })).toMatchObject({ status: 'clean' });
    await again.stop();
  });

  test.each([
    ['enospc', ALL_WRITES],
    ['eio', ALL_WRITES],
    ['full:100', ALL_WRITES],
    ['eio', ['open']],
    ['eio', SYNCS],
  ] as const)(
    'T01d %s at all %s of the transcript: acknowledged, read back, caught up later',
    async (action, calls) => {
      using at = new TestHome();
      const history = createHistory();
      const plan = { path: '.jsonl$', calls, at: calls === ALL_WRITES ? 3 : 1, action, count: -1 } as const;
      await using driver = await startDriver(at.options('jsonl', plan));
      await must(driver, SESSION);
      for (let k = 0; k < 12; k++) {
        // Two writes before those that fail: lines appended at once would be one.
        if (calls === ALL_WRITES && k < 2) await until('a write', () => linesIn(at.transcript) > k);
        expect(await appendOne(driver, history)).toMatchObject({ ok: true });
      }
      assertClean(judgeHistory(history, new Map([['s', await readSession(driver, 's')]])));
      expect(await must(driver, { op: 'tail', id: 's' })).toMatchObject({ lastSeq: 13 });
      await driver.stop();
      const fired = readFaultLog(at.log).length;
      expect(fired).toBeGreaterThan(0);
      expect(journalRows(at)).toBeGreaterThan(0);
      const { after } = await judgeFresh(at.options('jsonl'), history);
      expect(transcriptLines(at.transcript).map(({ q }) => q)).toEqual(
        Array.from({ length: 14 }, (_, q) => q + 1),
      );
      expect(journalRows(at)).toBe(0);
      expect(at.quarantine().size).toBe(0);
      told(`T01d ${action} at ${calls}: fired ${fired}; ${after.line}; file caught up`);
    },
  );

  test.each(['jsonl', 'sqlite'])(
    'T03 %s: ENOSPC at the k-th write of the WAL refuses, and the next appends work',
    async (store) => {
      using seed = new TestHome();
      await appendRun(seed.options(store), createHistory(), { count: 0 });
      const totals = { faults: 0, refused: 0, quiet: 0 };
      const seen = new Set<string>();
      for (let k = store === 'jsonl' ? 2 : 11; ; k += LONG ? 1 : k) {
        using at = new TestHome();
        const history = createHistory();
        const path = store === 'jsonl' ? 'control.db-wal$' : 'store.db-wal$';
        cpSync(seed.home, at.home, { recursive: true });
        const plan = { path, calls: ALL_WRITES, at: k, action: 'enospc' } as const;
        const answers = await appendRun(at.options(store, plan), history, { count: 20 });
        if (readFaultLog(at.log).length === 0) break;
        totals.faults += 1;
        const bad = answers.filter(({ ok }) => !ok);
        for (const { code, outcome } of bad) seen.add(`${code}/${outcome}`);
        totals[bad.length > 0 ? 'refused' : 'quiet'] += 1;
        expect(bad.length, `k=${k}: ${outcomes(answers)}`).toBeLessThan(2);
        expect(bad.every(({ outcome }) => outcome === 'none')).toBe(true);
        const { after } = await judgeFresh(at.options(store), history);
        expect(after).toMatchObject({ unknown: 0, lost: 0, duplicated: 0 });
      }
      told(`T03 ${store}: ${JSON.stringify(totals)}, refusals ${[...seen]}, lost 0, duplicated 0`);
      expect(totals.refused).toBeGreaterThan(0);
    },
    LONG ? 3_600_000 : 180_000,
  );

  test.each(['jsonl', 'sqlite'])(
    'T06 %s: EIO at the k-th sync of the WAL is unknown or resolved, once after a retry',
    async (store) => {
      using seed = new TestHome();
      await appendRun(seed.options(store), createHistory(), { count: 0 });
      const totals = { faults: 0, answered: 0, unknown: 0, landed: 0 };
      const seen = new Set<string>();
      for (let k = store === 'jsonl' ? 1 : 2; ; k += LONG ? 1 : k) {
        using at = new TestHome();
        const history = createHistory();
        const path = store === 'jsonl' ? 'control.db-wal$' : 'store.db-wal$';
        cpSync(seed.home, at.home, { recursive: true });
        const plan = { path, calls: SYNCS, at: k, action: 'eio' } as const;
        const answers = await appendRun(at.options(store, plan), history, { count: 12 });
        if (readFaultLog(at.log).length === 0) break;
        totals.faults += 1;
        for (const { ok, code, outcome } of answers) if (!ok) seen.add(`${code}/${outcome}`);
        const { before, after } = await judgeFresh(at.options(store), history);
        totals.answered += before.acknowledged + before.refused;
        totals.unknown += before.unknown;
        totals.landed += before.landed;
        expect(after).toMatchObject({ unknown: 0, lost: 0, duplicated: 0 });
      }
      told(`T06 ${store}: ${JSON.stringify(totals)}, failures ${[...seen]}, lost 0, duplicated 0`);
      expect(totals.faults).toBeGreaterThan(1);
    },
    LONG ? 3_600_000 : 180_000,
  );

  test.each([
    ['T03', 'enospc', ALL_WRITES],
    ['T06', 'eio', SYNCS],
  ] as const)(
    '%s: what was refused after %s stays absent if the process dies then',
    async (id, action, calls) => {
      const totals = { faults: 0, refused: 0, unknown: 0 };
      const found: string[] = [];
      for (let k = 2; k < 120; k += id === 'T06' ? 1 : 7) {
        using at = new TestHome();
        const history = createHistory();
        await appendRun(at.options('jsonl'), history, { count: 1 });
        const plan = { path: 'control.db-wal$', calls, at: k, action } as const;
        await using driver = await startDriver(at.options('jsonl', plan));
        let answer = await appendOne(driver, history);
        while (answer.ok && readFaultLog(at.log).length === 0) answer = await appendOne(driver, history);
        driver.kill();
        await driver.exited;
        totals.faults += 1;
        if (answer.ok) continue;
        await using reader = await startDriver(at.options('jsonl'));
        const report = judgeHistory(history, new Map([['s', await readSession(reader, 's')]]));
        totals.refused += report.refused;
        totals.unknown += report.unknown;
        found.push(...report.findings.map((finding) => `k=${k}: ${finding}`));
        if (totals.refused + totals.unknown >= 2) break;
      }
      told(`${id} killed after a refusal: ${JSON.stringify(totals)}, ${found.length} findings ${found}`);
      expect(totals.refused + totals.unknown).toBeGreaterThan(0);
      expect(found).toEqual([]);
    },
  );

  test('T06: EIO once on a transcript fdatasync keeps the journal until a later one succeeds', async () => {
    using at = new TestHome();
    const history = createHistory();
    const plan = { path: '.jsonl$', calls: SYNCS, at: 1, action: 'eio' } as const;
    await using driver = await startDriver(at.options('jsonl', plan));
    await must(driver, SESSION);
    for (let k = 0; k < 5; k++) await appendOne(driver, history);
    await until('the fault fires', () => readFaultLog(at.log).length > 0);
    const kept = journalRows(at);
    await until('the journal is empty', () => journalRows(at) === 0);
    await driver.stop();
    const { after } = await judgeFresh(at.options('jsonl'), history);
    told(`T06 transcript: fired 1, journal rows kept ${kept} then 0; ${after.line}`);
    expect(after).toMatchObject({ unknown: 0, lost: 0, duplicated: 0 });
  });

  // The kernel may have marked the lost pages clean: only writing them again makes them dirty.
  test('T06: bytes whose fdatasync failed are written again before the journal forgets them', async () => {
    using at = new TestHome();
    const plan = { path: '.jsonl$', calls: SYNCS, at: 1, action: 'eio' } as const;
    await using driver = await startDriver(at.options('jsonl', plan));
    await must(driver, SESSION);
    await must(driver, { op: 'append', id: 's', ...say('hello') });
    await until('the fault fires', () => readFaultLog(at.log).length > 0);
    await until('the journal is empty', () => journalRows(at) === 0);
    // Recorded when it fired: a reader of the transcript may then already see the second write.
    const before = statSync(at.log, { bigint: true }).mtimeNs;
    const after = statSync(at.transcript, { bigint: true }).mtimeNs;
    told(`T06 rewrite after a failed sync: ${after > before ? 'written again' : 'not written again'}`);
    expect(after).toBeGreaterThan(before);
  });

  test('T06: EIO on the sync that takes in a line of another tool takes it in once', async () => {
    using at = new TestHome();
    const plan = { path: '.jsonl$', calls: SYNCS, at: 2, action: 'eio' } as const;
    await using driver = await startDriver(at.options('jsonl', plan));
    await must(driver, SESSION);
    await must(driver, { op: 'append', id: 's', key: 'k1', ...say('one') });
    await until('all is synced', () => journalRows(at) === 0);
    await must(driver, { op: 'append', id: 's', key: 'k2', ...say('two') });
    await until('it is in the file', () => transcriptLines(at.transcript).length === 3);
    const timestamp = '2026-01-01T00:00:00.000Z';
    const message = { role: 'user', content: 'foreign' };
    appendFileSync(
      at.transcript,
      `${JSON.stringify({ type: 'message', id: 'f1', parentId: null, timestamp, message })}\n`,
    );
    const three = await driver.send({ op: 'append', id: 's', key: 'k3', ...say('three') });
    const four = await driver.send({ op: 'append', id: 's', key: 'k4', ...say('four') });
    await driver.stop();
    await using reader = await startDriver(at.options('jsonl'));
    const seen = await readSession(reader, 's');
    const { status } = await must(reader, { op: 'verify' });
    const texts = seen.flatMap(({ entry }) => (entry as { message?: typeof message }).message?.content ?? []);
    const fired = readFaultLog(at.log).length;
    told(
      `T06 foreign: fired ${fired}, ${outcomes([three, four])}, read ${texts} at ${seen.map(({ seq }) => seq)}, ${status}`,
    );
    expect(fired).toBe(1);
    // In the order they became known: the line of the other tool is known when its sync has succeeded.
    expect(texts.filter((text) => text !== 'foreign')).toEqual(['one', 'two', 'three', 'four']);
    expect(texts.filter((text) => text === 'foreign')).toHaveLength(1);
    expect(seen.map(({ seq }) => seq)).toEqual([1, 2, 3, 4, 5, 6]);
    expect(status).toBe('clean');
  });
});
