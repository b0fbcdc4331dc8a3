import type { Entry } from '../../transcript/entry.ts';
import type { Database } from './database.ts';
import type { Holder } from './holder.ts';
import type { LineSource } from './line-source.ts';
import { getSession, type SessionRow, saveSession } from './session-row.ts';

export interface KnownKey {
  readonly key: string;
  readonly hash: string;
  readonly first_seq: number;
  readonly last_seq: number;
}

export interface BatchContext {
  readonly db: Database;
  readonly self: Holder;
  /** ISO time of the next entry. */
  readonly now: () => string;
  /** Committed lines, for the few checks that need what an earlier entry says. */
  readonly source: LineSource;
}

interface PendingLines {
  readonly row: SessionRow;
  firstSeq: number;
  readonly lines: string[];
}

/**
 * The work of one transaction. Several appends to a session become one journal row and one update of its row,
 * however many callers they came from; that is what makes group commit cheap.
 */
export class Batch implements BatchContext {
  readonly db: Database;
  readonly self: Holder;
  readonly now: () => string;
  readonly source: LineSource;
  /** Sessions whose transcripts go once this batch is committed. */
  readonly purged: SessionRow[] = [];
  readonly #rows: Map<string, SessionRow> = new Map();
  readonly #lines: Map<string, PendingLines> = new Map();
  readonly #dirty: Set<SessionRow> = new Set();

  constructor({ db, self, now, source }: BatchContext) {
    this.db = db;
    this.self = self;
    this.now = now;
    this.source = source;
  }

  /** An entry of this session, committed or of this very batch. */
  entry(row: SessionRow, seq: number): Entry | undefined {
    const pending = this.#lines.get(row.id);
    const own = pending === undefined ? undefined : pending.lines[seq - pending.firstSeq];
    if (own !== undefined) return JSON.parse(own) as Entry;
    const [line] = this.source.lines(row, { from: seq, to: seq }).lines;
    return line?.entries[seq - line.seq] as Entry | undefined;
  }

  /** The one copy of a session's row this batch works on. */
  session(id: string): SessionRow {
    let row = this.#rows.get(id);
    if (row === undefined) {
      row = getSession(this.db, id);
      this.#rows.set(id, row);
    }
    return row;
  }

  /** For a session that is gone for good: nothing gathered for it may come back. */
  drop(row: SessionRow): void {
    this.purged.push(row);
    this.#rows.delete(row.id);
    this.#lines.delete(row.id);
    this.#dirty.delete(row);
  }

  touch(row: SessionRow): void {
    this.#dirty.add(row);
  }

  addLines(row: SessionRow, firstSeq: number, lines: readonly string[]): void {
    this.#dirty.add(row);
    const pending = this.#lines.get(row.id);
    if (pending === undefined) this.#lines.set(row.id, { row, firstSeq, lines: [...lines] });
    else for (const line of lines) pending.lines.push(line);
  }

  knownKey(sessionId: string, key: string): KnownKey | undefined {
    return this.db.row<KnownKey>(
      'SELECT key, hash, first_seq, last_seq FROM append_keys WHERE session_id = ? AND key = ?',
      sessionId,
      key,
    );
  }

  rememberKey(sessionId: string, { key, hash, first_seq, last_seq }: KnownKey): void {
    this.db.run('INSERT INTO append_keys VALUES (?, ?, ?, ?, ?)', sessionId, key, hash, first_seq, last_seq);
  }

  /** Writes what the batch gathered; called once, before the commit. Answers which sessions have new lines. */
  flush(): string[] {
    for (const { row, firstSeq, lines } of this.#lines.values()) {
      this.db.run(
        'INSERT INTO journal VALUES (?, ?, ?, ?)',
        row.id,
        firstSeq,
        row.seq,
        Buffer.from(lines.join('')),
      );
    }
    for (const row of this.#dirty) saveSession(this.db, row);
    return [...this.#lines.keys()];
  }
}
