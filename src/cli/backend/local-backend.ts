import { type RefOptions, resolveRef } from '../../engine/admin/ref.ts';
import type { UndoResult } from '../../engine/history/take-step.ts';
import type { StopResult } from '../../engine/schedule/stop-session.ts';
import type { CompactionEvent, Session } from '../../engine/session.ts';
import type { CompactionPreview } from '../../engine/window/compactor.ts';
import { failure } from '../../messages/failure.ts';
import type { SearchQuery } from '../../store/port/search.ts';
import type { ListQuery, SessionPage, SessionRecord, Store } from '../../store/port/store.ts';
import type { Entry } from '../../transcript/entry.ts';
import type { HistoryRow, HistoryView, ViewOptions } from '../history-view.ts';
import { fallbackText } from '../model-flag.ts';
import type { Options } from '../options.ts';
import { escapeForTerminal, say } from '../terminal/print.ts';
import type { Backend, CompactOptions, FollowOptions, LastOptions } from './backend.ts';
import { type Home, homeOf, openHomeWith } from './home.ts';
import type { Engine } from './open-engine.ts';

const PAGE = 200;

/** A home on this machine. The engine is made when a command needs more than the store. */
export class LocalBackend implements Backend {
  readonly store: Store;
  readonly home: Home;
  #engine: Promise<Engine> | undefined;

  constructor(store: Store, home: Home) {
    this.store = store;
    this.home = home;
  }

  list(query: ListQuery): Promise<SessionPage> {
    return this.store.list(query);
  }

  find(ref: string, options: RefOptions = {}): Promise<SessionRecord> {
    return resolveRef(this.store, ref, options);
  }

  async search(query: SearchQuery): ReturnType<Backend['search']> {
    const [{ sessionName }, { foundSessions, withPositions }] = await Promise.all([
      import('../../engine/commands/session-line.ts'),
      import('../../engine/admin/found-sessions.ts'),
    ]);
    const found = await this.store.search(query);
    const sessions = await foundSessions(this.store, found.hits);
    const nameOf = (id: string): string => {
      const session = sessions.get(id);
      return session === undefined ? id : sessionName(session);
    };
    const hits = await withPositions(this.store, found.hits, sessions);
    return { ...found, hits, names: new Map(hits.map(({ id }) => [id, nameOf(id)])) };
  }

  async history({ id }: SessionRecord, options: ViewOptions): Promise<HistoryView> {
    const [{ parseTranscript }, { historyView }] = await Promise.all([
      import('../../transcript/reader.ts'),
      import('../history-view.ts'),
    ]);
    return historyView(parseTranscript(await this.store.exportSession(id), { sessionId: id }), options);
  }

  /** Read from the back: a look at the end of a long history costs what is shown of it. */
  async last({ id }: SessionRecord, { limit, wanted }: LastOptions): Promise<readonly HistoryRow[]> {
    const { toRow } = await import('../history-view.ts');
    const rows: HistoryRow[] = [];
    for (let from: number | undefined; ; ) {
      const range = { limit: PAGE, direction: 'backward' as const, ...(from !== undefined && { from }) };
      const { entries, hasMore } = await this.store.read(id, range);
      const newestFirst = entries.toSorted((a, b) => b.seq - a.seq);
      for (const { seq, entry } of newestFirst) {
        const row = entry.type === 'session' ? undefined : toRow(entry as Entry, seq, true);
        if (row !== undefined && wanted(row) && rows.push(row) === limit) return rows.reverse();
      }
      const lowest = newestFirst.at(-1)?.seq ?? 1;
      if (!hasMore || lowest <= 1) return rows.reverse();
      from = lowest - 1;
    }
  }

  async *follow({ id }: SessionRecord, options: FollowOptions): AsyncGenerator<HistoryRow> {
    const { toRow } = await import('../history-view.ts');
    for await (const { seq, entry } of this.store.watch(id, options))
      if (entry.type !== 'session') yield toRow(entry as Entry, seq, true);
  }

  async compact(session: SessionRecord, options: CompactOptions): Promise<CompactionEvent | null> {
    return (await this.session(session)).compact(options);
  }

  async previewCompaction(session: SessionRecord): Promise<CompactionPreview | null> {
    return (await this.session(session)).previewCompaction();
  }

  async undo(session: SessionRecord, options: { readonly anyway: boolean }): Promise<UndoResult> {
    return (await this.session(session)).undo(options);
  }

  async stop(session: SessionRecord, options: { readonly waiting: boolean }): Promise<StopResult> {
    return (await this.session(session)).stop(options);
  }

  /** Everything else an engine does with it. */
  async session(record: SessionRecord): Promise<Session> {
    const { id, status } = record;
    if (status === 'deleted') throw failure('SESSION_DELETED', 'session.trashed', { id });
    this.#engine ??= import('./open-engine.ts').then(({ openEngine }) =>
      openEngine(this.store, this.home.config, this.home.modelFlag),
    );
    const { reprise } = await this.#engine;
    this.home.modelFlag.open(id);
    const session = await reprise.session({ id });
    const { name, fallbackFrom } = await session.model();
    if (fallbackFrom !== undefined) {
      const { model: wanted, why } = fallbackFrom;
      say(escapeForTerminal(fallbackText({ wanted, model: name, why })));
    }
    return session;
  }

  async [Symbol.asyncDispose](): Promise<void> {
    // The engine closes the store it was given.
    const engine = await this.#engine?.catch(() => undefined);
    await (engine?.reprise ?? this.store)[Symbol.asyncDispose]();
  }
}

export async function openLocalBackend(options: Options): Promise<LocalBackend> {
  const { store, home } = await openHomeWith(await homeOf(options));
  return new LocalBackend(store, home);
}
