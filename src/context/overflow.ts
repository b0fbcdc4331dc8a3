/** What is known of a failed model call. */
export interface ModelFailure {
  readonly status?: number | undefined;
  /** The provider's code, as in `error.code`. */
  readonly code?: string | number | null | undefined;
  /** The provider's type, as in `error.type`. */
  readonly type?: string | null | undefined;
  readonly message?: string | undefined;
}

export interface ContextOverflow {
  /** The window the provider named. */
  readonly limit?: number;
  /** How many tokens it counted. */
  readonly actual?: number;
}

/** Whatever the text says, these never mean that the request was too long: credentials, rates, load. */
const OTHER_STATUSES: ReadonlySet<number> = new Set([401, 402, 403, 404, 408, 409, 429, 502, 503, 504, 529]);
const OTHER_CODES = /rate_?limit|throttl|quota|too_?many_?requests|overloaded|auth/i;
const OTHER_TEXT =
  /\brate.?limit|too many requests|(?:tokens|requests) per (?:second|min|hour|day)|\bTPM\b|please wait before|throttl|quota|\b(?:hourly|daily|monthly)\b/i;

const OVERFLOW_CODES: ReadonlySet<string> = new Set([
  'context_length_exceeded',
  'exceed_context_size_error',
  'model_context_window_exceeded',
  'request_too_large',
]);

const LIMIT = String.raw`(?<limit>\d[\d,_]*)`;
const ACTUAL = String.raw`(?<actual>\d[\d,_]*)`;
/** Limits of this kind are not the window. */
const OTHER_UNIT = '(?:[kmg]i?b|bytes|images?|files?|tools?|requests?|messages?|characters|items?|pages?|%)';

/** The texts by which providers say it, those that name more before those that name less. */
const OVERFLOW_TEXTS: readonly RegExp[] = [
  `prompt is too long(?:: ${ACTUAL} tokens? > ${LIMIT} maximum)?`,
  String.raw`exceed context limit: ${ACTUAL} \+ \d+ > ${LIMIT}`,
  String.raw`input token count \(?${ACTUAL}\)? exceeds the maximum number of tokens allowed(?: \(?${LIMIT})?`,
  String.raw`token count exceeds the maximum number of tokens allowed(?: \(?${LIMIT})?`,
  String.raw`maximum context length is ${LIMIT} tokens?\. however,? [a-z ]{1,60}${ACTUAL}`,
  `maximum context length is ${LIMIT}`,
  `maximum prompt length is ${LIMIT}(?: but the request contains ${ACTUAL})?`,
  `contains ${ACTUAL} tokens.{0,80}too large for model with ${LIMIT} maximum context length`,
  `too large for model with ${LIMIT} maximum context length`,
  String.raw`\(${ACTUAL} tokens\) exceeds the available context size(?: \(?${LIMIT})?`,
  String.raw`exceeds the available context size(?: \(?${LIMIT})?`,
  String.raw`\(${ACTUAL} tokens\) is longer than the model'?s context length(?: \(?${LIMIT})?`,
  String.raw`is longer than the model'?s context length(?: \(?${LIMIT})?`,
  `token count of ${ACTUAL} exceeds the limit of ${LIMIT}`,
  String.raw`exceeds the limit of ${LIMIT}(?![\d,_]|\s*${OTHER_UNIT})`,
  String.raw`range of input length should be(?: \[\d+, *${LIMIT})?`,
  `exceeded model token limit(?:: ?${LIMIT})?`,
  `exceeds? the (?:model'?s )?context window`,
  'context window (?:exceeded|exceeds limit)',
  'context[_ ]length[_ ]exceeded|model_context_window_exceeded|request_too_large|exceed_context_size_error',
  'input is too long for requested model',
  'reduce the length of the messages or completion',
  'prompt too long; exceeded (?:max )?context length',
  'greater than the context length',
  'token limit exceeded|too many tokens',
].map((source) => new RegExp(source, 'is'));

/** Some clients put the status and the missing body into the text. */
const NO_BODY = /^(?:4(?:00|13)(?: status code)?)? ?(?:\(no body\))?$/i;
/** Error texts can quote what was sent; what they say themselves stands at the front. */
const READ_CHARS = 4000;

/**
 * Whether a call failed because the request was too long, and what was said about it: by status and code first,
 * then by the known texts, never by a word alone. Whatever speaks of rates is no overflow, so that no wait is ever
 * answered by rewriting history.
 */
export function findContextOverflow(failure: ModelFailure): ContextOverflow | undefined {
  const { status } = failure;
  const message = (failure.message ?? '').slice(0, READ_CHARS);
  if (status !== undefined && OTHER_STATUSES.has(status)) return undefined;
  const codes = [failure.code, failure.type].filter((code) => typeof code === 'string');
  if (codes.some((code) => OTHER_CODES.test(code))) return undefined;
  if (codes.some((code) => OVERFLOW_CODES.has(code))) return named(message) ?? {};
  if (OTHER_TEXT.test(message)) return undefined;
  const found = named(message);
  if (found !== undefined || status === 413) return found ?? {};
  // Cerebras answers with the bare status.
  return status === 400 && codes.length === 0 && NO_BODY.test(message.trim()) ? {} : undefined;
}

export function isContextOverflow(failure: ModelFailure): boolean {
  return findContextOverflow(failure) !== undefined;
}

function named(message: string): ContextOverflow | undefined {
  for (const pattern of OVERFLOW_TEXTS) {
    const match = pattern.exec(message);
    if (match === null) continue;
    const limit = count(match.groups?.['limit']);
    const actual = count(match.groups?.['actual']);
    return { ...(limit !== undefined && { limit }), ...(actual !== undefined && { actual }) };
  }
  return undefined;
}

function count(digits: string | undefined): number | undefined {
  if (digits === undefined) return undefined;
  const value = Number(digits.replace(/[,_]/g, ''));
  return Number.isSafeInteger(value) && value > 0 ? value : undefined;
}

export interface FinishedCall {
  /** Prompt tokens the provider counted, cached ones included. */
  readonly inputTokens: number;
  readonly outputTokens: number;
  readonly window: number;
  /** How the answer ended, in the provider's words or ours. */
  readonly finishReason?: string | undefined;
}

/** Some providers cut the request without a word: it shows in the usage, or in an answer that had no room. */
export function isSilentOverflow({ inputTokens, outputTokens, window, finishReason }: FinishedCall): boolean {
  if (finishReason === 'model_context_window_exceeded') return true;
  if (inputTokens > window) return true;
  return finishReason === 'length' && outputTokens === 0 && inputTokens >= window * 0.99;
}
