import type { Database } from '../database.ts';

const DAY_MS = 24 * 60 * 60 * 1000;
const KEPT_MS = 30 * DAY_MS;
const ROWS_AT_ONCE = 500;
const PAUSE_MS = 60 * 60 * 1000;

/**
 * Removes the text of old messages. The history has the text of a message that has ended, so a month after it arrived
 * its row keeps only id, state and detail; its idempotency key stays permanently. Works on a few hundred rows at a
 * time, so that it delays no writer.
 */
export class OldBodies {
  readonly #db: Database;
  #after = 0;
  #due = 0;

  constructor(db: Database) {
    this.#db = db;
  }

  drop(now: number): void {
    if (performance.now() < this.#due) return;
    const before = new Date(now - KEPT_MS).toISOString();
    const rows = this.#db.rows<{ number: number; is_over: number }>(
      `SELECT number, state NOT IN ('accepted', 'running', 'waiting', 'held') AND body <> '{}' AS is_over FROM
         (SELECT * FROM inbox WHERE number > ? ORDER BY number LIMIT ${ROWS_AT_ONCE}) WHERE created_at < ?`,
      this.#after,
      before,
    );
    const over = rows.filter(({ is_over }) => is_over === 1);
    if (over.length > 0) {
      const drop = (): void => {
        for (const { number } of over) this.#db.run("UPDATE inbox SET body = '{}' WHERE number = ?", number);
      };
      this.#db.transaction(drop, { lazy: true });
    }
    const last = rows.at(-1)?.number;
    // The end of the old rows. An old message that ends later is found in the next pass.
    if (last === undefined) this.#due = performance.now() + PAUSE_MS;
    this.#after = last ?? 0;
  }
}
