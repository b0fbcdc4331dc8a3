/** `reprise/context`: token estimates, context windows, budgets and shortening of tool results. */

export {
  type ContextBudget,
  type ContextSplit,
  contextBudget,
  type SplitInput,
  splitContext,
} from '../context/budget.ts';
export {
  type Calibration,
  type ContextMeasure,
  calibrate,
  calibratedTokens,
  lastUsage,
  type MeasureOptions,
  measureContext,
  overheadTokens,
  type ReportedUsage,
  SAFETY_MARGIN,
  type UsageReport,
} from '../context/calibration.ts';
export {
  BASE_CHUNK_RATIO,
  type CountOptions,
  chunkMessagesByMaxTokens,
  computeAdaptiveChunkRatio,
  MIN_CHUNK_RATIO,
  splitMessagesByTokenShare,
} from '../context/chunk.ts';
export { estimateTextTokens } from '../context/estimate.ts';
export {
  estimateEntryTokens,
  estimateImageTokens,
  estimateMessagesTokens,
  estimateTokens,
  estimateToolTokens,
  type ToolSchema,
} from '../context/estimate-message.ts';
export { type LimitTurnsOptions, limitHistoryTurns } from '../context/limit-turns.ts';
export { type PrunedHistory, type PruneOptions, pruneHistoryForContextShare } from '../context/prune.ts';
export {
  planToolTruncation,
  type ToolCut,
  type ToolResultSize,
  type TruncateLimit,
  type TruncationPlan,
  truncateToolText,
} from '../context/truncate.ts';
export {
  CONTEXT_WINDOW_HARD_MIN_TOKENS,
  CONTEXT_WINDOW_WARN_BELOW_TOKENS,
  type ContextWindowGuard,
  type ContextWindowInfo,
  DEFAULT_CONTEXT_TOKENS,
  evaluateContextWindowGuard,
  type LearnedWindows,
  learnWindow,
  type ResolveWindowInput,
  resolveContextWindow,
  type WindowConfig,
  type WindowGuardInput,
  type WindowSource,
} from '../context/window.ts';
