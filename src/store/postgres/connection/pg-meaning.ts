import type { ErrorCode } from '../../../errors.ts';
import type { PostgresProblem } from '../../../messages/params/params-stores.ts';

/** An error of `pg`: an answer of the server (with a severity) or a socket failure. */
export interface PgFailure {
  readonly code?: string;
  readonly severity?: string;
  readonly message?: string;
  readonly syscall?: string;
}

/** A failure in our codes; the message tables have a text for each problem. */
export interface Meaning {
  readonly code: ErrorCode;
  readonly problem: PostgresProblem;
}

const READ_ONLY: Meaning = { code: 'STORE_READ_ONLY', problem: 'readOnly' };
const LOST: Meaning = { code: 'STORE_FAILED', problem: 'connectionLost' };
const BAD_PASSWORD: Meaning = { code: 'CONNECT_FAILED', problem: 'badPassword' };
const NO_DATABASE: Meaning = { code: 'CONNECT_FAILED', problem: 'noDatabase' };

/** SQLSTATEs with a clear meaning. */
const BY_STATE: Readonly<Record<string, Meaning>> = {
  '25006': READ_ONLY,
  '26000': { code: 'STORE_FAILED', problem: 'pooler' },
  '28000': { code: 'CONNECT_FAILED', problem: 'notAllowedIn' },
  '28P01': BAD_PASSWORD,
  '3D000': NO_DATABASE,
  '40001': { code: 'STORE_BUSY', problem: 'rowsChanged' },
  '40P01': { code: 'STORE_BUSY', problem: 'rowsLocked' },
  '42501': { code: 'STORE_FAILED', problem: 'noRights' },
  '42P05': { code: 'STORE_FAILED', problem: 'pooler' },
  '53100': { code: 'STORE_FULL', problem: 'diskFull' },
  '53200': { code: 'STORE_BUSY', problem: 'noMemory' },
  '53300': { code: 'STORE_BUSY', problem: 'noConnection' },
  '55P03': { code: 'STORE_BUSY', problem: 'rowLocked' },
  '57014': { code: 'STORE_BUSY', problem: 'slowStatement' },
  '57P03': { code: 'STORE_BUSY', problem: 'starting' },
  XX001: { code: 'STORE_CORRUPT', problem: 'damaged' },
  XX002: { code: 'STORE_CORRUPT', problem: 'damaged' },
};

/** Socket errors before any answer. */
const UNREACHABLE: ReadonlySet<string> = new Set([
  'ECONNREFUSED',
  'ENOTFOUND',
  'EAI_AGAIN',
  'EHOSTUNREACH',
  'ENETUNREACH',
  'ETIMEDOUT',
  'ENOENT',
]);
/** Messages of `pg` about timeouts; it has no codes for them. */
const WAITED_FOR_SERVER = /^timeout expired$|terminated due to connection timeout/;
const WAITED_FOR_PLACE = /timeout exceeded when trying to connect/;
/** 25P03: the server closed the connection of a transaction that was idle for too long. */
const LOST_STATES = /^(?:08|25P03|57P0[125])/;
/** OpenSSL's codes for a certificate that no trusted authority signed. */
const NOBODY_SIGNED = /SELF_SIGNED|UNABLE_TO_(?:VERIFY_LEAF|GET_ISSUER)|CERT_UNTRUSTED|INVALID_CA/;
const OUT_OF_TIME = /^CERT_(?:HAS_EXPIRED|NOT_YET_VALID)$/;

/** Codes of the operating system or of Node for a broken socket. */
const SOCKET_CODES = /^(?:E[A-Z]{3,}|ERR_(?:STREAM|SOCKET|TLS|SSL|OSSL)_?\w*)$/;
/** Messages of `pg` about a connection that no longer answers. */
const SILENT =
  /^Connection terminated|^Client (?:was closed|has encountered a connection error)|^Query read timeout/;

/** Whether a failure on our side concerns the connection to the server, as opposed to our own mistake. */
export function isLostSocket(code: unknown, message = ''): boolean {
  if (typeof code === 'string' && SOCKET_CODES.test(code)) return true;
  return [SILENT, WAITED_FOR_SERVER, WAITED_FOR_PLACE].some((said) => said.test(message));
}

export function isLostState(code: string): boolean {
  return LOST_STATES.test(code);
}

export function meaningOf({ severity, code = '', message = '', syscall }: PgFailure): Meaning {
  if (severity === undefined) {
    const problem = loginProblem(message) ?? tlsProblem(code, message, syscall);
    return problem === undefined ? socketMeaning(code, message) : { code: 'CONNECT_FAILED', problem };
  }
  const known = BY_STATE[code] ?? poolerMeaning(code, message);
  if (known !== undefined) return known;
  if (/\brecovery\b/.test(message)) return READ_ONLY;
  return isLostState(code) ? LOST : { code: 'STORE_FAILED', problem: 'other' };
}

function socketMeaning(code: string, message: string): Meaning {
  if (WAITED_FOR_PLACE.test(message)) return { code: 'STORE_BUSY', problem: 'poolInUse' };
  if (UNREACHABLE.has(code) || WAITED_FOR_SERVER.test(message))
    return { code: 'CONNECT_FAILED', problem: 'unreachable' };
  return isLostSocket(code, message) ? LOST : { code: 'STORE_FAILED', problem: 'client' };
}

/** Failures that our side detects during password authentication. */
function loginProblem(message: string): PostgresProblem | undefined {
  if (!message.startsWith('SASL')) return undefined;
  if (/client password must be/.test(message)) return 'noPassword';
  return /server signature/.test(message) ? 'serverUnproven' : 'noLogin';
}

/** Errors that a pooler sends, or that appear only with a pooler. */
function poolerMeaning(code: string, message: string): Meaning | undefined {
  if (code !== '08P01') return undefined;
  if (/unsupported startup parameter/.test(message)) return { code: 'CONNECT_FAILED', problem: 'pooler' };
  if (/^no such database/.test(message)) return NO_DATABASE;
  return /^no such user|auth/.test(message) ? BAD_PASSWORD : undefined;
}

function tlsProblem(code: string, message: string, syscall: string | undefined): PostgresProblem | undefined {
  if (syscall === 'open' || code === 'EISDIR') return 'pemFile';
  if (/does not support SSL/.test(message)) return 'noTls';
  if (code === 'ERR_TLS_CERT_ALTNAME_INVALID') return 'certificateName';
  if (NOBODY_SIGNED.test(code)) return 'certificateAuthority';
  if (OUT_OF_TIME.test(code)) return 'certificateDate';
  if (/\bSSL\b|certificate/i.test(message) || /^ERR_(?:TLS|SSL|OSSL)|CERT/.test(code)) return 'tls';
  return undefined;
}
