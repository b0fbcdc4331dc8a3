import type { ErrorCode, RepriseError } from '../errors.ts';
import { failure, failureOf } from '../messages/failure.ts';
import type { Message } from '../messages/message.ts';
import type { ModelMessages, ProviderAnswer } from '../messages/params/params-models.ts';
import type { Model } from './model.ts';
import { isRateLimitText, type OverflowNumbers, readNumbers, readOverflow } from './overflow.ts';
import { type ResponseHeaders, readRetryAfter } from './retry-after.ts';

/** The known facts about a failed call, from any source. */
export interface ProviderFailure {
  /** Set if Reprise found the fault, and not the provider. Then `message` is empty. */
  readonly why?: Message | undefined;
  readonly message: string;
  readonly status?: number | undefined;
  /** The provider's own codes: Anthropic's `type`, OpenAI's `code` and `type`. */
  readonly codes?: readonly string[] | undefined;
  readonly headers?: ResponseHeaders | undefined;
  readonly requestId?: string | undefined;
  /** The response had no body; Cerebras reports a too long request like this. */
  readonly emptyBody?: boolean | undefined;
  /** The connection broke or could not be opened: the provider refused nothing. */
  readonly broken?: boolean | undefined;
  readonly overflow?: OverflowNumbers | undefined;
  readonly cause?: unknown;
}

/** The messages about what a provider answered. */
type AnswerCode = {
  readonly [C in keyof ModelMessages]: ModelMessages[C] extends ProviderAnswer ? C : never;
}[keyof ModelMessages];

interface Verdict {
  readonly code: ErrorCode;
  /** What the text says if the provider gave no reason. */
  readonly why: AnswerCode;
  /** Whether the same request may succeed when it is sent again. */
  readonly retryable: boolean;
  readonly details?: Readonly<Record<string, unknown>>;
}

const AUTH: Verdict = { code: 'MODEL_AUTH', why: 'model.authFailed', retryable: false };
const SPENT: Verdict = {
  code: 'MODEL_AUTH',
  why: 'model.noCredit',
  retryable: false,
  details: { spendLimit: true },
};
const UNKNOWN: Verdict = { code: 'MODEL_UNKNOWN', why: 'model.notFound', retryable: false };
const RATE: Verdict = { code: 'MODEL_RATE_LIMITED', why: 'model.rateLimited', retryable: true };
const OVERFLOW: Verdict = { code: 'CONTEXT_OVERFLOW', why: 'model.tooLong', retryable: false };
const FAILED: Verdict = { code: 'MODEL_FAILED', why: 'model.failed', retryable: false };
const PASSING: Verdict = { code: 'MODEL_FAILED', why: 'model.overloaded', retryable: true };

const BY_CODE: ReadonlyMap<string, Verdict> = new Map([
  ['insufficient_quota', SPENT],
  ['billing_error', SPENT],
  ['billing_hard_limit_reached', SPENT],
  ['insufficient_credits', SPENT],
  ['authentication_error', AUTH],
  ['permission_error', AUTH],
  ['invalid_api_key', AUTH],
  ['rate_limit_error', RATE],
  ['rate_limit_exceeded', RATE],
  ['context_length_exceeded', OVERFLOW],
  ['exceed_context_size_error', OVERFLOW],
  ['model_context_window_exceeded', OVERFLOW],
  ['request_too_large', OVERFLOW],
  ['model_not_found', UNKNOWN],
  ['not_found_error', UNKNOWN],
  ['overloaded_error', PASSING],
  ['api_error', PASSING],
  ['server_error', PASSING],
]);

/** Temporary by nature: overloaded, restarting, or a proxy that gave up. */
const PASSING_STATUS: ReadonlySet<number> = new Set([408, 500, 502, 503, 504, 529]);

const SPENT_TEXT =
  /credit balance is too low|insufficient (?:credits|balance|quota)|reached your (?:specified )?(?:api )?usage limits|spend(?:ing)? limit|exceeded your current quota/i;

/** Converts a provider's answer to an error with a code: by status and provider code first, by text last. */
export function modelError(
  given: ProviderFailure,
  { provider, id }: Pick<Model, 'provider' | 'id'>,
  now: number,
): RepriseError {
  const { message, status, codes = [], headers = {}, cause } = given;
  const verdict = judge(given);
  const retryAfterMs = readRetryAfter(headers, now);
  const numbers = verdict.code === 'CONTEXT_OVERFLOW' ? { ...readNumbers(message), ...given.overflow } : {};
  const requestId = given.requestId ?? headers['request-id'] ?? headers['x-request-id'];
  const details = {
    provider,
    model: id,
    ...(status !== undefined && { status }),
    ...(codes[0] !== undefined && { providerCode: codes[0] }),
    ...(requestId !== undefined && { requestId }),
    ...(retryAfterMs !== undefined && { retryAfterMs }),
    // Both large SDKs obey this header, so providers use it to stop useless retries.
    retryable: verdict.retryable && headers['x-should-retry'] !== 'false',
    ...verdict.details,
    ...numbers,
  };
  const text = message.length > 500 ? `${message.slice(0, 500)}…` : message;
  const why = given.why ?? ({ code: verdict.why, params: { provider, model: id, text } } as Message);
  return failureOf(verdict.code, why, { details, cause });
}

/** The same codes in other spellings: ThrottlingException, RateLimitError, quota_exceeded. */
const RATE_CODE = /rate_?limit|throttl|quota|too_?many_?requests/i;

function judge({ message, status, codes = [], emptyBody, broken }: ProviderFailure): Verdict {
  const named = codes.map((code) => BY_CODE.get(code)).find((verdict) => verdict !== undefined);
  const known = named ?? (codes.some((code) => RATE_CODE.test(code)) ? RATE : undefined);
  if (known === SPENT || status === 402) return SPENT;
  if (status === 401 || status === 403) return AUTH;
  // Gemini uses the same words for limits per minute, which are temporary.
  if (SPENT_TEXT.test(message) && !codes.includes('RESOURCE_EXHAUSTED')) return SPENT;
  if (status === 429) return RATE;
  if (status === 404) return UNKNOWN;
  // Some providers send 413 for a request above a limit per minute; that must not cause a compaction.
  if (status === 413) return known === RATE || isRateLimitText(message) ? RATE : OVERFLOW;
  if (known !== undefined) return known;
  if (status === 400 && emptyBody === true) return OVERFLOW;
  if (readOverflow(message) !== undefined) return OVERFLOW;
  if (isRateLimitText(message)) return RATE;
  if (broken === true || (status !== undefined && PASSING_STATUS.has(status))) return PASSING;
  return FAILED;
}

/** The failure of a call by the caller's own client: `error.code` and `error.type` as the provider sent them. */
export interface CallFailure {
  readonly status?: number | undefined;
  readonly code?: string | number | null | undefined;
  readonly type?: string | null | undefined;
  readonly message?: string | undefined;
}

/** For custom loops: the numbers of a refusal for length. @returns `undefined` for any other failure. */
export function findContextOverflow({
  status,
  code,
  type,
  message = '',
}: CallFailure): OverflowNumbers | undefined {
  const codes = [code, type].filter((name) => typeof name === 'string');
  const emptyBody = codes.length === 0 && NO_BODY.test(message.trim());
  if (judge({ message, status, codes, emptyBody }) !== OVERFLOW) return undefined;
  return readNumbers(message) ?? {};
}

/** Some clients put the status and the missing body into the text. */
const NO_BODY = /^(?:4(?:00|13)(?: status code)?)? ?(?:\(no body\))?$/i;

/** The error of a call that was aborted on request; the signal's reason is the cause. */
export function abortedError(
  { provider, id }: Pick<Model, 'provider' | 'id'>,
  signal: AbortSignal | undefined,
): RepriseError {
  return failure(
    'ABORTED',
    'model.stopped',
    { provider },
    { details: { provider, model: id }, cause: signal?.reason },
  );
}
