import type { SearchProgress } from './search.ts';

export interface SearchIndexStats extends SearchProgress {
  /** Size on disk. */
  readonly bytes: number;
  /** Why the index makes no progress. Searches read all transcripts meanwhile. */
  readonly problem?: string;
}

export interface TranscriptProblem {
  readonly session: string;
  /** An error code of the operating system or of Reprise. */
  readonly code: string;
  readonly detail: string;
}

export interface DiskSpace {
  readonly freeBytes: number;
  /** Below this, no new turn begins (`STORE_FULL`). Running turns may end, and everything can be read. */
  readonly minFreeBytes: number;
}

/** Facts about the database server for the operator. */
export interface DatabaseServer {
  readonly version: string;
  /**
   * When a commit is acknowledged: `synchronous_commit` of PostgreSQL, or `off` if commits do not wait for the disk.
   */
  readonly commits: string;
  /** Number of replicas; `waitsFor` is how many of them a commit waits for. */
  readonly replicas: number;
  readonly waitsFor: number;
  /** Time of one query and its answer, measured now. An append takes two round trips. */
  readonly roundTripMs: number;
  readonly connections: { readonly used: number; readonly max: number; readonly pool: number };
  /** Whether notifications reach other nodes. If not, they poll. */
  readonly notify: boolean;
  /** The server is a replica or was set to read-only: everything can be read, nothing written. */
  readonly readOnly: boolean;
}
