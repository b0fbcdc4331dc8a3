import type { RepriseError } from '../../errors.ts';
import { failure } from '../../messages/failure.ts';
import type { Expected } from '../../messages/params/params-settings.ts';
import { quoted } from '../../messages/quoted.ts';

export interface PostgresSettings {
  /** The URL for `pg`, without our own options. It contains the password, so it is never shown. */
  readonly connectionString: string;
  readonly poolMax: number;
  readonly notify: boolean;
  readonly advisoryLocks: boolean;
  /** Whether a transaction pooler is in between: no state may outlive a transaction on a connection. */
  readonly pooler: boolean;
  readonly statementTimeoutMs: number;
  /** The server ends a transaction that is idle for this long, so that a frozen node does not hold its locks. */
  readonly idleTransactionMs: number;
  readonly connectTimeoutMs: number;
  /** Nothing is written, and the server refuses statements that write. */
  readonly readOnly: boolean;
}

export interface PostgresOptions {
  /** `postgres://user:password@host:5432/database`, with options after the question mark; see docs/stores.md. */
  readonly url: string;
  /** Whether to notify other nodes of changes (LISTEN, NOTIFY). Without it every node polls five times a second. */
  readonly notify?: boolean;
  readonly advisoryLocks?: boolean;
  /**
   * Connect through a transaction pooler such as PgBouncer: without notify, advisory locks and prepared statements.
   */
  readonly pooler?: boolean;
  readonly readOnly?: boolean;
}

const DEFAULT_POOL = 10;
const STATEMENT_MS = 30_000;
/** Well below the lifetime of a lease (15 s), and far above the time between two statements of a transaction. */
const IDLE_TRANSACTION_MS = 5_000;
const CONNECT_MS = 10_000;
/** Names of our own options in a URL. */
const OURS = [
  'pool_max',
  'pooler',
  'notify',
  'advisory_locks',
  'statement_timeout_ms',
  'idle_transaction_timeout_ms',
  'connect_timeout_ms',
];

const READ_ONLY = '-c default_transaction_read_only=on';

const CHECKED: ReadonlySet<string> = new Set(['prefer', 'require', 'verify-ca']);

/** Reads address and options from the URL; explicit options take precedence. */
export function parsePostgresUrl({ url, ...options }: PostgresOptions): PostgresSettings {
  // Do not set a cause: it would contain the URL and therefore the password.
  if (!isPostgresUrl(url)) {
    throw failure('INVALID_INPUT', 'postgres.badUrl');
  }
  const parsed = new URL(url);
  const { searchParams } = parsed;
  const given = new Map(OURS.map((name) => [name, searchParams.get(name) ?? undefined]));
  for (const name of OURS) searchParams.delete(name);
  // For these modes `pg` currently verifies the certificate but is about to change; request verification explicitly.
  if (CHECKED.has(searchParams.get('sslmode') ?? '')) searchParams.set('sslmode', 'verify-full');
  const pooler = options.pooler ?? flag(given, 'pooler') ?? false;
  const { readOnly = false } = options;
  // With a pooler, connections have no settings of their own; then only this program enforces read-only.
  if (readOnly && !pooler)
    searchParams.set('options', `${searchParams.get('options') ?? ''} ${READ_ONLY}`.trim());
  return {
    connectionString: parsed.href,
    pooler,
    poolMax: count(given, 'pool_max') ?? DEFAULT_POOL,
    notify: !pooler && (options.notify ?? flag(given, 'notify') ?? true),
    advisoryLocks: !pooler && (options.advisoryLocks ?? flag(given, 'advisory_locks') ?? true),
    statementTimeoutMs: count(given, 'statement_timeout_ms') ?? STATEMENT_MS,
    idleTransactionMs: count(given, 'idle_transaction_timeout_ms') ?? IDLE_TRANSACTION_MS,
    connectTimeoutMs: count(given, 'connect_timeout_ms') ?? CONNECT_MS,
    readOnly,
  };
}

/**
 * An @ after the host belongs to a password with an unescaped slash; part of it would be used as the database name.
 */
function isPostgresUrl(text: string): boolean {
  if (!URL.canParse(text)) return false;
  const { protocol, username, password, pathname, search, hash } = new URL(text);
  try {
    for (const part of [username, password, pathname]) decodeURIComponent(part);
  } catch {
    return false; // An escape that is not valid UTF-8.
  }
  const behind = username === '' && password === '' ? pathname + search + hash : pathname;
  return /^postgres(?:ql)?:$/.test(protocol) && !behind.includes('@');
}

type Given = ReadonlyMap<string, string | undefined>;

function flag(given: Given, name: string): boolean | undefined {
  const text = given.get(name);
  if (text === undefined) return undefined;
  if (text === 'true' || text === 'false') return text === 'true';
  throw wrongOption(name, text, { is: 'boolean' });
}

function count(given: Given, name: string): number | undefined {
  const text = given.get(name);
  if (text === undefined) return undefined;
  if (/^[1-9]\d{0,8}$/.test(text)) return Number(text);
  throw wrongOption(name, text, { is: 'integer', min: 1, max: 999_999_999 });
}

function wrongOption(field: string, text: string, expected: Expected): RepriseError {
  const origin = 'the store URL';
  return failure('INVALID_INPUT', 'value.wrong', {
    ...{ field, value: quoted(text), origin },
    expected: [expected],
  });
}
