import type { RepriseError } from '../../../errors.ts';
import { agentOfKey } from '../../../keys/session-key.ts';
import { failure } from '../../../messages/failure.ts';
import type { RebuildProgress } from '../../port/store.ts';
import type { Database } from '../../sqlite/database.ts';
import { isSurveyed, markSurveyed } from '../../sqlite/identity.ts';
import { dropIfReplaced, takeHeader } from '../../sqlite/read/survey.ts';
import { findIgnoringCase } from '../../sqlite/session-row.ts';
import { activeSession } from '../../sqlite/write/sessions.ts';
import type { ConvlogCatchUp } from '../channel-log/convlog-catch-up.ts';
import { agentsIn, type Folder, listFolder, type Owner, removeHalves } from '../folders.ts';
import type { Follower } from '../follower.ts';
import { standingAt, type TranscriptFiles } from '../transcript-files.ts';
import { Adoption } from './adoption.ts';
import type { Need } from './needs.ts';

export interface CatchUpOptions {
  readonly db: Database;
  /** These four are unset for a store without transcripts. */
  readonly home?: string | undefined;
  readonly files?: TranscriptFiles | undefined;
  readonly follower?: Follower | undefined;
  readonly convlogs?: ConvlogCatchUp | undefined;
  readonly durability: 'disk' | 'os';
}

const NEXT_UNREAD = 'SELECT id, agent_id FROM sessions WHERE seq = 0';

/**
 * Synchronizes the index with the transcripts in steps: names of files, headers of unknown files, their lines, and
 * the sizes of known files. Each step checks under the lock whether it is still needed, so several processes can work
 * at once, and another process continues after one was killed.
 */
export class CatchUp {
  readonly #options: CatchUpOptions;
  readonly #db: Database;
  /** Transcripts that are being read in parts. */
  readonly #adoptions: Map<string, Adoption> = new Map();
  /** Transcripts that the disk could not read. A new request tries them again. */
  readonly #failed: Map<string, RepriseError> = new Map();
  #agents: string[] | undefined;
  #folders: Map<string, Folder> = new Map();
  /** Ids in lower case of files with unread headers. */
  #unknown: Map<string, Owner> = new Map();
  #taken = 0;
  #isTrusted = true;

  constructor(options: CatchUpOptions) {
    this.#options = options;
    this.#db = options.db;
  }

  /** Whether the disk failed to return a file. */
  get hasFailed(): boolean {
    return this.#failed.size > 0 || this.#options.convlogs?.hasFailed === true;
  }

  /** Whether the names of all files are known. */
  get hasNames(): boolean {
    return this.#options.home === undefined || this.#agents?.length === 0;
  }

  /** Whether all headers were read, or could not be read. */
  get hasHeaders(): boolean {
    return this.hasNames && [...this.#folders.values()].every(({ unknown }) => unknown.length === 0);
  }

  /** @returns `undefined` if nothing has to be read again. */
  progress(): RebuildProgress | undefined {
    const unread = this.#db.row<{ n: number }>('SELECT count(*) AS n FROM sessions WHERE seq = 0')?.n ?? 0;
    const { convlogs } = this.#options;
    const left = this.#unknown.size + unread + (convlogs?.left() ?? 0);
    const done = this.#taken + (convlogs?.taken ?? 0);
    return left === 0 ? undefined : { done, total: done + left, listed: done + left - this.#unknown.size };
  }

  /** Reads the names of all files, one folder at a time. @returns true when all are known. */
  list(until: number): boolean {
    const { home } = this.#options;
    if (home === undefined) return true;
    if (this.#agents === undefined) {
      this.#agents = agentsIn(home);
      this.#isTrusted = isSurveyed(this.#db);
    }
    while (this.#agents.length > 0 && performance.now() < until) {
      const agentId = this.#agents.pop() ?? '';
      const folder = listFolder(this.#db, home, agentId);
      this.#folders.set(agentId, folder);
      removeHalves(folder.halves);
      this.#options.convlogs?.list(agentId);
      for (const id of folder.unknown) this.#unknown.set(id.toLowerCase(), { id, agentId });
    }
    return this.#agents.length === 0;
  }

  /** Called at the end of a transaction: checks files that were not as recorded. */
  settle(isOver: boolean): void {
    if (this.#options.follower?.hasWork === true) this.#options.follower.followAll();
    if (isOver && !this.#isTrusted && !this.hasFailed) markSurveyed(this.#db);
  }

  /**
   * Takes one step towards what a request needs. @returns true when it is ready; throws if it cannot be made ready.
   */
  advance({
    id,
    andItsKey = false,
    key,
    keys = [],
    all = false,
    headers = false,
    chats = [],
  }: Need): boolean {
    const { convlogs } = this.#options;
    if (headers && this.#advanceHeaders()) return false;
    if (convlogs !== undefined && !chats.every((chat) => convlogs.advance(chat))) return false;
    if (id !== undefined && !this.#advanceSession(id, andItsKey)) return false;
    if (key !== undefined && !this.#advanceKey(key)) return false;
    for (const one of keys) if (!this.#advanceKey(one)) return false;
    return !all || !this.advanceAll();
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
    if (!this.#compare({ id: row.id, agentId: row.agent_id })) return false;
    return !andKey || this.#advanceKey(row.key);
  }

  #advanceKey(key: string): boolean {
    const agentId = agentOfKey(key);
    const folder = this.#folders.get(agentId);
    if (folder !== undefined) {
      if (this.#nextHeader(folder)) return false;
      if (!this.#isTrusted && (this.#nextSize(folder) || this.#retryHeader(key, agentId))) return false;
    }
    // A session without a key in its header has it in its lines.
    const row = this.#db.row<{ id: string; agent_id: string }>(
      `${NEXT_UNREAD} AND (key = ? OR (key = '' AND agent_id = ?)) LIMIT 1`,
      key,
      agentId,
    );
    if (row === undefined) return true;
    this.#adopt({ id: row.id, agentId: row.agent_id }, true);
    return false;
  }

  /** Takes one step of the remaining work. @returns false when nothing is left to do. */
  advanceAll(): boolean {
    if (this.#advanceHeaders()) return true;
    const unread = this.#db
      .rows<{ id: string; agent_id: string }>(`${NEXT_UNREAD} LIMIT ?`, this.#failed.size + 1)
      .find(({ id }) => !this.#failed.has(id));
    if (unread !== undefined) {
      this.#adopt({ id: unread.id, agentId: unread.agent_id }, false);
      return true;
    }
    for (const folder of this.#folders.values()) if (this.#nextSize(folder)) return true;
    return this.#options.convlogs?.advanceAll() ?? false;
  }

  #advanceHeaders(): boolean {
    for (const folder of this.#folders.values()) if (this.#nextHeader(folder)) return true;
    return false;
  }

  #nextHeader({ agentId, unknown }: Folder): boolean {
    const id = unknown.pop();
    if (id === undefined) return false;
    if (this.#unknown.has(id.toLowerCase())) this.#takeHeader({ id, agentId }, false);
    return true;
  }

  /**
   * A header that cannot be read may belong to any key of its agent. So while the index is incomplete, a key without
   * an active session waits for it; otherwise its conversation would continue in a new, empty session.
   * @returns whether a header was read that an earlier attempt could not read; throws if it still cannot be read.
   */
  #retryHeader(key: string, agentId: string): boolean {
    const unread = [...this.#unknown.values()].find((owner) => owner.agentId === agentId);
    if (unread === undefined || activeSession(this.#db, key) !== undefined) return false;
    this.#takeHeader(unread, true);
    return true;
  }

  #takeHeader(owner: Owner, isAsked: boolean): void {
    const { files } = this.#options;
    if (files === undefined) return;
    try {
      this.#db.attempt(() => takeHeader(this.#db, files, owner));
      this.#unknown.delete(owner.id.toLowerCase());
      this.#failed.delete(owner.id);
    } catch (error) {
      const failure = fromDisk(error, owner);
      // One unreadable file must not block the others; a request for this file gets the error.
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

  /**
   * Marks a file whose size differs from the recorded one; the follower checks it at the end of the slice.
   * @returns false if a damaged transcript was replaced and must be read again first.
   */
  #compare({ id, agentId }: Owner): boolean {
    const { files, follower } = this.#options;
    const row = this.#db.row<{ file_size: number; corrupt_at: number | null }>(
      'SELECT file_size, corrupt_at FROM sessions WHERE id = ? AND seq > 0',
      id,
    );
    if (row === undefined || files === undefined) return true;
    if (row.corrupt_at === 0 && dropIfReplaced(this.#db, files, { id, agentId })) {
      this.#takeHeader({ id, agentId }, false);
      return false;
    }
    const found = standingAt(files.path(agentId, id));
    const size = found.kind === 'file' ? found.size : 0;
    if (size !== row.file_size) follower?.lookInto(id);
    return true;
  }

  #adopt(owner: Owner, isAsked: boolean): void {
    const { id } = owner;
    const adoption = this.#adoptions.get(id) ?? new Adoption(owner, this.#options);
    this.#adoptions.set(id, adoption);
    try {
      if (!this.#db.attempt(() => adoption.step())) return;
      this.#taken++;
      this.#failed.delete(id);
      this.#options.follower?.lookInto(id);
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

  /** Drops all state in memory, because the transaction was rolled back or the files may have changed. */
  forget(): void {
    for (const adoption of this.#adoptions.values()) adoption.close();
    this.#adoptions.clear();
    this.#failed.clear();
    this.#agents = undefined;
    this.#folders = new Map();
    this.#unknown = new Map();
    this.#options.convlogs?.forget();
  }
}

/** A disk error concerns one transcript; any other error concerns the whole store. */
function fromDisk(error: unknown, { id }: Owner): RepriseError {
  const { syscall, code } = error as NodeJS.ErrnoException;
  if (syscall === undefined) throw error;
  return failure(
    'STORE_FAILED',
    'session.unreadable',
    { id, reason: code ?? String(error) },
    { cause: error, outcome: 'none', details: { id, code } },
  );
}
