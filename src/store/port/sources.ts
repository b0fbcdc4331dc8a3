import type { JsonObject } from '../../transcript/json.ts';

/** The session of another tool that was imported. Both are up to 512 characters. */
export interface SessionSource {
  /** For example `claude-code`. */
  readonly tool: string;
  readonly id: string;
}

/** Where the source is, and how far it was read. It only saves work: a rebuilt index does not have it. */
export interface SourceMark {
  /** The source's file or database. */
  readonly path?: string;
  /** What the importer wants to know next time, such as size, offset and hash. */
  readonly mark?: JsonObject;
}

export interface SourceRecord extends SessionSource, SourceMark {
  readonly sessionId: string;
}

/**
 * Finds imported sessions and entries by their identity in the source. `create` with `source` sets the identity of a
 * session; an appended entry with a `sourceId` sets that of an entry. Both are in the transcript, so a rebuilt index
 * and a copy of the store have them too.
 */
export interface Sources {
  /** @returns `undefined` if no session has this source. A deleted session has it until it is purged. */
  find(source: SessionSource): Promise<SourceRecord | undefined>;
  of(sessionId: string): Promise<SourceRecord | undefined>;
  /** Lists imported sessions in pages, ordered by session id. */
  list(options?: SourceListOptions): Promise<SourcePage>;
  /** Replaces path and mark. Does nothing if the session has no source. */
  mark(sessionId: string, mark: SourceMark): Promise<void>;
  /** The seq of the newest entry with each of these ids; unknown ids are missing. */
  entries(sessionId: string, sourceIds: readonly string[]): Promise<ReadonlyMap<string, number>>;
}

export interface SourceListOptions {
  readonly tool?: string;
  /** The `next` of the previous page. */
  readonly after?: string;
  /** 1000 by default. */
  readonly limit?: number;
}

export interface SourcePage {
  readonly sources: readonly SourceRecord[];
  /** Null after the last page. */
  readonly next: string | null;
}
