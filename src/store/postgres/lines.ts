import type { Entry } from '../../transcript/entry.ts';
import { decodeLine } from '../../transcript/line.ts';
import type { EntryPage, ReadRange, StoredEntry, TailOptions } from '../port/store.ts';
import { checkLimit } from '../rules/check-input.ts';
import { isOf } from '../rules/entry-kinds.ts';
import { freezeEntries } from '../shared/freeze.ts';
import { DEFAULT_CACHE_TTL_MS, TailCache, type WarmTail } from '../shared/tail-cache.ts';
import type { Sql } from './connection/connections.ts';
import { type ServerTimeline, TIMELINE } from './connection/server-timeline.ts';
import { getSession, refuseUnknown, SESSION_COLUMNS, type SessionRow } from './rows.ts';

const PAGE = 200;
/** Rows per query. The rest of a page is read separately, so that hundreds of megabytes are never in memory twice. */
const ROWS_PER_LOOK = 500;

interface StoredLine {
  readonly seq: number;
  readonly line: string;
}

/** Called for a line that does not match its seal; such lines are left out of pages. */
export type OnDamage = (row: SessionRow, seq: number) => Promise<void>;

/** Reads lines and parses them into entries. Tails are cached and validated against the session's row. */
export class LineReader {
  readonly #sql: Sql;
  readonly #onDamage: OnDamage;
  readonly #cacheTtlMs: number;
  readonly #timeline: ServerTimeline;
  #warm: TailCache;

  constructor(sql: Sql, { onDamage, timeline, cacheTtlMs = DEFAULT_CACHE_TTL_MS }: LineReaderOptions) {
    this.#sql = sql;
    this.#onDamage = onDamage;
    this.#cacheTtlMs = cacheTtlMs;
    this.#timeline = timeline;
    this.#warm = new TailCache(cacheTtlMs);
    // The server lost lines; their numbers and ids may belong to other lines now.
    timeline.onChange(() => {
      this.#warm = new TailCache(this.#cacheTtlMs);
    });
  }

  async read(id: string, { from, limit = PAGE, direction = 'forward' }: ReadRange): Promise<EntryPage> {
    checkLimit(limit);
    const row = await getSession(this.#sql, id);
    const isForward = direction === 'forward';
    const end = isForward ? Math.max(1, from ?? 1) + limit - 1 : Math.min(row.seq, from ?? row.seq);
    const start = isForward ? Math.max(1, from ?? 1) : Math.max(1, end - limit + 1);
    const { entries } = await this.#entries(row, start, Math.min(end, row.seq));
    return {
      entries: isForward ? entries : entries.toReversed(),
      lastSeq: row.seq,
      hasMore: isForward ? end < row.seq : start > 1,
    };
  }

  /** Combines the cached tail with lines appended since, and caches the result. */
  async tail(id: string, options: TailOptions): Promise<EntryPage> {
    const { limit, only } = options;
    const most = limit === undefined ? Number.POSITIVE_INFINITY : checkLimit(limit);
    const cache = this.#warm;
    const row = await this.#look(id);
    const start = Math.max(2, row.context_seq);
    const from = Math.max(start, row.seq - most + 1);
    if (only === undefined && from === start) {
      const page = await this.#tail(cache, row, from);
      // The timeline changed during the read, so the lines may be mixed. Read again.
      return cache === this.#warm ? page : this.tail(id, options);
    }
    const { entries } = await this.#entries(row, from, row.seq, only);
    return { entries, lastSeq: row.seq, hasMore: from > start };
  }

  /** Reads a session's row, and detects whether the server's timeline has changed. */
  async #look(id: string): Promise<SessionRow> {
    const [found] = await this.#sql.query<SessionRow & { readonly timeline: string | null }>(
      `SELECT ${SESSION_COLUMNS}, ${TIMELINE} AS timeline FROM reprise.sessions WHERE id = $1`,
      [id],
    );
    if (found === undefined) return refuseUnknown(this.#sql, id);
    const { timeline, ...row } = found;
    this.#timeline.note(timeline);
    return row;
  }

  /** `cache` is the one from before the row was read: these lines must not enter a newer cache. */
  async #tail(cache: TailCache, row: SessionRow, from: number): Promise<EntryPage> {
    const to = row.seq;
    const stamp = { ...row, file_size: 0 };
    const warm = cache.find(stamp, undefined);
    const isOfUse = warm !== undefined && warm.from <= from && warm.to <= to;
    const known: WarmTail = isOfUse ? warm : { from, to: from - 1, entries: [], bytes: 0 };
    const fresh = await this.#entries(row, Math.max(from, known.to + 1), to);
    freezeEntries(fresh.entries);
    const needed = known.entries.filter(({ seq }) => seq >= from);
    const entries = [...needed, ...fresh.entries];
    // The context may start later now. Estimate the size of the dropped entries by their number.
    const share = known.entries.length === 0 ? 0 : needed.length / known.entries.length;
    const bytes = Math.ceil(known.bytes * share) + fresh.bytes;
    if (fresh.isWhole) cache.keep(stamp, { from, to, entries, bytes }, undefined);
    else cache.forget(row.id);
    // Copy the list, because the caller may change it.
    return { entries: [...entries], lastSeq: to, hasMore: false };
  }

  async #entries(row: SessionRow, from: number, to: number, only?: readonly string[]): Promise<Decoded> {
    const entries: StoredEntry[] = [];
    let bytes = 0;
    let damagedAt: number | undefined;
    for await (const { seq, line } of linesOf(this.#sql, row.id, from, to, only)) {
      const buffer = Buffer.from(line);
      const decoded = decodeLine(buffer);
      bytes += buffer.length + 1;
      if (decoded.kind === 'record' && decoded.seal !== 'broken')
        entries.push({ seq, entry: decoded.record as Entry });
      else damagedAt ??= seq;
    }
    // Record the damage, so that no append follows it.
    if (damagedAt !== undefined && row.corrupt_at === null) await this.#onDamage(row, damagedAt);
    const wanted = only === undefined ? entries : entries.filter(({ entry }) => isOf(entry, only));
    return { entries: wanted, bytes, isWhole: damagedAt === undefined };
  }
}

export interface LineReaderOptions {
  readonly onDamage: OnDamage;
  readonly timeline: ServerTimeline;
  readonly cacheTtlMs?: number | undefined;
}

interface Decoded {
  readonly entries: StoredEntry[];
  readonly bytes: number;
  readonly isWhole: boolean;
}

/** Lines by seq, both ends included. Lines never change, so the pages need no common snapshot. */
export async function* linesOf(
  sql: Sql,
  sessionId: string,
  from: number,
  to: number,
  only?: readonly string[],
): AsyncGenerator<StoredLine> {
  // The server filters out lines of other kinds; as in a file, a kind appears in quotation marks.
  const names = only?.map((kind) => `%${JSON.stringify(kind)}%`);
  const filter = names === undefined ? '' : 'AND line LIKE ANY($4)';
  for (let next = from; next <= to; ) {
    const rows = await sql.query<StoredLine>(
      `SELECT seq, line FROM reprise.lines WHERE session_id = $1 AND seq BETWEEN $2 AND $3 ${filter}
       ORDER BY seq LIMIT ${ROWS_PER_LOOK}`,
      names === undefined ? [sessionId, next, to] : [sessionId, next, to, names],
    );
    yield* rows;
    const last = rows.at(-1);
    if (last === undefined || rows.length < ROWS_PER_LOOK) return;
    next = last.seq + 1;
  }
}
