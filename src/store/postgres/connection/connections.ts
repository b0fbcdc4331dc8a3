import pg from 'pg';
import type { Outcome, RepriseError } from '../../../errors.ts';
import { sameFailure } from '../../../messages/failure.ts';
import { storeClosed } from '../../rules/refusals.ts';
import type { PostgresSettings } from '../settings.ts';
import { isAnswer, isLost, isUseless, pgError } from './pg-error.ts';

/** Statements with `$1` parameters, one at a time. Columns are always named: a newer node may have added some. */
export interface Sql {
  query<Row extends object>(text: string, values?: readonly unknown[]): Promise<Row[]>;
}

const IDLE_MS = 30_000;
const INT8 = 20;
/** A connection that was dead in the pool shows it at its first statement; as many as the pool had may have died. */
const MAX_TRIES = 4;
/** On top of what the server itself allows: only a server that says nothing at all runs into it. */
const SILENCE_MS = 5_000;

/** Counts and seqs are far below what a double holds exactly. */
const types = {
  getTypeParser: ((oid: number, format?: 'text') =>
    oid === INT8 ? Number : pg.types.getTypeParser(oid, format)) as typeof pg.types.getTypeParser,
};

/** A connection that never throws at nobody, and hangs up where it is not let in. */
class Caller extends pg.Client {
  constructor(config?: pg.ClientConfig) {
    super(config);
    // From its first moment on: who uses it learns of it by its own statement.
    this.on('error', ignore);
  }

  /**
   * Where it is our side that gives up, without a password to give for example, the server would wait for a minute, and
   * this process with it.
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

/** The pool of connections to one database. It never throws at anybody but who asked. */
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
      // Statements of one transaction go out without waiting for each other's answers. Poolers may not expect it.
      pipeline: !settings.pooler,
    });
    // A connection that dies while it rests is replaced.
    this.#pool.on('error', ignore);
  }

  /** The server was there once: when it is not, that is no wrong address any more but a failure that passes. */
  opened(): void {
    this.#wasReached = true;
  }

  /** Whether its tables are there. */
  get isOpen(): boolean {
    return this.#wasReached;
  }

  error(error: unknown, outcome?: Outcome): RepriseError {
    const known = pgError(error, outcome);
    if (known.code !== 'CONNECT_FAILED' || !this.#wasReached) return known;
    return sameFailure(known, { code: 'STORE_FAILED' });
  }

  /** For one transaction. Who takes a client gives it back by `release`, with true if it must not be used again. */
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

  /** For looking: asked again where the connection turned out to be dead. */
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

  /** A connection of its own beside the pool, for LISTEN. The caller ends it. */
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
      // Whatever the server has not said itself may have left the connection in any state.
      client.release(error !== undefined && (!isAnswer(error) || isUseless(error)));
    }
  }

  #assertOpen(): void {
    if (this.#closed) throw storeClosed();
  }

  async [Symbol.asyncDispose](): Promise<void> {
    if (this.#closed) return;
    this.#closed = true;
    // A pool that ends forgets who waits for a connection: they would wait until they give up.
    await Promise.allSettled(this.#taking);
    await this.#pool.end();
  }
}

/** Sends one statement now; the answers come in the order of the statements. */
export async function send<Row extends object>(
  client: pg.ClientBase,
  { pooler, statementTimeoutMs }: Pick<PostgresSettings, 'pooler' | 'statementTimeoutMs'>,
  text: string,
  values: readonly unknown[],
): Promise<Row[]> {
  const name = pooler || values.length === 0 ? {} : { name: statementName(text) };
  const statement = { ...limited(text, statementTimeoutMs), values: [...values], ...name };
  const result = await client.query<Row & pg.QueryResultRow>(statement);
  // Of several statements in one text, the last one's.
  const { rows } = Array.isArray(result) ? (result.at(-1) as typeof result) : result;
  return rows;
}

/** A statement with a limit of its own, which the types do not know of. */
export function limited(text: string, limitMs: number): pg.QueryConfig & { readonly query_timeout: number } {
  return { text, query_timeout: limitMs + SILENCE_MS };
}

/** Prepared statements have names; ours are few, because texts are never made of values. */
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
    // Poolers refuse or mix up what is set for a whole connection.
    ...(!pooler && {
      statement_timeout: statementTimeoutMs,
      idle_in_transaction_session_timeout: idleTransactionMs,
    }),
  };
}

function ignore(): void {
  // Said to whoever uses the connection; nobody else can do anything about it.
}
