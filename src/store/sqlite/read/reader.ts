import { randomUUID } from 'node:crypto';
import { formatSessionKey, parseSessionKey } from '../../../keys/session-key.ts';
import { failure } from '../../../messages/failure.ts';
import { quoted } from '../../../messages/quoted.ts';
import { listChats, readChat } from '../../jsonl/channel-log/convlog-looks.ts';
import type {
  ConvlogChatRef,
  ConvlogLinePage,
  ConvlogPage,
  ConvlogQuery,
  ConvlogRange,
} from '../../port/convlog.ts';
import type { InboundKey, InboxItem, PendingQuery } from '../../port/inbox.ts';
import type { LinePart, LineRange } from '../../port/line-part.ts';
import type { Note, NoteListOptions, NotePage } from '../../port/notes.ts';
import type { SearchQuery, SearchResult } from '../../port/search.ts';
import type { SourceListOptions, SourcePage, SourceRecord } from '../../port/sources.ts';
import type { SearchIndexStats } from '../../port/stats.ts';
import type {
  EntryPage,
  LeaseInfo,
  ListQuery,
  ReadRange,
  SessionPage,
  SessionRecord,
  StoredEntry,
  StoreStats,
  TailOptions,
} from '../../port/store.ts';
import type { TransferPage, TransferState } from '../../port/transfer.ts';
import { checkLimit } from '../../rules/check-input.ts';
import { isOf, mayBeOf } from '../../rules/entry-kinds.ts';
import type { Holder } from '../../shared/holder.ts';
import { sha256 } from '../../shared/sha256.ts';
import { DEFAULT_CACHE_TTL_MS, type Tail, TailCache } from '../../shared/tail-cache.ts';
import { readTransfer } from '../copy/transfer-read.ts';
import { transferState } from '../copy/transfer-state.ts';
import type { Database } from '../database.ts';
import { searchSessions } from '../search/search.ts';
import { searchPath, searchState } from '../search/search-state.ts';
import { getSession, type SessionRow, toRecord } from '../session-row.ts';
import type { Steps } from '../threads/steps.ts';
import { knownItem } from '../write/inbox.ts';
import { getItem, heldItems, type InboxChanges, inboxChanges, pendingItems } from '../write/inbox-rows.ts';
import { listLeases } from '../write/leases.ts';
import { getNote, listNotes } from '../write/notes.ts';
import { findSource, findSourceEntries, listSources } from '../write/sources.ts';
import type { LinePage, LineSource } from './line-source.ts';
import { listSessions } from './list.ts';
import {
  countAll,
  exportLines,
  exportSession,
  type ScanContext,
  type VerifyPart,
  verifySessions,
} from './scan.ts';

/** A page, or the first part of a page that is too large for one message between threads. */
export interface CheckedPage extends EntryPage {
  /** Offset of the first line that does not match its seal. Such lines are left out of the page. */
  readonly damagedAt?: number;
  /** The range that the caller still has to request. */
  readonly rest?: PageRange;
}

export interface PageRange {
  readonly from: number;
  readonly to: number;
  readonly backward: boolean;
  readonly only?: readonly string[];
}

/**
 * The part of a tail that the main thread may cache. The mark changes whenever previously returned lines may be
 * invalid. A caller that sends the current mark therefore needs only later lines.
 */
export interface MarkedTail extends Tail {
  readonly mark: string;
  /** The caller already has the lines up to this seq; the page contains the lines after it. */
  readonly after: number;
}

export type ShownTail = Pick<MarkedTail, 'mark' | 'from' | 'to'>;

/** A tail, or the lines of it that the caller does not have. */
export interface TailPage extends CheckedPage {
  /** Unset: the caller must not cache this session. */
  readonly tail?: MarkedTail;
}

const PAGE = 200;
/** Approximate cost of remembering one returned tail. */
const NOTE_BYTES = 512;

export interface ReaderContext extends ScanContext {
  readonly self: Holder;
  readonly cacheTtlMs?: number | undefined;
}

/**
 * All read operations. A short one runs at once on one snapshot and sees only committed lines. A long one returns
 * `Steps`, and each of its steps uses its own snapshot.
 */
export class Reader {
  readonly #db: Database;
  readonly #source: LineSource;
  readonly #context: ReaderContext;
  readonly #given: TailCache<Tail & { readonly mark: string }>;

  constructor(context: ReaderContext) {
    this.#db = context.db;
    this.#source = context.source;
    this.#context = context;
    this.#given = new TailCache(context.cacheTtlMs ?? DEFAULT_CACHE_TTL_MS);
  }

  get({ id }: { readonly id: string }): SessionRecord {
    return toRecord(this.#db, getSession(this.#db, id));
  }

  active({ key }: { readonly key: string }): SessionRecord | undefined {
    const canonical = formatSessionKey(parseSessionKey(key));
    const row = this.#db.row<{ session_id: string }>(
      'SELECT session_id FROM active WHERE key = ?',
      canonical,
    );
    return row === undefined || row.session_id === '' ? undefined : this.get({ id: row.session_id });
  }

  list(query: ListQuery): Steps<SessionPage> {
    return listSessions(this.#db, query);
  }

  tail(query: { readonly id: string; readonly shown?: ShownTail | undefined } & TailOptions): TailPage {
    const { id, limit, only, shown } = query;
    const most = limit === undefined ? Number.POSITIVE_INFINITY : checkLimit(limit);
    return this.#db.snapshot(() => {
      const row = getSession(this.#db, id);
      const start = Math.max(2, row.context_seq);
      const from = Math.max(start, row.seq - most + 1);
      if (only === undefined && from === start) return this.#tail(row, from, shown);
      const range = { from, to: row.seq, backward: false, ...(only !== undefined && { only }) };
      return { ...this.#page(row, range), hasMore: from > start };
    });
  }

  read({ id, from, limit = PAGE, direction = 'forward' }: { readonly id: string } & ReadRange): CheckedPage {
    checkLimit(limit);
    return this.#db.snapshot(() => {
      const row = getSession(this.#db, id);
      if (direction === 'forward') {
        const start = Math.max(1, from ?? 1);
        return this.#page(row, { from: start, to: start + limit - 1, backward: false });
      }
      const end = Math.min(row.seq, from ?? row.seq);
      return this.#page(row, { from: Math.max(1, end - limit + 1), to: end, backward: true });
    });
  }

  /** Returns the rest of a page. Lines with a seq never change, so it may use a later snapshot. */
  more({ id, ...range }: { readonly id: string } & PageRange): CheckedPage {
    return this.#db.snapshot(() => this.#page(getSession(this.#db, id), range));
  }

  /** Returns a blob. Bytes that do not match the hash are reported as damage, never returned. */
  blob({ id, hash }: { readonly id: string; readonly hash: string }): Uint8Array {
    const bytes = this.#context.blobs.get(getSession(this.#db, id), hash);
    const details = { id, blob: `sha256:${hash}` };
    if (bytes === undefined) throw failure('NOT_FOUND', 'blob.missing', details, { details });
    if (sha256(bytes) !== hash) throw failure('STORE_CORRUPT', 'blob.damaged', details, { details });
    return bytes;
  }

  export({ id }: { readonly id: string }): Steps<Uint8Array> {
    return exportSession(this.#context, id);
  }

  lines(range: LineRange & { readonly id: string }): LinePart & { readonly damagedAt?: number } {
    return exportLines(this.#context, range);
  }

  item({ inboxId }: { readonly inboxId: string }): InboxItem {
    return getItem(this.#db, inboxId);
  }

  held(): InboxItem[] {
    return heldItems(this.#db);
  }

  pending(query: PendingQuery): InboxItem[] {
    return pendingItems(this.#db, query);
  }

  known(key: InboundKey): InboxItem | undefined {
    return knownItem(this.#db, key);
  }

  changes({ after }: { readonly after?: number }): InboxChanges {
    return this.#db.snapshot(() => inboxChanges(this.#db, after));
  }

  leases(): LeaseInfo[] {
    const locks = (this.#context.home?.locks() ?? []).map(({ sessionId, file, alive, pid, createdAt }) => ({
      sessionId,
      epoch: 0,
      holder: { ...(pid !== undefined && { pid }), ...(createdAt !== undefined && { createdAt }) },
      alive,
      lockFile: file,
    }));
    return [...listLeases(this.#db, this.#context.self), ...locks];
  }

  stats(): Steps<StoreStats> {
    return countAll(this.#context);
  }

  index(): Steps<SearchIndexStats> {
    return searchState(this.#db, searchPath(this.#context.path));
  }

  search(query: SearchQuery): Steps<SearchResult> {
    return searchSessions(this.#db, this.#source, query);
  }

  chats(query: ConvlogQuery): Steps<ConvlogPage> {
    return listChats(this.#db, query);
  }

  chat(args: { readonly chat: ConvlogChatRef; readonly range: ConvlogRange }): Steps<ConvlogLinePage> {
    return readChat(this.#db, args);
  }

  noted(query: { readonly name: string } & NoteListOptions): NotePage {
    return listNotes(this.#db, query);
  }

  note(args: { readonly name: string; readonly id: string }): Note | undefined {
    return getNote(this.#db, args);
  }

  source(query: {
    readonly tool?: string;
    readonly id?: string;
    readonly sessionId?: string;
  }): SourceRecord | undefined {
    return findSource(this.#db, query);
  }

  sources(query: SourceListOptions): SourcePage {
    return listSources(this.#db, query);
  }

  sourced(args: { readonly id: string; readonly sourceIds: readonly string[] }): Map<string, number> {
    return findSourceEntries(this.#db, args);
  }

  verify(args: { readonly id?: string; readonly after?: string }): Steps<VerifyPart> {
    return verifySessions(this.#context, args);
  }

  records({ cursor }: { readonly cursor?: string }): Steps<TransferPage> {
    return readTransfer(this.#context, cursor);
  }

  copied(): TransferState {
    return this.#db.snapshot(() => transferState(this.#db));
  }

  #page(row: SessionRow, range: PageRange): CheckedPage {
    const { from, backward, only } = range;
    const to = Math.min(range.to, row.seq);
    const query = { from, to, backward, ...(only !== undefined && { wanted: mayBeOf(only) }) };
    const page: LinePage = from > to ? { lines: [], from, to } : this.#source.lines(row, query);
    assertOwnFile(row, page);
    if (only === undefined) return checkedPage(row, range, page);
    return checkedPage(row, range, { ...page, lines: page.lines.filter(({ entry }) => isOf(entry, only)) });
  }

  /** Keeps only the mark of lines that the main thread caches, so that the lines are in memory once. */
  #tail(row: SessionRow, from: number, shown: ShownTail | undefined): TailPage {
    const to = row.seq;
    const stamp = this.#source.stamp(row);
    const given = this.#given.find(row, stamp);
    const mark = given !== undefined && given.to <= to ? given.mark : undefined;
    const isRight = shown !== undefined && shown.mark === mark && shown.from <= from && shown.to <= to;
    const after = isRight ? Math.max(from - 1, shown.to) : from - 1;
    const rest = { from: after + 1, to };
    const page: LinePage = rest.from > to ? { lines: [], ...rest } : this.#source.lines(row, rest);
    assertOwnFile(row, page);
    const isWhole = page.damagedAt === undefined && page.isShort === undefined;
    if (page.to < to || !isWhole || row.corrupt_at !== null) {
      // Too large for one read, or damaged: return it part by part with its damage, and do not cache it.
      this.#given.forget(row.id);
      const range = { from, to, backward: false };
      return rest.from === from ? checkedPage(row, range, page) : this.#page(row, range);
    }
    const tail = {
      from,
      to,
      after,
      mark: mark ?? randomUUID(),
      bytes: page.lines.reduce((sum, line) => sum + line.bytes.length, 0),
    };
    this.#given.keep(row, { from, to, mark: tail.mark, bytes: NOTE_BYTES }, stamp);
    return { entries: entriesOf(page), lastSeq: to, hasMore: false, tail };
  }
}

/** A message of another session is never returned as a message of this one. */
function assertOwnFile({ id }: SessionRow, { otherSession }: LinePage): void {
  if (otherSession === undefined) return;
  throw failure(
    'STORE_CORRUPT',
    'session.foreignTranscript',
    { id, other: quoted(otherSession) },
    { details: { id, offset: 0, otherSession } },
  );
}

function checkedPage(row: SessionRow, range: PageRange, page: LinePage): CheckedPage {
  const { from, to, backward } = range;
  const entries = entriesOf(page);
  if (backward) entries.reverse();
  // Lines are missing; the writer finds out what is left of the file.
  const damagedAt = page.damagedAt ?? (page.isShort === true ? row.file_size : undefined);
  const last = Math.min(to, row.seq);
  const rest = backward ? { ...range, to: page.from - 1 } : { ...range, from: page.to + 1, to: last };
  return {
    entries,
    lastSeq: row.seq,
    hasMore: backward ? from > 1 : to < row.seq,
    ...(damagedAt !== undefined && row.corrupt_at === null && { damagedAt }),
    ...(rest.from <= rest.to && { rest }),
  };
}

function entriesOf({ lines }: LinePage): StoredEntry[] {
  return lines.map(({ seq, entry }) => ({ seq, entry }));
}
