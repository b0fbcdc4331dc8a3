import { chmodSync, closeSync, openSync, statSync } from 'node:fs';
import { type MessagePort, parentPort, workerData } from 'node:worker_threads';
import { RepriseError } from '../../errors.ts';
import { Database, prepareSchema, storeError } from './database.ts';
import { Follower } from './follower.ts';
import { currentHolder } from './holder.ts';
import type { LeaseRef } from './leases.ts';
import { fileSource, journalSource } from './lines.ts';
import { Looks } from './looks.ts';
import type { ThreadEvent, ThreadOptions, ThreadReply, ThreadRequest } from './protocol.ts';
import { Reader } from './reader.ts';
import { adoptUnknownTranscripts, setAsideDamaged } from './rebuild.ts';
import { writeSessionsJson } from './sessions-json.ts';
import { DEFAULT_CACHE_TTL_MS } from './tail-cache.ts';
import { TranscriptFiles } from './transcript-files.ts';
import { WRITE_OPS, type WriteOp, type WriteOutcome, Writer } from './writer.ts';

/**
 * The thread that owns storage, so that the main thread never waits for a disk (P7). As `writer` it holds the
 * read-write connection, leases and transcripts; as `reader` it answers questions; as `both` it is a store that
 * lives in memory and has one connection only.
 */
const SWEEP_MS = 1000;
const POLL_MS = 100;

function start(port: MessagePort, options: ThreadOptions): void {
  const { path, home, role, durability, engineId } = options;
  const db = role === 'reader' ? new Database({ path, durability, readOnly: true }) : openControl(options);
  const self = currentHolder(engineId);
  const files = home === undefined ? undefined : new TranscriptFiles(home);
  const source = files === undefined ? journalSource(db) : fileSource(db, files);
  const looks = new Looks(new Reader(db, source, self, options.cacheTtlMs ?? DEFAULT_CACHE_TTL_MS));
  const reply = (message: ThreadReply | ThreadEvent, given: readonly ArrayBuffer[] = []): void =>
    port.postMessage(message, given);
  const answer = (n: number, outcome: WriteOutcome): void =>
    outcome.ok
      ? reply({ n, ok: true, value: outcome.value }, buffersOf(outcome.value))
      : reply({ n, ok: false, error: describe(outcome.error) });

  if (role === 'reader') {
    port.on('message', ({ n, op, args }: ThreadRequest) => {
      if (op !== 'close') {
        looks.look(op, args, (outcome) => answer(n, outcome));
        return;
      }
      looks.close();
      db.close();
      answer(n, { ok: true, value: undefined });
      port.close();
    });
    return;
  }

  const follower = files === undefined ? undefined : new Follower(db, files);
  const now = createClock(options.now);
  const writer = new Writer({ db, self, now, source }, follower, (sessions) =>
    reply({ event: 'changed', sessions }),
  );
  const leases = new Map<string, LeaseRef & { readonly ttlMs: number; due: number }>();

  const sweep = (): void => {
    if (follower === undefined) return;
    try {
      db.transaction(
        () => {
          follower.adoptLeftovers();
          follower.followAll();
          follower.sync();
        },
        { lazy: true },
      );
    } catch {
      // Locked, full or failing: nothing is lost by waiting for the next sweep.
    }
  };
  const beatLeases = (): void => {
    for (const lease of leases.values()) {
      if (performance.now() < lease.due) continue;
      lease.due = performance.now() + lease.ttlMs / 3;
      const { id, epoch } = lease;
      writer.submit({
        op: 'beat',
        args: { id, epoch },
        done: (outcome) => {
          if (!outcome.ok || outcome.value === true) return;
          leases.delete(`${id}:${epoch}`);
          reply({ event: 'lost', session: id, epoch });
        },
      });
    }
  };
  let version = db.dataVersion();
  const poll = (): void => {
    beatLeases();
    try {
      const current = db.dataVersion();
      if (current !== version) reply({ event: 'changed', sessions: null });
      version = current;
    } catch {
      // A connection that is being made anew cannot be asked; the next poll asks again.
    }
  };
  if (follower !== undefined) {
    follower.adoptLeftovers();
    writer.followNow();
  }
  if (home !== undefined && files !== undefined)
    db.transaction(() => adoptUnknownTranscripts(db, files, home));
  const timers = [setInterval(sweep, SWEEP_MS), setInterval(poll, POLL_MS)];

  const remember = (op: string, args: unknown, outcome: WriteOutcome): void => {
    if (!outcome.ok) return;
    if (op === 'acquire') {
      const { id, ttlMs } = args as { id: string; ttlMs: number };
      const { epoch } = outcome.value as { epoch: number };
      leases.set(`${id}:${epoch}`, { id, epoch, ttlMs, due: performance.now() + ttlMs / 3 });
    } else if (op === 'release' && outcome.value === null) {
      const { id, epoch } = args as LeaseRef;
      leases.delete(`${id}:${epoch}`);
    }
  };

  port.on('message', ({ n, op, args }: ThreadRequest) => {
    if (op === 'close') {
      for (const timer of timers) clearInterval(timer);
      looks.close();
      // Everything submitted before has been answered: the client waits for its calls before it closes.
      sweep();
      sweep();
      files?.close();
      if (home !== undefined) writeIndex(db, home);
      writer.forgetCommits();
      db.close();
      answer(n, { ok: true, value: undefined });
      // Nothing is left to wait for, so the thread ends by itself; being terminated is for emergencies.
      port.close();
    } else if (op in WRITE_OPS) {
      writer.submit({
        op: op as WriteOp,
        args,
        done: (outcome) => {
          remember(op, args, outcome);
          answer(n, outcome);
        },
      });
    } else looks.look(op, args, (outcome) => answer(n, outcome));
  });
}

/** A convenience for people; that it cannot be written is no reason to fail on closing. */
function writeIndex(db: Database, home: string): void {
  try {
    db.snapshot(() => writeSessionsJson(db, home));
  } catch (error) {
    if ((error as NodeJS.ErrnoException).syscall === undefined) throw error;
  }
}

/** Opens control.db for writing; one that is damaged is set aside and made anew from the transcripts. */
function openControl({ path, home, durability }: ThreadOptions): Database {
  if (path !== ':memory:') keepPrivate(path);
  try {
    const db = new Database({ path, durability });
    prepareSchema(db);
    return db;
  } catch (error) {
    const isDamaged = storeError(error).code === 'STORE_CORRUPT';
    if (!isDamaged || home === undefined) throw error;
    setAsideDamaged(path, home);
    keepPrivate(path);
    const db = new Database({ path, durability });
    prepareSchema(db);
    return db;
  }
}

/**
 * SQLite would make the file readable for everybody, and its side files take their mode from it. Made here only
 * when it is not there yet: closing a descriptor of a database in use would drop this process's locks on it.
 */
function keepPrivate(path: string): void {
  try {
    closeSync(openSync(path, 'wx', 0o600));
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== 'EEXIST') throw error;
    for (const suffix of ['', '-wal', '-shm']) {
      const mode = statSync(path + suffix, { throwIfNoEntry: false })?.mode ?? 0;
      if ((mode & 0o077) !== 0) chmodSync(path + suffix, 0o600);
    }
  }
}

/** Bytes that are answered alone were made for it: they are given away, not copied. */
function buffersOf(value: unknown): ArrayBuffer[] {
  return value instanceof Uint8Array && value.buffer instanceof ArrayBuffer ? [value.buffer] : [];
}

function describe({ code, message, details, outcome }: RepriseError): ThreadErrorShape {
  // Details may hold anything; only what JSON can say crosses threads.
  return {
    code,
    message,
    details: JSON.parse(JSON.stringify(details)) as ThreadErrorShape['details'],
    outcome,
  };
}

type ThreadErrorShape = Extract<ThreadReply, { ok: false }>['error'];

/** The wall clock, never backwards within one thread; or a fixed one that moves a millisecond with each entry. */
function createClock(fixed: string | undefined): () => string {
  let last = fixed === undefined ? 0 : Date.parse(fixed) - 1;
  return () => {
    last = fixed === undefined ? Math.max(last, Date.now()) : last + 1;
    return new Date(last).toISOString();
  };
}

const port = parentPort;
if (port === null) throw new RepriseError('INVALID_INPUT', 'this file runs as a worker thread');
try {
  start(port, workerData as ThreadOptions);
  port.postMessage({ event: 'ready' } satisfies ThreadEvent);
} catch (error) {
  port.postMessage({ event: 'failed', error: describe(storeError(error)) } satisfies ThreadEvent);
}
