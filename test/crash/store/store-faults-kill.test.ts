// @module-tag long
import { describe, expect, test } from 'vitest';
import { startDriver } from '../../../testing/crash/driver-process.ts';
import {
  ALL_WRITES,
  type FaultPlan,
  faultShimSupport,
  readFaultLog,
} from '../../../testing/crash/fault-shim.ts';
import { createHistory } from '../../../testing/crash/history.ts';
import { readSession } from '../../../testing/crash/judge.ts';
import {
  appendRun,
  hasDied,
  judgeFresh,
  must,
  SESSION,
  say,
  TestHome,
  told,
  transcriptLines,
} from '../../support/store/store-faults.ts';

const { supported, reason } = faultShimSupport();
const title = supported ? 'killed at a system call' : `killed at a system call (skipped: ${reason})`;
const LONG = process.env['REPRISE_CRASH_ROUNDS'] !== undefined;
const LANES = 2;

describe.skipIf(!supported)(title, () => {
  test.each(['jsonl', 'sqlite'])(
    'T01 %s: SIGKILL at every k-th write, sync and truncation of 20 appends',
    async (store) => {
      const totals = { faults: 0, acknowledged: 0, unknown: 0, landed: 0 };
      const calls: FaultPlan['calls'] = [...ALL_WRITES, 'fsync', 'fdatasync', 'ftruncate', 'rename', 'link'];
      // Opening takes the first calls; after them the step visits other phases of an append each time.
      const step = store === 'jsonl' ? 29 : 97;
      const ks = (function* (): Generator<number> {
        for (let k = 1; ; k += LONG || k < 5 ? 1 : step) yield k;
      })();
      let done = false;
      const lane = async (): Promise<void> => {
        for (const k of { [Symbol.iterator]: () => ({ next: () => ks.next() }) }) {
          if (done) return;
          using at = new TestHome();
          const history = createHistory();
          const plan = { path: at.home, calls, at: k, action: 'kill' } as const;
          const answers = await appendRun(at.options(store, plan), history, { count: 20 });
          if (readFaultLog(at.log).length === 0) {
            expect(answers.filter(({ ok }) => ok)).toHaveLength(20);
            done = true;
            return;
          }
          const { before, after } = await judgeFresh(at.options(store), history).catch((error) => {
            throw new Error(`k=${k}: ${error.message}`, { cause: error });
          });
          expect(after.unknown).toBe(0);
          totals.faults += 1;
          totals.acknowledged += before.acknowledged;
          totals.unknown += before.unknown;
          totals.landed += before.landed;
          if (store === 'jsonl') {
            const qs = transcriptLines(at.transcript).map(({ q }) => q);
            expect(qs, `k=${k}`).toEqual(qs.map((_, index) => index + 1));
          }
        }
      };
      await Promise.all(Array.from({ length: LANES }, lane));
      told(`T01 ${store}: ${JSON.stringify(totals)}, lost 0, duplicated 0`);
      expect(totals.faults).toBeGreaterThan(5);
    },
    LONG ? 3_600_000 : 300_000,
  );

  test.each([
    ['between the commit and the write', 'write', 3, 'kill'],
    ['after the write, before the answer to the next', 'write', 3, 'kill-after'],
    ['between the write and its fdatasync', 'fdatasync', 1, 'kill'],
    ['between the fdatasync and the deletion from the journal', 'fdatasync', 1, 'kill-after'],
  ] as const)('T01b killed %s: one record in the file', async (what, call, number, action) => {
    using at = new TestHome();
    const history = createHistory();
    const plan = { path: '.jsonl$', calls: [call], at: number, action } as const;
    const run = { count: 6, followed: at.transcript };
    const answers = await appendRun(at.options('jsonl', plan), history, run);
    expect(readFaultLog(at.log)).toHaveLength(1);
    expect(answers.filter((answer) => !answer.ok && !hasDied(answer))).toEqual([]);
    const inFile = transcriptLines(at.transcript).length;
    const { before, after, seen } = await judgeFresh(at.options('jsonl'), history);
    expect(after).toMatchObject({ refused: 0, unknown: 0, lost: 0, duplicated: 0 });
    const lines = transcriptLines(at.transcript);
    expect(lines.map(({ q }) => q)).toEqual(seen.map(({ seq }) => seq));
    expect(new Set(lines.map(({ text }) => text)).size).toBe(lines.length);
    expect(at.quarantine().size).toBe(0);
    told(
      `T01b ${what}: fired 1, ${inFile} lines then, ${lines.length} now; ${before.line}, landed ${before.landed}`,
    );
  });

  test.each([
    ['the sync of its commit', 'kill', ['fsync', 'fdatasync'], 2],
    ['the end of that sync', 'kill-after', ['fsync', 'fdatasync'], 2],
    ['a write of its commit', 'kill', ALL_WRITES, 1],
  ] as const)(
    'T01b a message whose process died at %s is accepted and runs once',
    async (what, action, calls, from) => {
      using at = new TestHome();
      const put = { op: 'put', key: SESSION.key, idempotencyKey: 'm1', body: { text: 'hello' } };
      let died = 0;
      await (await startDriver(at.options('jsonl'))).stop();
      // Opening a store may sync too, so the fault moves on until it meets the message.
      for (let k = from; died === 0 && k < 40; k += 1 + (k >> 1)) {
        const options = at.options('jsonl', { path: 'control.db-wal$', calls, at: k, action });
        const driver = await startDriver(options).catch(() => undefined);
        if (driver === undefined) continue;
        if (hasDied(await driver.send(put))) died = k;
        await driver[Symbol.asyncDispose]();
      }
      expect(died).toBeGreaterThan(0);
      await using driver = await startDriver(at.options('jsonl'));
      const { id, inboxId, fresh } = await must(driver, put);
      expect(await must(driver, put)).toMatchObject({ inboxId, fresh: false });
      await must(driver, { op: 'lease', id });
      expect(await must(driver, { op: 'take', id })).toMatchObject({ item: { inboxId, attempts: 1 } });
      expect(await must(driver, { op: 'take', id })).toMatchObject({ item: null });
      await must(driver, { op: 'settle', inboxId, state: 'done' });
      expect(await must(driver, { op: 'release', id })).toMatchObject({ item: null });
      told(`T01b inbox, ${what}: died at call ${died}, ${fresh ? 'not there' : 'landed'}, runs once`);
    },
  );

  test.each(['jsonl', 'sqlite'])(
    'T01e %s: a retry of what landed is answered with its seqs after leaf and epoch moved on',
    async (store) => {
      using at = new TestHome();
      await using a = await startDriver(at.options(store));
      await must(a, SESSION);
      const { epoch } = await must(a, { op: 'lease', id: 's' });
      const first = { op: 'append', id: 's', key: 'k', epoch, expectedLeaf: null, ...say('first') };
      const landed = await must(a, first);
      expect(await a.send({ ...first, key: 'other' })).toMatchObject({ code: 'LEAF_MOVED', outcome: 'none' });
      expect(await must(a, first)).toMatchObject({
        firstSeq: landed['firstSeq'],
        lastSeq: landed['lastSeq'],
      });
      a.kill();
      await a.exited;
      await using b = await startDriver(at.options(store));
      const next = await must(b, { op: 'lease', id: 's' });
      expect(next['epoch']).toBeGreaterThan(Number(epoch));
      await must(b, { op: 'append', id: 's', epoch: next['epoch'], ...say('second') });
      expect(await b.send({ ...first, key: 'late' })).toMatchObject({ code: 'FENCED', outcome: 'none' });
      expect(await must(b, first)).toMatchObject({
        firstSeq: landed['firstSeq'],
        lastSeq: landed['lastSeq'],
      });
      expect(await b.send({ ...first, ...say('not the same') })).toMatchObject({ code: 'KEY_REUSED' });
      await must(b, { op: 'release', id: 's' });
      await must(b, { op: 'delete', id: 's' });
      expect(await must(b, first)).toMatchObject({ firstSeq: landed['firstSeq'] });
      expect((await readSession(b, 's')).filter(({ entry }) => entry['type'] === 'message')).toHaveLength(2);
      told(`T01e ${store}: retried 4 times, answered ${landed['firstSeq']} each time`);
    },
  );
});
