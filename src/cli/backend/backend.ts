import type { PositionedHit } from '../../engine/admin/found-sessions.ts';
import type { RefOptions } from '../../engine/admin/ref.ts';
import type { UndoResult } from '../../engine/history/take-step.ts';
import type { StopResult } from '../../engine/schedule/stop-session.ts';
import type { CompactionEvent } from '../../engine/session.ts';
import type { CompactionPreview } from '../../engine/window/compactor.ts';
import type {
  ListQuery,
  SearchQuery,
  SearchResult,
  SessionPage,
  SessionRecord,
} from '../../store/port/store.ts';
import type { HistoryRow, HistoryView, ViewOptions } from '../history-view.ts';
import { type Options, textOption } from '../options.ts';

export interface FollowOptions {
  readonly afterSeq: number;
  readonly signal: AbortSignal;
}

export interface LastOptions {
  readonly limit: number;
  readonly wanted: (row: HistoryRow) => boolean;
}

export interface CompactOptions {
  readonly focus?: string;
  readonly signal?: AbortSignal;
}

export type Compacted = Pick<CompactionEvent, 'tokensBefore' | 'tokensAfter' | 'coveredEntries'>;
export type Preview = CompactionPreview;

export interface Found extends SearchResult {
  readonly hits: readonly PositionedHit[];
  /** Of the sessions of the hits, by id. */
  readonly names: ReadonlyMap<string, string>;
}

/** What lists sessions and nothing else. */
export interface Lister extends AsyncDisposable {
  list(query: ListQuery): Promise<SessionPage>;
}

/** What the commands that also work through a server need of it; a home on this machine is the other one. */
export interface Backend extends Lister {
  find(ref: string, options?: RefOptions): Promise<SessionRecord>;
  search(query: SearchQuery): Promise<Found>;
  /** The conversation from its root, or the newest `limit` of it, oldest first. */
  history(session: SessionRecord, options: ViewOptions): Promise<HistoryView>;
  /** The newest rows as they were stored, oldest first; those that `wanted` refuses are passed over. */
  last(session: SessionRecord, options: LastOptions): Promise<readonly HistoryRow[]>;
  /** What is stored from now on, by whomever, until the signal aborts. */
  follow(session: SessionRecord, options: FollowOptions): AsyncIterable<HistoryRow>;
  compact(session: SessionRecord, options: CompactOptions): Promise<Compacted | null>;
  previewCompaction(session: SessionRecord): Promise<Preview | null>;
  undo(session: SessionRecord, options: { readonly anyway: boolean }): Promise<UndoResult>;
  stop(session: SessionRecord, options: { readonly waiting: boolean }): Promise<StopResult>;
}

/** A server where one is named, else the home. Each is loaded when it is needed. */
export async function openBackend(options: Options): Promise<Backend> {
  const url = textOption(options['url']);
  return url === undefined
    ? (await import('./local-backend.ts')).openLocalBackend(options)
    : (await import('./remote-backend.ts')).openRemoteBackend(url, options);
}

export async function openLister(options: Options): Promise<Lister> {
  return textOption(options['url']) === undefined
    ? (await import('./local-lister.ts')).openLocalLister(options)
    : openBackend(options);
}
