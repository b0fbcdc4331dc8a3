import type { ErrorCode } from '../../../errors.ts';

/** What `pg` throws: an answer of the server (it has a severity), or a failure of the socket. */
export interface PgFailure {
  readonly code?: string;
  readonly severity?: string;
  readonly message?: string;
  readonly syscall?: string;
}

/** A failure by our codes: one line of cause, one of what to do. */
export interface Meaning {
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
  '26000': behindPooler('STORE_FAILED'),
  '28000': {
    code: 'CONNECT_FAILED',
    what: 'the server does not let this user in',
    next: `Its pg_hba.conf says who may come from where, and whether only by TLS ("sslmode=verify-full"). ${CHECK_URL}`,
  },
  '28P01': { code: 'CONNECT_FAILED', what: 'the server refuses the user or the password', next: CHECK_URL },
  '3D000': noDatabase(),
  '40001': { code: 'STORE_BUSY', what: 'others kept changing the same rows', next: TRY_AGAIN },
  '40P01': { code: 'STORE_BUSY', what: 'others kept locking the same rows', next: TRY_AGAIN },
  '42501': {
    code: 'STORE_FAILED',
    what: 'the user of the store may not do this',
    next: 'The user needs CREATE on the database, or a schema "reprise" of its own.',
  },
  '42P05': behindPooler('STORE_FAILED'),
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
/** 25P03: the server has closed the connection of a transaction that sent nothing for too long. */
const LOST_STATES = /^(?:08|25P03|57P0[125])/;
/** OpenSSL's words for a certificate that leads to nobody in the list of those we trust. */
const NOBODY_SIGNED = /SELF_SIGNED|UNABLE_TO_(?:VERIFY_LEAF|GET_ISSUER)|CERT_UNTRUSTED|INVALID_CA/;
const OUT_OF_TIME = /^CERT_(?:HAS_EXPIRED|NOT_YET_VALID)$/;

/** Of a socket that was there: by the system's name or Node's. */
const SOCKET_CODES = /^(?:E[A-Z]{3,}|ERR_(?:STREAM|SOCKET|TLS|SSL|OSSL)_?\w*)$/;
/** How `pg` says that nobody answers any more. */
const SILENT =
  /^Connection terminated|^Client (?:was closed|has encountered a connection error)|^Query read timeout/;

/** Whether what went wrong on our side is the way to the server, and not a mistake of our own. */
export function isLostSocket(code: unknown, message = ''): boolean {
  if (typeof code === 'string' && SOCKET_CODES.test(code)) return true;
  return [SILENT, WAITED_FOR_SERVER, WAITED_FOR_PLACE].some((said) => said.test(message));
}

export function isLostState(code: string): boolean {
  return LOST_STATES.test(code);
}

export function meaningOf({ severity, code = '', message = '', syscall }: PgFailure): Meaning {
  if (severity === undefined)
    return loginMeaning(message) ?? tlsMeaning(code, message, syscall) ?? socketMeaning(code, message);
  const known = BY_STATE[code] ?? poolerMeaning(code, message);
  if (known !== undefined) return known;
  if (/\brecovery\b/.test(message)) return readOnly();
  if (isLostState(code)) return lost();
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
  if (isLostSocket(code, message)) return lost();
  return { code: 'STORE_FAILED', what: 'something went wrong on our side of the connection' };
}

/** What our own side finds wrong while a password is being proved. */
function loginMeaning(message: string): Meaning | undefined {
  if (!message.startsWith('SASL')) return undefined;
  if (/client password must be/.test(message))
    return {
      code: 'CONNECT_FAILED',
      what: 'the server asks for a password and the store URL has none',
      next: `Put it into the URL, or into PGPASSWORD. ${CHECK_URL}`,
    };
  if (/server signature/.test(message))
    return {
      code: 'CONNECT_FAILED',
      what: 'the server cannot prove that it knows the password, so it may not be the one that is meant',
      next: 'Find out who answers at this address; "sslmode=verify-full" in the store URL tells them apart.',
    };
  return { code: 'CONNECT_FAILED', what: 'no way to prove the password was agreed on', next: CHECK_URL };
}

/** Somebody in between says it, or it is only ever seen where somebody is. */
function poolerMeaning(code: string, message: string): Meaning | undefined {
  if (code !== '08P01') return undefined;
  if (/unsupported startup parameter/.test(message)) return behindPooler('CONNECT_FAILED');
  if (/^no such database/.test(message)) return noDatabase();
  if (/^no such user|auth/.test(message)) return BY_STATE['28P01'];
  return undefined;
}

function tlsMeaning(code: string, message: string, syscall: string | undefined): Meaning | undefined {
  const failed = (what: string, next: string): Meaning => ({ code: 'CONNECT_FAILED', what, next });
  if (syscall === 'open' || code === 'EISDIR')
    return failed(
      'a file that the store URL names cannot be read',
      'Correct sslrootcert, sslcert or sslkey in the store URL: each is the path of a PEM file.',
    );
  if (/does not support SSL/.test(message))
    return failed(
      'the server speaks no TLS',
      'Switch it on there (ssl=on), or say "sslmode=disable" where nobody else can listen on the way.',
    );
  if (code === 'ERR_TLS_CERT_ALTNAME_INVALID')
    return failed(
      "the server's certificate is for another name",
      'Use a name that is in the certificate as the host of the store URL.',
    );
  if (NOBODY_SIGNED.test(code))
    return failed(
      "nobody we trust has signed the server's certificate",
      'Name the file with the certificate of its authority: "sslrootcert=/path/to/ca.pem" in the store URL.',
    );
  if (OUT_OF_TIME.test(code))
    return failed(
      "the server's certificate is not valid now",
      'Renew it on the server, or set the clock right.',
    );
  if (/\bSSL\b|certificate/i.test(message) || /^ERR_(?:TLS|SSL|OSSL)|CERT/.test(code))
    return failed(
      'no encrypted connection could be made',
      'Look at sslmode, sslrootcert, sslcert and sslkey in the store URL; docs/stores.md says what each does.',
    );
  return undefined;
}

function behindPooler(code: ErrorCode): Meaning {
  return {
    code,
    what: 'a transaction pooler is in between and was not told of',
    next: 'Add "pooler=true" to the store URL.',
  };
}

function noDatabase(): Meaning {
  return {
    code: 'CONNECT_FAILED',
    what: 'there is no such database',
    next: 'Create it (createdb NAME), or correct the store URL; the tables are made by themselves.',
  };
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
