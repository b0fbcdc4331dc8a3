import type { SearchProgress } from '../../port/store.ts';
import { recentOf } from '../../rules/session-state.ts';
import type { Database } from '../database.ts';
import type { SearchFile } from './search-file.ts';
import type { SearchIndex } from './search-index.ts';

/** A session with lines the index does not have. */
export interface Due {
  readonly id: string;
  /** What the index has of it. */
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

/** Clocks of processes differ, and one may be set back a little. Whoever is further off is found by the next full look. */
const SLIP_MS = 600_000;

/**
 * Which open sessions are ahead of the index. All of them are compared once, and again when the index may have lost
 * something; otherwise those are looked at that were written to of late.
 */
export class Backlog {
  readonly #db: Database;
  readonly #file: SearchFile;
  readonly #index: SearchIndex;
  #due: Map<string, Due> = new Map();
  /** Those to be worked on, the newest last. */
  #stack: string[] = [];
  /** In the index, and no session any more. */
  #gone: string[] = [];
  #era: string | undefined;
  #version = -1;
  #horizon = '';
  /** Some had only their headers read, and may be of any age when they have lines. */
  #hasUnread = false;

  constructor(db: Database, file: SearchFile, index: SearchIndex) {
    this.#db = db;
    this.#file = file;
    this.#index = index;
  }

  /** Compares what has changed, or everything. Without an index every session is due, from its first line. */
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

  /** Open sessions as if nothing of them were indexed, newest first. */
  all(): Due[] {
    return this.#db.rows<Due>(
      "SELECT id, 0 AS seq, seq AS last, recent FROM sessions WHERE status = 'open' AND seq > 0 ORDER BY recent DESC",
    );
  }

  /** The newest that was not passed over. */
  next(): Due | undefined {
    for (;;) {
      const id = this.#stack.at(-1);
      if (id === undefined) return undefined;
      const due = this.#due.get(id);
      if (due !== undefined) return due;
      this.#stack.pop();
    }
  }

  /** It cannot be worked on now. */
  passOver(): void {
    this.#stack.pop();
  }

  /** Of open sessions; looked up, because nobody asks often. */
  progress(): SearchProgress {
    const sql = "SELECT coalesce(sum(seq), 0) AS n FROM sessions WHERE status = 'open'";
    const total = this.#db.row<{ n: number }>(sql)?.n ?? 0;
    let behind = 0;
    for (const { seq, last } of this.#due.values()) behind += last - seq;
    return { done: Math.max(0, total - behind), total };
  }

  /** One to be taken out. */
  gone(): string | undefined {
    return this.#gone.at(-1);
  }

  removed(): void {
    this.#gone.pop();
  }

  /** After some of it was indexed, or found to be gone. */
  settle(id: string, seq: number): void {
    const due = this.#due.get(id);
    if (due === undefined) return;
    if (seq >= due.last) this.#due.delete(id);
    else this.#due.set(id, { ...due, seq });
  }

  /** Now, and not at the last look. */
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
    // A mark beyond the end: lines were cut off, and others may have their numbers.
    const isDue = status === 'open' && seq > 0 && mark !== seq;
    if (isDue) this.#due.set(id, { id, seq: mark > seq ? 0 : Math.max(0, mark), last: seq, recent });
    else this.#due.delete(id);
    const horizon = slipped(recent);
    if (horizon > this.#horizon) this.#horizon = horizon;
    if (seq === 0) this.#hasUnread = true;
  }
}

/** A line of another tool may be of any day: one of the future must not hide what is said now. */
function slipped(recent: string): string {
  const ms = Math.min(Date.parse(`${recent}Z`), Date.now());
  return Number.isNaN(ms) ? '' : recentOf(new Date(Math.max(0, ms - SLIP_MS)).toISOString());
}
