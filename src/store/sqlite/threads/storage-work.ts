import { dirname } from 'node:path';
import type { MessagePort } from 'node:worker_threads';
import type { RepriseError } from '../../../errors.ts';
import { BlobFiles } from '../../jsonl/blob-files.ts';
import { ConvlogCatchUp } from '../../jsonl/channel-log/convlog-catch-up.ts';
import { ConvlogFiles } from '../../jsonl/channel-log/convlog-files.ts';
import { ConvlogFollower } from '../../jsonl/channel-log/convlog-follower.ts';
import { stampFolders } from '../../jsonl/folder-stamps.ts';
import { agentsIn, unknownIn } from '../../jsonl/folders.ts';
import { Follower } from '../../jsonl/follower.ts';
import { foreignLocksIn } from '../../jsonl/foreign-lock.ts';
import { needsOf } from '../../jsonl/recovery/needs.ts';
import { Rebuild } from '../../jsonl/recovery/rebuild.ts';
import { SessionsJson } from '../../jsonl/sessions-json.ts';
import { standingAt, TranscriptFiles } from '../../jsonl/transcript-files.ts';
import type { StoreStats } from '../../port/store.ts';
import { createClock } from '../../shared/clock.ts';
import { currentHolder, type Holder } from '../../shared/holder.ts';
import { type ControlFile, noteDamage, openAsItIs, openControl } from '../control-file.ts';
import { unfinishedCopy } from '../copy/transfer-state.ts';
import { Database } from '../database.ts';
import { FreeSpace } from '../free-space.ts';
import { blobRows } from '../read/blobs.ts';
import { fileSource, journalSource } from '../read/lines.ts';
import { Reader } from '../read/reader.ts';
import type { HomeView } from '../read/scan.ts';
import { inspectStranger } from '../read/survey.ts';
import type { BatchContext } from '../write/batch.ts';
import { Erasure } from '../write/erasure.ts';
import { LeaseKeeper } from '../write/lease-keeper.ts';
import { dropLeases } from '../write/leases.ts';
import { Listed } from '../write/listed.ts';
import { OldBodies } from '../write/old-bodies.ts';
import { RowCache } from '../write/row-cache.ts';
import { WRITE_OPS, type WriteOp } from '../write/write-ops.ts';
import { type WriteOutcome, Writer } from '../write/writer.ts';
import { Looks } from './looks.ts';
import type { ThreadEvent, ThreadOptions, ThreadReply, ThreadRequest } from './protocol.ts';
import { closePort, describe, park } from './thread-talk.ts';

const SWEEP_MS = 1000;
const POLL_MS = 100;

/**
 * The work of a storage thread; the main thread never waits for a disk (P7). A `writer` has the read-write
 * connection, the leases and the transcripts; a `reader` answers queries; `both` is a store in memory with a single
 * connection.
 */
export function storageWork(port: MessagePort, options: ThreadOptions): void {
  const { path, home, role, durability, engineId } = options;
  const { db, refusal }: ControlFile =
    role === 'reader'
      ? { db: new Database({ path, durability, readOnly: true }) }
      : options.readOnly === true
        ? openAsItIs(options)
        : openControl(options);
  const self = currentHolder(engineId);
  const files = home === undefined ? undefined : new TranscriptFiles(home);
  const source = files === undefined ? journalSource(db) : fileSource(db, files);
  const blobs = files === undefined ? blobRows(db) : new BlobFiles(files);
  let follower: Follower | undefined;
  let sessionsJson: SessionsJson | undefined;
  const view: HomeView | undefined =
    home === undefined || files === undefined
      ? undefined
      : {
          standing: ({ agent_id, id }) => standingAt(files.path(agent_id, id)),
          unknownFiles: () => agentsIn(home).flatMap((agentId) => unknownIn(db, home, agentId)),
          inspect: ({ agentId, id }) => inspectStranger(files.path(agentId, id), id),
          locks: () => foreignLocksIn(home),
          problems: () => follower?.problems ?? [],
        };
  const { cacheTtlMs } = options;
  const frozen = options.readOnly === true;
  const looks = new Looks(new Reader({ db, source, blobs, self, home: view, cacheTtlMs, path, frozen }));
  const space = path === ':memory:' ? undefined : new FreeSpace(dirname(path), options.minFreeBytes);
  const tell = (event: ThreadEvent): void => port.postMessage(event);
  const replyTo = (n: number, outcome: WriteOutcome): ThreadReply => {
    if (outcome.ok) return { n, ok: true, value: outcome.value };
    if (options.readOnly !== true) noteDamage(path, outcome.error);
    return { n, ok: false, error: describe(outcome.error) };
  };
  const answer = (n: number, outcome: WriteOutcome): void =>
    port.postMessage([replyTo(n, outcome)], outcome.ok ? buffersOf(outcome.value) : []);

  const withSpace = (op: string, outcome: WriteOutcome): WriteOutcome =>
    op === 'stats' && outcome.ok && space !== undefined
      ? { ok: true, value: { ...(outcome.value as StoreStats), disk: space.look() } }
      : outcome;

  const look = (n: number, op: string, args: unknown): void =>
    looks.look(op, args, (outcome) => answer(n, withSpace(op, outcome)));

  let version = db.dataVersion();
  /** Call it often. Detects commits of other connections and moved files. @returns whether a connection is open. */
  const watchOthers = (): boolean => {
    if (!db.tend()) return false;
    try {
      const current = db.dataVersion();
      if (current !== version) {
        tell({ event: 'changed', sessions: null });
        sessionsJson?.noteOthers();
      }
      version = current;
    } catch {
      // The connection is being reopened. The next poll tries again.
    }
    return true;
  };

  if (role === 'reader' || refusal !== undefined) {
    // Read-only: the store is of a newer version, or the caller asked for it. Nothing is followed, synced, rebuilt or
    // indexed.
    const timer = setInterval(refusal === undefined ? () => db.tend() : watchOthers, POLL_MS);
    if (refusal !== undefined) tell({ event: 'rebuilt' });
    port.on('message', ({ n, op, args }: ThreadRequest) => {
      if (op === 'park') park(() => answer(n, DONE), args as Int32Array);
      else if (op === 'close') {
        clearInterval(timer);
        looks.close();
        db.close();
        answer(n, DONE);
        closePort(port);
      } else if (refusal === undefined || !(op in WRITE_OPS)) look(n, op, args);
      else answer(n, op === 'damaged' ? DONE : { ok: false, error: refusal });
    });
    return;
  }

  const now = createClock(options.now);
  const context: BatchContext = {
    db,
    self,
    now,
    source,
    rows: new RowCache(db),
    blobs,
    space,
    obstacle: (id) => follower?.obstacle(id),
  };
  if (files !== undefined) follower = new Follower(context, files);
  const logFiles = home === undefined ? undefined : new ConvlogFiles(home);
  const logs = logFiles === undefined ? undefined : new ConvlogFollower(db, logFiles);
  let replies: ThreadReply[] = [];
  if (home !== undefined)
    sessionsJson = new SessionsJson({
      ...{ db, home },
      isReady: () => rebuild.isOver,
      onEdited: (file) => tell({ event: 'edited', file }),
    });
  const erasure = new Erasure({ db, path, files, logFiles, sessionsJson });
  // Finish interrupted purges before their files could be read back.
  erasure.tend();
  const writer = new Writer(context, { follower, erasure }, ({ sessions, inbox }) => {
    if (replies.length > 0) port.postMessage(replies);
    replies = [];
    if (sessions.length > 0 || inbox !== undefined) tell({ event: 'changed', sessions, inbox });
    if (sessions.length > 0) sessionsJson?.noteChange();
  });
  const { leases: held = [] } = options;
  // A lease granted by the dead thread may never have reached its caller; release all leases that the main thread
  // does not know.
  if (options.leases !== undefined) db.transaction(() => dropLeases(db, self, { but: held }));
  const leases = new LeaseKeeper(writer, held, ({ id, epoch }) =>
    tell({ event: 'lost', session: id, epoch }),
  );

  const oldBodies = new OldBodies(db);
  const listed = new Listed(db);
  const sweep = (): void => {
    space?.look();
    void logs?.sync();
    erasure.tend();
    try {
      // An unfinished copy cannot be compared with its files.
      if (unfinishedCopy(db) === undefined)
        oldBodies.drop(options.now === undefined ? Date.now() : Date.parse(options.now));
      listed.bringUp();
      if (follower === undefined) return;
      db.transaction(
        () => {
          follower?.adoptLeftovers();
          follower?.followAll();
          follower?.sync();
        },
        { lazy: true },
      );
    } catch {
      // Locked, full or failing. The next sweep tries again; nothing is lost.
    }
  };
  const poll = (): void => {
    leases.beat();
    if (watchOthers()) logs?.tend();
  };
  if (follower !== undefined) {
    follower.adoptLeftovers();
    writer.followNow();
  }
  const rebuild = new Rebuild({
    db,
    home,
    files,
    follower,
    convlogs:
      home === undefined || logFiles === undefined || logs === undefined
        ? undefined
        : new ConvlogCatchUp({ db, home, files: logFiles, follower: logs }),
    durability,
    onOver: () => tell({ event: 'rebuilt' }),
    onFailure: (error) => noteDamage(path, error),
  });
  /** Delays work until the transcripts it needs were read. Outside a rebuild it runs at once. */
  const whenReady = (n: number, op: string, args: unknown, work: () => void): void => {
    const need = rebuild.isOver ? undefined : needsOf(op, args);
    const go = (error?: RepriseError): void =>
      error === undefined ? work() : answer(n, { ok: false, error });
    if (need === undefined) go();
    else rebuild.whenReady(need, go);
  };
  const timers = [setInterval(sweep, SWEEP_MS), setInterval(poll, POLL_MS)];

  port.on('message', ({ n, op, args }: ThreadRequest) => {
    if (op === 'close') {
      for (const timer of timers) clearInterval(timer);
      looks.close();
      const isComplete = rebuild.isOver;
      rebuild.stop();
      writer.finish();
      sweep();
      sweep();
      logs?.close();
      files?.close();
      if (home !== undefined && files !== undefined && isComplete && db.tend()) {
        sessionsJson?.close();
        rememberFolders(db, { home, files });
      } else sessionsJson?.stop();
      writer.forgetCommits();
      letGoOfLeases(db, self);
      db.close();
      answer(n, DONE);
      // Nothing is left to wait for, so the thread ends by itself; `terminate` is only for emergencies.
      closePort(port);
    } else if (op === 'park') park(() => answer(n, DONE), args as Int32Array);
    else if (op in WRITE_OPS) {
      const done = (outcome: WriteOutcome): void => {
        leases.note(op, args, outcome);
        replies.push(replyTo(n, outcome));
      };
      whenReady(n, op, args, () => writer.submit({ op: op as WriteOp, args, done }));
    } else if (op === 'progress') {
      whenReady(n, op, args, () => answer(n, { ok: true, value: rebuild.progress() }));
    } else if (op === 'prepare') {
      const asked = args as { readonly op: string; readonly args: unknown };
      whenReady(n, asked.op, asked.args, () => answer(n, DONE));
    } else look(n, op, args);
  });
}

const DONE: WriteOutcome = { ok: true, value: undefined };

/** Also releases leases that were held because a message waits, so the next process can run it at once. */
function letGoOfLeases(db: Database, self: Holder): void {
  try {
    db.transaction(() => dropLeases(db, self, { but: [] }), { lazy: true });
  } catch {
    // Other processes notice the missing heartbeat.
  }
}

/** An optimization: without it, the next list has to read the names of all files. */
function rememberFolders(db: Database, place: Parameters<typeof stampFolders>[1]): void {
  try {
    stampFolders(db, place);
  } catch {
    // Locked, full or failing. The store closes anyway.
  }
}

/** A buffer that is returned alone was created for the answer, so it is transferred instead of copied. */
function buffersOf(value: unknown): ArrayBuffer[] {
  const isAlone =
    value instanceof Uint8Array &&
    value.buffer instanceof ArrayBuffer &&
    value.byteLength === value.buffer.byteLength;
  return isAlone ? [value.buffer as ArrayBuffer] : [];
}
