/** `reprise/store`: the store port and its types, for programs that read or implement a store. */

export { type OpenStoreOptions, openStore, type StoreKind } from '../config/open.ts';
export { loadBlobs } from '../store/copy/load-blobs.ts';
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
} from '../store/port/convlog.ts';
export {
  type AgentPathInput,
  resolveDefaultSessionStorePath,
  resolveSessionFilePath,
  resolveSessionTranscriptPath,
  resolveSessionTranscriptsDir,
  type SessionPathInput,
} from '../store/port/home-paths.ts';
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
} from '../store/port/inbox.ts';
export type { Note, NoteListOptions, NotePage, Notes } from '../store/port/notes.ts';
export type { PurgeOptions, PurgeReceipt } from '../store/port/purge.ts';
export type {
  SearchHit,
  SearchLack,
  SearchProgress,
  SearchQuery,
  SearchResult,
  SearchRole,
} from '../store/port/search.ts';
export type { DiskSpace, SearchIndexStats, TranscriptProblem } from '../store/port/stats.ts';
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
} from '../store/port/store.ts';
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
} from '../store/port/transfer.ts';
export type {
  VerifyFinding,
  VerifyOptions,
  VerifyReport,
  VerifyStatus,
} from '../store/port/verify-report.ts';
