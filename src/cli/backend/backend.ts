import type { PositionedHit } from '../../engine/admin/found-sessions.ts';
import type { RefOptions } from '../../engine/admin/ref.ts';
import type { UndoResult } from '../../engine/history/take-step.ts';
import type { StopResult } from '../../engine/schedule/stop-session.ts';
import type { CompactionEvent } from '../../engine/session.ts';
import type { CompactionPreview } from '../../engine/window/compactor.ts';
import type { SearchQuery, SearchResult } from '../../store/port/search.ts';
import type { ListQuery, SessionPage, SessionRecord } from '../../store/port/store.ts';
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
  /** Names of the sessions that have hits, by session id. */
  readonly names: ReadonlyMap<string, string>;
}

/** Lists sessions; all that completion and the session picker need. */
export interface Lister extends AsyncDisposable {
  list(query: ListQuery): Promise<SessionPage>;
}

/** What the commands that also accept --url need: implemented for a local home and for a server. */
export interface Backend extends Lister {
  find(ref: string, options?: RefOptions): Promise<SessionRecord>;
  search(query: SearchQuery): Promise<Found>;
  /** The conversation from its root, or its newest `limit` rows, oldest first. */
  history(session: SessionRecord, options: ViewOptions): Promise<HistoryView>;
  /** The newest stored rows for which `wanted` returns true, oldest first. */
  last(session: SessionRecord, options: LastOptions): Promise<readonly HistoryRow[]>;
  /** Yields each row as it is stored, by any process, until the signal aborts. */
  follow(session: SessionRecord, options: FollowOptions): AsyncIterable<HistoryRow>;
  compact(session: SessionRecord, options: CompactOptions): Promise<Compacted | null>;
  previewCompaction(session: SessionRecord): Promise<Preview | null>;
  undo(session: SessionRecord, options: { readonly anyway: boolean }): Promise<UndoResult>;
  stop(session: SessionRecord, options: { readonly waiting: boolean }): Promise<StopResult>;
}

/** Opens the server of --url if given, otherwise the home. Loads only the module that is needed. */
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
