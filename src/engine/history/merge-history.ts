import { estimateTextTokens } from '../../context/estimate.ts';
import { failure } from '../../messages/failure.ts';
import { quotedValue } from '../../messages/quoted.ts';
import { loadBlobs } from '../../store/copy/load-blobs.ts';
import type { NewEntry, Store } from '../../store/port/store.ts';
import { hydrateBlobs } from '../../transcript/blobs.ts';
import { entryIdForSeq } from '../../transcript/entry-id.ts';
import { type NewCompaction, planMerge } from '../../transcript/merge/merge-plan.ts';
import { MERGE_FORMATS, type MergeFormat, readMessages } from '../../transcript/merge/read-messages.ts';
import type { SessionLane } from '../schedule/session-lane.ts';
import { readHistory } from './read-history.ts';
import { moveTo } from './undo.ts';

export interface MergeOptions {
  readonly format: MergeFormat;
}

export interface MergeResult {
  readonly sessionId: string;
  /** `branched`: the history leaves the current branch, which stays as it was. */
  readonly outcome: 'unchanged' | 'appended' | 'branched';
  /** Number of new messages. */
  readonly added: number;
  /** The history starts with a summary of this session, which is stored as a compaction. */
  readonly isCompacted: boolean;
  /** Where the conversation continues. */
  readonly leaf: string | null;
}

/** An append is one transaction; a merge that is cut off between two of them is completed by the next merge. */
const MESSAGES_PER_APPEND = 200;

/** Appends what is new in the full history that another program holds (`rebuildHistory` is the inverse). */
export async function mergeHistory(
  {
    store,
    lane,
    sessionId,
  }: { readonly store: Store; readonly lane: SessionLane; readonly sessionId: string },
  messages: readonly unknown[],
  { format }: MergeOptions,
): Promise<MergeResult> {
  if (!MERGE_FORMATS.includes(format))
    throw failure('INVALID_INPUT', 'value.wrong', {
      field: 'format',
      value: quotedValue(format),
      expected: [{ is: 'oneOf', values: MERGE_FORMATS }],
    });
  if (!Array.isArray(messages))
    throw failure('INVALID_INPUT', 'value.wrong', {
      field: 'messages',
      value: quotedValue(messages),
      expected: [{ is: 'list', of: [] }],
    });
  const history = readMessages(messages, format);
  return lane.run(async ({ epoch }) => {
    const stored = await readHistory(store, sessionId);
    const all = hydrateBlobs(stored, await loadBlobs(store, sessionId, stored));
    const plan = planMerge(all, history);
    const isCompacted = plan.compaction !== undefined;
    if (plan.messages.length > 0 || isCompacted) {
      const move = plan.isHere ? [] : [moveTo(all, plan.at)];
      const { compaction } = plan;
      const summary =
        compaction === undefined ? [] : [await compactionOf(store, sessionId, compaction, move)];
      const added = plan.messages.map((message): NewEntry => ({ type: 'message', message }));
      await appendAll(store, sessionId, [...move, ...summary, ...added], epoch);
    }
    const { leaf } = await store.get(sessionId);
    const isNew = plan.messages.length > 0 || isCompacted;
    return {
      sessionId,
      outcome: isNew ? (plan.isHere ? 'appended' : 'branched') : 'unchanged',
      added: plan.messages.length,
      isCompacted,
      leaf,
    };
  });
}

async function appendAll(
  store: Store,
  sessionId: string,
  entries: readonly NewEntry[],
  epoch: number,
): Promise<void> {
  for (let from = 0; from < entries.length; from += MESSAGES_PER_APPEND)
    await store.append(sessionId, entries.slice(from, from + MESSAGES_PER_APPEND), { epoch });
}

/**
 * A compaction. If it keeps nothing, it names itself as the first entry that it keeps; if another writer
 * takes that id first, it names an entry outside its branch, which keeps nothing either.
 */
async function compactionOf(
  store: Store,
  sessionId: string,
  { summary, firstKeptEntryId }: NewCompaction,
  before: readonly NewEntry[],
): Promise<NewEntry> {
  const { lastSeq, tokenEstimate } = await store.get(sessionId);
  return {
    type: 'compaction',
    summary,
    firstKeptEntryId: firstKeptEntryId ?? entryIdForSeq(lastSeq + before.length + 1),
    tokensBefore: tokenEstimate,
    tokensAfter: estimateTextTokens(summary),
    details: { reason: 'another program', method: 'merged' },
  };
}
