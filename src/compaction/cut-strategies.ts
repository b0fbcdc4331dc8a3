import { RepriseError } from '../errors.ts';
import type { Entry } from '../transcript/entry.ts';
import { roleOf, startsTurn } from './safe-cut.ts';

/** How much of a history stays as it is. Every strategy names a place; `safeCut` finds the nearest safe one. */
export type CutStrategy =
  /** The newest so many tokens. */
  | { readonly kind: 'keep-tokens'; readonly tokens: number }
  /** The newest so many turns. */
  | { readonly kind: 'keep-turns'; readonly turns: number }
  | { readonly kind: 'keep-messages'; readonly messages: number }
  /** The oldest share of the messages goes, but the newest share, and at least so many, stays. */
  | { readonly kind: 'fraction'; readonly compress: number; readonly keep: number; readonly minKeep: number }
  /** Everything before the last user message goes. */
  | { readonly kind: 'last-user' }
  /** The newest share of the history's tokens. */
  | { readonly kind: 'history-share'; readonly share: number };

export const DEFAULT_CUT: CutStrategy = { kind: 'keep-tokens', tokens: 20_000 };

/** The index the strategy would cut at, safe or not; `tokens` has one count per entry. */
export function wantedCut(
  entries: readonly Entry[],
  tokens: readonly number[],
  strategy: CutStrategy,
): number {
  switch (strategy.kind) {
    case 'keep-tokens':
      return keepingTokens(tokens, strategy.tokens);
    case 'history-share':
      return keepingTokens(tokens, strategy.share * tokens.reduce((sum, count) => sum + count, 0));
    case 'keep-turns':
      return placeOfNth(entries, startsTurn, strategy.turns);
    case 'keep-messages':
      return placeOfNth(entries, isMessage, strategy.messages);
    case 'last-user':
      return placeOfNth(entries, (entry) => roleOf(entry) === 'user', 1);
    case 'fraction': {
      const places = entries.flatMap((entry, at) => (isMessage(entry) ? [at] : []));
      const keep = Math.max(strategy.minKeep, Math.floor(places.length * strategy.keep));
      const compress = Math.max(2, Math.floor(places.length * strategy.compress));
      return places[Math.max(0, Math.min(compress, places.length - keep))] ?? 0;
    }
    default:
      strategy satisfies never;
      throw new RepriseError('INVALID_INPUT', 'no such way to cut a history');
  }
}

function isMessage(entry: Entry): boolean {
  return entry.type === 'message' || startsTurn(entry);
}

/** The n-th from the end; 0 where there are not so many. */
function placeOfNth(entries: readonly Entry[], counts: (entry: Entry) => boolean, n: number): number {
  let left = n;
  for (let at = entries.length - 1; at >= 0; at--) {
    const entry = entries[at];
    if (entry !== undefined && counts(entry) && --left === 0) return at;
  }
  return 0;
}

function keepingTokens(tokens: readonly number[], limit: number): number {
  let sum = 0;
  for (let at = tokens.length - 1; at >= 0; at--) {
    sum += tokens[at] ?? 0;
    if (sum > limit) return at + 1;
  }
  return 0;
}
