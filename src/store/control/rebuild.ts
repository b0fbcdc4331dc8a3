import { RepriseError } from '../../errors.ts';
import { parseSessionKey } from '../../keys/session-key.ts';
import type { RebuildProgress } from '../store.ts';
import { Adoption } from './adoption.ts';
import { type Database, storeError } from './database.ts';
import type { Follower } from './follower.ts';
import { isSurveyed, markSurveyed } from './identity.ts';
import type { Need } from './needs.ts';
import { findIgnoringCase } from './session-row.ts';
import { agentsIn, type Folder, listFolder, type Owner, takeHeader } from './survey.ts';
import type { TranscriptFiles } from './transcript-files.ts';

export interface RebuildOptions {
  readonly db: Database;
  /** All three unset for a store without transcripts. */
  readonly home?: string | undefined;
  readonly files?: TranscriptFiles | undefined;
  readonly follower?: Follower | undefined;
  /** Everything is known and compared. */
  readonly onOver: () => void;
  /** A slice failed; it is tried again. */
  readonly onFailure: (error: RepriseError) => void;
}

interface Waiting {
  readonly need: Need;
  readonly done: ((error?: RepriseError) => void)[];
}

/** Work between two looks at the queue of requests, and the pause in which other processes get the lock. */
const SLICE_MS = 8;
const PAUSE_MS = 2;
const RETRY_MS = 1000;
const MAX_REST_MS = 60_000;
const NEXT_UNREAD = 'SELECT id, agent_id FROM sessions WHERE seq = 0';

/**
 * Makes the index agree with the transcripts, beside the work of the thread: names of files first, then the headers of
 * those the index does not know, then their lines, then the sizes of those it knows. Each slice is a short transaction of
 * its own. Whoever needs something before its turn has it done first, so nobody is told that a session or the active
 * session of a key does not exist while its transcript waits to be read. On an ordinary day all that is done is to
 * list folders and to compare sizes.
 *
 * Several processes may do it at once: every step looks under the lock whether it is still to be done.
 */
export class Rebuild {
  readonly #options: RebuildOptions;
  readonly #db: Database;
  readonly #waiting: Map<string, Waiting> = new Map();
  /** Transcripts being read a piece at a time. */
  readonly #adoptions: Map<string, Adoption> = new Map();
  /** Transcripts the disk did not give us. Asked for again, they are tried again. */
  readonly #failed: Map<string, RepriseError> = new Map();
  #agents: string[] | undefined;
  #folders: Map<string, Folder> = new Map();
  /** Ids in lower case of files whose header was not read. */
  #unknown: Map<string, Owner> = new Map();
  #taken = 0;
  #isTrusted = true;
  #isOver = false;
  #isResting = false;
  #restMs = RETRY_MS;
  #timer: NodeJS.Timeout | undefined;

  constructor(options: RebuildOptions) {
    this.#options = options;
    this.#db = options.db;
    this.#schedule(0);
  }

  get isOver(): boolean {
    return this.#isOver;
  }

  /** Unset while nothing has to be read again. */
  progress(): RebuildProgress | undefined {
    const left = this.#unknown.size + this.#countUnread();
    return left === 0 || this.#isOver ? undefined : { done: this.#taken, total: this.#taken + left };
  }

  whenReady(need: Need, done: (error?: RepriseError) => void): void {
    if (this.#isOver) {
      done();
      return;
    }
    const name = JSON.stringify(need);
    const waiting = this.#waiting.get(name);
    if (waiting !== undefined) waiting.done.push(done);
    else this.#waiting.set(name, { need, done: [done] });
    if (this.#isResting) this.#schedule(0);
  }

  stop(): void {
    clearTimeout(this.#timer);
    this.#isOver = true;
    this.#forget();
    this.#rejectAll(new RepriseError('STORE_FAILED', 'the store is closed', { outcome: 'none' }));
  }

  #schedule(delayMs: number): void {
    clearTimeout(this.#timer);
    this.#timer = setTimeout(() => this.#slice(), delayMs);
  }

  #slice(): void {
    const ready: Waiting[] = [];
    let hasMore = true;
    try {
      // A disk that did not give all is asked for all of it again; it may be well by now.
      if (this.#isResting && this.#waiting.size === 0) this.#forget();
      this.#isResting = false;
      if (this.#listNames()) hasMore = this.#db.transaction(() => this.#run(ready), { lazy: true });
    } catch (error) {
      const failure = storeError(error);
      // Nothing of the slice happened, whatever we remember of it: from the start, which costs little.
      this.#forget();
      this.#options.onFailure(failure);
      this.#rejectAll(failure);
      this.#rest();
      return;
    }
    this.#isOver = !hasMore && this.#failed.size === 0;
    // Only now: who is told may look at once, and with another connection.
    for (const { done } of ready) for (const tell of done) tell();
    if (this.#isOver) this.#options.onOver();
    else if (hasMore) this.#schedule(PAUSE_MS);
    else this.#rest();
  }

  #rest(): void {
    this.#isResting = true;
    this.#schedule(this.#restMs);
    this.#restMs = Math.min(2 * this.#restMs, MAX_REST_MS);
  }

  /** Names come first and cost one reading of each folder. True when all are known. */
  #listNames(): boolean {
    const { home } = this.#options;
    if (home === undefined) return true;
    if (this.#agents === undefined) {
      this.#agents = agentsIn(home);
      this.#isTrusted = isSurveyed(this.#db);
    }
    const until = performance.now() + SLICE_MS;
    while (this.#agents.length > 0 && performance.now() < until) {
      const agentId = this.#agents.pop() ?? '';
      const folder = listFolder(this.#db, home, agentId);
      this.#folders.set(agentId, folder);
      for (const id of folder.unknown) this.#unknown.set(id.toLowerCase(), { id, agentId });
    }
    return this.#agents.length === 0;
  }

  /** Inside a transaction. False when nothing is left to do. */
  #run(ready: Waiting[]): boolean {
    const until = performance.now() + SLICE_MS;
    let hasMore = true;
    while (hasMore && performance.now() < until) {
      const [name] = this.#waiting.keys();
      const waiting = name === undefined ? undefined : this.#waiting.get(name);
      if (name === undefined || waiting === undefined) {
        hasMore = this.#advanceAll();
        continue;
      }
      // To the back, so that a long transcript does not keep the others waiting.
      this.#waiting.delete(name);
      try {
        if (this.#advance(waiting.need)) ready.push(waiting);
        else this.#waiting.set(name, waiting);
      } catch (error) {
        if (!(error instanceof RepriseError)) throw error;
        for (const tell of waiting.done) setImmediate(tell, error);
      }
    }
    if (this.#options.follower?.hasWork === true) this.#options.follower.followAll();
    if (!hasMore && !this.#isTrusted && this.#failed.size === 0) markSurveyed(this.#db);
    return hasMore;
  }

  /** One step towards what is needed. True when it is there; throws what keeps it from being there. */
  #advance({ id, andItsKey = false, key, all = false }: Need): boolean {
    if (id !== undefined && !this.#advanceSession(id, andItsKey)) return false;
    if (key !== undefined && !this.#advanceKey(key)) return false;
    return !all || !this.#advanceAll();
  }

  #advanceSession(id: string, andKey: boolean): boolean {
    const row = findIgnoringCase(this.#db, id);
    if (row === undefined) {
      const owner = this.#unknown.get(id.toLowerCase());
      if (owner === undefined) return true;
      this.#takeHeader(owner, true);
      return false;
    }
    if (row.seq === 0) {
      this.#adopt({ id: row.id, agentId: row.agent_id }, true);
      return false;
    }
    this.#compare({ id: row.id, agentId: row.agent_id });
    return !andKey || this.#advanceKey(row.key);
  }

  #advanceKey(key: string): boolean {
    const parts = parseSessionKey(key);
    const agentId = parts.kind === 'global' ? 'main' : parts.agentId;
    const folder = this.#folders.get(agentId);
    if (folder !== undefined) {
      if (this.#nextHeader(folder)) return false;
      if (!this.#isTrusted && this.#nextSize(folder)) return false;
    }
    // One without a key in its header has it in its lines.
    const row = this.#db.row<{ id: string; agent_id: string }>(
      `${NEXT_UNREAD} AND (key = ? OR (key = '' AND agent_id = ?)) LIMIT 1`,
      key,
      agentId,
    );
    if (row === undefined) return true;
    this.#adopt({ id: row.id, agentId: row.agent_id }, true);
    return false;
  }

  /** False when nothing is left to do. */
  #advanceAll(): boolean {
    for (const folder of this.#folders.values()) if (this.#nextHeader(folder)) return true;
    const unread = this.#db
      .rows<{ id: string; agent_id: string }>(`${NEXT_UNREAD} LIMIT ?`, this.#failed.size + 1)
      .find(({ id }) => !this.#failed.has(id));
    if (unread !== undefined) {
      this.#adopt({ id: unread.id, agentId: unread.agent_id }, false);
      return true;
    }
    for (const folder of this.#folders.values()) if (this.#nextSize(folder)) return true;
    return false;
  }

  #nextHeader({ agentId, unknown }: Folder): boolean {
    const id = unknown.pop();
    if (id === undefined) return false;
    if (this.#unknown.has(id.toLowerCase())) this.#takeHeader({ id, agentId }, false);
    return true;
  }

  #takeHeader(owner: Owner, isAsked: boolean): void {
    const { files } = this.#options;
    if (files === undefined) return;
    try {
      this.#db.attempt(() => takeHeader(this.#db, files, owner));
      this.#unknown.delete(owner.id.toLowerCase());
    } catch (error) {
      const failure = fromDisk(error, owner);
      // One file the disk does not give is no reason to keep all others; who asks for it is told.
      if (isAsked) throw failure;
      this.#failed.set(owner.id, failure);
    }
  }

  #nextSize({ agentId, known }: Folder): boolean {
    const id = known.pop();
    if (id === undefined) return false;
    this.#compare({ id, agentId });
    return true;
  }

  /** A file that is not as long as recorded is looked into by the follower, at the end of the slice. */
  #compare({ id, agentId }: Owner): void {
    const { files, follower } = this.#options;
    const row = this.#db.row<{ file_size: number }>(
      'SELECT file_size FROM sessions WHERE id = ? AND seq > 0',
      id,
    );
    if (row === undefined || files === undefined) return;
    if (files.size(agentId, id) !== row.file_size) follower?.inspect([id]);
  }

  #adopt(owner: Owner, isAsked: boolean): void {
    const { id } = owner;
    const adoption = this.#adoptions.get(id) ?? new Adoption(this.#db, this.#options.files, owner);
    this.#adoptions.set(id, adoption);
    try {
      if (!this.#db.attempt(() => adoption.step())) return;
      this.#taken++;
      this.#failed.delete(id);
      this.#options.follower?.expect([id]);
    } catch (error) {
      const failure = fromDisk(error, owner);
      this.#failed.set(id, failure);
      if (isAsked) throw failure;
    } finally {
      if (this.#failed.has(id) || !this.#isUnread(id)) {
        adoption.close();
        this.#adoptions.delete(id);
      }
    }
  }

  #isUnread(id: string): boolean {
    return this.#db.row('SELECT 1 FROM sessions WHERE id = ? AND seq = 0', id) !== undefined;
  }

  #countUnread(): number {
    return this.#db.row<{ n: number }>('SELECT count(*) AS n FROM sessions WHERE seq = 0')?.n ?? 0;
  }

  #forget(): void {
    for (const adoption of this.#adoptions.values()) adoption.close();
    this.#adoptions.clear();
    this.#failed.clear();
    this.#agents = undefined;
    this.#folders = new Map();
    this.#unknown = new Map();
  }

  #rejectAll(error: RepriseError): void {
    const waiting = [...this.#waiting.values()];
    this.#waiting.clear();
    for (const { done } of waiting) for (const tell of done) tell(error);
  }
}

/** A failure of the disk concerns one transcript; anything else is the store's. */
function fromDisk(error: unknown, { id }: Owner): RepriseError {
  const { syscall, code } = error as NodeJS.ErrnoException;
  if (syscall === undefined) throw error;
  return new RepriseError(
    'STORE_FAILED',
    `the transcript of session ${id} cannot be read: ${code ?? 'unknown'}`,
    {
      cause: error,
      outcome: 'none',
      details: { id, code },
    },
  );
}
