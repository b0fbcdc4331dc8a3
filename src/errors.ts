/**
 * The one error type and the one table of error codes.
 *
 * A code is API: surfaces derive an HTTP status and an exit code from it, callers use it to decide whether a
 * retry makes sense, and `outcome` states what a failed write left behind (P2: done, not done, or unknown).
 * `docs/errors.md` is generated from this table by `npm run docs`.
 */
import type { Message } from './messages/message.ts';

/** What a failed write left behind. `none`: nothing was written. `unknown`: it may have happened; retry with the same key. */
export type Outcome = 'none' | 'unknown';

export type ErrorCode =
  | 'INVALID_INPUT'
  | 'INVALID_ID'
  | 'INVALID_KEY'
  | 'LIMIT_EXCEEDED'
  | 'UNAUTHORIZED'
  | 'FORBIDDEN'
  | 'SEND_DENIED'
  | 'NOT_FOUND'
  | 'SESSION_NOT_FOUND'
  | 'SESSION_DELETED'
  | 'GONE'
  | 'AMBIGUOUS_REF'
  | 'SESSION_EXISTS'
  | 'LEAF_MOVED'
  | 'FENCED'
  | 'LEASE_HELD'
  | 'SESSION_BUSY'
  | 'IN_FLIGHT'
  | 'PRECONDITION_FAILED'
  | 'KEY_REUSED'
  | 'QUEUE_FULL'
  | 'STORE_CORRUPT'
  | 'STORE_NEWER'
  | 'STORE_BUSY'
  | 'STORE_MOVED'
  | 'STORE_READ_ONLY'
  | 'STORE_FAILED'
  | 'STORE_FULL'
  | 'CONTEXT_OVERFLOW'
  | 'CONTEXT_WINDOW_TOO_SMALL'
  | 'MODEL_AUTH'
  | 'MODEL_UNKNOWN'
  | 'MODEL_RATE_LIMITED'
  | 'MODEL_FAILED'
  | 'MODEL_TIMEOUT'
  | 'ABORTED'
  | 'CONFIG_INVALID'
  | 'CONNECT_FAILED'
  | 'METHOD_NOT_ALLOWED'
  | 'UNSUPPORTED_MEDIA_TYPE'
  | 'MISDIRECTED'
  | 'RATE_LIMITED'
  | 'UNAVAILABLE'
  | 'INTERNAL';

export interface ErrorRow {
  /** HTTP status; null for codes that only the command line can report. */
  readonly http: number | null;
  /** Exit code of the CLI. */
  readonly exit: number;
  /** Whether the same call may succeed later without a change by the caller. */
  readonly retryable: boolean;
  readonly outcome: Outcome;
  readonly meaning: string;
}

const row = (
  http: number | null,
  exit: number,
  retryable: boolean,
  meaning: string,
  outcome: Outcome = 'none',
): ErrorRow => ({ http, exit, retryable, outcome, meaning });

export const ERROR_TABLE: Readonly<Record<ErrorCode, ErrorRow>> = {
  INVALID_INPUT: row(400, 2, false, 'The input has the wrong form.'),
  INVALID_ID: row(
    400,
    2,
    false,
    'An agent or session id has the wrong length or contains characters that ids cannot have.',
  ),
  INVALID_KEY: row(400, 2, false, 'A session key is not valid.'),
  LIMIT_EXCEEDED: row(413, 2, false, 'A limit was exceeded, for example a size; `details.limit` names it.'),
  UNAUTHORIZED: row(401, 3, false, 'The request has no valid token.'),
  FORBIDDEN: row(403, 3, false, 'The caller is not allowed to do this.'),
  SEND_DENIED: row(403, 3, false, 'The send policy of the session does not allow this message.'),
  NOT_FOUND: row(404, 4, false, 'The requested resource does not exist.'),
  SESSION_NOT_FOUND: row(404, 4, false, 'No session has this id, key or name.'),
  SESSION_DELETED: row(410, 4, false, 'The session is in the trash; `restore` recovers it.'),
  GONE: row(410, 4, false, 'The session was purged and cannot be recovered.'),
  AMBIGUOUS_REF: row(409, 4, false, 'A reference matches several sessions, entries or turns.'),
  SESSION_EXISTS: row(409, 1, false, 'Another session already has this id.'),
  LEAF_MOVED: row(
    409,
    1,
    true,
    'The conversation is not at the point that the request assumes, for example because another caller wrote to it.',
  ),
  FENCED: row(409, 1, false, 'Another process took over this session; this one can no longer write to it.'),
  LEASE_HELD: row(409, 1, true, 'Another process is running this session.'),
  SESSION_BUSY: row(409, 1, true, 'A turn is running, and the request cannot wait for it.'),
  IN_FLIGHT: row(409, 1, true, 'A request with the same idempotency key is still running.'),
  PRECONDITION_FAILED: row(412, 1, false, 'The record changed since the caller read it.'),
  KEY_REUSED: row(422, 1, false, 'The idempotency key was already used for a different request.'),
  QUEUE_FULL: row(429, 1, true, 'The session has as many queued messages as its queue allows.'),
  STORE_CORRUPT: row(409, 6, false, 'Stored data is damaged; the session can be read but not written.'),
  STORE_NEWER: row(409, 6, false, 'A newer version of Reprise wrote this store.'),
  STORE_BUSY: row(503, 1, true, 'The store was locked or busy for too long.'),
  STORE_MOVED: row(503, 1, true, 'The files of the store were replaced while it was open.'),
  STORE_READ_ONLY: row(503, 1, true, 'The store cannot be written.'),
  STORE_FAILED: row(
    500,
    1,
    true,
    'The store failed or was closed; a write may or may not have happened.',
    'unknown',
  ),
  STORE_FULL: row(507, 1, true, 'The disk is full, or less space is free than the store requires.'),
  CONTEXT_OVERFLOW: row(422, 1, false, 'The request does not fit into the context window of the model.'),
  CONTEXT_WINDOW_TOO_SMALL: row(422, 1, false, 'The context window is smaller than the required minimum.'),
  MODEL_AUTH: row(
    502,
    1,
    false,
    'The model provider rejected the API key, or the account has no credit left.',
  ),
  MODEL_UNKNOWN: row(502, 1, false, 'The model does not exist at the provider or in the configuration.'),
  MODEL_RATE_LIMITED: row(502, 1, true, 'The model provider limits the rate of requests.'),
  MODEL_FAILED: row(502, 1, true, 'The model call failed.'),
  MODEL_TIMEOUT: row(504, 1, true, 'The model did not answer in time.'),
  ABORTED: row(409, 130, false, 'The operation was stopped.'),
  CONFIG_INVALID: row(null, 2, false, 'The configuration is not valid.'),
  CONNECT_FAILED: row(null, 5, true, 'No server answered at the given address.'),
  METHOD_NOT_ALLOWED: row(
    405,
    2,
    false,
    'The route does not support this method; the `Allow` header lists the supported ones.',
  ),
  UNSUPPORTED_MEDIA_TYPE: row(415, 2, false, 'The request body must be uncompressed JSON.'),
  MISDIRECTED: row(421, 2, false, 'The request names a host that this server does not serve.'),
  RATE_LIMITED: row(429, 3, true, 'This address sent too many invalid tokens.'),
  UNAVAILABLE: row(503, 1, true, 'The server is stopping or has no free connection.'),
  INTERNAL: row(500, 1, false, 'A bug in the server; a write may or may not have happened.', 'unknown'),
};

export interface RepriseErrorOptions {
  readonly details?: Readonly<Record<string, unknown>>;
  /** The cause as a code with parameters, so that a surface can show it in any language. */
  readonly why?: Message | undefined;
  readonly cause?: unknown;
  /** Overrides the outcome of the table if more is known about this failure. */
  readonly outcome?: Outcome;
}

export class RepriseError extends Error {
  override readonly name: string = 'RepriseError';
  readonly code: ErrorCode;
  readonly details: Readonly<Record<string, unknown>>;
  /** Which failure of its kind this is, as a code that a surface can translate. `message` is its English text. */
  readonly why?: Message;
  readonly outcome: Outcome;

  constructor(
    code: ErrorCode,
    message: string,
    { details = {}, why, cause, outcome }: RepriseErrorOptions = {},
  ) {
    super(message, cause === undefined ? undefined : { cause });
    this.code = code;
    this.details = details;
    if (why !== undefined) this.why = why;
    this.outcome = outcome ?? ERROR_TABLE[code].outcome;
  }

  get httpStatus(): number | null {
    return ERROR_TABLE[this.code].http;
  }

  get exitCode(): number {
    return ERROR_TABLE[this.code].exit;
  }

  get retryable(): boolean {
    return ERROR_TABLE[this.code].retryable;
  }
}
