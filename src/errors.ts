/**
 * The one error type and the one table of codes.
 *
 * A code is API: surfaces turn it into an HTTP status and an exit code, callers decide by it whether a
 * retry makes sense, and `outcome` says what a failed write left behind (P2: done, not done, or unknown).
 * `docs/errors.md` is generated from this table by `npm run docs`.
 */
import type { Message } from './messages/message.ts';

/** What a failure left behind: `none`, nothing was written; `unknown`, it may have been: retry with the same key. */
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
  /** HTTP status; null for codes that only a command line can meet. */
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
  INVALID_INPUT: row(400, 2, false, 'The input is not of the expected form.'),
  INVALID_ID: row(400, 2, false, 'An agent or session id breaks the id grammar.'),
  INVALID_KEY: row(400, 2, false, 'A session key breaks the key grammar.'),
  LIMIT_EXCEEDED: row(413, 2, false, 'A size or depth limit was passed; `details.limit` names it.'),
  UNAUTHORIZED: row(401, 3, false, 'No valid token was presented.'),
  FORBIDDEN: row(403, 3, false, 'The caller may not do this.'),
  SEND_DENIED: row(403, 3, false, 'The send policy of this session refuses the message.'),
  NOT_FOUND: row(404, 4, false, 'The thing asked for does not exist.'),
  SESSION_NOT_FOUND: row(404, 4, false, 'No session has this id or key.'),
  SESSION_DELETED: row(410, 4, false, 'The session is in the trash; `restore` brings it back.'),
  GONE: row(410, 4, false, 'The session was purged for good.'),
  AMBIGUOUS_REF: row(409, 4, false, 'A reference matches several sessions.'),
  SESSION_EXISTS: row(409, 1, false, 'A session with this id exists under another key.'),
  LEAF_MOVED: row(409, 1, true, 'The conversation moved on since it was read.'),
  FENCED: row(409, 1, false, 'Another holder has taken over this session.'),
  LEASE_HELD: row(409, 1, true, 'Another process is running this session.'),
  SESSION_BUSY: row(409, 1, true, 'A turn is running and the queue mode refuses more.'),
  IN_FLIGHT: row(409, 1, true, 'A request with the same idempotency key is still running.'),
  PRECONDITION_FAILED: row(412, 1, false, 'The record changed since the given ETag.'),
  KEY_REUSED: row(422, 1, false, 'The idempotency key was used with another body.'),
  QUEUE_FULL: row(429, 1, true, 'The inbox of this session is at its cap.'),
  STORE_CORRUPT: row(409, 6, false, 'Stored bytes fail their seal; the session is readable, not writable.'),
  STORE_NEWER: row(409, 6, false, 'The store was written by a newer version.'),
  STORE_BUSY: row(503, 1, true, 'The store stayed locked for too long.'),
  STORE_MOVED: row(503, 1, true, 'The files of the store were replaced under us.'),
  STORE_READ_ONLY: row(503, 1, true, 'The store cannot be written.'),
  STORE_FAILED: row(500, 1, true, 'An I/O error left it open whether the write happened.', 'unknown'),
  STORE_FULL: row(507, 1, true, 'The disk is full or below the free-space floor.'),
  CONTEXT_OVERFLOW: row(422, 1, false, 'The last message and the system prompt alone exceed the window.'),
  CONTEXT_WINDOW_TOO_SMALL: row(422, 1, false, 'The context window is below the hard minimum.'),
  MODEL_AUTH: row(
    502,
    1,
    false,
    'The model provider refused the credentials, or the account has nothing left.',
  ),
  MODEL_UNKNOWN: row(502, 1, false, 'The model provider does not know this model.'),
  MODEL_RATE_LIMITED: row(502, 1, true, 'The model provider asked us to slow down.'),
  MODEL_FAILED: row(502, 1, true, 'The model call failed.'),
  MODEL_TIMEOUT: row(504, 1, true, 'The model sent nothing for too long.'),
  ABORTED: row(409, 130, false, 'The work was stopped on request.'),
  CONFIG_INVALID: row(null, 2, false, 'The configuration is not valid.'),
  CONNECT_FAILED: row(null, 5, true, 'No server answered at the given address.'),
  METHOD_NOT_ALLOWED: row(405, 2, false, 'The route has no such method; `Allow` lists those it has.'),
  UNSUPPORTED_MEDIA_TYPE: row(415, 2, false, 'A request body is JSON, uncompressed.'),
  MISDIRECTED: row(421, 2, false, 'The request names a host this server does not answer for.'),
  RATE_LIMITED: row(429, 3, true, 'Too many wrong tokens came from this address.'),
  UNAVAILABLE: row(503, 1, true, 'The server is stopping or has no place left.'),
  INTERNAL: row(500, 1, false, 'A bug in the server; what it left behind is not known.', 'unknown'),
};

export interface RepriseErrorOptions {
  readonly details?: Readonly<Record<string, unknown>>;
  /** The cause as a code with parameters, so that a surface can show it in any language. */
  readonly why?: Message | undefined;
  readonly cause?: unknown;
  /** Overrides the table where one failure is known better than its kind. */
  readonly outcome?: Outcome;
}

export class RepriseError extends Error {
  override readonly name: string = 'RepriseError';
  readonly code: ErrorCode;
  readonly details: Readonly<Record<string, unknown>>;
  /** Set where `code` alone says too little to a person. `message` is its English text. */
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
