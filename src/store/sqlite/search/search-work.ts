import { dirname } from 'node:path';
import type { MessagePort } from 'node:worker_threads';
import type { RepriseError } from '../../../errors.ts';
import { failure } from '../../../messages/failure.ts';
import { quoted } from '../../../messages/quoted.ts';
import { TranscriptFiles } from '../../jsonl/transcript-files.ts';
import type { SearchQuery } from '../../port/search.ts';
import { Database } from '../database.ts';
import { FreeSpace } from '../free-space.ts';
import { meta } from '../identity.ts';
import { fileSource, journalSource } from '../read/lines.ts';
import { SCHEMA_VERSION } from '../schema.ts';
import { storeError } from '../store-error.ts';
import type { ThreadEvent, ThreadOptions, ThreadReply, ThreadRequest } from '../threads/protocol.ts';
import { StepRunner } from '../threads/steps.ts';
import { closePort, describe, park } from '../threads/thread-talk.ts';
import { searchSessions } from './search.ts';
import { Backlog } from './search-backlog.ts';
import { originOf, SearchFile } from './search-file.ts';
import { SearchIndex } from './search-index.ts';
import { Indexer, type IndexerContext } from './search-indexer.ts';
import { searchIndexed } from './search-lookup.ts';
import { searchPath } from './search-state.ts';

const POLL_MS = 100;
/**
 * Duration of a slice, and the pause after it: while a process writes, while none does, and while a caller waits for
 * the index.
 */
const SLICE_MS = 20;
const BUSY_SLICE_MS = 5;
const BUSY_PAUSE_MS = 150;
/**
 * While a process writes, a pause takes this many times the duration of the slice, so indexing uses a small share of
 * the CPU.
 */
const BUSY_REST = 40;
const LONGEST_PAUSE_MS = 2000;
const PAUSE_MS = 20;
const WAITED_FOR_PAUSE_MS = 1;
/** After a commit, the store counts as busy for this long. */
const QUIET_MS = 300;
/**
 * Interval of full comparisons. They find changes that recent sessions do not show: purged sessions and clocks set
 * back.
 */
const FULL_LOOK_MS = 10_000;
const REST_MS = 1000;
/** Log size that forces a checkpoint even while a process writes. */
const MAX_LOG_BYTES = 64 * 1024 * 1024;

/**
 * The work of the search thread, which starts for a search or when something must be indexed. No write ever waits for
 * it: it reads control.db like any reader and writes only search.db.
 */
export function searchWork(port: MessagePort, options: ThreadOptions): void {
  const { path, home, durability } = options;
  const db = new Database({ path, durability, readOnly: true });
  const source = home === undefined ? journalSource(db) : fileSource(db, new TranscriptFiles(home));
  const isNewer = Number(meta(db, 'schema')) > SCHEMA_VERSION;
  const file = new SearchFile(searchPath(path), () => originOf(path));
  const index = new SearchIndex(file);
  const backlog = new Backlog(db, file, index);
  const context: IndexerContext = { db, source, file, index, backlog };
  const indexer = new Indexer(context);
  const space = new FreeSpace(dirname(path), options.minFreeBytes);
  const steps = new StepRunner();
  const tell = (event: ThreadEvent): void => port.postMessage(event);
  const answer = (n: number, value?: unknown): void =>
    port.postMessage([{ n, ok: true, value }] satisfies ThreadReply[]);
  const refuse = (n: number, error: unknown): void =>
    port.postMessage([{ n, ok: false, error: describe(storeError(error)) }] satisfies ThreadReply[]);

  let waiting: number[] = [];
  /** Requests that wait until the index has no text of sessions that no longer exist. */
  let forgetting: number[] = [];
  let timer: NodeJS.Timeout | undefined;
  let version = db.dataVersion();
  let changedAt = Number.NEGATIVE_INFINITY;
  let fullAt = performance.now();
  /** Whether nothing has changed since the last full comparison. */
  let isCompared = true;
  let told: string | undefined;

  const schedule = (ms: number): void => {
    clearTimeout(timer);
    timer = setTimeout(slice, ms);
  };

  /** Reports the reason why the index makes no progress, whenever it changes. */
  const tellProblem = (problem: string | undefined): void => {
    if (problem !== told) tell({ event: 'index-problem', problem });
    told = problem;
  };

  function slice(): void {
    const startedAt = performance.now();
    const isBusy = startedAt - changedAt < QUIET_MS;
    const { freeBytes, minFreeBytes } = space.look();
    let hasMore = false;
    try {
      // The index can be rebuilt, so it must not use the last free space.
      if (freeBytes >= minFreeBytes) hasMore = indexer.work(startedAt + (isBusy ? BUSY_SLICE_MS : SLICE_MS));
      // A checkpoint syncs the disk, which slows down writers, so it waits for a quiet moment.
      if (!isBusy || file.logBytes > MAX_LOG_BYTES) file.settleLog();
      tellProblem(freeBytes >= minFreeBytes ? file.problem : 'too little space on the disk');
    } catch (error) {
      tellProblem(storeError(error).message);
    }
    // If their text cannot be removed (too little space, for example), discard the whole index; it is rebuilt later.
    if (forgetting.length > 0 && !hasMore && indexer.hasRemains) file.discard();
    if (!hasMore || !indexer.hasRemains) {
      for (const n of forgetting) answer(n);
      forgetting = [];
    }
    if (!hasMore && backlog.next() === undefined) {
      for (const n of waiting) answer(n);
      waiting = [];
    }
    if (!hasMore) schedule(REST_MS);
    else if (waiting.length + forgetting.length > 0) schedule(WAITED_FOR_PAUSE_MS);
    else schedule(isBusy ? restAfter(performance.now() - startedAt) : PAUSE_MS);
  }

  const poll = setInterval(() => {
    if (!db.tend()) return;
    const now = performance.now();
    try {
      const current = db.dataVersion();
      if (current !== version) {
        version = current;
        changedAt = now;
        isCompared = false;
      }
      if (isCompared || now - fullAt < FULL_LOOK_MS) return;
      fullAt = now;
      isCompared = true;
      backlog.look({ full: true });
    } catch {
      // The connection is being reopened. The next poll tries again.
    }
  }, POLL_MS);
  if (!isNewer) schedule(0);

  port.on('message', ({ n, op, args }: ThreadRequest) => {
    if (op === 'search') {
      const query = args as SearchQuery;
      steps.run({
        steps: isNewer ? searchSessions(db, source, query) : searchIndexed(context, query),
        done: (value) => answer(n, value),
        failed: (error) => refuse(n, error),
      });
    } else if (op === 'reindex') {
      if (isNewer) {
        answer(n);
        return;
      }
      file.discard();
      backlog.look({ full: true });
      waiting.push(n);
      schedule(0);
    } else if (op === 'forget') {
      backlog.look({ full: true });
      forgetting.push(n);
      schedule(0);
    } else if (op === 'park') park(() => answer(n), args as Int32Array);
    else if (op === 'close') {
      clearInterval(poll);
      clearTimeout(timer);
      steps.stop();
      for (const one of [...waiting, ...forgetting]) refuse(one, closed());
      file.close();
      db.close();
      answer(n);
      closePort(port);
    } else refuse(n, failure('INVALID_INPUT', 'store.unknownOperation', { operation: quoted(op) }));
  });
}

/** If a slice took long, other work needs the CPU too, so the pause grows. */
function restAfter(tookMs: number): number {
  return Math.min(LONGEST_PAUSE_MS, Math.max(BUSY_PAUSE_MS, BUSY_REST * tookMs));
}

function closed(): RepriseError {
  return failure('STORE_FAILED', 'store.closed', {}, { outcome: 'none' });
}
