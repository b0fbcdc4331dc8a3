import { createHash } from 'node:crypto';
import { isDeepStrictEqual } from 'node:util';
import type { CutStrategy } from '../../compaction/cut-strategies.ts';
import {
  type CompactionDraft,
  type MakeCompactionOptions,
  makeCompaction,
  summaryInput,
} from '../../compaction/make-compaction.ts';
import { type Pin, pinsInForce } from '../../compaction/pins.ts';
import { type CompactionPlan, planCompaction } from '../../compaction/plan.ts';
import { writeTranscript } from '../../compaction/speak.ts';
import type { Summarise, Summary, SummaryMethod } from '../../compaction/summarize.ts';
import { mayCommit } from '../../compaction/undo.ts';
import { estimatedContext } from '../../context/calibration.ts';
import { estimateTextTokens } from '../../context/estimate.ts';
import { estimateEntryTokens } from '../../context/estimate-message.ts';
import { RepriseError } from '../../errors.ts';
import type { Note } from '../../store/port/notes.ts';
import type { Lease, NewEntry, StoredEntry } from '../../store/port/store.ts';
import type { Entry } from '../../transcript/entry.ts';
import { isObject, type JsonObject } from '../../transcript/json.ts';
import { pathEntries } from '../../transcript/tree.ts';
import type { GuardEvent } from '../events.ts';
import { assertAsked } from '../intake/keyed-request.ts';
import { type ContextView, makeView, type RequestFrame, viewContext } from '../turn/turn-context.ts';
import type { TurnStore } from '../turn/turn-store.ts';
import { compactionCount } from './memory-flush.ts';

/** The sizes for a compaction. All but the window are in estimated tokens. */
export interface CompactionMeasures {
  /** False: nothing is ever summarized in this session. */
  readonly enabled: boolean;
  readonly cut: CutStrategy;
  readonly maxKeptTokens: number;
  readonly maxKeptMessages?: number;
  readonly maxSummaryTokens: number;
  readonly maxInputTokens: number;
}

export interface CompactOptions extends CompactionMeasures {
  /** The reason for people: over budget, overflow, requested. */
  readonly reason: string;
  readonly focus?: string;
  /** Unset: a digest, without a model. */
  readonly summarise?: Summarise | undefined;
  readonly standing?: readonly string[];
  readonly signal?: AbortSignal;
  /**
   * Covers exactly what the cut selects, as a preview showed it, even if a stored summary of other entries exists.
   */
  readonly isExact?: boolean;
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
  /** The same summary with other pins; no model is called. */
  readonly redraft: (pins: readonly Pin[]) => Promise<CompactionDraft | undefined>;
}

export function planFor(
  view: ContextView,
  { enabled, cut, maxKeptTokens, maxKeptMessages }: CompactionMeasures,
  keepFrom?: string,
): CompactionPlan | undefined {
  const { whole } = view;
  if (!enabled) return undefined;
  return planCompaction(whole, {
    cut,
    keepFrom,
    maxKeptTokens,
    ...(maxKeptMessages !== undefined && { maxKeptMessages }),
    tokensOf: (entry) => estimateEntryTokens(entry, whole.edits.get(entry)),
    textTokens: estimateTextTokens,
  });
}

/**
 * Does everything except the write, so that it can run while the conversation continues. The model's answer is first
 * stored in a note: after a crash before the write, the model is not called again.
 */
export async function prepareCompaction(
  view: ContextView,
  options: CompactOptions,
  { store, sessionId }: Pick<CompactionPlace, 'store' | 'sessionId'>,
): Promise<PreparedCompaction | undefined> {
  const planned = planFor(view, options);
  if (planned === undefined || view.leaf === null) return undefined;
  const note = options.summarise === undefined ? undefined : await store.notes.get(SUMMARY_NOTES, sessionId);
  const stored = readSummaryNote(note);
  const plan = planOfStored(view, options, stored) ?? planned;
  const inputHash = hashInput(plan, view, options.focus);
  let summary = stored?.inputHash === inputHash ? stored.summary : undefined;
  const pins = pinsInForce(view.entries);
  const draftWith = (request: Pick<MakeCompactionOptions, 'pins' | 'summarise'>) =>
    makeCompaction(plan, {
      ...options,
      edits: view.selection.edits,
      textTokens: estimateTextTokens,
      summary,
      onSummary: async (made) => {
        summary = made;
        const { firstKeptEntryId } = plan;
        await noteSummary({ store, sessionId }, { summary, inputHash, firstKeptEntryId });
      },
      ...request,
    });
  const draft = await draftWith({ pins, summarise: options.summarise });
  if (draft === undefined) return undefined;
  const redraft = (others: readonly Pin[]) => draftWith({ pins: others, summarise: undefined });
  return { plan, draft, snapshotLeaf: view.leaf, pins, redraft };
}

/** The version is part of the name: notes of another version are never found. */
export const SUMMARY_NOTES = 'summary-1';

interface StoredSummary {
  readonly summary: Summary;
  /** Hash of everything that the summary depends on. It changes if an entry was edited, undone or compacted since. */
  readonly inputHash: string;
  readonly firstKeptEntryId: string;
}

/** @returns the plan of the stored summary, if the summary is still valid and would cover enough. */
function planOfStored(
  view: ContextView,
  options: CompactOptions,
  stored: StoredSummary | undefined,
): CompactionPlan | undefined {
  if (stored === undefined || options.isExact === true) return undefined;
  const plan = planFor(view, options, stored.firstKeptEntryId);
  return plan !== undefined && hashInput(plan, view, options.focus) === stored.inputHash ? plan : undefined;
}

function hashInput(plan: CompactionPlan, { selection }: ContextView, focus = ''): string {
  const { spoken, previousSummary } = summaryInput(plan, selection.edits);
  const input = JSON.stringify([focus, previousSummary, writeTranscript(spoken)]);
  return createHash('sha256').update(input).digest('hex');
}

/** @param stored `undefined` removes the note: a summary that was used is not used again after an undo. */
async function noteSummary(
  { store, sessionId }: Pick<CompactionPlace, 'store' | 'sessionId'>,
  stored?: StoredSummary,
): Promise<void> {
  try {
    const { lastSeq: seq } = await store.get(sessionId);
    await store.notes.put(SUMMARY_NOTES, [{ id: sessionId, seq, value: { ...stored } }]);
  } catch (error) {
    // The compaction still works. Only a crash before it is written would cost another model call.
    if (!(error instanceof RepriseError)) throw error;
  }
}

function readSummaryNote(note: Note | undefined): StoredSummary | undefined {
  const { summary, inputHash, firstKeptEntryId } = note?.value ?? {};
  if (typeof inputHash !== 'string' || typeof firstKeptEntryId !== 'string') return undefined;
  if (!isObject(summary) || typeof summary['text'] !== 'string') return undefined;
  return { summary: summary as unknown as Summary, inputHash, firstKeptEntryId };
}

export interface CompactionPlace {
  readonly store: TurnStore;
  readonly sessionId: string;
  readonly lease: Lease;
  /** Idempotency key of the append, if the caller may repeat this compaction. */
  readonly key?: string | undefined;
}

/**
 * Appends one entry at the current leaf.
 *
 * @returns `undefined` if the covered entries were compacted, edited or left meanwhile. Then the summary is
 * discarded.
 */
export async function commitCompaction(
  { store, sessionId, lease, key }: CompactionPlace,
  { plan, snapshotLeaf, ...prepared }: PreparedCompaction,
  frame: RequestFrame,
): Promise<Extract<GuardEvent, { type: 'compaction' }> | undefined> {
  const current = await viewContext(store, sessionId, frame);
  if (!mayCommit(pathEntries(current.entries), { snapshotLeaf, covered: plan.covered })) return undefined;
  const pins = pinsInForce(current.entries);
  const isAsPinned = isDeepStrictEqual(pins, prepared.pins);
  const draft = isAsPinned ? prepared.draft : await prepared.redraft(pins);
  if (draft === undefined) return undefined;
  const { summary, firstKeptEntryId, details: described, method } = draft;
  const details: JsonObject = { ...described, pins };
  const count = compactionCount(await store.get(sessionId)) + 1;
  const sizes = contextSizes(current, { summary, firstKeptEntryId, details }, frame);
  const entry = compactionEntry({ summary, firstKeptEntryId, ...sizes, details });
  const counted = { type: 'custom', customType: 'reprise.settings', data: { compactionCount: count } };
  const { firstSeq } = await store.append(sessionId, [entry, counted], {
    epoch: lease.epoch,
    ...(key !== undefined && { key }),
  });
  if (method !== 'digest') await noteSummary({ store, sessionId });
  return {
    type: 'compaction',
    seq: firstSeq,
    reason: String(details['reason']),
    method,
    coveredEntries: plan.covered.length,
    ...sizes,
  };
}

/** The size of the whole context as `/context` counts it, before and after a compaction. */
function contextSizes(
  current: ContextView,
  fields: JsonObject,
  frame: RequestFrame,
): { readonly tokensBefore: number; readonly tokensAfter: number } {
  const place = { id: 'compacted', parentId: current.leaf, timestamp: '' };
  const entry: Entry = { type: 'compaction', ...fields, ...place };
  const { counted: tokensAfter } = makeView([...current.entries, entry], frame);
  if (tokensAfter < current.counted) return { tokensBefore: current.counted, tokensAfter };
  // One number was reported by the provider, the other is an estimate with a margin. Only two estimates can be
  // compared.
  const estimated = estimatedContext(current.estimated, frame.calibration);
  return { tokensBefore: Math.max(current.counted, estimated), tokensAfter };
}

/** The result of a compaction for a repeated request, read from its entry. */
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
