import type { Entry } from '../transcript/entry.ts';
import type { Selection } from '../transcript/render/select.ts';
import { type CutStrategy, DEFAULT_CUT, type WantedCut, wantedCut } from './cut-strategies.ts';
import { findCutPlaces, safeCut, startsTurn } from './safe-cut.ts';

/** What a compaction would do, before a model is called or anything is written. */
export interface CompactionPlan {
  /** The entries to summarize: everything since the previous kept point that is not kept (I-6). */
  readonly covered: readonly Entry[];
  readonly kept: readonly Entry[];
  readonly firstKeptEntryId: string;
  readonly previousSummary: string;
  readonly coveredTokens: number;
  readonly keptTokens: number;
  readonly summaryTokens: number;
  /** True if the covered part ends inside a turn: its last request is still being worked on. */
  readonly splitsTurn: boolean;
}

export interface PlanOptions {
  readonly cut?: CutStrategy;
  /** The id of the first entry to keep, instead of a strategy. No plan if too much would be kept. */
  readonly keepFrom?: string | undefined;
  /** Maximum number of tokens in the kept part. */
  readonly maxKeptTokens?: number;
  /** Maximum number of messages in the kept part. */
  readonly maxKeptMessages?: number;
  /** Tokens of one entry in the context, with edits applied. */
  readonly tokensOf: (entry: Entry) => number;
  readonly textTokens: (text: string) => number;
}

/**
 * Plans a compaction. An entry that was kept before may be covered now; none is skipped (I-6).
 *
 * @returns `undefined` if nothing can be covered.
 */
export function planCompaction(
  { compaction, entries }: Selection,
  options: PlanOptions,
): CompactionPlan | undefined {
  const { cut = DEFAULT_CUT, tokensOf, textTokens } = options;
  const { maxKeptTokens = Number.POSITIVE_INFINITY, maxKeptMessages = Number.POSITIVE_INFINITY } = options;
  // An older compaction inside the kept range has no text in the context, so there is nothing to summarize in it.
  const speaking = entries.filter(({ type }) => type !== 'compaction');
  const tokens = speaking.map(tokensOf);
  const keptFrom = suffixSums(tokens);
  const messagesFrom = suffixSums(speaking.map(({ type }) => (type === 'message' ? 1 : 0)));
  const fits = (at: number): boolean =>
    (keptFrom[at] ?? 0) <= maxKeptTokens && (messagesFrom[at] ?? 0) <= maxKeptMessages;
  const place =
    options.keepFrom === undefined
      ? strategicCut(speaking, wantedCut(speaking, tokens, cut), fits)
      : cutBefore(speaking, options.keepFrom, fits);
  const first = place === undefined ? undefined : speaking[place];
  if (place === undefined || first === undefined) return undefined;
  const previousSummary = typeof compaction?.['summary'] === 'string' ? compaction['summary'] : '';
  return {
    covered: speaking.slice(0, place),
    kept: speaking.slice(place),
    firstKeptEntryId: first.id,
    previousSummary,
    coveredTokens: (keptFrom[0] ?? 0) - (keptFrom[place] ?? 0),
    keptTokens: keptFrom[place] ?? 0,
    summaryTokens: textTokens(previousSummary),
    splitsTurn: !startsTurn(first),
  };
}

function strategicCut(
  entries: readonly Entry[],
  { at, latest }: WantedCut,
  fits: (cut: number) => boolean,
): number | undefined {
  return at <= 0 && fits(0) ? undefined : safeCut(entries, at, fits, latest);
}

function cutBefore(
  entries: readonly Entry[],
  id: string,
  fits: (cut: number) => boolean,
): number | undefined {
  const at = entries.findIndex((entry) => entry.id === id);
  return findCutPlaces(entries).safe[at] === true && fits(at) ? at : undefined;
}

function suffixSums(values: readonly number[]): number[] {
  const sums = new Array<number>(values.length + 1).fill(0);
  for (let at = values.length - 1; at >= 0; at--) sums[at] = (sums[at + 1] ?? 0) + (values[at] ?? 0);
  return sums;
}
