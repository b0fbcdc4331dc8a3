import type { SearchProgress } from '../../port/search.ts';
import { recentOf } from '../../rules/session-state.ts';
import type { Database } from '../database.ts';
import type { SearchFile } from './search-file.ts';
import type { SearchIndex } from './search-index.ts';

/** A session with lines that the index lacks. */
export interface Due {
  readonly id: string;
  /** The last seq in the index. */
  readonly seq: number;
  readonly last: number;
  readonly recent: string;
}

interface Row {
  readonly id: string;
  readonly seq: number;
  readonly status: string;
  readonly recent: string;
}

/**
 * Tolerance for differing clocks and a clock that is set back a little. Larger jumps are found by the next full
 * comparison.
 */
const SLIP_MS = 600_000;

/**
 * Finds the open sessions with lines that the index lacks. It compares all sessions once, and again if the index may
 * have lost something; otherwise only recently changed ones.
 */
export class Backlog {
  readonly #db: Database;
  readonly #file: SearchFile;
  readonly #index: SearchIndex;
  #due: Map<string, Due> = new Map();
  /** Sessions to index; the newest is last. */
  #stack: string[] = [];
  /** Sessions that are in the index but no longer exist. */
  #gone: string[] = [];
  #era: string | undefined;
  #version = -1;
  #horizon = '';
  /** For some sessions only the header was read. Their lines may have any date when they arrive. */
  #hasUnread = false;

  constructor(db: Database, file: SearchFile, index: SearchIndex) {
    this.#db = db;
    this.#file = file;
    this.#index = index;
  }

  /**
   * Compares changed sessions, or all with `full`. Without a usable index every session is due from its first line.
   */
  look({ full = false }: { readonly full?: boolean } = {}): void {
    const era = this.#file.use(() => this.#index.era());
    const version = this.#db.dataVersion();
    const isSame = era !== undefined && era === this.#era;
    if (full || !isSame || this.#isAllRead()) this.#compareAll();
    else if (version !== this.#version) this.#compareRecent();
    this.#era = era;
    this.#version = version;
  }

  /** Newest first. */
  due(): Due[] {
    return [...this.#due.values()].sort((a, b) => (a.recent < b.recent ? 1 : -1));
  }

  /** All open sessions, newest first, as if nothing were indexed. */
  all(): Due[] {
    return this.#db.rows<Due>(
      "SELECT id, 0 AS seq, seq AS last, recent FROM sessions WHERE status = 'open' AND seq > 0 ORDER BY recent DESC",
    );
  }

  /** The newest due session that was not skipped. */
  next(): Due | undefined {
    for (;;) {
      const id = this.#stack.at(-1);
      if (id === undefined) return undefined;
      const due = this.#due.get(id);
      if (due !== undefined) return due;
      this.#stack.pop();
    }
  }

  /** Skips the current session, because it cannot be indexed now. */
  passOver(): void {
    this.#stack.pop();
  }

  /** Progress over open sessions. Computed on demand because it is rarely needed. */
  progress(): SearchProgress {
    const sql = "SELECT coalesce(sum(seq), 0) AS n FROM sessions WHERE status = 'open'";
    const total = this.#db.row<{ n: number }>(sql)?.n ?? 0;
    let behind = 0;
    for (const { seq, last } of this.#due.values()) behind += last - seq;
    return { done: Math.max(0, total - behind), total };
  }

  /** A session to remove from the index. */
  gone(): string | undefined {
    return this.#gone.at(-1);
  }

  removed(): void {
    this.#gone.pop();
  }

  /** Records that a session was indexed up to `seq`, or no longer exists. */
  settle(id: string, seq: number): void {
    const due = this.#due.get(id);
    if (due === undefined) return;
    if (seq >= due.last) this.#due.delete(id);
    else this.#due.set(id, { ...due, seq });
  }

  /** Whether the last unread session was read since the last comparison. */
  #isAllRead(): boolean {
    return this.#hasUnread && this.#db.row('SELECT 1 FROM sessions WHERE seq = 0 LIMIT 1') === undefined;
  }

  #compareAll(): void {
    const marks = this.#file.use(() => this.#index.marks()) ?? new Map<string, number>();
    this.#due = new Map();
    this.#horizon = '';
    this.#hasUnread = false;
    const rows = this.#db.rows<Row>('SELECT id, seq, status, recent FROM sessions');
    for (const row of rows) {
      this.#compare(row, marks.get(row.id) ?? 0);
      marks.delete(row.id);
    }
    this.#gone = [...marks.keys()];
    this.#stack = this.due()
      .map(({ id }) => id)
      .reverse();
  }

  #compareRecent(): void {
    const rows = this.#db.rows<Row>(
      "SELECT id, seq, status, recent FROM sessions WHERE status = 'open' AND recent >= ?",
      this.#horizon,
    );
    for (const row of rows) {
      this.#compare(row, this.#file.use(() => this.#index.mark(row.id)?.seq) ?? 0);
      if (this.#due.has(row.id)) this.#stack.push(row.id);
    }
  }

  #compare({ id, seq, status, recent }: Row, mark: number): void {
    // The index is ahead of the session: lines were cut off, and new ones may have their numbers.
    const isDue = status === 'open' && seq > 0 && mark !== seq;
    if (isDue) this.#due.set(id, { id, seq: mark > seq ? 0 : Math.max(0, mark), last: seq, recent });
    else this.#due.delete(id);
    const horizon = slipped(recent);
    if (horizon > this.#horizon) this.#horizon = horizon;
    if (seq === 0) this.#hasUnread = true;
  }
}

/**
 * The newest time to compare from. Other tools may write lines with any date: a date in the future must not hide
 * current sessions.
 */
function slipped(recent: string): string {
  const ms = Math.min(Date.parse(`${recent}Z`), Date.now());
  return Number.isNaN(ms) ? '' : recentOf(new Date(Math.max(0, ms - SLIP_MS)).toISOString());
}
