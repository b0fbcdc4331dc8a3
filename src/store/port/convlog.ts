/**
 * The channel log: every message of each channel, stored apart from the sessions. A reset, a compaction or a delete
 * of a session does not change it; a purge removes the session's lines unless `keepChannelLog` is set. It is for the
 * operator of a home and is never shown to an agent's tools.
 */
export interface Convlog {
  /** Appends all lines or none. The port has no way to change or remove a line. */
  append(lines: readonly ConvlogLine[]): Promise<void>;
  /** Lists the chats in keyset pages, the most recently used first. */
  list(query?: ConvlogQuery): Promise<ConvlogPage>;
  /** Reads lines of one chat by line number. */
  read(chat: ConvlogChatRef, range?: ConvlogRange): Promise<ConvlogLinePage>;
}

/** One chat of one agent. The channel chooses the ids; they may be any text. */
export interface ConvlogChatRef {
  readonly agentId: string;
  /** For example `telegram` or `web`. */
  readonly channelType: string;
  readonly channelId: string;
}

export type ConvlogRole = 'user' | 'assistant' | 'system';

export interface ConvlogSender {
  readonly id: string;
  readonly name?: string;
}

export interface ConvlogLine extends ConvlogChatRef {
  readonly role: ConvlogRole;
  readonly content: string;
  readonly sender?: ConvlogSender;
  /** ISO 8601 time. If unset, the store sets the current time. */
  readonly ts?: string;
  readonly sessionId?: string;
  /** The channel's id for this message. */
  readonly messageId?: string;
}

export interface StoredConvlogLine extends ConvlogLine {
  /** Counts the lines of one chat from 1, in the order in which the store received them. */
  readonly number: number;
  readonly ts: string;
}

export interface ConvlogChat extends ConvlogChatRef {
  readonly messages: number;
  readonly firstAt: string;
  readonly lastAt: string;
  /** The start of the text of the last line. */
  readonly lastText: string;
  /** Senders, the most recent first; at most `CONVLOG_MEMBERS`. */
  readonly members: readonly ConvlogSender[];
}

export const CONVLOG_MEMBERS: number = 50;

export interface ConvlogQuery {
  readonly limit?: number;
  readonly cursor?: string;
  readonly agentId?: string;
  /** ASCII letters match regardless of case. */
  readonly channelType?: string;
  /** The id or the name of a sender, ignoring case. */
  readonly member?: string;
  /** Only chats with a line that contains this text, ignoring case. */
  readonly text?: string;
  /** `time`: the most recently used first. `messages`: the longest first. */
  readonly sort?: 'time' | 'messages';
  /** Time limit of a text search in milliseconds; 1000 by default. */
  readonly budgetMs?: number;
  /** Also count the chats of all pages. Not allowed together with `text`, because it would read every line. */
  readonly withTotal?: boolean;
}

export interface ConvlogPage {
  readonly chats: readonly ConvlogChat[];
  /** The cursor of the next page; null after the last page. */
  readonly cursor: string | null;
  /** False if the time limit ended the page early. The next page continues the search from there. */
  readonly complete: boolean;
  /** Number of matching chats on all pages; set with `withTotal`. */
  readonly total?: number;
}

export interface ConvlogRange {
  /** Inclusive. Unset: the first line when reading forward, the last line when reading backward. */
  readonly from?: number;
  readonly limit?: number;
  readonly direction?: 'forward' | 'backward';
  readonly text?: string;
  readonly member?: string;
  readonly budgetMs?: number;
}

export interface ConvlogLinePage {
  readonly lines: readonly StoredConvlogLine[];
  /**
   * True if more lines follow. A page can be shorter than `limit` because its lines are long or the time limit ended
   * it.
   */
  readonly hasMore: boolean;
  /** The `from` of the next page; null after the last page. */
  readonly next: number | null;
}
