/** `reprise/compaction`: compaction without the engine: planning, summarizing and checking summaries. */

export { type CutStrategy, DEFAULT_CUT } from '../compaction/cut-strategies.ts';
export { type DigestOptions, digest } from '../compaction/digest.ts';
export {
  type CompactionDraft,
  type CompactionLimits,
  type MakeCompactionOptions,
  makeCompaction,
} from '../compaction/make-compaction.ts';
export { type Pin, pinsInForce } from '../compaction/pins.ts';
export { type CompactionPlan, type PlanOptions, planCompaction } from '../compaction/plan.ts';
export { type Fact, findFacts, type RecallReport, recallReport } from '../compaction/recall.ts';
export { safeCut } from '../compaction/safe-cut.ts';
export { type SpokenEntry, speakEntries } from '../compaction/speak.ts';
export {
  type Summarise,
  type SummarizeOptions,
  type Summary,
  type SummaryMethod,
  type SummaryRequest,
  summarizeInStages,
  summarizeWithFallback,
} from '../compaction/summarize.ts';
