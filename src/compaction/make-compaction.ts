import type { Entry } from '../transcript/entry.ts';
import type { JsonObject } from '../transcript/json.ts';
import { digest } from './digest.ts';
import { appendPins, type Pin, withoutPins } from './pins.ts';
import type { CompactionPlan } from './plan.ts';
import { appendMisses, findFacts, type RecallReport, recallReport } from './recall.ts';
import { type SpokenEntry, speakEntries } from './speak.ts';
import { type Summarise, type SummaryMethod, summarizeWithFallback } from './summarize.ts';

export interface CompactionLimits {
  readonly maxSummaryTokens: number;
  readonly maxInputTokens: number;
  readonly textTokens: (text: string) => number;
}

export interface MakeCompactionOptions extends CompactionLimits {
  /** Unset: a digest, without a model. */
  readonly summarise?: Summarise;
  readonly edits?: ReadonlyMap<Entry, unknown>;
  readonly pins?: readonly Pin[];
  /** Facts of the store rather than of anybody's memory: running children, waiting messages. */
  readonly standing?: readonly string[];
  readonly focus?: string;
  readonly reason: string;
  readonly signal?: AbortSignal;
}

/** A compaction ready to be appended as one entry. */
export interface CompactionDraft {
  readonly summary: string;
  readonly firstKeptEntryId: string;
  readonly tokensBefore: number;
  readonly tokensAfter: number;
  readonly method: SummaryMethod;
  readonly recall: RecallReport;
  readonly details: JsonObject;
}

/** Undefined: it would not make the context smaller, so nothing is to be written and no one will loop over it. */
export async function makeCompaction(
  plan: CompactionPlan,
  options: MakeCompactionOptions,
): Promise<CompactionDraft | undefined> {
  const { summarise, maxSummaryTokens, textTokens, edits } = options;
  const spoken = speakEntries(plan.covered, edits);
  const previousSummary = withoutStanding(withoutPins(plan.previousSummary));
  if (summarise !== undefined) {
    const { text, method, failure } = await summarizeWithFallback({
      ...options,
      spoken,
      summarise,
      previousSummary,
    });
    const draft = finish(plan, spoken, {
      ...options,
      text,
      method,
      ...(failure !== undefined && { failure }),
    });
    if (draft.tokensAfter < draft.tokensBefore) return draft;
  }
  // Pins and misses come on top, so a digest that shall gain something is told to be smaller and smaller.
  for (let maxTokens = maxSummaryTokens; maxTokens >= 64; maxTokens = Math.floor(maxTokens / 2)) {
    const text = digest(spoken, { previousSummary, maxTokens, textTokens });
    const draft = finish(plan, spoken, { ...options, text, method: 'digest' });
    if (draft.tokensAfter < draft.tokensBefore) return draft;
  }
  return undefined;
}

const STANDING = '## Still going on';

/** What went on at the time of the last summary may have ended since: it is listed anew, never retold. */
function withoutStanding(summary: string): string {
  const at = summary.lastIndexOf(`\n${STANDING}\n`);
  return at === -1 ? summary : summary.slice(0, at).trimEnd();
}

interface FinishOptions extends MakeCompactionOptions {
  readonly text: string;
  readonly method: SummaryMethod;
  readonly failure?: string;
}

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

/** The list of misses may cost a quarter of the summary's tokens; what does not fit stays in the report only. */
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
