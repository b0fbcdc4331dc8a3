/** The public door of the package: explicit names only, so that what is API is decided here and nowhere else. */

export { type CutStrategy, DEFAULT_CUT } from './compaction/cut-strategies.ts';
export { type DigestOptions, digest } from './compaction/digest.ts';
export {
  type CompactionDraft,
  type CompactionLimits,
  type MakeCompactionOptions,
  makeCompaction,
} from './compaction/make-compaction.ts';
export { type Pin, pinsInForce } from './compaction/pins.ts';
export { type CompactionPlan, type PlanOptions, planCompaction } from './compaction/plan.ts';
export { type Fact, findFacts, type RecallReport, recallReport } from './compaction/recall.ts';
export { safeCut } from './compaction/safe-cut.ts';
export { type SpokenEntry, speakEntries } from './compaction/speak.ts';
export {
  type Summarise,
  type SummarizeOptions,
  type Summary,
  type SummaryMethod,
  type SummaryRequest,
  summarizeInStages,
  summarizeWithFallback,
} from './compaction/summarize.ts';
export { type AiSdkLanguageModel, type CreateModelOptions, createModel } from './config/create-model.ts';
export { type OpenStoreOptions, openStore, type StoreKind } from './config/open.ts';
export { type ModelChoice, type OpenRepriseOptions, openReprise } from './config/open-reprise.ts';
export {
  type ContextBudget,
  type ContextSplit,
  contextBudget,
  type SplitInput,
  splitContext,
} from './context/budget.ts';
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
} from './context/calibration.ts';
export {
  BASE_CHUNK_RATIO,
  type CountOptions,
  chunkMessagesByMaxTokens,
  computeAdaptiveChunkRatio,
  MIN_CHUNK_RATIO,
  splitMessagesByTokenShare,
} from './context/chunk.ts';
export { estimateTextTokens } from './context/estimate.ts';
export {
  estimateEntryTokens,
  estimateImageTokens,
  estimateMessagesTokens,
  estimateTokens,
  estimateToolTokens,
  type ToolSchema,
} from './context/estimate-message.ts';
export { type LimitTurnsOptions, limitHistoryTurns } from './context/limit-turns.ts';
export { type PrunedHistory, type PruneOptions, pruneHistoryForContextShare } from './context/prune.ts';
export {
  planToolTruncation,
  type ToolCut,
  type ToolResultSize,
  type TruncateLimit,
  type TruncationPlan,
  truncateToolText,
} from './context/truncate.ts';
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
} from './context/window.ts';
export type { ConvlogView } from './engine/admin/convlog.ts';
export type { ExplainedCall, Explanation } from './engine/admin/explain.ts';
export {
  type MaintenanceItem,
  type MaintenancePlan,
  type MaintenanceReason,
  planMaintenance,
} from './engine/admin/maintenance.ts';
export type { Duration, MaintenanceRules } from './engine/admin/maintenance-rules.ts';
export {
  type MaintenanceOptions,
  type MaintenanceReport,
  runMaintenance,
} from './engine/admin/run-maintenance.ts';
export type { SessionTotals } from './engine/admin/totals.ts';
export type { UsageQuery } from './engine/admin/usage-book.ts';
export type { UsageSum } from './engine/admin/usage-counter.ts';
export type { UsageOverview } from './engine/admin/usage-sums.ts';
export type { AgentOptions, Agents } from './engine/agents/agents.ts';
export {
  type CompactionTrigger,
  isProfileName,
  PROFILES,
  type Profile,
  type ProfileName,
} from './engine/agents/profiles.ts';
export type { ModelInUse } from './engine/agents/session-models.ts';
export type { SpawnRequest, SpawnResult } from './engine/agents/spawn-request.ts';
export type { Cleanup, RunStatus } from './engine/agents/subagent-run.ts';
export type { SubagentRun } from './engine/agents/subagents.ts';
export type { SessionReachName } from './engine/agents/tool-policy.ts';
export type { Clock, TimerHandle } from './engine/clock.ts';
export type { CommandContext, CommandHost, CommandResult } from './engine/commands/command-context.ts';
export {
  COMMANDS,
  type Command,
  type CommandName,
  type CommandRow,
  commandHelp,
  type EscapedMessage,
  parseCommand,
  type Surface,
  type UnknownCommand,
  unknownCommandText,
} from './engine/commands/commands.ts';
export { runCommand } from './engine/commands/run-command.ts';
export type { DoneEvent, ErrorEvent, GuardEvent, SessionEvent, TurnEvent } from './engine/events.ts';
export type { MergeOptions, MergeResult } from './engine/history/merge-history.ts';
export type { PurgeReport, PurgeSessionOptions, TextCopy } from './engine/history/purge-session.ts';
export type { UndoResult } from './engine/history/take-step.ts';
export type { ResetPolicy, ResetRules } from './engine/intake/freshness.ts';
export type { InboundMessage, Sender, UserInput } from './engine/intake/inbound.ts';
export type { Received } from './engine/intake/receive.ts';
export type { ChatType, SendAction, SendPolicy, SendRule } from './engine/intake/send-policy.ts';
export { type InboxStatus, Reprise, type RepriseOptions } from './engine/reprise.ts';
export type { LaneLimits } from './engine/schedule/lanes.ts';
export type { QueueMode } from './engine/schedule/queue.ts';
export type { StopOptions, StopResult } from './engine/schedule/stop-session.ts';
export type {
  CompactionEvent,
  CompactRequest,
  SendAgainOptions,
  SendOptions,
  Session,
} from './engine/session.ts';
export type { SessionOptions } from './engine/session-options.ts';
export type { QueueSettings, SessionSettings } from './engine/session-settings.ts';
export { type ToolInput, type ToolOptions, tool } from './engine/tools/define-tool.ts';
export { createFileTools } from './engine/tools/file-tools.ts';
export type {
  ParsedInput,
  Tool,
  ToolContent,
  ToolContext,
  ToolOutput,
  ToolSession,
} from './engine/tools/tool.ts';
export type { StandardSchema } from './engine/tools/tool-input.ts';
export type { ToolList } from './engine/tools/tool-list.ts';
export type { CallManifest } from './engine/turn/manifest.ts';
export type { TokenSplit } from './engine/turn/turn-context.ts';
export type { TurnResult, TurnStream } from './engine/turn/turn-stream.ts';
export type { ApiMessage } from './engine/window/api-messages.ts';
export type { CompactionPreview } from './engine/window/compactor.ts';
export type { ContextReport } from './engine/window/context-report.ts';
export {
  type GuardModelCallOptions,
  type GuardStep,
  guardModelCall,
} from './engine/window/guard-model-call.ts';
export {
  ERROR_TABLE,
  type ErrorCode,
  type ErrorRow,
  type Outcome,
  RepriseError,
  type RepriseErrorOptions,
} from './errors.ts';
export {
  type Binding,
  type BindingSubject,
  type BoundAgentOptions,
  resolveBoundAgent,
} from './keys/bindings.ts';
export {
  buildAgentMainSessionKey,
  buildAgentPeerSessionKey,
  buildGroupHistoryKey,
  type DmScope,
  type GroupHistoryKeyInput,
  type MainKeyInput,
  type PeerKeyInput,
  type PeerKind,
} from './keys/build.ts';
export { isSessionId, normalizeAgentId, parseAgentId, parseSessionId } from './keys/ids.ts';
export {
  type AgentSessionKey,
  isAcpSessionKey,
  isSubagentSessionKey,
  parseAgentSessionKey,
  resolveThreadParentSessionKey,
} from './keys/predicates.ts';
export { type RouteInput, type RoutingRules, resolveSessionKey } from './keys/resolve.ts';
export {
  formatSessionKey,
  normalizeSessionKey,
  parseSessionKey,
  type SessionKeyParts,
  type ThreadMarker,
  type ThreadRef,
} from './keys/session-key.ts';
export { Answer, type AnswerEnd } from './models/answer.ts';
export type {
  FinishEvent,
  Model,
  ModelCost,
  ModelEvent,
  ModelRequest,
  ModelStreamOptions,
  ModelTool,
  ThinkingLevel,
  ToolCallEvent,
} from './models/model.ts';
export { type CallFailure, findContextOverflow } from './models/model-error.ts';
export { isSilentOverflow, type OverflowNumbers } from './models/overflow.ts';
export { loadBlobs } from './store/copy/load-blobs.ts';
export type {
  Convlog,
  ConvlogChat,
  ConvlogChatRef,
  ConvlogLine,
  ConvlogLinePage,
  ConvlogPage,
  ConvlogQuery,
  ConvlogRange,
  ConvlogRole,
  ConvlogSender,
  StoredConvlogLine,
} from './store/port/convlog.ts';
export {
  type AgentPathInput,
  resolveDefaultSessionStorePath,
  resolveSessionFilePath,
  resolveSessionTranscriptPath,
  resolveSessionTranscriptsDir,
  type SessionPathInput,
} from './store/port/home-paths.ts';
export type {
  Inbound,
  InboundKey,
  Inbox,
  InboxClass,
  InboxGroup,
  InboxItem,
  InboxReceipt,
  InboxState,
  InboxWatchOptions,
  NewSession,
  PendingQuery,
  QueueLimit,
  RecountOptions,
  Reset,
  Settlement,
  TakeOptions,
} from './store/port/inbox.ts';
export type { Note, NoteListOptions, NotePage, Notes } from './store/port/notes.ts';
export type { PurgeOptions, PurgeReceipt } from './store/port/purge.ts';
export type {
  SearchHit,
  SearchLack,
  SearchProgress,
  SearchQuery,
  SearchResult,
  SearchRole,
} from './store/port/search.ts';
export type { DiskSpace, SearchIndexStats, TranscriptProblem } from './store/port/stats.ts';
export type {
  ActivateOptions,
  AppendOptions,
  AppendReceipt,
  ChangeOptions,
  EntryPage,
  Lease,
  LeaseInfo,
  LeaseOptions,
  ListQuery,
  ListSort,
  LiveEvent,
  LiveOptions,
  NewEntry,
  PatchOptions,
  ReadRange,
  RebuildProgress,
  ReleaseOptions,
  SeenSession,
  SessionInit,
  SessionPage,
  SessionRecord,
  SessionStatus,
  StatsOptions,
  Store,
  StoredEntry,
  StoreStats,
  StoreSupports,
  TailOptions,
  WatchOptions,
} from './store/port/store.ts';
export type {
  BlobRecord,
  ConvlogRecord,
  DamageRecord,
  EpochRecord,
  InboundRecord,
  ItemRecord,
  KeyRecord,
  LinesRecord,
  PurgedRecord,
  SessionCopy,
  Transfer,
  TransferNote,
  TransferPage,
  TransferRecord,
  TransferState,
} from './store/port/transfer.ts';
export type { VerifyFinding, VerifyOptions, VerifyReport, VerifyStatus } from './store/port/verify-report.ts';
export {
  type BlobReference,
  blobNames,
  extractBlobs,
  hydrateBlobs,
} from './transcript/blobs.ts';
export { contentText } from './transcript/content.ts';
export type { Dialect } from './transcript/dialects/canonical.ts';
export {
  type AssistantMessage,
  type BashExecutionMessage,
  type Entry,
  type ImageBlock,
  isSideEntry,
  type Message,
  type Seal,
  type SealInput,
  type SessionHeader,
  type StopReason,
  type SystemMessage,
  type TextBlock,
  type ThinkingBlock,
  type ToolCallBlock,
  type ToolResultMessage,
  type Usage,
  type UserMessage,
} from './transcript/entry.ts';
export { entryIdForSeq } from './transcript/entry-id.ts';
export { type Issue, type IssueKind, IssueLog } from './transcript/issues.ts';
export type { JsonObject } from './transcript/json.ts';
export { DEFAULT_RECORD_LIMITS, type RecordLimits } from './transcript/limits.ts';
export { type BadLine, type DecodedLine, decodeLine, encodeLine } from './transcript/line.ts';
export type { MergeFormat } from './transcript/merge/read-messages.ts';
export {
  createTranscriptReader,
  parseTranscript,
  readTranscript,
  type Transcript,
  type TranscriptReader,
} from './transcript/reader.ts';
export type { ReaderOptions } from './transcript/records.ts';
export {
  type CarrierLine,
  type CarrierName,
  SUMMARY_CARRIERS,
  type SummaryCarrier,
} from './transcript/render/carrier.ts';
export type {
  AssistantPart,
  CallPart,
  ProjectedMessage,
  ProjectionNotes,
  ResultPart,
  TextPart,
  ThinkingPart,
  UserPart,
} from './transcript/render/conversation.ts';
export type { ImagePart } from './transcript/render/image-budget.ts';
export { type Projection, type ProjectOptions, project } from './transcript/render/project.ts';
export {
  type HistoryFormat,
  type HistoryFormats,
  type RebuildOptions,
  rebuildHistory,
} from './transcript/render/rebuild-history.ts';
export type {
  AiSdkAssistantPart,
  AiSdkMessage,
  AiSdkProviderOptions,
  AiSdkToolResult,
  AiSdkUserPart,
} from './transcript/render/render-ai-sdk.ts';
export type { AnthropicBlock, AnthropicMessage } from './transcript/render/render-anthropic.ts';
export type { OpenAiMessage, OpenAiPart, OpenAiToolCall } from './transcript/render/render-openai.ts';
export { type Selection, type SelectOptions, selectContext } from './transcript/render/select.ts';
export type { ProviderFamily, Target } from './transcript/render/target.ts';
export { buildTree, type EntryTree, pathTo } from './transcript/tree.ts';
