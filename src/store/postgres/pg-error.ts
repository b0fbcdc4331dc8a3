import { type ErrorCode, type Outcome, RepriseError } from '../../errors.ts';

/** What `pg` throws: an answer of the server (it has a severity), or a failure of the socket. */
interface PgFailure {
  readonly code?: string;
  readonly severity?: string;
  readonly message?: string;
}

interface Meaning {
  readonly code: ErrorCode;
  readonly what: string;
  readonly next?: string;
}

const FREE_CONNECTIONS =
  'Raise max_connections of the server, lower "pool_max" in the URL, or put a pooler in between ("pooler=true").';
const CHECK_URL = 'Check the store URL (REPRISE_STORE_URL): postgres://user:password@host:5432/database.';
const TRY_AGAIN = 'Try again; no restart is needed.';

/** SQLSTATEs that say by themselves what is wrong. */
const BY_STATE: Readonly<Record<string, Meaning>> = {
  '25006': readOnly(),
  '28000': { code: 'CONNECT_FAILED', what: 'the server does not let this user in', next: CHECK_URL },
  '28P01': { code: 'CONNECT_FAILED', what: 'the server refuses the user or the password', next: CHECK_URL },
  '3D000': {
    code: 'CONNECT_FAILED',
    what: 'there is no such database',
    next: 'Create it (createdb NAME), or correct the store URL; the tables are made by themselves.',
  },
  '40001': { code: 'STORE_BUSY', what: 'others kept changing the same rows', next: TRY_AGAIN },
  '40P01': { code: 'STORE_BUSY', what: 'others kept locking the same rows', next: TRY_AGAIN },
  '42501': {
    code: 'STORE_FAILED',
    what: 'the user of the store may not do this',
    next: 'The user needs CREATE on the database, or a schema "reprise" of its own.',
  },
  '53100': {
    code: 'STORE_FULL',
    what: 'the disk of the database server is full',
    next: 'Free some space on the server; then try again, no restart is needed.',
  },
  '53200': { code: 'STORE_BUSY', what: 'the database server is out of memory', next: TRY_AGAIN },
  '53300': {
    code: 'STORE_BUSY',
    what: 'the database server has no connection left',
    next: FREE_CONNECTIONS,
  },
  '55P03': { code: 'STORE_BUSY', what: 'a row stayed locked for too long', next: TRY_AGAIN },
  '57014': { code: 'STORE_BUSY', what: 'the server ended a statement that took too long', next: TRY_AGAIN },
  '57P03': { code: 'STORE_BUSY', what: 'the database server is starting or stopping', next: TRY_AGAIN },
  XX001: damaged(),
  XX002: damaged(),
};

/** Of the socket, before anybody answered. */
const UNREACHABLE: ReadonlySet<string> = new Set([
  'ECONNREFUSED',
  'ENOTFOUND',
  'EAI_AGAIN',
  'EHOSTUNREACH',
  'ENETUNREACH',
  'ETIMEDOUT',
  'ENOENT',
]);
/** How `pg` says it waited in vain; it has no codes of its own. */
const WAITED_FOR_SERVER = /^timeout expired$|terminated due to connection timeout/;
const WAITED_FOR_PLACE = /timeout exceeded when trying to connect/;
const LOST_STATES = /^(?:08|57P0[125])/;

/** The connection is gone: what was asked last may or may not have happened. */
export function isLost(error: unknown): boolean {
  if (error instanceof RepriseError) return false;
  const { severity, code = '' } = error as PgFailure;
  return severity === undefined || LOST_STATES.test(code);
}

/** Nothing has happened, and the same once more may succeed: two transactions got into each other's way. */
export function isCollision(error: unknown): boolean {
  const { severity, code } = error as PgFailure;
  return severity !== undefined && (code === '40001' || code === '40P01');
}

export function sqlState(error: unknown): string {
  const { severity, code = '' } = (error ?? {}) as PgFailure;
  return severity === undefined ? '' : code;
}

/** Failures of the server and of the way to it by our codes, with what to do where that is known. */
export function pgError(error: unknown, outcome: Outcome = 'none'): RepriseError {
  if (error instanceof RepriseError) return error;
  const { code: reason = '', message = String(error) } = error as PgFailure;
  const { code, what, next } = meaningOf(error as PgFailure);
  return new RepriseError(code, `the PostgreSQL store failed: ${what} (${message})`, {
    cause: error,
    outcome,
    details: { ...(reason !== '' && { reason }), ...(next !== undefined && { next }) },
  });
}

function meaningOf({ severity, code = '', message = '' }: PgFailure): Meaning {
  if (severity === undefined) return socketMeaning(code, message);
  const known = BY_STATE[code];
  if (known !== undefined) return known;
  if (/\brecovery\b/.test(message)) return readOnly();
  if (LOST_STATES.test(code)) return lost();
  return { code: 'STORE_FAILED', what: `SQLSTATE ${code}` };
}

function socketMeaning(code: string, message: string): Meaning {
  if (WAITED_FOR_PLACE.test(message))
    return { code: 'STORE_BUSY', what: 'all connections of the pool are in use', next: FREE_CONNECTIONS };
  if (UNREACHABLE.has(code) || WAITED_FOR_SERVER.test(message))
    return {
      code: 'CONNECT_FAILED',
      what: 'no database server answers there',
      next: `Is the server running and reachable? ${CHECK_URL}`,
    };
  if (/\bSSL\b|certificate|self.signed/i.test(message) || code.startsWith('ERR_TLS') || code.includes('CERT'))
    return {
      code: 'CONNECT_FAILED',
      what: 'no encrypted connection could be made',
      next: 'Set sslmode in the store URL: disable, no-verify, or verify-full (with sslrootcert for an authority of your own).',
    };
  return lost();
}

function lost(): Meaning {
  return { code: 'STORE_FAILED', what: 'the connection to the server was lost', next: TRY_AGAIN };
}

function readOnly(): Meaning {
  return {
    code: 'STORE_READ_ONLY',
    what: 'the server takes no writes',
    next: 'It is a replica, or set read-only: point the store URL at the primary.',
  };
}

function damaged(): Meaning {
  return {
    code: 'STORE_CORRUPT',
    what: 'the server found damaged data',
    next: 'Restore the database from a backup; the server log names the file.',
  };
}
