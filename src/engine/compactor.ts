import type { CutStrategy } from '../compaction/cut-strategies.ts';
import { type CompactionDraft, makeCompaction } from '../compaction/make-compaction.ts';
import { type Pin, pinsInForce } from '../compaction/pins.ts';
import { type CompactionPlan, planCompaction } from '../compaction/plan.ts';
import type { Summarise, SummaryMethod } from '../compaction/summarize.ts';
import { mayCommit } from '../compaction/undo.ts';
import { estimateTextTokens } from '../context/estimate.ts';
import { estimateEntryTokens } from '../context/estimate-message.ts';
import type { Lease, NewEntry, StoredEntry } from '../store/store.ts';
import type { Entry } from '../transcript/entry.ts';
import type { JsonObject } from '../transcript/json.ts';
import { pathEntries } from '../transcript/tree.ts';
import type { GuardEvent } from './events.ts';
import { assertAsked } from './keyed-request.ts';
import { compactionCount } from './memory-flush.ts';
import type { ContextView } from './turn-context.ts';
import type { TurnStore } from './turn-store.ts';

/** How a compaction is measured out. All but the window is in estimated tokens. */
export interface CompactionMeasures {
  /** False: nothing is ever summarised in this session. */
  readonly enabled: boolean;
  readonly cut: CutStrategy;
  readonly maxKeptTokens: number;
  readonly maxKeptMessages?: number;
  readonly maxSummaryTokens: number;
  readonly maxInputTokens: number;
}

export interface CompactOptions extends CompactionMeasures {
  /** Why, for people: over budget, overflow, asked for. */
  readonly reason: string;
  readonly focus?: string;
  /** Unset: a digest, without a model. */
  readonly summarise?: Summarise;
  readonly standing?: readonly string[];
  readonly signal?: AbortSignal;
}

export interface CompactionPreview {
  readonly coveredEntries: number;
  readonly keptEntries: number;
  readonly coveredTokens: number;
  readonly keptTokens: number;
  readonly firstKeptEntryId: string;
  readonly splitsTurn: boolean;
}

export interface PreparedCompaction {
  readonly plan: CompactionPlan;
  readonly draft: CompactionDraft;
  readonly snapshotLeaf: string;
  readonly pins: readonly Pin[];
}

export function planFor(
  view: ContextView,
  { enabled, cut, maxKeptTokens, maxKeptMessages }: CompactionMeasures,
): CompactionPlan | undefined {
  const { whole } = view;
  if (!enabled) return undefined;
  return planCompaction(whole, {
    cut,
    maxKeptTokens,
    ...(maxKeptMessages !== undefined && { maxKeptMessages }),
    tokensOf: (entry) => estimateEntryTokens(entry, whole.edits.get(entry)),
    textTokens: estimateTextTokens,
  });
}

/** All but the writing, so that it can happen beside a conversation that goes on. */
export async function prepareCompaction(
  view: ContextView,
  options: CompactOptions,
): Promise<PreparedCompaction | undefined> {
  const plan = planFor(view, options);
  if (plan === undefined || view.leaf === null) return undefined;
  const pins = pinsInForce(view.entries);
  const draft = await makeCompaction(plan, {
    ...options,
    edits: view.selection.edits,
    pins,
    textTokens: estimateTextTokens,
  });
  return draft === undefined ? undefined : { plan, draft, snapshotLeaf: view.leaf, pins };
}

export interface CompactionPlace {
  readonly store: TurnStore;
  readonly sessionId: string;
  readonly lease: Lease;
  /** Of the append, where somebody may ask for this compaction again. */
  readonly key?: string | undefined;
}

/**
 * One appended entry at the current leaf. Undefined: what it covers was compacted, edited or left meanwhile, so the
 * work is thrown away and nothing else.
 */
export async function commitCompaction(
  { store, sessionId, lease, key }: CompactionPlace,
  { plan, draft, snapshotLeaf, pins }: PreparedCompaction,
  current: ContextView,
): Promise<Extract<GuardEvent, { type: 'compaction' }> | undefined> {
  if (!mayCommit(pathEntries(current.entries), { snapshotLeaf, covered: plan.covered })) return undefined;
  const { summary, firstKeptEntryId, tokensBefore, tokensAfter, details, method } = draft;
  const count = compactionCount(await store.get(sessionId)) + 1;
  const entry = compactionEntry({
    summary,
    firstKeptEntryId,
    tokensBefore,
    tokensAfter,
    details: { ...details, pins },
  });
  const counted = { type: 'custom', customType: 'reprise.settings', data: { compactionCount: count } };
  const { firstSeq } = await store.append(sessionId, [entry, counted], {
    epoch: lease.epoch,
    ...(key !== undefined && { key }),
  });
  return {
    type: 'compaction',
    seq: firstSeq,
    reason: String(details['reason']),
    method,
    coveredEntries: plan.covered.length,
    tokensBefore,
    tokensAfter,
  };
}

/** What a request was told of the compaction it asked for, by the entry that one left. */
export function compactedBefore({ seq, entry }: StoredEntry): Extract<GuardEvent, { type: 'compaction' }> {
  assertAsked('compact', entry as Entry);
  const { details, tokensBefore, tokensAfter } = entry as Entry;
  const { reason, method, coveredEntries } = details as JsonObject;
  return {
    type: 'compaction',
    seq,
    reason: String(reason),
    method: method as SummaryMethod,
    coveredEntries: Number(coveredEntries),
    tokensBefore: Number(tokensBefore),
    tokensAfter: Number(tokensAfter),
  };
}

function compactionEntry(fields: Readonly<Record<string, unknown>>): NewEntry {
  return { type: 'compaction', ...fields };
}

export function previewOf({
  covered,
  kept,
  coveredTokens,
  keptTokens,
  firstKeptEntryId,
  splitsTurn,
}: CompactionPlan): CompactionPreview {
  return {
    coveredEntries: covered.length,
    keptEntries: kept.length,
    coveredTokens,
    keptTokens,
    firstKeptEntryId,
    splitsTurn,
  };
}
