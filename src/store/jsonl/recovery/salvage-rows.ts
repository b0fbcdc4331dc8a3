import type { DatabaseSync, SQLOutputValue } from 'node:sqlite';

export type Row = Readonly<Record<string, SQLOutputValue>>;

/** After this many failures the rest of a table counts as lost. A page has a few hundred rows. */
const MAX_FAILURES = 10_000;
const FAR = 2 ** 48;

/**
 * Reads every readable row of a table and skips unreadable pages: where a read fails, the remaining range is halved
 * until only the damage is left. @returns false if some of it failed.
 */
export function readRows(db: DatabaseSync, table: string, keep: (row: Row, rowid: number) => void): boolean {
  let failures = 0;
  const collect = (low: number, high: number): void => {
    let next = low;
    try {
      const rows = db.prepare(
        `SELECT rowid AS "rowid of it", * FROM ${table} WHERE rowid BETWEEN ? AND ? ORDER BY rowid`,
      );
      for (const { 'rowid of it': rowid, ...row } of rows.iterate(low, high)) {
        // A page that points back to an earlier one would be read forever.
        if (typeof rowid !== 'number' || rowid < next) break;
        keep(row, rowid);
        next = rowid + 1;
      }
      return;
    } catch {
      // The damage is at `next` or somewhere after it.
      failures++;
    }
    if (next >= high || failures > MAX_FAILURES) return;
    const middle = Math.floor((next + high) / 2);
    collect(next, middle);
    collect(middle + 1, high);
  };
  collect(0, Math.max(highestRowid(db, table), ...listRowids(db, table).keys()));
  return failures === 0;
}

/** The last row, or the last one before damage that reaches the end. */
function highestRowid(db: DatabaseSync, table: string): number {
  const last = (limit: number): number | undefined => {
    try {
      const row = db
        .prepare(`SELECT rowid AS n FROM ${table} WHERE rowid <= ? ORDER BY rowid DESC LIMIT 1`)
        .get(limit);
      return Number(row?.['n'] ?? 0);
    } catch {
      // Damaged there.
      return undefined;
    }
  };
  const whole = last(FAR);
  if (whole !== undefined) return whole;
  let low = 0;
  for (let high = FAR; low < high; ) {
    const middle = Math.ceil((low + high) / 2);
    if (last(middle) === undefined) high = middle - 1;
    else low = middle;
  }
  return low;
}

/** The table is missing in an older database, and if the first pages had to be replaced. */
export function hasTable(db: DatabaseSync, table: string): boolean {
  return db.prepare('SELECT 1 FROM sqlite_schema WHERE name = ?').get(table) !== undefined;
}

/** Unique indexes that may still name lost rows, so that the loss can be reported. */
const UNIQUE_INDEX: Readonly<Record<string, string>> = {
  journal: 'session_id, first_seq',
  inbox: 'id',
  purged: 'id',
  outbox: 'key',
  convlog_lines: 'agent_id, channel_type, channel_id, number',
};

export function listRowids(db: DatabaseSync, table: string): Map<number, Row> {
  const columns = UNIQUE_INDEX[table];
  const found = new Map<number, Row>();
  if (columns === undefined) return found;
  for (const order of ['', ' DESC']) {
    const by = columns.replaceAll(',', `${order},`) + order;
    const rows = `SELECT rowid AS "rowid of it", ${columns} FROM ${table} INDEXED BY sqlite_autoindex_${table}_1 ORDER BY ${by}`;
    const isWhole = readOn(db, rows, ({ 'rowid of it': rowid, ...row }) => {
      if (typeof rowid === 'number') found.set(rowid, row);
    });
    if (isWhole) break;
  }
  return found;
}

/** Reads a table without rowids from both ends as far as possible. @returns false if the two ends did not meet. */
export function readByKey(
  db: DatabaseSync,
  table: string,
  key: readonly string[],
  keep: (row: Row) => void,
): boolean {
  for (const order of ['', ' DESC']) {
    const by = key.map((column) => column + order).join(', ');
    if (readOn(db, `SELECT * FROM ${table} ORDER BY ${by}`, keep)) return true;
  }
  return false;
}

function readOn(db: DatabaseSync, sql: string, keep: (row: Row) => void): boolean {
  let read = 0;
  try {
    for (const row of db.prepare(sql).iterate()) {
      if (++read > FAR) break;
      keep(row);
    }
    return true;
  } catch {
    // Readable only up to here.
    return false;
  }
}
