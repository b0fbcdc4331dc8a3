import type { JsonObject } from '../../transcript/json.ts';

/**
 * A cache of values that a caller computed from sessions, such as usage or summaries for lists. A note is never the
 * only copy of anything: the store drops a session's notes when the session is purged, and all notes when its index
 * is rebuilt or the store is copied. A reader must check that a note is still valid.
 */
export interface Notes {
  /** Lists all notes with one name in pages, ordered by session id. */
  list(name: string, options?: NoteListOptions): Promise<NotePage>;
  get(name: string, id: string): Promise<Note | undefined>;
  /** Replaces the sessions' notes of this name. Notes for sessions that do not exist are skipped. */
  put(name: string, notes: readonly Note[]): Promise<void>;
}

export interface Note {
  /** The session's id. */
  readonly id: string;
  /** The seq of the last line that the value covers. */
  readonly seq: number;
  readonly value: JsonObject;
}

export interface NoteListOptions {
  /** The `next` of the previous page. */
  readonly after?: string;
  /** 1000 by default. */
  readonly limit?: number;
}

export interface NotePage {
  readonly notes: readonly Note[];
  /** Null after the last page. */
  readonly next: string | null;
}
