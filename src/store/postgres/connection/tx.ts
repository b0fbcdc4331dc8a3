import type pg from 'pg';
import { RepriseError } from '../../../errors.ts';
import { insertLines, type LineRow, type SessionRow, saveSessions } from '../rows.ts';
import type { NodeHolder } from '../write/holder.ts';
import { type Sql, send } from './connections.ts';
import type { News, StoreContext } from './transaction.ts';

/**
 * A running transaction. Statements are sent at once and answered in order. `query` waits for its rows. `run` does
 * not wait; the next `query` or the commit reports its failure. So a transaction costs one round trip for each
 * awaited `query` and one for the commit. New lines and changed session rows are collected and written together at
 * its end.
 */
export class Tx implements Sql {
  readonly now: () => string;
  readonly self: NodeHolder;
  readonly news: News & { readonly sessions: Set<string>; readonly inboxes: Set<string> } = {
    sessions: new Set(),
    inboxes: new Set(),
  };
  /** The session rows that this transaction has locked and changed; all code in it shares these objects. */
  readonly sessions: Map<string, SessionRow> = new Map();
  /** The lowest epoch for new leases, from a copied store or from the previous timeline of a promoted replica. */
  epochFloor: () => Promise<number> = async () => 0;
  readonly #dirty: Set<string> = new Set();
  #lines: LineRow[] = [];
  readonly #client: pg.PoolClient;
  readonly #context: StoreContext;
  /** Timeout of each statement, enforced by the server. */
  readonly #limitMs: number;
  /** The previous statement. */
  #last: Promise<unknown> = Promise.resolve();
  #failure: unknown;
  #savepoints = 0;

  constructor(client: pg.PoolClient, context: StoreContext, { limitMs }: { readonly limitMs: number }) {
    this.#client = client;
    this.#context = context;
    this.#limitMs = limitMs;
    this.now = context.now;
    this.self = context.self;
  }

  /** The first failure; all later ones only follow from it. */
  get failure(): unknown {
    return this.#failure;
  }

  async query<Row extends object>(text: string, values: readonly unknown[] = []): Promise<Row[]> {
    try {
      return await this.#send<Row>(text, values);
    } catch (error) {
      throw this.#failure ?? error;
    }
  }

  run(text: string, values: readonly unknown[] = []): void {
    // The failure is recorded; no caller waits for this answer.
    this.#send(text, values).catch(() => undefined);
  }

  /** Marks a row to be saved at the end of the transaction. */
  touch(row: SessionRow): void {
    this.#dirty.add(row.id);
  }

  addLines(row: SessionRow, lines: readonly LineRow[]): void {
    for (const line of lines) this.#lines.push(line);
    this.touch(row);
    this.news.sessions.add(row.id);
  }

  /** Sends the collected rows: before a statement that reads them, and before the commit. */
  flush(): void {
    const rows = [...this.#dirty].flatMap((id) => this.sessions.get(id) ?? []);
    if (this.#lines.length > 0) insertLines(this, this.#lines);
    if (rows.length > 0) saveSessions(this, rows);
    this.#lines = [];
    this.#dirty.clear();
  }

  /** Drops everything collected for a purged session. */
  drop({ id }: SessionRow): void {
    this.sessions.delete(id);
    this.#dirty.delete(id);
    this.#lines = this.#lines.filter((line) => line.session_id !== id);
  }

  /**
   * Runs work with several parts. If our code refuses one part, the changes are undone and the transaction continues.
   * A refusal by the server ends the transaction.
   */
  async attempt<T>(work: () => Promise<T>): Promise<T> {
    this.flush();
    const name = `attempt_${++this.#savepoints}`;
    const before = new Map([...this.sessions].map(([id, row]) => [id, { ...row }]));
    this.run(`SAVEPOINT ${name}`);
    try {
      const value = await work();
      this.run(`RELEASE SAVEPOINT ${name}`);
      return value;
    } catch (error) {
      if (error instanceof RepriseError && this.#failure === undefined) {
        this.run(`ROLLBACK TO SAVEPOINT ${name}`);
        this.#restore(before);
      }
      throw error;
    }
  }

  /** Resolves when all sent statements were answered, so `failure` is final. */
  async settled(): Promise<void> {
    await this.#last;
  }

  /** Restores the rows of before the attempt, all of which were flushed. */
  #restore(before: ReadonlyMap<string, SessionRow>): void {
    for (const [id, row] of this.sessions) {
      const copy = before.get(id);
      // The row was locked inside the attempt; the lock and our copy are no longer valid.
      if (copy === undefined) this.sessions.delete(id);
      else Object.assign(row, copy);
    }
    this.#dirty.clear();
    this.#lines = [];
  }

  #send<Row extends object>(text: string, values: readonly unknown[]): Promise<Row[]> {
    const { settings } = this.#context.connections;
    const ask = (): Promise<Row[]> =>
      send<Row>(this.#client, { ...settings, statementTimeoutMs: this.#limitMs }, text, values);
    const answer = settings.pooler ? this.#last.then(ask) : ask();
    const noted = answer.catch((error: unknown) => {
      this.#failure ??= error;
      throw error;
    });
    this.#last = noted.catch(() => undefined);
    return noted;
  }
}
