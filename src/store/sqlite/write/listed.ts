import type { Database } from '../database.ts';

const ROWS_AT_ONCE = 500;
const EVERY_MS = 5000;

/**
 * Updates the counts in the list indexes outside of appends; otherwise each turn would move a session in two more
 * indexes. Lists need not wait for it, because they also read the sessions that have grown. An update
 * must not name an indexed column without need: SQLite then writes to its indexes even if the value is the same.
 */
export class Listed {
  readonly #db: Database;
  #due = 0;

  constructor(db: Database) {
    this.#db = db;
  }

  bringUp(): void {
    if (performance.now() < this.#due) return;
    const ids = this.#db.rows<{ id: string }>(
      `SELECT id FROM sessions INDEXED BY sessions_grown WHERE grown = 1 LIMIT ${ROWS_AT_ONCE}`,
    );
    // A full batch: there may be more.
    if (ids.length < ROWS_AT_ONCE) this.#due = performance.now() + EVERY_MS;
    if (ids.length === 0) return;
    this.#db.transaction(
      () =>
        this.#db.run(
          `UPDATE sessions SET listed_messages = message_count, listed_tokens = token_estimate, grown = 0
           WHERE id IN (SELECT value FROM json_each(?))`,
          JSON.stringify(ids.map(({ id }) => id)),
        ),
      { lazy: true },
    );
  }
}
