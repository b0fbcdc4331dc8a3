import { crc32 } from 'node:zlib';
import { searchable } from '../../search/search-text.ts';
import type { Database } from '../database.ts';
import type { LinePage, LineSource } from '../read/line-source.ts';
import { findSession, type SessionRow } from '../session-row.ts';
import type { Backlog, Due } from './search-backlog.ts';
import type { SearchFile } from './search-file.ts';
import type { IndexMark, SearchIndex } from './search-index.ts';

const LINES_PER_STEP = 100;

export interface IndexerContext {
  readonly db: Database;
  readonly source: LineSource;
  readonly file: SearchFile;
  readonly index: SearchIndex;
  readonly backlog: Backlog;
}

/**
 * Advances the index in short transactions of search.db. A session's progress is stored and read in the same
 * transaction as its lines, so several processes can take turns and any of them may be killed.
 */
export class Indexer {
  readonly #context: IndexerContext;
  /** Sessions with unreadable next lines, by their length then. They are retried when they grow. */
  readonly #stuck: Map<string, number> = new Map();
  /** Removed text is still in the index until its pages are rewritten. */
  #isUntidy = false;
  #wasTidied = false;

  constructor(context: IndexerContext) {
    this.#context = context;
  }

  /** Whether the index still contains text of sessions that no longer exist. */
  get hasRemains(): boolean {
    return this.#isUntidy || this.#context.backlog.gone() !== undefined;
  }

  /** Works until the deadline. @returns false if nothing is left to do or nothing can be done now. */
  work(until: number): boolean {
    const { file, backlog } = this.#context;
    backlog.look();
    if (backlog.next() === undefined && backlog.gone() === undefined && !this.#isUntidy) return false;
    const hasMore = file.write(() => {
      let more = true;
      do more = this.#step();
      while (more && performance.now() < until);
      return more;
    });
    // The transaction was rolled back, so the progress in memory is unknown.
    if (hasMore === undefined) backlog.look({ full: true });
    if (this.#wasTidied) file.emptyLog();
    this.#wasTidied = false;
    return hasMore === true;
  }

  /** Does one step inside a transaction. @returns false if there was nothing to do. */
  #step(): boolean {
    const { index, backlog } = this.#context;
    const gone = backlog.gone();
    const next = backlog.next();
    if (gone !== undefined) {
      const mark = index.mark(gone);
      if (mark === undefined || this.#remove(mark)) backlog.removed();
    } else if (this.#isUntidy) {
      this.#isUntidy = index.tidy();
      this.#wasTidied = !this.#isUntidy;
    } else if (next !== undefined) this.#advance(next);
    else return false;
    return true;
  }

  /** Indexes some lines of one session. */
  #advance({ id, last }: Due): void {
    const { db, source, index, backlog } = this.#context;
    const mark = index.mark(id) ?? index.begin(id);
    if (mark.seq < 0) {
      this.#remove(mark);
      return;
    }
    const page = db.snapshot((): LinePage | undefined => {
      const row = findSession(db, id);
      if (row === undefined || row.seq < mark.seq || !this.#isSame(row, mark)) return undefined;
      const from = mark.seq + 1;
      const to = Math.min(row.seq, mark.seq + LINES_PER_STEP);
      return to < from ? { lines: [], from, to: mark.seq } : source.lines(row, { from, to });
    });
    if (page === undefined) index.expel(mark.number);
    else if (this.#stuck.get(id) === last || page.damagedAt !== undefined || page.isShort === true) {
      this.#stuck.set(id, last);
      backlog.passOver();
    } else {
      this.#add(mark, page);
      backlog.settle(id, page.to);
      this.#stuck.delete(id);
    }
  }

  #add({ number }: IndexMark, { lines, to }: Pick<LinePage, 'lines' | 'to'>): void {
    const { index } = this.#context;
    let sum = 0;
    for (const { seq, entry, bytes } of lines) {
      const said = searchable(entry);
      if (said !== undefined) index.add(number, seq, said);
      if (seq === to) sum = crc32(bytes);
    }
    if (lines.length > 0) index.advance(number, to, sum);
  }

  /** Whether the last indexed line is unchanged. Otherwise the session's numbers now mean other lines. */
  #isSame(row: SessionRow, { seq, sum }: IndexMark): boolean {
    if (seq === 0 || sum === 0) return true;
    const line = this.#context.source.lines(row, { from: seq, to: seq }).lines[0];
    return line === undefined || crc32(line.bytes) === sum;
  }

  #remove({ number, seq }: IndexMark): boolean {
    if (seq >= 0) this.#context.index.expel(number);
    this.#isUntidy = true;
    return this.#context.index.remove(number);
  }
}
