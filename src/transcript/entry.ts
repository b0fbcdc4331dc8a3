import { isObject, type JsonObject } from './json.ts';

/**
 * The possible content of a transcript line (docs/format.md). These types describe what Reprise writes; files of
 * other tools may differ, so readers of stored content use `content.ts`.
 */

export interface Seal {
  /** Counts our own lines from 1 (the header) without gaps. */
  readonly q: number;
  /** Lease epoch of the writer. */
  readonly e: number;
  /** `<i>/<n>`: the position of this line in its atomic append. */
  readonly b: string;
  /** Idempotency key or inbox id of the append. */
  readonly k?: string;
  /** The first 16 hex digits of the SHA-256 of the caller's canonical body. */
  readonly h?: string;
  /** CRC-32 of all bytes of the line before `,"c"`. */
  readonly c: string;
}

/** A seal without its checksum, which the codec adds. */
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

/**
 * Any line except the header. Unknown types and keys are preserved, take part in the chain and contribute nothing.
 */
export interface Entry {
  readonly type: string;
  readonly id: string;
  readonly parentId: string | null;
  readonly timestamp: string;
  readonly seal?: Seal;
  readonly [key: string]: unknown;
}

/**
 * The time of an entry. A copy (of a fork, a repair, an import) was stored later and records the time of its
 * original.
 */
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
  /** The text of arguments that were cut off or are not a JSON object; such a call never ran. */
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
  /** Unix time in ms. */
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

/** The data of a `custom` entry with this name; `undefined` for every other entry. */
export function customData({ type, customType, data }: Entry, name: string): JsonObject | undefined {
  return type === 'custom' && customType === name && isObject(data) ? data : undefined;
}
