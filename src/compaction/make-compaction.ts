import type { Entry } from '../transcript/entry.ts';
import type { JsonObject } from '../transcript/json.ts';
import { digest } from './digest.ts';
import { appendPins, type Pin, withoutPins } from './pins.ts';
import type { CompactionPlan } from './plan.ts';
import { appendMisses, findFacts, type RecallReport, recallReport } from './recall.ts';
import { type SpokenEntry, speakEntries } from './speak.ts';
import { type Summarise, type Summary, type SummaryMethod, summarizeWithFallback } from './summarize.ts';

export interface CompactionLimits {
  readonly maxSummaryTokens: number;
  readonly maxInputTokens: number;
  readonly textTokens: (text: string) => number;
}

export interface MakeCompactionOptions extends CompactionLimits {
  /** Unset: a digest, without a model. */
  readonly summarise?: Summarise | undefined;
  /** The model's earlier answer to the same input; the model is not called again. */
  readonly summary?: Summary | undefined;
  /** Called with the model's answer before the compaction is drafted from it. */
  readonly onSummary?: (summary: Summary) => Promise<void>;
  readonly edits?: ReadonlyMap<Entry, unknown>;
  readonly pins?: readonly Pin[];
  /** Facts from the store, which no model has to remember: running children, waiting messages. */
  readonly standing?: readonly string[];
  readonly focus?: string;
  readonly reason: string;
  readonly signal?: AbortSignal;
}

/** A compaction that is ready to be appended as one entry. */
export interface CompactionDraft {
  readonly summary: string;
  readonly firstKeptEntryId: string;
  readonly tokensBefore: number;
  readonly tokensAfter: number;
  readonly method: SummaryMethod;
  readonly recall: RecallReport;
  readonly details: JsonObject;
}

/** The input of a summary. Equal input has an equal summary, wherever its entries are in the history. */
export interface SummaryInput {
  readonly spoken: readonly SpokenEntry[];
  readonly previousSummary: string;
}

export function summaryInput(plan: CompactionPlan, edits?: ReadonlyMap<Entry, unknown>): SummaryInput {
  return {
    spoken: speakEntries(plan.covered, edits),
    previousSummary: withoutStanding(withoutPins(plan.previousSummary)),
  };
}

/** @returns `undefined` if it would not make the context smaller: it is not written, so no loop can repeat it. */
export async function makeCompaction(
  plan: CompactionPlan,
  options: MakeCompactionOptions,
): Promise<CompactionDraft | undefined> {
  const { maxSummaryTokens, textTokens, edits } = options;
  const { spoken, previousSummary } = summaryInput(plan, edits);
  const made = await summaryOf({ spoken, previousSummary }, options);
  if (made !== undefined) {
    const draft = finish(plan, spoken, { ...options, ...made });
    if (draft.tokensAfter < draft.tokensBefore) return draft;
  }
  // Pins and misses are added to the digest, so retry with smaller digests until the compaction saves tokens.
  for (let maxTokens = maxSummaryTokens; maxTokens >= 64; maxTokens = Math.floor(maxTokens / 2)) {
    const text = digest(spoken, { previousSummary, maxTokens, textTokens });
    const draft = finish(plan, spoken, { ...options, text, method: 'digest' });
    if (draft.tokensAfter < draft.tokensBefore) return draft;
  }
  return undefined;
}

async function summaryOf(
  input: SummaryInput,
  { summary, summarise, onSummary, ...options }: MakeCompactionOptions,
): Promise<Summary | undefined> {
  if (summary !== undefined || summarise === undefined) return summary;
  const made = await summarizeWithFallback({ ...options, ...input, summarise });
  if (made.method !== 'digest') await onSummary?.(made);
  return made;
}

const STANDING = '## Still going on';

/**
 * Removes the list of running work, which may have ended since the last summary. It is listed again from the store,
 * never summarized.
 */
function withoutStanding(summary: string): string {
  const at = summary.lastIndexOf(`\n${STANDING}\n`);
  return at === -1 ? summary : summary.slice(0, at).trimEnd();
}

type FinishOptions = MakeCompactionOptions & Summary;

function finish(
  plan: CompactionPlan,
  spoken: readonly SpokenEntry[],
  options: FinishOptions,
): CompactionDraft {
  const {
    text,
    method,
    failure,
    pins = [],
    standing = [],
    textTokens,
    maxSummaryTokens,
    focus,
    reason,
  } = options;
  const facts = findFacts(spoken);
  const recall = recallReport(facts, text);
  const withMisses = boundedMisses(text, recall, maxSummaryTokens, textTokens);
  const withStanding =
    standing.length === 0
      ? withMisses
      : `${withMisses.trimEnd()}\n\n${STANDING}\n${standing.map((line) => `- ${line}`).join('\n')}`;
  const summary = appendPins(withStanding, pins);
  return {
    summary,
    firstKeptEntryId: plan.firstKeptEntryId,
    tokensBefore: plan.summaryTokens + plan.coveredTokens + plan.keptTokens,
    tokensAfter: textTokens(summary) + plan.keptTokens,
    method,
    recall,
    details: {
      reason,
      method,
      coveredEntries: plan.covered.length,
      ...(plan.covered[0] !== undefined && {
        coveredFrom: plan.covered[0].id,
        coveredTo: plan.covered.at(-1)?.id,
      }),
      ...(plan.splitsTurn && { splitsTurn: true }),
      ...(focus !== undefined && focus !== '' && { focus }),
      ...(failure !== undefined && { failure }),
      recall,
    },
  };
}

/** The list of misses may use a quarter of the summary's tokens; the rest stays in the report only. */
function boundedMisses(
  text: string,
  recall: RecallReport,
  maxSummaryTokens: number,
  textTokens: (text: string) => number,
): string {
  let count = recall.missing.length;
  for (; count > 0; count = Math.floor(count / 2)) {
    const missing = recall.missing.slice(0, count);
    const unlisted = recall.unlisted + recall.missing.length - count;
    const result = appendMisses(text, { ...recall, missing, unlisted });
    if (textTokens(result.slice(text.length)) <= maxSummaryTokens / 4) return result;
  }
  return text;
}
