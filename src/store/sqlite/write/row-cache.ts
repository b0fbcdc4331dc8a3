import type { Database } from '../database.ts';
import { assertRead, findSession, refuseUnknown, type SessionRow } from '../session-row.ts';

const MAX_ROWS = 1024;

/**
 * Session rows of the batches before, so that a busy session is not read again for each of its turns. They are
 * believed only while nobody has written since: no other connection, by SQLite's data version, and nothing else
 * of this one, by its count of changes. Both are asked under the write lock, so the answer stays true.
 */
export class RowCache {
  readonly #db: Database;
  readonly #rows: Map<string, SessionRow> = new Map();
  #version = '';

  constructor(db: Database) {
    this.#db = db;
  }

  /** Inside a transaction, before the first row is asked for. */
  begin(): void {
    if (this.#rows.size > MAX_ROWS || this.#db.writeVersion() !== this.#version) this.#rows.clear();
  }

  /** Inside a transaction, after its last change. */
  end(): void {
    this.#version = this.#db.writeVersion();
  }

  /** What the batch did to its rows has not happened. */
  clear(): void {
    this.#rows.clear();
  }

  find(id: string): SessionRow | undefined {
    const known = this.#rows.get(id);
    if (known !== undefined) return known;
    const row = findSession(this.#db, id);
    if (row === undefined) return undefined;
    const copy = { ...row };
    this.#rows.set(id, copy);
    return copy;
  }

  /** The one copy of a session's row that a batch works on; refuses what is not there. */
  get(id: string): SessionRow {
    const row = this.find(id) ?? refuseUnknown(this.#db, id);
    assertRead(row);
    return row;
  }

  forget(id: string): void {
    this.#rows.delete(id);
  }
}
