import type { StopReason, Usage } from '../transcript/entry.ts';

/** How large a request may be and was, as far as the provider said so. */
export interface OverflowNumbers {
  readonly limit?: number;
  readonly actual?: number;
}

const N = String.raw`(\d[\d,_]*)`;
const LIMIT = N.replace('(', '(?<limit>');
const ACTUAL = N.replace('(', '(?<actual>');

/**
 * How providers say that a request is too long. Whole phrases only: the words "token" and "context" alone stand in
 * rate limits, expired credentials and much else. Longer forms with numbers come before shorter ones.
 */
const PHRASES: readonly RegExp[] = [
  `prompt is too long: ${ACTUAL} tokens > ${LIMIT} maximum`, // Anthropic, z.ai
  'prompt is too long',
  `exceed context limit: .{0,60}> ${LIMIT}`, // Anthropic, input and max_tokens together
  `maximum context length is ${LIMIT} tokens.{0,20}however.{0,60}?(?:requested(?: about)?|resulted in) ${ACTUAL}`, // OpenRouter, vLLM
  `maximum context length is ${LIMIT} tokens`, // OpenAI
  'exceeds the context window',
  'context window exceeded',
  `input token count \\(${ACTUAL}\\) exceeds the maximum number of tokens allowed \\(${LIMIT}\\)`, // Gemini
  'exceeds the maximum number of tokens allowed',
  'input is too long for requested model', // Bedrock
  'reduce the length of the messages or completion', // Groq
  `contains ${ACTUAL} tokens.{0,80}too large for model with ${LIMIT} maximum context length`, // Mistral
  `too large for model with ${LIMIT} maximum context length`,
  'exceeds the available context size', // llama.cpp
  'prompt too long; exceeded max context length', // Ollama
  `maximum prompt length is ${LIMIT}(?:.{0,60}contains ${ACTUAL} tokens)?`, // xAI
  `\\(${ACTUAL} tokens\\) is longer than the model's context length \\(${LIMIT} tokens\\)`, // Together
  "is longer than the model's context length",
  'greater than the context length', // LM Studio
  `(?:token count of ${ACTUAL} )?exceeds the limit of ${LIMIT}\\b(?!\\s*(?:[kmg]?i?b\\b|bytes|images|pixels|px|requests|characters|files|tools|per\\b))`, // Copilot
  'context window exceeds limit', // MiniMax
  `exceeded model token limit(?:: ${LIMIT} \\(requested: ${ACTUAL}\\))?`, // Kimi
  `range of input length should be(?: \\[\\d+, ?${LIMIT}\\])?`, // DashScope
  'token limit exceeded',
  'too many tokens',
].map((source) => new RegExp(source, 'is'));

/** Said about too much too fast, or of credentials; these texts may hold the phrases above. */
const RATE_LIMIT =
  /rate.?limit|too many requests|tokens? per (?:minute|min|hour|day)|\bTPM\b|please wait before trying again|throttl/i;
const EXPIRED = /token (?:has )?expired|expired token/i;

export function isRateLimitText(text: string): boolean {
  return RATE_LIMIT.test(text);
}

/** The numbers of a text that says "too long", undefined for any other text. */
export function readOverflow(text: string): OverflowNumbers | undefined {
  // Error bodies can quote the request; the provider's own words are at the start.
  const head = text.slice(0, 4000);
  if (RATE_LIMIT.test(head) || EXPIRED.test(head)) return undefined;
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
 * Some servers cut the beginning off a long prompt and say nothing. It shows in the numbers: more input than the
 * window holds, or an answer of no tokens that stopped for its length with the window full.
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
