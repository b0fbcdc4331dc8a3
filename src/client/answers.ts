import type { Message } from '../messages/message.ts';
import type { Page } from '../protocol/page.ts';
import type { SessionView } from '../protocol/sessions.ts';

/** Answers whose schemas stand with their routes, as types. */

export interface CompactAnswer {
  /** Null: there was nothing to gain. */
  readonly compaction?: {
    readonly seq: number;
    readonly reason: string;
    readonly method: string;
    readonly coveredEntries: number;
    readonly tokensBefore: number;
    readonly tokensAfter: number;
  } | null;
  readonly preview?: {
    readonly coveredEntries: number;
    readonly keptEntries: number;
    readonly coveredTokens: number;
    readonly keptTokens: number;
    readonly firstKeptEntryId: string;
    readonly splitsTurn: boolean;
  } | null;
}

export interface UndoAnswer {
  readonly undone: 'turn' | 'compaction' | 'reset' | null;
  readonly sessionId?: string;
  readonly session: SessionView;
}

export interface RedoAnswer {
  readonly redone: 'turn' | 'compaction' | 'reset' | null;
  readonly sessionId?: string;
  readonly session: SessionView;
}

export interface PinsAnswer {
  readonly pins: readonly { readonly entryId: string; readonly text: string }[];
}

export interface CommandAnswer {
  readonly name: string;
  /** `messages` in English. */
  readonly text: string;
  readonly messages: readonly Message[];
  /** The session to continue in. */
  readonly sessionId?: string;
  /** The ids of a printed list, in the order of its numbers. */
  readonly listed?: readonly string[];
  /** A message was sent: `stream` streams its turn. */
  readonly inboxId?: string;
}

export interface ContextAnswer {
  readonly tokens: number;
  readonly window: { readonly tokens: number; readonly source: string };
  readonly budget: number;
  readonly reserve: number;
  readonly split: Readonly<Record<string, number>>;
  readonly messages: number;
  /** Only the newest part was counted: it is more than the window holds already. */
  readonly isPart?: boolean;
}

export interface TotalsAnswer {
  readonly turns: number;
  readonly calls: number;
  readonly usage: {
    readonly input: number;
    readonly output: number;
    readonly totalTokens: number;
    readonly cost?: Readonly<Record<string, number>>;
  };
}

export interface StatsAnswer {
  readonly sessions: number;
  readonly bytes: number;
  readonly behind: number;
  readonly disk?: { readonly freeBytes: number; readonly minFreeBytes: number };
  readonly rebuilding?: { readonly done: number; readonly total: number; readonly listed?: number };
  readonly search?: {
    readonly done: number;
    readonly total: number;
    readonly bytes: number;
    readonly problem?: string;
  };
  readonly lanes: Readonly<Record<string, { readonly running: number; readonly waiting: number }>>;
}

export interface ExplainAnswer {
  readonly turnId: string;
  readonly status: string;
  /** The messages that the turn answers, with their inbox rows. */
  readonly messages: readonly {
    readonly inboxId: string;
    readonly state?: string;
    readonly mergedInto?: string;
    readonly channel?: string;
    readonly sender?: { readonly id: string; readonly name?: string };
    readonly entryId?: string;
    readonly position?: number;
    readonly carries?: readonly string[];
  }[];
  readonly calls: readonly Readonly<Record<string, unknown>>[];
}

export interface AgentView {
  readonly id: string;
  readonly model: string;
  readonly profile?: string;
}

export interface SearchHit {
  readonly id: string;
  readonly sessionId: string;
  readonly agentId: string;
  /** Unset: it was purged meanwhile. */
  readonly session?: Pick<SessionView, 'sessionKey' | 'title' | 'label'>;
  readonly seq: number;
  readonly entryId: string;
  /** Of a message on the current branch; people write it as `#3`. */
  readonly position?: number;
  readonly role: 'user' | 'assistant' | 'tool' | 'summary' | 'note';
  readonly at: string;
  readonly snippet: string;
  /** Begin and end of what was found in the snippet. */
  readonly marks: readonly (readonly [number, number])[];
}

export interface SearchAnswer extends Page<SearchHit> {
  /** For `after`: where older hits begin. */
  readonly next: string | null;
  /** False: there may be hits that are not here, because of `reason`. */
  readonly complete: boolean;
  readonly reason?: 'time' | 'indexing';
  /** How far the index is, in lines, where it does not have everything. */
  readonly index?: { readonly done: number; readonly total: number };
}

interface Member {
  readonly id: string;
  readonly name?: string;
}

export interface Conversation {
  readonly id: string;
  readonly agentId: string;
  readonly channelType: string;
  readonly channelId: string;
  readonly messages: number;
  readonly firstAt: string;
  readonly lastAt: string;
  readonly lastText: string;
  readonly members: readonly Member[];
}

export interface ConversationList extends Page<Conversation> {
  readonly cursor: string | null;
  readonly complete: boolean;
  /** How many match on all pages; null with `q`. */
  readonly total: number | null;
}

export interface ConversationLine {
  readonly id: string;
  readonly number: number;
  readonly ts: string;
  readonly role: 'user' | 'assistant' | 'system';
  readonly content: string;
  readonly sender?: Member;
  readonly sessionId?: string;
  readonly messageId?: string;
}

export interface ConversationPage extends Page<ConversationLine> {
  readonly conversation: Pick<Conversation, 'agentId' | 'channelType' | 'channelId'>;
}

export interface PurgeAnswer {
  readonly id: string;
  readonly purged: true;
  /** What still has text of the session: other sessions by `sessionId`, notes and files by `file`. */
  readonly copies: readonly {
    readonly kind: 'session' | 'memory' | 'file';
    readonly sessionId?: string;
    readonly file?: string;
  }[];
  /** Other sessions that were purged as copies. */
  readonly purgedToo: readonly string[];
}
