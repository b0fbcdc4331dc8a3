import type { StoredEntry } from '../port/store.ts';
import { EPOCH_JUMP } from '../rules/epoch-jump.ts';
import type { SessionState } from '../rules/session-state.ts';

/** What a file is like; a store without files has none. */
export interface FileStamp {
  readonly inode: number;
  readonly size: number;
  readonly changedAt: number;
}

/** What tells whether kept entries are still those of the session. */
type TailRow = Pick<SessionState, 'id' | 'epoch' | 'corrupt_at'> & { readonly file_size: number };

/** The lines of one session from one seq to another. */
export interface Tail {
  readonly from: number;
  readonly to: number;
  readonly bytes: number;
}

/** As they were read. */
export interface WarmTail extends Tail {
  readonly entries: readonly StoredEntry[];
}

interface Stamped {
  /** Of the transcript when it was as recorded, and the size recorded then. */
  readonly stamp: FileStamp | undefined;
  readonly fileSize: number;
  readonly epoch: number;
  readonly usedAt: number;
}

type Kept<T> = T & Stamped;

export const DEFAULT_CACHE_TTL_MS = 45_000;
const MAX_BYTES = 64 * 1024 * 1024;

/**
 * Keeps what `tail` read for sessions in use. Time only makes it forget: an entry never changes once it has a
 * seq and its epoch goes on, so what is kept is right for as long as the row says the same seqs and the file is the one it was read from.
 */
export class TailCache<T extends Tail = WarmTail> {
  readonly #ttlMs: number;
  /** Least recently used first. */
  readonly #kept: Map<string, Kept<T>> = new Map();
  #bytes = 0;
  #timer: NodeJS.Timeout | undefined;

  constructor(ttlMs: number) {
    this.#ttlMs = ttlMs;
  }

  /** What is kept of this session, if its transcript is still the one it was read from. */
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
    // A file that is being written has no time worth comparing; the next look at it gives one.
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
 * A jump of the epoch tells of lines that were lost: their numbers were given again. It leads so far on from the last one
 * that was known, or to where the next stretch of that length begins, however near that is.
 */
function isJump(from: number, to: number): boolean {
  return to - from >= EPOCH_JUMP || Math.floor(to / EPOCH_JUMP) !== Math.floor(from / EPOCH_JUMP);
}

/** A file that grew as its row says is the same file; one that is another, was cut, or changed in place is not. */
function isSameFile({ stamp: kept, fileSize }: Stamped, row: TailRow, now: FileStamp | undefined): boolean {
  if (kept === undefined || now === undefined) return (now?.size ?? 0) >= row.file_size;
  if (now.inode !== kept.inode || now.size < row.file_size) return false;
  return now.size !== fileSize || now.changedAt === kept.changedAt;
}
