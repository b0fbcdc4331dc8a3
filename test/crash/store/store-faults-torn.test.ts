// @module-tag long
import { readFileSync, statSync } from 'node:fs';
import { describe, expect, test } from 'vitest';
import { type DriverOptions, startDriver } from '../../../testing/crash/driver-process.ts';
import { type FaultAction, faultShimSupport, readFaultLog } from '../../../testing/crash/fault-shim.ts';
import { appendCommand, createHistory, type History, textOf } from '../../../testing/crash/history.ts';
import { readSession } from '../../../testing/crash/judge.ts';
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
const title = supported ? 'torn transcript writes' : `torn transcript writes (skipped: ${reason})`;
/** A fixed clock makes every run write the same bytes. */
const NOW = '2026-01-01T00:00:00.000Z';
const FIVE = [40, 300, 20, 5000, 90];

const ONE = [1000];

interface Torn {
  readonly history: History;
  /** Whether the append that was torn had been acknowledged. */
  readonly acknowledged: boolean;
}

/** One whole append, then one of which only these bytes reach the file before the process is killed. */
async function tornRun(at: TestHome, sizes: readonly number[], bytes?: number): Promise<Torn> {
  const history = createHistory();
  const action: FaultAction = `torn:${bytes ?? 0}`;
  const plan = { path: '.jsonl$', calls: ['write'], at: 3, action } as const;
  const options: DriverOptions = { ...at.options('jsonl', bytes === undefined ? undefined : plan), now: NOW };
  await using driver = await startDriver(options);
  // Lines that are committed soon after each other are written at once; here each commit is to be a write.
  const followed = (lines: number): Promise<boolean> =>
    until(`${lines} lines in the file`, () => linesIn(at.transcript) === lines);
  await must(driver, SESSION);
  await followed(1);
  expect(await appendOne(driver, history, [200])).toMatchObject({ ok: true });
  await followed(2);
  const { ok } = await appendOne(driver, history, sizes);
  await driver.stop();
  expect(readFaultLog(at.log)).toHaveLength(bytes === undefined ? 0 : 1);
  return { history, acknowledged: ok };
}

/** What the torn write would have written, from a run without a fault. */
async function wholeWrite(sizes: readonly number[]): Promise<{ before: Buffer; written: Buffer }> {
  using at = new TestHome();
  await tornRun(at, sizes);
  const bytes = readFileSync(at.transcript);
  const lines = bytes.toString('latin1').split('\n').slice(0, 2);
  const start = lines.join('\n').length + 1;
  return { before: bytes.subarray(0, start), written: bytes.subarray(start) };
}

const texts = (seen: Awaited<ReturnType<typeof readSession>>): unknown[] =>
  seen.flatMap(({ entry }) => (entry as { message?: { content?: unknown } }).message?.content ?? []);

describe.skipIf(!supported)(title, () => {
  test('T01c: an append of five lines killed at every line boundary is there whole or not at all', async () => {
    const { before, written } = await wholeWrite(FIVE);
    const boundaries = [0];
    for (let lf = written.indexOf(10); lf !== -1; lf = written.indexOf(10, lf + 1)) boundaries.push(lf + 1);
    expect(boundaries).toHaveLength(6);
    const found: string[] = [];
    const check = async (boundary: number, kept: boolean): Promise<void> => {
      using at = new TestHome();
      const { history, acknowledged } = await tornRun(at, FIVE, boundary);
      expect(statSync(at.transcript).size).toBe(before.length + boundary);
      if (kept) {
        const { after } = await judgeFresh(at.options('jsonl'), history);
        expect(after).toMatchObject({ unknown: 0, lost: 0, duplicated: 0 });
        expect(readFileSync(at.transcript).subarray(0, before.length + written.length)).toEqual(
          Buffer.concat([before, written]),
        );
        return;
      }
      at.dropControl();
      await using driver = await startDriver(at.options('jsonl'));
      const [first, second] = [...history.attempts.values()];
      const wanted = [first, second].flatMap((it) =>
        it ? it.sizes.map((_, index) => textOf(it, index)) : [],
      );
      // The file alone decides: the first append stands there whole, of the second all lines or none.
      const all = boundary === written.length;
      expect(texts(await readSession(driver, 's'))).toEqual(all ? wanted : wanted.slice(0, 1));
      found.push(`${acknowledged ? 'acknowledged' : 'unknown'} ${boundary}: ${all ? 5 : 0}`);
      expect([...at.quarantine().values()]).toEqual(
        all || boundary === 0 ? [] : [written.subarray(0, boundary)],
      );
      await must(driver, { op: 'append', id: 's', ...say('next') });
      expect(await must(driver, { op: 'verify' })).toMatchObject({ status: 'clean' });
    };
    for (const boundary of boundaries) await Promise.all([check(boundary, true), check(boundary, false)]);
    told(`T01c: fired ${2 * boundaries.length}, with control.db 5 of 5 lines each time; without: ${found}`);
  });

  test('T02: a torn write is redone from the journal', async () => {
    const { before, written } = await wholeWrite(ONE);
    for (const bytes of [1, written.length >> 1, written.length - 1]) {
      using at = new TestHome();
      const { history } = await tornRun(at, ONE, bytes);
      expect(statSync(at.transcript).size).toBe(before.length + bytes);
      const { before: found, after } = await judgeFresh(at.options('jsonl'), history);
      expect(after).toMatchObject({ unknown: 0, lost: 0, duplicated: 0 });
      expect(at.quarantine().size).toBe(0);
      expect(transcriptLines(at.transcript).map(({ q }) => q)).toEqual([1, 2, 3, 4]);
      told(`T02 torn after ${bytes} of ${written.length}: fired 1, ${found.line}, quarantined 0`);
    }
  });

  test('T02: without control.db exactly the fragment is quarantined and what stood whole is kept', async () => {
    const { before, written } = await wholeWrite(ONE);
    for (const bytes of [1, written.length >> 1, written.length - 2]) {
      using at = new TestHome();
      const { history, acknowledged } = await tornRun(at, ONE, bytes);
      at.dropControl();
      await using driver = await startDriver(at.options('jsonl'));
      // Only the journal had the torn append, acknowledged or not: it may be gone, and nothing before it.
      const [first] = [...history.attempts.values()];
      expect(texts(await readSession(driver, 's'))).toEqual(first ? [textOf(first, 0)] : []);
      expect([...at.quarantine().values()]).toEqual([written.subarray(0, bytes)]);
      expect(readFileSync(at.transcript)).toEqual(before);
      await must(driver, { op: 'append', id: 's', key: 'next', ...say('next') });
      expect(await must(driver, { op: 'verify' })).toMatchObject({ status: 'clean' });
      await driver.stop();
      expect(transcriptLines(at.transcript).map(({ q }) => q)).toEqual([1, 2, 3]);
      const fate = acknowledged ? 'acknowledged 2, of them in the file 1' : 'acknowledged 1, unknown 1';
      told(`T02 torn after ${bytes}, control.db deleted: ${fate}, found 1, quarantined ${bytes} bytes`);
    }
  });

  test('T02: without control.db a line that lacks only its newline is not glued to the next', async () => {
    const { written } = await wholeWrite(ONE);
    using at = new TestHome();
    const { history } = await tornRun(at, ONE, written.length - 1);
    at.dropControl();
    await using driver = await startDriver(at.options('jsonl'));
    const [, torn] = [...history.attempts.values()];
    const retried = torn && (await must(driver, appendCommand(torn)));
    await must(driver, { op: 'append', id: 's', key: 'next', ...say('next') });
    const seen = await readSession(driver, 's');
    const { status, findings } = await must(driver, { op: 'verify' });
    await driver.stop();
    told(
      `T02 torn after all but the newline, control.db deleted: the retry says ${retried?.['firstSeq']}, ` +
        `read back ${seen.map(({ seq }) => seq)}, verify ${status} ${JSON.stringify(findings)}`,
    );
    expect(seen.map(({ seq }) => seq)).toEqual([1, 2, 3, 4]);
    expect(status).toBe('clean');
    expect(transcriptLines(at.transcript).map(({ q }) => q)).toEqual([1, 2, 3, 4]);
  });

  test('T02: a torn header without control.db is a damaged session that is never replaced', async () => {
    using at = new TestHome();
    const plan = { path: '.jsonl$', calls: ['write'], at: 1, action: 'torn:150' } as const;
    await appendRun(at.options('jsonl', plan), createHistory(), { count: 1 });
    const fragment = readFileSync(at.transcript);
    expect(fragment).toHaveLength(150);
    at.dropControl();
    await using driver = await startDriver(at.options('jsonl'));
    expect(await driver.send(SESSION)).toMatchObject({ ok: false, code: 'STORE_CORRUPT', outcome: 'none' });
    expect(await must(driver, { op: 'verify' })).toMatchObject({ status: 'corrupt' });
    await driver.stop();
    expect(readFileSync(at.transcript)).toEqual(fragment);
    expect(at.quarantine().size).toBe(0);
  });
});
