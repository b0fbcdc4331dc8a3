/**
 * What was really said on each channel, beside the sessions: no reset, compaction, delete or purge touches it. For
 * people who look after a home, never for an agent's tools.
 */
export interface Convlog {
  /** All lines or none. A line cannot be changed or taken back. */
  append(lines: readonly ConvlogLine[]): Promise<void>;
  /** The chats, the one last spoken in first, in keyset pages. */
  list(query?: ConvlogQuery): Promise<ConvlogPage>;
  /** The lines of one chat by their numbers. */
  read(chat: ConvlogChatRef, range?: ConvlogRange): Promise<ConvlogLinePage>;
}

/** One chat of one agent. The ids are the channel's own and may be any text. */
export interface ConvlogChatRef {
  readonly agentId: string;
  /** telegram, web, … */
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
  /** ISO-8601; set by the store if unset. */
  readonly ts?: string;
  readonly sessionId?: string;
  /** As the channel calls this message. */
  readonly messageId?: string;
}

export interface StoredConvlogLine extends ConvlogLine {
  /** Counts the lines of its chat from 1, in the order they became known. */
  readonly number: number;
  readonly ts: string;
}

export interface ConvlogChat extends ConvlogChatRef {
  readonly messages: number;
  readonly firstAt: string;
  readonly lastAt: string;
  /** The beginning of the last line. */
  readonly lastText: string;
  /** Who spoke, the last one first; at most `CONVLOG_MEMBERS` of them. */
  readonly members: readonly ConvlogSender[];
}

export const CONVLOG_MEMBERS: number = 50;

export interface ConvlogQuery {
  readonly limit?: number;
  readonly cursor?: string;
  readonly agentId?: string;
  /** ASCII letters match in either case. */
  readonly channelType?: string;
  /** The id of a sender, or the name, ignoring case. */
  readonly member?: string;
  /** Chats with a line that holds this text, ignoring case. */
  readonly text?: string;
  /** The last spoken in, or the longest first. */
  readonly sort?: 'time' | 'messages';
  /** How long to look for a text at most, in milliseconds; by default 1000. */
  readonly budgetMs?: number;
  /** Count the chats of all pages too. Not with `text`: that would read every line. */
  readonly withTotal?: boolean;
}

export interface ConvlogPage {
  readonly chats: readonly ConvlogChat[];
  /** Where the next page starts; null at the end. */
  readonly cursor: string | null;
  /** False: the time was over before the page was full; the next page looks on from there. */
  readonly complete: boolean;
  /** With `withTotal`: how many chats match, on all pages. */
  readonly total?: number;
}

export interface ConvlogRange {
  /** Inclusive. Unset: the first line forwards, the last one backwards. */
  readonly from?: number;
  readonly limit?: number;
  readonly direction?: 'forward' | 'backward';
  readonly text?: string;
  readonly member?: string;
  readonly budgetMs?: number;
}

export interface ConvlogLinePage {
  readonly lines: readonly StoredConvlogLine[];
  /** A page may be shorter than asked for, because its lines are long or the time was over, and have more behind it. */
  readonly hasMore: boolean;
  /** What `from` of the next page is; null at the end. */
  readonly next: number | null;
}
