import { type Client, type ClientSession, createClient } from '../../client/index.ts';
import { loadConfig } from '../../config/load.ts';
import { type RefOptions, resolveRef } from '../../engine/admin/ref.ts';
import type { UndoResult } from '../../engine/history/take-step.ts';
import type { StopResult } from '../../engine/schedule/stop-session.ts';
import { RepriseError } from '../../errors.ts';
import { failure } from '../../messages/failure.ts';
import { CursorChain } from '../../store/port/cursor-chain.ts';
import type { SearchQuery } from '../../store/port/search.ts';
import type { ListQuery, SessionPage, SessionRecord, Store } from '../../store/port/store.ts';
import {
  AROUND,
  type HistoryRow,
  type HistoryView,
  isAt,
  noEntryAt,
  type ViewOptions,
} from '../history-view.ts';
import type { Options } from '../options.ts';
import { escapeForTerminal, say } from '../terminal/print.ts';
import type { Backend, Compacted, CompactOptions, FollowOptions, LastOptions, Preview } from './backend.ts';
import { remoteAccess } from './remote-token.ts';

const PAGE = 500;
/** Few, because a person waits for the answer and should soon learn that the server is unreachable. */
const RETRIES = 2;

/** Sessions on a Reprise server. Records from a server lack the fields that stay in the store. */
export class RemoteBackend implements Backend {
  readonly client: Client;

  constructor(client: Client) {
    this.client = client;
  }

  async list({ text, ...query }: ListQuery): Promise<SessionPage> {
    const asked = { ...query, ...(text !== undefined && { q: text }) };
    const { data, cursor, rebuilding } = await this.client.sessions(asked);
    return {
      sessions: data.map(toRecord),
      cursor,
      ...(rebuilding !== undefined && {
        rebuilding: { ...rebuilding, listed: rebuilding.listed ?? rebuilding.done },
      }),
    };
  }

  find(ref: string, options: RefOptions = {}): Promise<SessionRecord> {
    return resolveRef(this.lookup, ref, options);
  }

  /** Routes need the agent of a session, and a ref does not contain it, so it is looked up in a list first. */
  readonly lookup: Pick<Store, 'list' | 'get' | 'active'> = {
    list: (query = {}) => this.list(query),
    get: async (id) => {
      const found = await this.#first({ status: 'any' }, (record) => record.id === id);
      if (found !== undefined) return found;
      throw failure('SESSION_NOT_FOUND', 'session.unknown', { id });
    },
    active: (key) => this.#first({}, ({ sessionKey, active }) => active && sessionKey === key),
  };

  async search({ text, limit, budgetMs: _, ...query }: SearchQuery): ReturnType<Backend['search']> {
    const { data, next, complete, reason, index } = await this.client.search({
      q: text,
      ...query,
      ...(limit !== undefined && { limit: Math.min(limit, MAX_HITS) }),
    });
    const names = new Map<string, string>();
    const { sessionName } = await import('../../engine/commands/session-line.ts');
    const hits = data.map(({ id: _id, sessionId, session, ...hit }) => {
      if (session !== undefined) names.set(sessionId, sessionName(session));
      return { ...hit, id: sessionId };
    });
    return {
      ...{ hits, next, complete, names },
      ...(reason !== undefined && { reason }),
      ...(index !== undefined && { index }),
    };
  }

  async history(session: SessionRecord, { leaf, limit, at }: ViewOptions): Promise<HistoryView> {
    if (leaf !== undefined) throw failure('INVALID_INPUT', 'cli.homeOnly', { option: '--leaf' });
    if (at !== undefined) return this.#around(session, at, limit);
    const rows: HistoryRow[] = [];
    const cursors = new CursorChain();
    let hasMore = true;
    const wanted = limit ?? Number.POSITIVE_INFINITY;
    while (hasMore && rows.length < wanted) {
      const before = rows[0]?.id;
      const size = Math.min(PAGE, wanted - rows.length);
      const page = await this.#of(session).history({ limit: size, ...(before !== undefined && { before }) });
      rows.unshift(...page.data.map(toRow));
      hasMore = page.hasMore;
      // The next page begins before the first row, so without a new one it would be this page again.
      if (hasMore) cursors.next(page.data[0]?.id);
    }
    return viewOf(session, rows, hasMore);
  }

  /** The server finds the entry, so that a long history is not downloaded for a few lines of it. */
  async #around(session: SessionRecord, at: string, limit: number = AROUND): Promise<HistoryView> {
    try {
      const { data, hasMore } = await this.#of(session).history({ around: at, limit: Math.min(limit, PAGE) });
      const rows = data.map(toRow).map((row) => (isAt(row, at) ? { ...row, here: true as const } : row));
      return viewOf(session, rows, hasMore);
    } catch (error) {
      const isMissing = error instanceof RepriseError && error.details['field'] === 'around';
      throw isMissing ? noEntryAt(at, { isRemote: true }) : error;
    }
  }

  async last(session: SessionRecord, { limit, wanted }: LastOptions): Promise<readonly HistoryRow[]> {
    const { data } = await this.history(session, { leaf: undefined, limit });
    // A local home reads its newest rows without knowing their positions; leave them out here to print the same.
    return data.map(({ position: _, ...row }) => row).filter(wanted);
  }

  async *follow(session: SessionRecord, { afterSeq, signal }: FollowOptions): AsyncGenerator<HistoryRow> {
    try {
      for await (const row of this.#of(session).follow({ afterSeq, signal })) yield toRow(row);
    } catch (error) {
      if (!signal.aborted) throw error;
    }
  }

  async compact(session: SessionRecord, { focus, signal }: CompactOptions): Promise<Compacted | null> {
    const { compaction = null } = await this.#of(session).compact(focus === undefined ? {} : { focus }, {
      signal,
    });
    return compaction;
  }

  async previewCompaction(session: SessionRecord): Promise<Preview | null> {
    const { preview = null } = await this.#of(session).compact({ dryRun: true });
    return preview;
  }

  async undo(session: SessionRecord, { anyway }: { readonly anyway: boolean }): Promise<UndoResult> {
    const { undone, sessionId } = await this.#of(session).undo({ anyway });
    return { undone, ...(sessionId !== undefined && { sessionId }) };
  }

  async stop(session: SessionRecord, { waiting }: { readonly waiting: boolean }): Promise<StopResult> {
    const { stopped, cancelled, children } = await this.#of(session).stop({ waiting });
    return { stopped, cancelled, children };
  }

  async [Symbol.asyncDispose](): Promise<void> {
    // Nothing to close: each call has its own connection.
  }

  async #first(
    query: ListQuery,
    fits: (record: SessionRecord) => boolean,
  ): Promise<SessionRecord | undefined> {
    const cursors = new CursorChain();
    for (let cursor: string | null | undefined; cursor !== null; ) {
      const page = await this.list({ ...query, limit: PAGE, ...(cursor !== undefined && { cursor }) });
      const found = page.sessions.find(fits);
      if (found !== undefined) return found;
      cursor = cursors.next(page.cursor);
    }
    return undefined;
  }

  #of({ id, agentId }: SessionRecord): ClientSession {
    return this.client.session(id, { agentId });
  }
}

const MAX_HITS = 200;

/** Adds an epoch, which the server does not send. */
function toRecord(
  view: Omit<SessionRecord, 'epoch' | 'label' | 'parentId' | 'corruptAt'> & SessionParts,
): SessionRecord {
  const { label, parentId, corruptAt, ...rest } = view;
  return {
    ...rest,
    epoch: 0,
    ...(label !== undefined && { label }),
    ...(parentId !== undefined && { parentId }),
    ...(corruptAt !== undefined && { corruptAt }),
  };
}

interface SessionParts {
  readonly label?: string | undefined;
  readonly parentId?: string | undefined;
  readonly corruptAt?: number | undefined;
}

type WireRow = Omit<HistoryRow, 'compacted' | 'toolCalls' | 'here' | 'position'> & {
  readonly position?: number | undefined;
  readonly toolCalls?:
    | readonly { readonly id: string; readonly name: string; readonly input?: unknown }[]
    | undefined;
  readonly compacted?: boolean | undefined;
};

function viewOf(
  { id, sessionKey: key, settings }: SessionRecord,
  data: readonly HistoryRow[],
  hasMore: boolean,
): HistoryView {
  const ends = { firstId: data[0]?.id ?? null, lastId: data.at(-1)?.id ?? null };
  return { session: { id, key }, settings, data, hasMore, ...ends };
}

/** Drops the fields that a local home does not print, so that both print the same. */
function toRow(row: WireRow): HistoryRow {
  const { id, seq, role, text, timestamp, content, toolCalls, compacted, position } = row;
  return {
    ...(position !== undefined && { position }),
    ...{ id, seq, role, text, timestamp },
    ...(content !== undefined && { content }),
    ...(toolCalls !== undefined && {
      toolCalls: toolCalls.map(({ id, name, input }) => ({ id, name, input })),
    }),
    ...(compacted === true && { compacted }),
  };
}

export async function openRemoteBackend(url: string, options: Options): Promise<RemoteBackend> {
  return new RemoteBackend(await openClient(url, options));
}

async function openClient(url: string, options: Options): Promise<Client> {
  const loaded = await loadConfig({ flags: options });
  for (const warning of loaded.warnings) say(escapeForTerminal(warning));
  return createClient({ ...(await remoteAccess(url, loaded)), retries: RETRIES });
}
