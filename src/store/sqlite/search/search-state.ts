import { existsSync, statSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import type { SearchIndexStats } from '../../port/stats.ts';
import type { Database } from '../database.ts';
import type { Steps } from '../threads/steps.ts';

const ROWS_PER_STEP = 4000;

export function searchPath(controlPath: string): string {
  return join(dirname(controlPath), 'search.db');
}

/** Progress of the index, read without starting a thread or changing a file. */
export function* searchState(db: Database, path: string): Steps<SearchIndexStats> {
  const marks = marksIn(path);
  let [done, total] = [0, 0];
  for (let last = 0; ; ) {
    const rows = db.rows<{ n: number; id: string; seq: number; status: string }>(
      `SELECT rowid AS n, id, seq, status FROM sessions WHERE rowid > ? ORDER BY rowid LIMIT ${ROWS_PER_STEP}`,
      last,
    );
    for (const { n, id, seq, status } of rows) {
      last = n;
      if (status !== 'open') continue;
      total += seq;
      done += Math.min(seq, Math.max(0, marks.get(id) ?? 0));
    }
    if (rows.length < ROWS_PER_STEP) break;
    yield;
  }
  return { done, total, bytes: sizeOf(path) + sizeOf(`${path}-wal`) };
}

function marksIn(path: string): ReadonlyMap<string, number> {
  if (!existsSync(path)) return new Map();
  try {
    const file = new DatabaseSync(path, { readOnly: true, timeout: 100 });
    try {
      const rows = file.prepare('SELECT id, seq FROM sessions').all() as { id: string; seq: number }[];
      return new Map(rows.map(({ id, seq }) => [id, seq]));
    } finally {
      file.close();
    }
  } catch {
    // Damaged, of another version or unreadable. Treat it as empty; the next search rebuilds it.
    return new Map();
  }
}

function sizeOf(path: string): number {
  return statSync(path, { throwIfNoEntry: false })?.size ?? 0;
}
