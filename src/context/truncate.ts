import { estimateTextTokens } from './estimate.ts';

/** More of the head is kept: it shows what the output is; the tail shows how it ended. */
const HEAD_SHARE = 2 / 3;

export type TruncateLimit = { readonly maxChars: number } | { readonly maxTokens: number };

/**
 * Shortens the text of a tool result to its head and its tail with a notice in between. A text that fits is returned
 * unchanged; a limit below the notice's length returns the notice alone. Never cuts inside a character.
 */
export function truncateToolText(text: string, limit: TruncateLimit): string {
  if ('maxChars' in limit) return text.length <= limit.maxChars ? text : headAndTail(text, limit.maxChars);
  const { maxTokens } = limit;
  const tokens = estimateTextTokens(text);
  if (tokens <= maxTokens) return text;
  let chars = Math.floor((text.length * maxTokens) / tokens);
  for (;;) {
    const cut = headAndTail(text, chars);
    const counted = estimateTextTokens(cut);
    if (counted <= maxTokens || chars === 0) return cut;
    // Head and tail can have more tokens per character than the whole text; shrinking by at least a tenth ends the
    // loop.
    chars = Math.floor(chars * Math.min(0.9, maxTokens / counted));
  }
}

function headAndTail(text: string, maxChars: number): string {
  // Reserve the notice's maximum length, so that a shorter count in it cannot break the limit.
  const room = Math.max(0, maxChars - notice(text.length).length);
  const headEnd = boundary(text, Math.floor(room * HEAD_SHARE), -1);
  const tailStart = boundary(text, text.length - (room - headEnd), 1);
  return text.slice(0, headEnd) + notice(tailStart - headEnd) + text.slice(tailStart);
}

function notice(characters: number): string {
  return `\n[... ${characters.toLocaleString('en')} characters left out ...]\n`;
}

/** The nearest index that is not between the halves of a surrogate pair. */
function boundary(text: string, index: number, step: 1 | -1): number {
  const high = (text.charCodeAt(index - 1) & 0xfc00) === 0xd800;
  const low = (text.charCodeAt(index) & 0xfc00) === 0xdc00;
  return high && low ? index + step : index;
}

export interface ToolResultSize {
  readonly id: string;
  readonly tokens: number;
}

export interface ToolCut {
  readonly id: string;
  readonly maxTokens: number;
}

export interface TruncationPlan {
  readonly cuts: readonly ToolCut[];
  readonly savedTokens: number;
  /** Whether the excess is covered. */
  readonly enough: boolean;
}

/** Results are shortened level by level, so the largest come first, whatever their age. */
const LEVELS: readonly number[] = [16_000, 8000, 4000, 2000, 1000, 500];

/**
 * Which results of a history, oldest first, to shorten so that it loses `excessTokens`. On each level the oldest are
 * cut first, so of equal results the newest stays longest. A cut goes down to its level, not just as far as needed:
 * otherwise the next turn would have to cut again, and every cut breaks the provider's cache.
 */
export function planToolTruncation(results: readonly ToolResultSize[], excessTokens: number): TruncationPlan {
  const left = results.map(({ tokens }) => tokens);
  let saved = 0;
  for (const level of LEVELS) {
    for (const [i, tokens] of left.entries()) {
      if (saved >= excessTokens) break;
      if (tokens <= level) continue;
      saved += tokens - level;
      left[i] = level;
    }
  }
  const cuts: ToolCut[] = [];
  for (const [i, { id, tokens }] of results.entries()) {
    const maxTokens = left[i] ?? tokens;
    if (maxTokens < tokens) cuts.push({ id, maxTokens });
  }
  return { cuts, savedTokens: saved, enough: saved >= excessTokens };
}
