import type { RepriseError } from '../../errors.ts';
import { failure } from '../../messages/failure.ts';
import type { Expected } from '../../messages/params/params-settings.ts';
import { quoted } from '../../messages/quoted.ts';

export interface PostgresSettings {
  /** For `pg`: without what is ours. Holds the password, so it is never shown. */
  readonly connectionString: string;
  readonly poolMax: number;
  readonly notify: boolean;
  readonly advisoryLocks: boolean;
  /** A transaction pooler is in between: nothing may outlive a transaction on a connection. */
  readonly pooler: boolean;
  readonly statementTimeoutMs: number;
  /** After so long without a statement the server ends a transaction: a frozen node must not hold its locks. */
  readonly idleTransactionMs: number;
  readonly connectTimeoutMs: number;
  /** Nothing is written, and the server is told to refuse whatever would. */
  readonly readOnly: boolean;
}

export interface PostgresOptions {
  /** `postgres://user:password@host:5432/database`, with options behind the question mark; docs/stores.md has them. */
  readonly url: string;
  /** Whether other nodes are told of news (LISTEN, NOTIFY). Without it everybody looks five times a second. */
  readonly notify?: boolean;
  readonly advisoryLocks?: boolean;
  /** Through a transaction pooler such as PgBouncer: without notify, advisory locks and prepared statements. */
  readonly pooler?: boolean;
  readonly readOnly?: boolean;
}

const DEFAULT_POOL = 10;
const STATEMENT_MS = 30_000;
/** Well below the time of a lease (15 s), and far above what work between two statements of a transaction takes. */
const IDLE_TRANSACTION_MS = 5_000;
const CONNECT_MS = 10_000;
/** The names of our own options in a URL. */
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

/** The URL says how to get there and how to behave there; options that are given say it better. */
export function parsePostgresUrl({ url, ...options }: PostgresOptions): PostgresSettings {
  // No cause: it would carry the URL, and with it the password.
  if (!isPostgresUrl(url)) {
    throw failure('INVALID_INPUT', 'postgres.badUrl');
  }
  const parsed = new URL(url);
  const { searchParams } = parsed;
  const given = new Map(OURS.map((name) => [name, searchParams.get(name) ?? undefined]));
  for (const name of OURS) searchParams.delete(name);
  // Whoever asks for encryption gets a server that is who it says; `pg` is about to change its mind on the others.
  if (CHECKED.has(searchParams.get('sslmode') ?? '')) searchParams.set('sslmode', 'verify-full');
  const pooler = options.pooler ?? flag(given, 'pooler') ?? false;
  const { readOnly = false } = options;
  // Behind a pooler a connection has no settings of its own; there only we ourselves keep to it.
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

/** An @ behind the host is the end of a password with a slash in it, and half of it would be taken for the database. */
function isPostgresUrl(text: string): boolean {
  if (!URL.canParse(text)) return false;
  const { protocol, username, password, pathname, search, hash } = new URL(text);
  try {
    for (const part of [username, password, pathname]) decodeURIComponent(part);
  } catch {
    return false; // an escape that is no letter of UTF-8
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
