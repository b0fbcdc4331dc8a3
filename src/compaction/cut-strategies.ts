import type { RepriseError } from '../errors.ts';
import { failure } from '../messages/failure.ts';
import { quotedValue } from '../messages/quoted.ts';
import type { Entry } from '../transcript/entry.ts';
import { roleOf, startsTurn } from './safe-cut.ts';

/** How much of a history to keep. A strategy wants an index; `safeCut` finds the nearest safe one. */
export type CutStrategy =
  /** The newest tokens, at most about this many. */
  | { readonly kind: 'keep-tokens'; readonly tokens: number }
  /** At least this many of the newest turns. */
  | { readonly kind: 'keep-turns'; readonly turns: number }
  /** At least this many of the newest messages. */
  | { readonly kind: 'keep-messages'; readonly messages: number }
  /** Covers the oldest share of the messages, but keeps the newest share and at least `minKeep` of them. */
  | { readonly kind: 'fraction'; readonly compress: number; readonly keep: number; readonly minKeep: number }
  /** Covers everything before the last user message. */
  | { readonly kind: 'last-user' }
  /** The newest share of the history's tokens. */
  | { readonly kind: 'history-share'; readonly share: number };

export const DEFAULT_CUT: CutStrategy = { kind: 'keep-tokens', tokens: 20_000 };

export interface WantedCut {
  /** The wanted index, safe or not. */
  readonly at: number;
  /** A later cut keeps less than the strategy promises. */
  readonly latest: number;
}

/** @param tokens One count per entry. */
export function wantedCut(
  entries: readonly Entry[],
  tokens: readonly number[],
  strategy: CutStrategy,
): WantedCut {
  switch (strategy.kind) {
    case 'keep-tokens':
      return atMost(keepingTokens(tokens, strategy.tokens));
    case 'history-share':
      return atMost(keepingTokens(tokens, strategy.share * tokens.reduce((sum, count) => sum + count, 0)));
    case 'keep-turns':
      return atLeast(placeOfNth(entries, startsTurn, strategy.turns));
    case 'keep-messages':
      return atLeast(placeOfNth(entries, isMessage, strategy.messages));
    case 'last-user':
      return atMost(placeOfNth(entries, (entry) => roleOf(entry) === 'user', 1));
    case 'fraction': {
      const places = entries.flatMap((entry, at) => (isMessage(entry) ? [at] : []));
      const keep = Math.max(strategy.minKeep, Math.floor(places.length * strategy.keep));
      const compress = Math.max(2, Math.floor(places.length * strategy.compress));
      const most = Math.max(0, places.length - keep);
      return { at: places[Math.min(compress, most)] ?? 0, latest: places[most] ?? entries.length };
    }
    default:
      throw unknownStrategy(strategy);
  }
}

function unknownStrategy(strategy: never): RepriseError {
  const { kind } = strategy as CutStrategy;
  const values = ['keep-tokens', 'keep-turns', 'keep-messages', 'history-share', 'last-user', 'fraction'];
  const params = {
    field: 'cut.kind',
    value: quotedValue(kind),
    expected: [{ is: 'oneOf' as const, values }],
  };
  return failure('INVALID_INPUT', 'value.wrong', params);
}

/** For strategies that limit the kept part from above: the cut may move in both directions. */
function atMost(at: number): WantedCut {
  return { at, latest: Number.POSITIVE_INFINITY };
}

function atLeast(at: number): WantedCut {
  return { at, latest: at };
}

function isMessage(entry: Entry): boolean {
  return entry.type === 'message' || startsTurn(entry);
}

/** The n-th match from the end; 0 if there are fewer. */
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
