/**
 * Searches the text of user and assistant messages, tool results, summaries and notes: up to 262,144 characters of
 * each (16,384 of a tool result). Tool calls, thinking, settings and titles are not searched.
 */
export interface SearchQuery {
  /**
   * Words separated by white space. A text matches if it contains all of them, also as parts of longer words,
   * ignoring case. Words in quotation marks must appear together. A longer text than 16,384 characters is refused
   * with `LIMIT_EXCEEDED`.
   */
  readonly text: string;
  /** 20 by default. */
  readonly limit?: number;
  readonly agentId?: string;
  readonly channel?: string;
  readonly sessionId?: string;
  /** The `next` of an earlier result: continue with older hits. */
  readonly after?: string;
  /** Time limit in milliseconds; 1000 by default. */
  readonly budgetMs?: number;
}

/** Includes every entry committed before the search, indexed or not, unless `complete` is false. */
export interface SearchResult {
  readonly hits: readonly SearchHit[];
  /** Pass it as `after` to get older hits; null after the last page. */
  readonly next: string | null;
  /** False if hits may be missing from this result; `reason` says why. */
  readonly complete: boolean;
  /** `time`: the time limit ended the search. `indexing`: it ended because the index is missing or not up to date. */
  readonly reason?: SearchLack;
  /** How much of the text the index covers, if not all of it. */
  readonly index?: SearchProgress;
}

export type SearchLack = 'time' | 'indexing';

/** Counted in transcript lines. */
export interface SearchProgress {
  readonly done: number;
  readonly total: number;
}

/** `note`: text of an extension or of an unknown role. */
export type SearchRole = 'user' | 'assistant' | 'tool' | 'summary' | 'note';

/** Sorted by `at`, newest first; for equal times by session id and then seq, both descending. */
export interface SearchHit {
  /** The session's id. */
  readonly id: string;
  readonly agentId: string;
  readonly seq: number;
  readonly entryId: string;
  readonly role: SearchRole;
  /** Time of the message; the start of the Unix epoch if the line has no time. */
  readonly at: string;
  /** A single line of text around the first match. */
  readonly snippet: string;
  /** Ranges (start, end) of the matches in the snippet, sorted and not overlapping. */
  readonly marks: readonly (readonly [number, number])[];
}
