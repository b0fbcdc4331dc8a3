import { ERROR_TABLE, RepriseError } from '../errors.ts';
import { failure } from '../messages/failure.ts';
import type { Message } from '../messages/message.ts';
import { redactJson, redactText } from '../transcript/redact/redact.ts';
import { REQUEST_STEP } from './next-step.ts';

/**
 * An error as RFC 9457 defines it, with fields for programs: `code` is stable, and `error` has the same text as
 * `detail`.
 */
export interface Problem {
  readonly type: string;
  readonly title: string;
  readonly status: number;
  readonly detail: string;
  readonly instance: string;
  readonly code: string;
  readonly error: string;
  readonly retryable: boolean;
  /**
   * Whether a failed write may have happened. For `unknown`, retry with the same Idempotency-Key, or read the state.
   */
  readonly outcome: 'none' | 'unknown';
  /** The cause as a message code. Unset if only `code` is known. */
  readonly why?: Message | undefined;
  readonly details: ProblemDetails;
}

/** `next` is the next step. `general` marks the default of the code. Other fields depend on the code. */
export interface ProblemDetails {
  readonly next: string;
  readonly general?: true | undefined;
  readonly [name: string]: unknown;
}

export const PROBLEM_TYPE = 'application/problem+json';
const MAX_INSTANCE = 200;

/** Details can come from anywhere in the engine. Values that are not JSON or too long are left out. */
const MAX_DETAILS_CHARS = 8192;

export function problemOf(error: RepriseError, path: string): Problem {
  const { code, details, retryable } = error;
  const status = statusOf(error);
  // The message may contain a secret that another system repeated (T87).
  const message = redactText(error.message);
  const why = maskedWhy(error.why);
  return {
    type: `urn:reprise:error:${code}`,
    title: ERROR_TABLE[code].meaning,
    status,
    detail: message,
    // A caller without a token learns nothing, not even its own path.
    instance: code === 'UNAUTHORIZED' ? '/' : path.slice(0, MAX_INSTANCE),
    code,
    error: message,
    retryable: retryable || status === 503,
    outcome: error.outcome,
    ...(why !== undefined && { why }),
    details: { ...maskedJson(details), ...nextStep(error) },
  };
}

/** A write that may have happened is not a bug of the server: 503 asks the client to retry and find out. */
function statusOf({ code, httpStatus }: RepriseError): number {
  if (code === 'STORE_FAILED') return 503;
  return httpStatus ?? 400;
}

/** A provider may repeat an API key in its error (T87). */
export function maskedWhy<M extends Message | undefined>(why: M): M {
  return why && ({ code: why.code, params: maskedJson(why.params) } as M);
}

function maskedJson(value: object): Readonly<Record<string, unknown>> {
  try {
    const text = JSON.stringify(value);
    if (text.length <= MAX_DETAILS_CHARS) return redactJson(JSON.parse(text)) as Record<string, unknown>;
  } catch {
    // A cycle or a bigint: `code` and `detail` are enough.
  }
  return {};
}

function nextStep({ code, details: { next } }: RepriseError): ProblemDetails {
  if (typeof next !== 'string' || next === '') return { next: REQUEST_STEP[code], general: true };
  return { next: redactText(next.slice(0, MAX_DETAILS_CHARS)) };
}

export function asRepriseError(error: unknown): RepriseError {
  if (error instanceof RepriseError) return error;
  return failure('INTERNAL', 'request.unexpected', {}, { cause: error });
}
