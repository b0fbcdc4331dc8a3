import { isObject, type JsonObject } from './json.ts';

/**
 * What a transcript line can say (docs/format.md). These types describe what we write and hope to read;
 * a file is not obliged to agree, so readers of stored content go through `content.ts`.
 */

export interface Seal {
  /** Counts our own lines from 1 (the header) without gaps. */
  readonly q: number;
  /** Lease epoch of the writer. */
  readonly e: number;
  /** `<i>/<n>`: this line's place in its atomic append. */
  readonly b: string;
  /** Idempotency key or inbox id of the append. */
  readonly k?: string;
  /** First 16 hex of the SHA-256 of the caller's canonical body. */
  readonly h?: string;
  /** CRC-32 of all bytes of the line before `,"c"`. */
  readonly c: string;
}

/** Everything of a seal but the checksum, which is the codec's. */
export type SealInput = Omit<Seal, 'c'>;

export interface SessionHeader {
  readonly type: 'session';
  readonly version?: number;
  readonly id?: string;
  readonly timestamp?: string;
  readonly cwd?: string;
  readonly parentSession?: string;
  readonly agentId?: string;
  readonly key?: string;
  readonly seal?: Seal;
}

/** Any line but the header. Unknown types and keys are kept, take part in the chain and contribute nothing. */
export interface Entry {
  readonly type: string;
  readonly id: string;
  readonly parentId: string | null;
  readonly timestamp: string;
  readonly seal?: Seal;
  readonly [key: string]: unknown;
}

/** When it was said: a copy (of a fork, a repair, an import) was stored later, and says when its original was written. */
export function entryTime({
  copiedAt,
  timestamp,
}: Pick<Entry, 'timestamp'> & { readonly copiedAt?: unknown }): string {
  return typeof copiedAt === 'string' && !Number.isNaN(Date.parse(copiedAt)) ? copiedAt : timestamp;
}

export interface TextBlock {
  readonly type: 'text';
  readonly text: string;
}

export interface ImageBlock {
  readonly type: 'image';
  /** Base64, without a data URL prefix. */
  readonly data: string;
  readonly mimeType: string;
}

export interface ThinkingBlock {
  readonly type: 'thinking';
  readonly thinking: string;
  /** Opaque, byte-exact. */
  readonly thinkingSignature?: string;
  readonly redacted?: boolean;
}

export interface ToolCallBlock {
  readonly type: 'toolCall';
  readonly id: string;
  readonly name: string;
  readonly arguments: Readonly<Record<string, unknown>>;
  /** The text of arguments that were cut off or are no JSON object; such a call never ran. */
  readonly partialJson?: string;
  /** Opaque, byte-exact. */
  readonly thoughtSignature?: string;
}

export type StopReason = 'stop' | 'length' | 'toolUse' | 'error' | 'aborted';

export interface Usage {
  readonly input: number;
  readonly output: number;
  readonly cacheRead: number;
  readonly cacheWrite: number;
  readonly totalTokens: number;
  /** Part of `output`. */
  readonly reasoning?: number;
  readonly cost?: Readonly<Record<string, number>>;
}

export interface UserMessage {
  readonly role: 'user';
  readonly content: string | readonly (TextBlock | ImageBlock)[];
  /** Unix ms. */
  readonly timestamp?: number;
}

export interface AssistantMessage {
  readonly role: 'assistant';
  readonly content: readonly (TextBlock | ThinkingBlock | ToolCallBlock)[];
  readonly api?: string;
  readonly provider?: string;
  readonly model?: string;
  readonly usage?: Usage;
  readonly stopReason?: StopReason;
  readonly errorMessage?: string;
  readonly timestamp?: number;
}

export interface ToolResultMessage {
  readonly role: 'toolResult';
  readonly toolCallId: string;
  readonly toolName: string;
  readonly content: readonly (TextBlock | ImageBlock)[];
  readonly isError: boolean;
  readonly details?: unknown;
  readonly timestamp?: number;
}

export interface BashExecutionMessage {
  readonly role: 'bashExecution';
  readonly command: string;
  readonly output: string;
  readonly exitCode?: number;
  readonly cancelled?: boolean;
  readonly excludeFromContext?: boolean;
  readonly timestamp?: number;
}

export interface SystemMessage {
  readonly role: 'system';
  readonly content: string;
  readonly timestamp?: number;
}

export type Message =
  | UserMessage
  | AssistantMessage
  | ToolResultMessage
  | BashExecutionMessage
  | SystemMessage;

const SIDE_TYPES: ReadonlySet<string> = new Set(['label', 'session_info', 'usage']);

/** Side entries never become the leaf: they are facts about the session, not turns of the conversation. */
export function isSideEntry(entry: Entry): boolean {
  if (SIDE_TYPES.has(entry.type)) return true;
  const { customType } = entry;
  return entry.type === 'custom' && typeof customType === 'string' && customType.startsWith('reprise.');
}

/** What a `custom` entry of this name says; undefined for every other entry. */
export function customData({ type, customType, data }: Entry, name: string): JsonObject | undefined {
  return type === 'custom' && customType === name && isObject(data) ? data : undefined;
}
