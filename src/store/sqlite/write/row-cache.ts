import type { Database } from '../database.ts';
import { assertRead, findSession, refuseUnknown, type SessionRow } from '../session-row.ts';

const MAX_ROWS = 1024;

/**
 * Caches session rows between batches, so that a busy session is not read again for each turn. The cache is valid
 * only while nothing else has written: no other connection (SQLite's data version) and no other code on this one (its
 * change count). Both are checked under the write lock, so the answer stays true.
 */
export class RowCache {
  readonly #db: Database;
  readonly #rows: Map<string, SessionRow> = new Map();
  #version = '';

  constructor(db: Database) {
    this.#db = db;
  }

  /** Call it inside a transaction, before the first row is read. */
  begin(): void {
    if (this.#rows.size > MAX_ROWS || this.#db.writeVersion() !== this.#version) this.#rows.clear();
  }

  /** Call it inside a transaction, after the last change. */
  end(): void {
    this.#version = this.#db.writeVersion();
  }

  /** Drops all rows, because the batch was rolled back. */
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

  /** The shared copy of a session's row; throws if the session does not exist. */
  get(id: string): SessionRow {
    const row = this.find(id) ?? refuseUnknown(this.#db, id);
    assertRead(row);
    return row;
  }

  forget(id: string): void {
    this.#rows.delete(id);
  }
}
