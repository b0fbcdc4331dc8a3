import pg from 'pg';
import type { Outcome, RepriseError } from '../../../errors.ts';
import { sameFailure } from '../../../messages/failure.ts';
import { storeClosed } from '../../rules/refusals.ts';
import type { PostgresSettings } from '../settings.ts';
import { isAnswer, isLost, isUseless, pgError } from './pg-error.ts';

/**
 * Runs statements with `$1` parameters, one at a time. Columns are always named, because a newer node may have added
 * some.
 */
export interface Sql {
  query<Row extends object>(text: string, values?: readonly unknown[]): Promise<Row[]>;
}

const IDLE_MS = 30_000;
const INT8 = 20;
/**
 * A connection that died in the pool fails at its first statement. Several connections of the pool may have died at
 * once.
 */
const MAX_TRIES = 4;
/** Added to the server's statement timeout, so it is reached only if the server does not respond at all. */
const SILENCE_MS = 5_000;

/** Counts and seqs are far below the largest exact integer of a double. */
const types = {
  getTypeParser: ((oid: number, format?: 'text') =>
    oid === INT8 ? Number : pg.types.getTypeParser(oid, format)) as typeof pg.types.getTypeParser,
};

/** A client that never emits an unhandled error, and closes the socket if the login fails. */
class Caller extends pg.Client {
  constructor(config?: pg.ClientConfig) {
    super(config);
    // Set at once. The user of the connection gets the error from its statement.
    this.on('error', ignore);
  }

  /**
   * If our side gives up (for example because no password is given), the server would wait for a minute and keep this
   * process running.
   */
  override connect(
    callback?: ((error: Error) => void) | ((error: null, client: pg.Client) => void),
  ): Promise<pg.Client> {
    const letIn = super.connect().catch((error: unknown) => {
      this.end().catch(ignore);
      throw error;
    });
    if (callback !== undefined) {
      const tell = callback as (error: Error | null, client?: pg.Client) => void;
      letIn.then((client) => tell(null, client), tell);
    }
    return letIn;
  }
}

/** The pool of connections to one database. Errors reach only the caller whose statement failed. */
export class Connections implements Sql, AsyncDisposable {
  readonly settings: PostgresSettings;
  readonly #pool: pg.Pool;
  readonly #taking: Set<Promise<pg.PoolClient>> = new Set();
  #closed = false;
  #wasReached = false;

  constructor(settings: PostgresSettings) {
    this.settings = settings;
    this.#pool = new pg.Pool({
      ...clientConfig(settings),
      Client: Caller,
      max: settings.poolMax,
      idleTimeoutMillis: IDLE_MS,
      connectionTimeoutMillis: settings.connectTimeoutMs,
      allowExitOnIdle: true,
      // In pipeline mode the statements of a transaction are sent without waiting for each other's answers. Poolers
      // may not support that.
      pipeline: !settings.pooler,
    });
    // The pool replaces a connection that dies while idle.
    this.#pool.on('error', ignore);
  }

  /** Records that the server was reached once: later connection failures are temporary, not a wrong address. */
  opened(): void {
    this.#wasReached = true;
  }

  /** Whether the store's tables are ready. */
  get isOpen(): boolean {
    return this.#wasReached;
  }

  error(error: unknown, outcome?: Outcome): RepriseError {
    const known = pgError(error, outcome);
    if (known.code !== 'CONNECT_FAILED' || !this.#wasReached) return known;
    return sameFailure(known, { code: 'STORE_FAILED' });
  }

  /**
   * Takes a client for one transaction. The caller returns it with `release`, passing true if it must not be reused.
   */
  async take(): Promise<pg.PoolClient> {
    this.#assertOpen();
    const taking = this.#pool.connect();
    this.#taking.add(taking);
    try {
      return await taking;
    } finally {
      this.#taking.delete(taking);
    }
  }

  /** Runs a read-only statement; repeats it if the connection turns out to be dead. */
  async query<Row extends object>(text: string, values: readonly unknown[] = []): Promise<Row[]> {
    for (let tries = 1; ; tries++) {
      try {
        return await this.#ask<Row>(text, values);
      } catch (error) {
        const isDead = isLost(error) && pgError(error).code === 'STORE_FAILED';
        if (!isDead || tries >= MAX_TRIES || this.#closed) throw this.error(error);
      }
    }
  }

  /** Opens a separate connection outside the pool, for LISTEN. The caller closes it. */
  async connect(): Promise<pg.Client> {
    this.#assertOpen();
    const client = new Caller({
      ...clientConfig(this.settings),
      connectionTimeoutMillis: this.settings.connectTimeoutMs,
    });
    await client.connect();
    return client;
  }

  async #ask<Row extends object>(text: string, values: readonly unknown[]): Promise<Row[]> {
    const client = await this.take();
    let error: unknown;
    try {
      return await send<Row>(client, this.settings, text, values);
    } catch (caught) {
      error = caught;
      throw caught;
    } finally {
      // After an error that the server did not send, the state of the connection is unknown.
      client.release(error !== undefined && (!isAnswer(error) || isUseless(error)));
    }
  }

  #assertOpen(): void {
    if (this.#closed) throw storeClosed();
  }

  async [Symbol.asyncDispose](): Promise<void> {
    if (this.#closed) return;
    this.#closed = true;
    // A closing pool forgets waiting callers; they would wait until their timeout.
    await Promise.allSettled(this.#taking);
    await this.#pool.end();
  }
}

/** Sends one statement now; answers arrive in the order of the statements. */
export async function send<Row extends object>(
  client: pg.ClientBase,
  { pooler, statementTimeoutMs }: Pick<PostgresSettings, 'pooler' | 'statementTimeoutMs'>,
  text: string,
  values: readonly unknown[],
): Promise<Row[]> {
  const name = pooler || values.length === 0 ? {} : { name: statementName(text) };
  const statement = { ...limited(text, statementTimeoutMs), values: [...values], ...name };
  const result = await client.query<Row & pg.QueryResultRow>(statement);
  // For a text with several statements, use the rows of the last one.
  const { rows } = Array.isArray(result) ? (result.at(-1) as typeof result) : result;
  return rows;
}

/** A statement with its own timeout, which the types of `pg` do not include. */
export function limited(text: string, limitMs: number): pg.QueryConfig & { readonly query_timeout: number } {
  return { text, query_timeout: limitMs + SILENCE_MS };
}

/** Names of prepared statements. There are few, because statement texts never contain values. */
function statementName(text: string): string {
  const known = names.get(text);
  if (known !== undefined) return known;
  const name = `reprise_${names.size + 1}`;
  names.set(text, name);
  return name;
}

const names = new Map<string, string>();

function clientConfig(settings: PostgresSettings): pg.ClientConfig {
  const { connectionString, statementTimeoutMs, idleTransactionMs, pooler } = settings;
  return {
    connectionString,
    fallback_application_name: 'reprise',
    keepAlive: true,
    types,
    query_timeout: statementTimeoutMs + SILENCE_MS,
    // Poolers refuse or mix up settings of a whole connection.
    ...(!pooler && {
      statement_timeout: statementTimeoutMs,
      idle_in_transaction_session_timeout: idleTransactionMs,
    }),
  };
}

function ignore(): void {
  // The user of the connection gets the error; nothing else can be done here.
}
