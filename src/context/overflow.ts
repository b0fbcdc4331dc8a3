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

/** No other status can mean that the request was too long; 429 and the auth errors never do. */
const OVERFLOW_STATUSES: ReadonlySet<number> = new Set([400, 413, 422, 500]);

const OVERFLOW_CODES: ReadonlySet<string> = new Set([
  'context_length_exceeded',
  'exceed_context_size_error',
  'model_context_window_exceeded',
  'request_too_large',
]);

const LIMITED_CODES = /rate_?limit|throttl|quota|too_?many_?requests|overloaded/i;
const LIMITED_TEXT =
  /rate.?limit|too many requests|(?:tokens|requests) per (?:minute|min|second|hour|day)|\bTPM\b|please wait before|throttl|quota/i;

const N = String.raw`(\d[\d,._]*)`;

/** Texts by which providers say it, with the groups that hold the limit and the count, where they name them. */
const TEXTS: readonly { readonly pattern: RegExp; readonly limit?: number; readonly actual?: number }[] = [
  { pattern: text(`prompt is too long: ${N} tokens? > ${N} maximum`), actual: 1, limit: 2 },
  { pattern: /prompt is too long/i },
  { pattern: text(String.raw`exceed context limit: ${N} \+ \d+ > ${N}`), actual: 1, limit: 2 },
  {
    pattern: text(
      String.raw`input token count \(?${N}\)? exceeds the maximum number of tokens allowed \(?${N}`,
    ),
    actual: 1,
    limit: 2,
  },
  {
    pattern: text(String.raw`token count exceeds the maximum number of tokens allowed \(?${N}`),
    limit: 1,
  },
  {
    pattern: text(
      `maximum context length is ${N} tokens?\\. however,? (?:you requested|your (?:messages|prompt|request) (?:resulted in|contains?|has))(?: about)? ${N}`,
    ),
    limit: 1,
    actual: 2,
  },
  { pattern: text(`maximum context length is ${N}`), limit: 1 },
  { pattern: text(`maximum prompt length is ${N} but the request contains ${N}`), limit: 1, actual: 2 },
  { pattern: text(`maximum prompt length is ${N}`), limit: 1 },
  {
    pattern: text(`prompt contains ${N} tokens.*too large for model with ${N} maximum context length`),
    actual: 1,
    limit: 2,
  },
  { pattern: text(`too large for model with ${N} maximum context length`), limit: 1 },
  {
    pattern: text(String.raw`request \(?${N} tokens\)? exceeds the available context size \(?${N}`),
    actual: 1,
    limit: 2,
  },
  { pattern: text(String.raw`exceeds the available context size(?: \(?${N})?`), limit: 1 },
  {
    pattern: text(String.raw`\(${N} tokens\) is longer than the model'?s context length \(${N}`),
    actual: 1,
    limit: 2,
  },
  { pattern: /is longer than the model'?s context length/i },
  { pattern: text(`token count of ${N} exceeds the limit of ${N}`), actual: 1, limit: 2 },
  { pattern: text(`prompt.{0,80}exceeds the limit of ${N}|exceeds the limit of ${N} tokens`), limit: 1 },
  { pattern: text(String.raw`range of input length should be \[\d+, *${N}`), limit: 1 },
  { pattern: /range of input length should be/i },
  { pattern: text(`exceeded model token limit(?:: ?${N})?`), limit: 1 },
  { pattern: /exceeds? the (?:model'?s )?context window/i },
  { pattern: /context window exceeded|context window exceeds limit/i },
  { pattern: /input is too long for requested model/i },
  { pattern: /reduce the length of the messages or completion/i },
  { pattern: /prompt too long; exceeded (?:max )?context length/i },
  { pattern: /greater than the context length/i },
  { pattern: /context[_ ]length[_ ]exceeded|model_context_window_exceeded|request_too_large/i },
  { pattern: /token limit exceeded|too many tokens/i },
];

/** Some clients put status and the missing body into the text. */
const NO_BODY = /^(?:4(?:00|13)(?: status code)?)? ?(?:\(no body\))?$/i;

function text(source: string): RegExp {
  return new RegExp(source, 'is');
}

/**
 * Whether a call failed because the request was too long, and what was said about it: by status and code first,
 * then by the known texts, never by a word alone. Whatever speaks of rates is not an overflow, so that no wait is
 * ever answered by rewriting history.
 */
export function findContextOverflow(failure: ModelFailure): ContextOverflow | undefined {
  const { status, message = '' } = failure;
  if (status !== undefined && !OVERFLOW_STATUSES.has(status)) return undefined;
  const codes = [failure.code, failure.type].filter((code) => typeof code === 'string');
  if (codes.some((code) => LIMITED_CODES.test(code))) return undefined;
  if (codes.some((code) => OVERFLOW_CODES.has(code))) return named(message) ?? {};
  if (LIMITED_TEXT.test(message)) return undefined;
  const found = named(message);
  if (found !== undefined || status === 413) return found ?? {};
  // Cerebras answers with the bare status.
  return status === 400 && codes.length === 0 && NO_BODY.test(message.trim()) ? {} : undefined;
}

export function isContextOverflow(failure: ModelFailure): boolean {
  return findContextOverflow(failure) !== undefined;
}

/** Error texts can quote what was sent; what they say themselves stands at the front. */
const READ_CHARS = 4000;

function named(message: string): ContextOverflow | undefined {
  const head = message.slice(0, READ_CHARS);
  for (const { pattern, limit, actual } of TEXTS) {
    const match = pattern.exec(head);
    if (match === null) continue;
    const found = { limit: count(match, limit), actual: count(match, actual) };
    return {
      ...(found.limit !== undefined && { limit: found.limit }),
      ...(found.actual !== undefined && { actual: found.actual }),
    };
  }
  return undefined;
}

/** An alternative may have put the number into the next group. */
function count(match: RegExpExecArray, group: number | undefined): number | undefined {
  const digits = group === undefined ? undefined : (match[group] ?? match[group + 1]);
  if (digits === undefined) return undefined;
  const value = Number(digits.replace(/[,._]/g, ''));
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
