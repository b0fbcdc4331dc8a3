import type { StoredEntry } from '../port/store.ts';
import { EPOCH_JUMP } from '../rules/epoch-jump.ts';
import type { SessionState } from '../rules/session-state.ts';

/** Identifies the state of a transcript file. Undefined in stores without files. */
export interface FileStamp {
  readonly inode: number;
  readonly size: number;
  readonly changedAt: number;
}

/** The columns that show whether cached entries still belong to the session. */
type TailRow = Pick<SessionState, 'id' | 'epoch' | 'corrupt_at'> & { readonly file_size: number };

/** A range of lines of one session, by seq. */
export interface Tail {
  readonly from: number;
  readonly to: number;
  readonly bytes: number;
}

/** A tail with its parsed entries. */
export interface WarmTail extends Tail {
  readonly entries: readonly StoredEntry[];
}

interface Stamped {
  /** Stamp of the transcript file when its size matched the row, and that size. */
  readonly stamp: FileStamp | undefined;
  readonly fileSize: number;
  readonly epoch: number;
  readonly usedAt: number;
}

type Kept<T> = T & Stamped;

export const DEFAULT_CACHE_TTL_MS = 45_000;
const MAX_BYTES = 64 * 1024 * 1024;

/**
 * Caches what `tail` read for sessions in use. An entry never changes once it has a seq, so the cache stays valid
 * while the row's seqs and epoch continue without a jump and the file is the one that was read. The TTL only frees
 * memory.
 */
export class TailCache<T extends Tail = WarmTail> {
  readonly #ttlMs: number;
  /** In order of use, the least recently used first. */
  readonly #kept: Map<string, Kept<T>> = new Map();
  #bytes = 0;
  #timer: NodeJS.Timeout | undefined;

  constructor(ttlMs: number) {
    this.#ttlMs = ttlMs;
  }

  /** The cached tail of this session, if its transcript is still the one that was read. */
  find(row: TailRow, stamp: FileStamp | undefined): T | undefined {
    const kept = this.#kept.get(row.id);
    if (kept === undefined) return undefined;
    const isGoingOn = row.corrupt_at === null && !isJump(kept.epoch, row.epoch);
    if (isGoingOn && isSameFile(kept, row, stamp)) return kept;
    this.forget(row.id);
    return undefined;
  }

  keep(row: TailRow, tail: T, stamp: FileStamp | undefined): void {
    const isRecorded = stamp?.size === row.file_size;
    const before = this.#kept.get(row.id);
    this.forget(row.id);
    if (this.#ttlMs <= 0 || tail.bytes > MAX_BYTES / 4) return;
    // While the file is being written, its time is not worth comparing. The next read gets one.
    const known = isRecorded
      ? { stamp, fileSize: row.file_size }
      : (before ?? { stamp: undefined, fileSize: 0 });
    const { stamp: keptStamp, fileSize } = known;
    this.#kept.set(row.id, {
      ...tail,
      stamp: keptStamp,
      fileSize,
      epoch: row.epoch,
      usedAt: performance.now(),
    });
    this.#bytes += tail.bytes;
    for (const id of this.#kept.keys()) {
      if (this.#bytes <= MAX_BYTES) break;
      this.forget(id);
    }
    this.#timer ??= setTimeout(() => this.#expire(), this.#ttlMs).unref();
  }

  forget(id: string): void {
    this.#bytes -= this.#kept.get(id)?.bytes ?? 0;
    this.#kept.delete(id);
  }

  #expire(): void {
    this.#timer = undefined;
    const now = performance.now();
    for (const [id, { usedAt }] of this.#kept) {
      if (usedAt + this.#ttlMs > now) {
        this.#timer = setTimeout(() => this.#expire(), usedAt + this.#ttlMs - now).unref();
        return;
      }
      this.forget(id);
    }
  }
}

/**
 * Whether the epoch jumped. A jump means that lines were lost and their numbers reused: recovery raises the epoch by
 * at least `EPOCH_JUMP` or to the next multiple of it, however close that is.
 */
function isJump(from: number, to: number): boolean {
  return to - from >= EPOCH_JUMP || Math.floor(to / EPOCH_JUMP) !== Math.floor(from / EPOCH_JUMP);
}

/**
 * Whether the file is still the one that was read: it may have grown as its row says, but it was not replaced, cut or
 * changed in place.
 */
function isSameFile({ stamp: kept, fileSize }: Stamped, row: TailRow, now: FileStamp | undefined): boolean {
  if (kept === undefined || now === undefined) return (now?.size ?? 0) >= row.file_size;
  if (now.inode !== kept.inode || now.size < row.file_size) return false;
  return now.size !== fileSize || now.changedAt === kept.changedAt;
}
