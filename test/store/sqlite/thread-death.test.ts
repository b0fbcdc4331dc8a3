// @module-tag long
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import { Worker } from 'node:worker_threads';
import { afterAll, beforeAll, describe, expect, onTestFinished, test, vi } from 'vitest';
import { openStore, type StoreKind } from '../../../src/config/open.ts';
import type { RepriseError } from '../../../src/errors.ts';
import type { Store } from '../../../src/store/port/store.ts';
import { startThreadsBy } from '../../../src/store/sqlite/threads/start-thread.ts';
import { BUNDLED } from '../../support/processes/bundled-command.ts';
import { until } from '../../support/store/store-faults.ts';

// New threads for every store, as programs have.
startThreadsBy((file, workerData) => new Worker(`${BUNDLED}/${file}.cjs`, { workerData, execArgv: [] }));

/** Every storage thread of this process, as Node itself announces them. */
const threads: Worker[] = [];
/** Stores that have reported that index and transcripts agree. */
const settled: WeakSet<Worker> = new WeakSet();
const seeThread = (worker: Worker): void => {
  threads.push(worker);
  worker.on('message', ({ event }: { readonly event?: string }) => {
    if (event === 'rebuilt') settled.add(worker);
  });
};
const homes: string[] = [];
beforeAll(() => void process.on('worker', seeThread));
afterAll(() => {
  process.off('worker', seeThread);
  for (const home of homes) rmSync(home, { recursive: true, force: true });
});

/**
 * An uncaught exception in the middle of the thread's work. Terminating it instead could stop it inside SQLite,
 * which Node itself does not always survive.
 */
async function crash(worker: Worker): Promise<void> {
  if (worker.threadId === -1) return;
  const ended = new Promise((resolve) => worker.once('exit', resolve));
  worker.postMessage(null);
  await ended;
}

interface Opened extends AsyncDisposable {
  readonly store: Store;
  readonly home: string;
  /** The threads that serve this store now. */
  thread(role: 'writer' | 'reader'): Worker;
}

async function open(kind: StoreKind = 'jsonl'): Promise<Opened> {
  const home = mkdtempSync(join(tmpdir(), 'reprise-death-'));
  homes.push(home);
  const first = threads.length;
  // Without the thread that searches, which comes when it likes.
  const store = await openStore({ kind, home, durability: 'os', search: 'scan' });
  await until('both threads to be seen', () => threads.length >= first + (kind === 'memory' ? 1 : 2));
  let [writer, reader] = threads.slice(first) as [Worker, Worker | undefined];
  const alive = (worker: Worker): boolean => worker.threadId !== -1;
  return {
    store,
    home,
    thread(role) {
      const late = threads.slice(first).filter(alive);
      if (!alive(writer)) writer = late.find((worker) => worker !== reader) ?? writer;
      if (reader !== undefined && !alive(reader)) reader = late.find((worker) => worker !== writer) ?? reader;
      return role === 'writer' || reader === undefined ? writer : reader;
    },
    [Symbol.asyncDispose]: () => store[Symbol.asyncDispose](),
  };
}

const fileOf = (home: string, kind: StoreKind): string =>
  join(home, kind === 'jsonl' ? 'control.db' : 'store.db');
const user = (content: string): { type: string; message: object } => ({
  type: 'message',
  message: { role: 'user', content },
});
/** Until then a reader asks the writer first whether it knows the transcript. */
const complete = (opened: Opened): Promise<unknown> =>
  until('the index to be complete', () => settled.has(opened.thread('writer')));
const failureOf = (work: Promise<unknown>): Promise<RepriseError> =>
  work.then(
    () => Promise.reject(new Error('expected a failure')),
    (error: RepriseError) => error,
  );

describe.each(['jsonl', 'sqlite'] as const)('%s: a storage thread dies', (kind) => {
  test('the next call works, and an append in flight is written once when it is tried again by its key', async () => {
    await using opened = await open(kind);
    const { store } = opened;
    const { id } = await store.create({ key: 'agent:main:main' });
    let unknown = 0;
    for (let round = 0; round < 4; round++) {
      const bodies = Array.from({ length: 100 }, (_, i) => ({
        key: `${round}-${i}`,
        text: `r${round} n${i}`,
      }));
      const send = (): Promise<PromiseSettledResult<unknown>[]> =>
        Promise.allSettled(bodies.map(({ key, text }) => store.append(id, [user(text)], { key })));
      const sent = send();
      // Every other time it has begun with them, the other times it dies before.
      if (round % 2 === 0) await store.get(id);
      const ended = crash(opened.thread('writer'));
      for (const result of await sent) {
        if (result.status === 'fulfilled') continue;
        expect(result.reason).toMatchObject({ code: 'STORE_FAILED', outcome: 'unknown' });
        unknown++;
      }
      await ended;
      expect((await send()).every(({ status }) => status === 'fulfilled')).toBe(true);
    }
    const { entries } = await store.read(id, { from: 2, limit: 1000 });
    const texts = entries.map(
      ({ entry }) => (entry as unknown as { message: { content: string } }).message.content,
    );
    expect(texts).toHaveLength(4 * 100);
    expect(new Set(texts).size).toBe(4 * 100);
    expect(unknown).toBeGreaterThan(0);
    expect(await store.verify()).toMatchObject({ status: 'clean' });
  });

  test('a crash fails the reads in flight with nothing written, and the next read works', async () => {
    await using opened = await open(kind);
    const { store } = opened;
    const { id } = await store.create({ key: 'agent:main:main' });
    await complete(opened);
    const reader = opened.thread('reader');
    // No such message exists: the thread throws, and nothing catches it.
    reader.postMessage(null);
    expect(await failureOf(store.get(id))).toMatchObject({ code: 'STORE_FAILED', outcome: 'none' });
    expect(await store.get(id)).toMatchObject({ id });
  });

  test('a lease continues: its heart beats, its epoch still writes, and no other process gets it', async () => {
    await using opened = await open(kind);
    const { store, home } = opened;
    await using other = await openStore({ kind, home, durability: 'os' });
    const { id } = await store.create({ key: 'agent:main:main' });
    const lease = await store.lease(id, { ttlMs: 900 });
    await crash(opened.thread('writer'));
    using db = new DatabaseSync(fileOf(home, kind), { timeout: 5000 });
    const beats = (): number => Number(db.prepare('SELECT beat FROM leases').get()?.['beat']);
    const before = beats();
    // Others call a holder dead whose heart has stopped, by their own clocks; so no other may look before it beats.
    await until('its heart to beat again, and to go on', () => beats() >= before + 3);
    expect(await failureOf(other.lease(id, { waitMs: 0 }))).toMatchObject({ code: 'LEASE_HELD' });
    await store.append(id, [user('still mine')], { epoch: lease.epoch });
    expect(lease.signal.aborted).toBe(false);
    expect(await lease.release()).toBeNull();
    await (await other.lease(id, { waitMs: 0 })).release();
  });

  test('a lease that is another’s by now is lost', async () => {
    await using opened = await open(kind);
    const { store, home } = opened;
    await using other = await openStore({ kind, home, durability: 'os' });
    const { id } = await store.create({ key: 'agent:main:main' });
    const lease = await store.lease(id);
    // A delete by another process fences the holder; its thread dies before it could notice.
    const deleted = other.delete(id);
    await Promise.all([deleted, crash(opened.thread('writer'))]);
    await until('the lease to be lost', () => lease.signal.aborted);
    expect(await failureOf(store.append(id, [user('x')], { epoch: lease.epoch }))).toMatchObject({
      outcome: 'none',
    });
  });

  test('a lease without a holder, because the answer was lost, is free again', async () => {
    await using opened = await open(kind);
    const { store, home } = opened;
    const { id } = await store.create({ key: 'agent:main:main' });
    const { id: other } = await store.create({ key: 'agent:main:other' });
    const lease = await store.lease(id);
    // What a thread leaves that dies between its commit and its answer.
    const db = new DatabaseSync(fileOf(home, kind), { timeout: 5000 });
    db.prepare('INSERT INTO leases SELECT ?, 0, holder, 0, 60000 FROM leases').run(other);
    db.close();
    expect(await failureOf(store.lease(other, { waitMs: 0 }))).toMatchObject({ code: 'LEASE_HELD' });
    await crash(opened.thread('writer'));
    await (await store.lease(other, { waitMs: 0 })).release();
    await lease.renew();
  });

  test('a watcher continues', async () => {
    await using opened = await open(kind);
    const { store } = opened;
    const { id } = await store.create({ key: 'agent:main:main' });
    const stop = new AbortController();
    const watched = store.watch(id, { afterSeq: 1, signal: stop.signal })[Symbol.asyncIterator]();
    for (const role of ['writer', 'reader'] as const) {
      const next = watched.next();
      await crash(opened.thread(role));
      const { firstSeq } = await store.append(id, [user(role)]);
      expect((await next).value).toMatchObject({ seq: firstSeq });
    }
    stop.abort();
  });

  test('again and again: a lasting error that says so, however long a new one takes, and closing still works', async () => {
    const now = performance.now.bind(performance);
    let startingMs = 0;
    vi.spyOn(performance, 'now').mockImplementation(() => now() + startingMs);
    onTestFinished(() => void vi.restoreAllMocks());
    const opened = await open(kind);
    const { store } = opened;
    const { id } = await store.create({ key: 'agent:main:main' });
    const lease = await store.lease(id);
    await complete(opened);
    for (let death = 0; death < 5; death++) {
      await crash(opened.thread('writer'));
      // As on a machine where starting the next takes four seconds.
      startingMs += 4000;
      // The last one dies before it has compared index and transcripts.
      if (death < 3) await store.append(id, [user('between')], { epoch: lease.epoch });
    }
    const failure = await failureOf(store.append(id, [user('too late')]));
    expect(failure).toMatchObject({
      code: 'STORE_FAILED',
      outcome: 'none',
      message: 'the storage thread stopped unexpectedly 5 times within 10 s of work',
      details: { next: expect.any(String) },
    });
    expect(lease.signal.aborted).toBe(true);
    expect(await store.get(id)).toMatchObject({ lastSeq: 4 });
    await opened[Symbol.asyncDispose]();
  });

  test('the last one dies as soon as it is ready: what was complete is read all the same', async () => {
    await using opened = await open(kind);
    const { store } = opened;
    const { id } = await store.create({ key: 'agent:main:main' });
    await complete(opened);
    // A busy main thread receives the start and the end of the next threads at once.
    const gate = new Int32Array(new SharedArrayBuffer(4));
    const dieAtOnce = (worker: Worker): void => {
      worker.postMessage(null);
      Atomics.wait(gate, 0, 0, 400);
    };
    process.on('worker', dieAtOnce);
    onTestFinished(() => void process.off('worker', dieAtOnce));
    await crash(opened.thread('writer'));
    const isGivenUp = async (): Promise<boolean> =>
      /stopped unexpectedly 5 times/.test((await failureOf(store.append(id, [user('too late')]))).message);
    await until('it to be given up', isGivenUp);
    expect(await store.get(id)).toMatchObject({ id, lastSeq: 1 });
  });

  test('while the store is closing: closing ends', async () => {
    const opened = await open(kind);
    const { id } = await opened.store.create({ key: 'agent:main:main' });
    await opened.store.append(id, [user('x')]);
    const threadsNow = [opened.thread('writer'), opened.thread('reader')];
    const closing = opened[Symbol.asyncDispose]();
    for (const thread of threadsNow) void crash(thread);
    await closing;
    await using again = await openStore({ kind, home: opened.home });
    expect(await again.get(id)).toMatchObject({ lastSeq: 2 });
  });
});

test('memory: with its thread everything is gone, and every call says so instead of starting empty', async () => {
  await using opened = await open('memory');
  const { store } = opened;
  const { id } = await store.create({ key: 'agent:main:main' });
  await crash(opened.thread('writer'));
  for (const work of [store.get(id), store.append(id, [user('x')]), store.create({ key: 'agent:main:main' })])
    expect(await failureOf(work)).toMatchObject({ code: 'STORE_FAILED', outcome: 'none' });
});

test('a thread that searches dies: its callers are answered by another, and the next search finds the same', async () => {
  const home = mkdtempSync(join(tmpdir(), 'reprise-death-'));
  homes.push(home);
  const first = threads.length;
  await using store = await openStore({ home, durability: 'os' });
  const { id } = await store.create({ key: 'agent:main:main' });
  await store.append(id, [user('a needle')]);
  const before = await store.search({ text: 'needle', budgetMs: 600_000 });
  expect(before.hits).toHaveLength(1);
  // Started by the search, or by the clock before it; the threads that write and read came first.
  await until('its thread to be seen', () => threads.length === first + 3);
  const searching = store.search({ text: 'needle', budgetMs: 600_000 });
  await crash(threads[first + 2] as Worker);
  expect(await searching).toEqual(before);
  expect(await store.search({ text: 'needle', budgetMs: 600_000 })).toEqual(before);
  expect(threads.length).toBe(first + 4);
});
