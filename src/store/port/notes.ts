import type { JsonObject } from '../../transcript/json.ts';

/**
 * What somebody has worked out of sessions, kept beside them so that it need not be worked out again. Never the only copy
 * of anything: a store forgets the notes of a session that is purged, and all of them when its index is made anew or it
 * is copied. Whoever reads one checks that it still holds.
 */
export interface Notes {
  /** All of one name, in pages, in the order of the ids of their sessions. */
  list(name: string, options?: NoteListOptions): Promise<NotePage>;
  get(name: string, id: string): Promise<Note | undefined>;
  /** In the place of those the sessions had. A session that is not there gets none. */
  put(name: string, notes: readonly Note[]): Promise<void>;
}

export interface Note {
  /** Of the session. */
  readonly id: string;
  /** Up to which line it was worked out. */
  readonly seq: number;
  readonly value: JsonObject;
}

export interface NoteListOptions {
  /** The `next` of the page before. */
  readonly after?: string;
  /** By default 1000. */
  readonly limit?: number;
}

export interface NotePage {
  readonly notes: readonly Note[];
  /** Null at the end. */
  readonly next: string | null;
}
