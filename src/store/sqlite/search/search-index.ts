import type { Searchable } from '../../search/search-text.ts';
import { flatText, foldCase } from '../../search/search-text.ts';
import type { SearchFile } from './search-file.ts';
import { type GramQuery, gramText, pairText } from './search-grams.ts';

/** How much of a session is in the index. */
export interface IndexMark {
  readonly number: number;
  readonly seq: number;
  /** Checksum of the bytes of that line; 0 if the line was missing. */
  readonly sum: number;
}

/** A line that may match. */
export interface Candidate {
  readonly doc: number;
  readonly id: string;
  readonly seq: number;
  readonly at: number;
}

const REMOVED_PER_STEP = 200;
/** Pages of the index that one merge step writes. */
const MERGE_PAGES = 200;
const CANDIDATE = 'SELECT doc, id, docs.seq, at FROM docs JOIN sessions ON number = session';

/** Queries and changes of search.db. Call them inside `use` or `write` of its file. */
export class SearchIndex {
  readonly #file: SearchFile;

  constructor(file: SearchFile) {
    this.#file = file;
  }

  mark(id: string): IndexMark | undefined {
    return this.#file.row<IndexMark>('SELECT number, seq, sum FROM sessions WHERE id = ?', id);
  }

  /** The last indexed seq of all sessions. */
  marks(): Map<string, number> {
    const rows = this.#file.rows<{ id: string; seq: number }>('SELECT id, seq FROM sessions');
    return new Map(rows.map(({ id, seq }) => [id, seq]));
  }

  begin(id: string): IndexMark {
    const number = this.#file.run('INSERT INTO sessions (id, seq, sum) VALUES (?, 0, 0)', id);
    return { number, seq: 0, sum: 0 };
  }

  add(session: number, seq: number, { text, at }: Searchable): void {
    const folded = foldCase(flatText(text));
    const doc = this.#file.run('INSERT INTO docs (session, seq, at) VALUES (?, ?, ?)', session, seq, at);
    this.#file.run('INSERT INTO trigrams (rowid, text) VALUES (?, ?)', doc, gramText(folded));
    this.#file.run('INSERT INTO pairs (rowid, text) VALUES (?, ?)', doc, pairText(folded));
  }

  advance(session: number, seq: number, sum: number): void {
    this.#file.run('UPDATE sessions SET seq = ?, sum = ? WHERE number = ?', seq, sum, session);
  }

  /** Marks a session as not indexed; its lines are removed step by step. */
  expel(session: number): void {
    this.advance(session, -1, 0);
    this.#file.run("UPDATE meta SET value = value + 1 WHERE name = 'expelled'");
  }

  /** While it stays the same, marks have only moved forward, whichever process wrote them. */
  era(): string {
    const expelled = this.#file.row<{ value: string }>("SELECT value FROM meta WHERE name = 'expelled'");
    return `${this.#file.opened}:${expelled?.value}`;
  }

  /** Removes some lines of an expelled session. @returns true when none are left. */
  remove(session: number): boolean {
    const docs = this.#file.rows<{ doc: number }>(
      `SELECT doc FROM docs WHERE session = ? LIMIT ${REMOVED_PER_STEP}`,
      session,
    );
    for (const { doc } of docs) {
      this.#file.run('DELETE FROM trigrams WHERE rowid = ?', doc);
      this.#file.run('DELETE FROM pairs WHERE rowid = ?', doc);
      this.#file.run('DELETE FROM docs WHERE doc = ?', doc);
    }
    if (docs.length === REMOVED_PER_STEP) return false;
    this.#file.run('DELETE FROM sessions WHERE number = ?', session);
    return true;
  }

  /**
   * Rewrites a few pages of the index, because removed text stays in them until then. @returns false when nothing is
   * left to do.
   */
  tidy(): boolean {
    let hasMore = false;
    for (const table of ['trigrams', 'pairs']) {
      const before = this.#changes();
      this.#file.run(`INSERT INTO ${table} (${table}, rank) VALUES ('merge', ?)`, -MERGE_PAGES);
      // The FTS5 documentation: fewer than two changes mean that there was nothing to do.
      hasMore ||= this.#changes() - before >= 2;
    }
    return hasMore;
  }

  /** The lines that contain all grams, in any order, or `many` if there are more than `limit`. */
  few({ table, match }: GramQuery, limit: number, sessionId?: string): Candidate[] | 'many' {
    const rows = this.#file.rows<{ rowid: number }>(
      `SELECT rowid FROM ${table} WHERE ${table} MATCH ? LIMIT ?`,
      match,
      limit + 1,
    );
    if (rows.length > limit) return 'many';
    const found = rows.flatMap(
      ({ rowid }) => this.#file.row<Candidate>(`${CANDIDATE} WHERE doc = ?`, rowid) ?? [],
    );
    return sessionId === undefined ? found : found.filter(({ id }) => id === sessionId);
  }

  /** The lines before a position in time, newest first, of one session or of all, whatever their text. */
  newest(
    before: { readonly at: number; readonly doc: number },
    limit: number,
    sessionId?: string,
  ): Candidate[] {
    const one = sessionId === undefined ? '' : 'AND session = (SELECT number FROM sessions WHERE id = ?)';
    return this.#file.rows<Candidate>(
      `${CANDIDATE} WHERE (at, doc) < (?, ?) ${one} ORDER BY at DESC, doc DESC LIMIT ?`,
      before.at,
      before.doc,
      ...(sessionId === undefined ? [] : [sessionId]),
      limit,
    );
  }

  has({ table, match }: GramQuery, doc: number): boolean {
    const sql = `SELECT 1 FROM ${table} WHERE ${table} MATCH ? AND rowid = ?`;
    return this.#file.row(sql, match, doc) !== undefined;
  }

  #changes(): number {
    return this.#file.row<{ n: number }>('SELECT total_changes() AS n')?.n ?? 0;
  }
}
