import type { StopReason, Usage } from '../transcript/entry.ts';

/** The limit and the actual size of a request, as far as the provider reported them. */
export interface OverflowNumbers {
  readonly limit?: number;
  readonly actual?: number;
}

const LIMIT = String.raw`(?<limit>\d[\d,_]*)`;
const ACTUAL = String.raw`(?<actual>\d[\d,_]*)`;
/** Limits in these units are not the window. */
const OTHER_UNIT = '(?:[kmg]i?b|bytes|images?|files?|tools?|requests?|messages?|characters|items?|pages?|%)';

/**
 * Phrases that mean "the request is too long", the more specific ones first. Whole phrases only: the words "token"
 * and "context" alone also appear in rate limits, expired credentials and many other errors.
 */
const PHRASES: readonly RegExp[] = [
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
  String.raw`exceeded model token limit(?:: ?${LIMIT}(?: \(requested: ${ACTUAL}\))?)?`,
  `exceeds? the (?:model'?s )?context window`,
  'context window (?:exceeded|exceeds limit)',
  'context[_ ]length[_ ]exceeded|model_context_window_exceeded|request_too_large|exceed_context_size_error',
  'input is too long for requested model',
  'reduce the length of the messages or completion',
  'prompt too long; exceeded (?:max )?context length',
  'greater than the context length',
  'token limit exceeded|too many tokens',
].map((source) => new RegExp(source, 'is'));

/** Texts about rate limits or credentials, which may contain the phrases above. */
const RATE_LIMIT =
  /\brate.?limit|too many requests|(?:tokens|requests) per (?:second|min|hour|day)|\bTPM\b|please wait before|throttl|quota|\b(?:hourly|daily|monthly)\b/i;
const EXPIRED = /token (?:has )?expired|expired token/i;

export function isRateLimitText(text: string): boolean {
  return RATE_LIMIT.test(text);
}

/** The numbers of a text that says "too long". @returns `undefined` for any other text. */
export function readOverflow(text: string): OverflowNumbers | undefined {
  // Error bodies can quote the request; the provider's own words are at the start.
  const head = text.slice(0, 4000);
  return RATE_LIMIT.test(head) || EXPIRED.test(head) ? undefined : readNumbers(head);
}

/** Like `readOverflow`, if a status or code has already shown that the failure is about length. */
export function readNumbers(text: string): OverflowNumbers | undefined {
  const head = text.slice(0, 4000);
  for (const phrase of PHRASES) {
    const match = phrase.exec(head);
    if (match === null) continue;
    const limit = count(match.groups?.['limit']);
    const actual = count(match.groups?.['actual']);
    return { ...(limit !== undefined && { limit }), ...(actual !== undefined && { actual }) };
  }
  return undefined;
}

function count(text: string | undefined): number | undefined {
  if (text === undefined) return undefined;
  const value = Number(text.replaceAll(/[,_]/g, ''));
  return Number.isSafeInteger(value) ? value : undefined;
}

/**
 * Some servers silently cut off the start of a long prompt. The numbers show it: more input than the window, or an
 * answer without tokens that stopped for its length with a full window.
 */
export function isSilentOverflow(
  { stopReason, usage }: { readonly stopReason: StopReason; readonly usage?: Usage },
  contextWindow: number | undefined,
): boolean {
  if (usage === undefined || contextWindow === undefined) return false;
  const input = usage.input + usage.cacheRead + usage.cacheWrite;
  if (input > contextWindow) return true;
  return stopReason === 'length' && usage.output === 0 && input >= contextWindow * 0.99;
}
