/** `reprise/transcript`: the transcript format: reading, writing, trees, and rendering for providers. */

export { type BlobReference, blobNames, extractBlobs, hydrateBlobs } from '../transcript/blobs.ts';
export { contentText } from '../transcript/content.ts';
export type { Dialect } from '../transcript/dialects/canonical.ts';
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
} from '../transcript/entry.ts';
export { entryIdForSeq } from '../transcript/entry-id.ts';
export { type Issue, type IssueKind, IssueLog } from '../transcript/issues.ts';
export type { JsonObject } from '../transcript/json.ts';
export { DEFAULT_RECORD_LIMITS, type RecordLimits } from '../transcript/limits.ts';
export { type BadLine, type DecodedLine, decodeLine, encodeLine } from '../transcript/line.ts';
export type { MergeFormat } from '../transcript/merge/read-messages.ts';
export {
  createTranscriptReader,
  parseTranscript,
  readTranscript,
  type Transcript,
  type TranscriptReader,
} from '../transcript/reader.ts';
export type { ReaderOptions } from '../transcript/records.ts';
export {
  type CarrierLine,
  type CarrierName,
  SUMMARY_CARRIERS,
  type SummaryCarrier,
} from '../transcript/render/carrier.ts';
export type {
  AssistantPart,
  CallPart,
  ProjectedMessage,
  ProjectionNotes,
  ResultPart,
  TextPart,
  ThinkingPart,
  UserPart,
} from '../transcript/render/conversation.ts';
export type { ImagePart } from '../transcript/render/image-budget.ts';
export { type Projection, type ProjectOptions, project } from '../transcript/render/project.ts';
export {
  type HistoryFormat,
  type HistoryFormats,
  type RebuildOptions,
  rebuildHistory,
} from '../transcript/render/rebuild-history.ts';
export type {
  AiSdkAssistantPart,
  AiSdkMessage,
  AiSdkProviderOptions,
  AiSdkToolResult,
  AiSdkUserPart,
} from '../transcript/render/render-ai-sdk.ts';
export type { AnthropicBlock, AnthropicMessage } from '../transcript/render/render-anthropic.ts';
export type { OpenAiMessage, OpenAiPart, OpenAiToolCall } from '../transcript/render/render-openai.ts';
export { type Selection, type SelectOptions, selectContext } from '../transcript/render/select.ts';
export type { ProviderFamily, Target } from '../transcript/render/target.ts';
export { buildTree, type EntryTree, pathTo } from '../transcript/tree.ts';
