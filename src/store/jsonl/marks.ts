import type { Database } from '../sqlite/database.ts';

/**
 * A known offset in a transcript, about every 64 KiB, where an append or a line of another tool begins. Every line
 * before it has a lower seq, and every line after it the same or a higher one, even if file order and seq order
 * differ nearby. So marks cut the file and its seqs at the same point.
 */
export interface Mark {
  readonly seq: number;
  readonly offset: number;
}

export const MARK_BYTES: number = 64 * 1024;
const START: Mark = { seq: 1, offset: 0 };

export function addMark(db: Database, sessionId: string, { seq, offset }: Mark): void {
  db.run('INSERT OR REPLACE INTO marks VALUES (?, ?, ?)', sessionId, seq, offset);
}

export function lastMark(db: Database, sessionId: string): Mark {
  return markAt(db, sessionId, Number.MAX_SAFE_INTEGER);
}

/** The last mark at or before a seq. */
export function markAt(db: Database, sessionId: string, seq: number): Mark {
  const mark = db.row<Mark>(
    'SELECT seq, offset FROM marks WHERE session_id = ? AND seq <= ? ORDER BY seq DESC LIMIT 1',
    sessionId,
    seq,
  );
  return mark ?? START;
}

/** The first mark after a seq. */
export function markAfter(db: Database, sessionId: string, seq: number): Mark | undefined {
  return marksAfter(db, sessionId, seq, 1)[0];
}

export function marksAfter(db: Database, sessionId: string, seq: number, limit: number): Mark[] {
  return db.rows<Mark>(
    'SELECT seq, offset FROM marks WHERE session_id = ? AND seq > ? ORDER BY seq LIMIT ?',
    sessionId,
    seq,
    limit,
  );
}

/** Marks in descending order, from the last one at or before a seq. */
export function marksBefore(db: Database, sessionId: string, seq: number, limit: number): Mark[] {
  return db.rows<Mark>(
    'SELECT seq, offset FROM marks WHERE session_id = ? AND seq <= ? ORDER BY seq DESC LIMIT ?',
    sessionId,
    seq,
    limit,
  );
}
