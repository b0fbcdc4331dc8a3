import type pg from 'pg';
import { RepriseError } from '../../../errors.ts';
import { insertLines, type LineRow, type SessionRow, saveSessions } from '../rows.ts';
import type { NodeHolder } from '../write/holder.ts';
import { type Sql, send } from './connections.ts';
import type { News, StoreContext } from './transaction.ts';

/**
 * A transaction under way. Statements go out at once and are answered in order: `query` waits for its rows, `run` for
 * nothing, and what it did wrong is told by the next `query` or by the commit. So a transaction costs a round trip for
 * each `query` that waits, and one for the commit. New lines and changed rows of sessions are gathered and written
 * together at its end.
 */
export class Tx implements Sql {
  readonly now: () => string;
  readonly self: NodeHolder;
  readonly news: News & { readonly sessions: Set<string>; readonly inboxes: Set<string> } = {
    sessions: new Set(),
    inboxes: new Set(),
  };
  /** Rows this transaction has locked, as it has changed them: the one copy to work on. */
  readonly sessions: Map<string, SessionRow> = new Map();
  /** Nobody is granted a lease below it: those of a store this one was copied from, and of a server it was a replica of. */
  epochFloor: () => Promise<number> = async () => 0;
  readonly #dirty: Set<string> = new Set();
  #lines: LineRow[] = [];
  readonly #client: pg.PoolClient;
  readonly #context: StoreContext;
  /** Of each statement; the server ends it. */
  readonly #limitMs: number;
  /** The statement before. */
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

  /** What went wrong first; everything behind it only says that something did. */
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
    // The failure is kept; nobody has to wait for this very answer.
    this.#send(text, values).catch(() => undefined);
  }

  /** To be saved with what the rest of the transaction does to it. */
  touch(row: SessionRow): void {
    this.#dirty.add(row.id);
  }

  addLines(row: SessionRow, lines: readonly LineRow[]): void {
    for (const line of lines) this.#lines.push(line);
    this.touch(row);
    this.news.sessions.add(row.id);
  }

  /** Sends what was gathered; before a statement that has to see it, and before the commit. */
  flush(): void {
    const rows = [...this.#dirty].flatMap((id) => this.sessions.get(id) ?? []);
    if (this.#lines.length > 0) insertLines(this, this.#lines);
    if (rows.length > 0) saveSessions(this, rows);
    this.#lines = [];
    this.#dirty.clear();
  }

  /** For a session that is gone for good: nothing gathered for it may come back. */
  drop({ id }: SessionRow): void {
    this.sessions.delete(id);
    this.#dirty.delete(id);
    this.#lines = this.#lines.filter((line) => line.session_id !== id);
  }

  /**
   * Work of several parts: when we refuse one, nothing of it has happened and the transaction goes on. What the server
   * refuses ends the transaction.
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

  /** Until everything that was sent has been answered, and what failed is known. */
  async settled(): Promise<void> {
    await this.#last;
  }

  /** Everything of before the attempt has been flushed. */
  #restore(before: ReadonlyMap<string, SessionRow>): void {
    for (const [id, row] of this.sessions) {
      const copy = before.get(id);
      // Locked within the attempt: the lock is gone, and so is what we know.
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
