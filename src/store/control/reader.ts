import { RepriseError } from '../../errors.ts';
import { formatSessionKey, parseSessionKey } from '../../keys/session-key.ts';
import { contentText } from '../../transcript/content.ts';
import type { Entry } from '../../transcript/entry.ts';
import { isObject } from '../../transcript/json.ts';
import { decodeLine } from '../../transcript/line.ts';
import { createTranscriptReader, type Transcript } from '../../transcript/reader.ts';
import type {
  EntryPage,
  InboxItem,
  LeaseInfo,
  ListQuery,
  ReadRange,
  SearchHit,
  SearchQuery,
  SessionPage,
  SessionRecord,
  StoredEntry,
  StoreStats,
  TranscriptProblem,
  VerifyFinding,
  VerifyReport,
} from '../store.ts';
import { type BlobStore, sha256, verifyBlobs } from './blobs.ts';
import type { Database } from './database.ts';
import type { ForeignLock } from './foreign-lock.ts';
import type { Holder } from './holder.ts';
import { getItem, pendingItems } from './inbox-rows.ts';
import { listLeases } from './leases.ts';
import { type LineSource, skippedOffsets } from './lines.ts';
import { listSessions } from './list.ts';
import { getSession, type SessionRow, toRecord } from './session-row.ts';
import type { Standing } from './transcript-files.ts';

/** A page, and where the first line stands that is not what was sealed. Such lines are left out of the page. */
export interface CheckedPage extends EntryPage {
  readonly damagedAt?: number;
}

/** What stands beside and instead of transcripts, for stores that have some. */
export interface HomeView {
  readonly standing: (row: SessionRow) => Standing;
  readonly locks: () => readonly ForeignLock[];
  /** Known to the thread that writes. */
  readonly problems: () => readonly TranscriptProblem[];
}

const PAGE = 200;
const SEARCH_MS = 1000;
const SNIPPET_CHARS = 80;
/** What verify calls damage: something that was said cannot be read any more. */
const DAMAGE: ReadonlySet<string> = new Set([
  'corrupt',
  'missing-lines',
  'not-a-file',
  'missing-blob',
  'corrupt-blob',
]);
/** What verify tells of and nobody has to do anything about. */
const HARMLESS: ReadonlySet<string> = new Set(['stray-blob']);

export interface ReaderContext {
  readonly db: Database;
  readonly source: LineSource;
  readonly blobs: BlobStore;
  readonly self: Holder;
  readonly home?: HomeView | undefined;
}

/** Everything that only looks. Each answer is of one snapshot: committed lines, whole or not at all. */
export class Reader {
  readonly #db: Database;
  readonly #source: LineSource;
  readonly #blobs: BlobStore;
  readonly #self: Holder;
  readonly #home: HomeView | undefined;

  constructor({ db, source, blobs, self, home }: ReaderContext) {
    this.#db = db;
    this.#source = source;
    this.#blobs = blobs;
    this.#self = self;
    this.#home = home;
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

  list(query: ListQuery): SessionPage {
    return this.#db.snapshot(() => listSessions(this.#db, query));
  }

  tail({ id }: { readonly id: string }): CheckedPage {
    return this.#page(id, (row) => ({ from: Math.max(2, row.context_seq), to: row.seq, backward: false }));
  }

  read({ id, from, limit = PAGE, direction = 'forward' }: { readonly id: string } & ReadRange): CheckedPage {
    if (!Number.isSafeInteger(limit) || limit < 1) {
      throw new RepriseError('INVALID_INPUT', `a page has at least one entry, not ${limit}`);
    }
    return this.#page(id, (row) => {
      if (direction === 'forward') {
        const start = Math.max(1, from ?? 1);
        return { from: start, to: start + limit - 1, backward: false };
      }
      const end = Math.min(row.seq, from ?? row.seq);
      return { from: Math.max(1, end - limit + 1), to: end, backward: true };
    });
  }

  #page(
    id: string,
    range: (row: SessionRow) => { from: number; to: number; backward: boolean },
  ): CheckedPage {
    return this.#db.snapshot(() => {
      const row = getSession(this.#db, id);
      const { from, to, backward } = range(row);
      const entries: StoredEntry[] = [];
      const lines = this.#source.lines(row, from, Math.min(to, row.seq));
      // Fewer than there should be: somebody cut the file, and the writer finds out what is left.
      let damagedAt = lines.length < Math.min(to, row.seq) - from + 1 ? row.file_size : undefined;
      for (const { seq, bytes, offset } of lines) {
        const decoded = decodeLine(bytes);
        if (decoded.kind === 'record' && decoded.seal !== 'broken')
          entries.push({ seq, entry: decoded.record as Entry });
        else damagedAt ??= offset ?? 0;
      }
      const page = { entries, lastSeq: row.seq, hasMore: backward ? from > 1 : to < row.seq };
      if (backward) entries.reverse();
      return damagedAt === undefined || row.corrupt_at !== null ? page : { ...page, damagedAt };
    });
  }

  /** Bytes that are not what their name says are damage, never an answer. */
  blob({ id, hash }: { readonly id: string; readonly hash: string }): Uint8Array {
    const bytes = this.#blobs.get(getSession(this.#db, id), hash);
    const details = { id, blob: `sha256:${hash}` };
    if (bytes === undefined)
      throw new RepriseError('NOT_FOUND', `session ${id} has no blob sha256:${hash}`, { details });
    if (sha256(bytes) !== hash)
      throw new RepriseError('STORE_CORRUPT', `blob sha256:${hash} of session ${id} is damaged`, { details });
    return bytes;
  }

  export({ id }: { readonly id: string }): Uint8Array {
    return this.#db.snapshot(() => {
      const row = getSession(this.#db, id);
      const isPlain = row.seq === row.q && skippedOffsets(this.#db, row).size === 0;
      if (isPlain) return Buffer.concat([...this.#source.chunks(row)]);
      const lines = this.#source.lines(row, 1, row.seq).flatMap(({ bytes }) => [bytes, Buffer.from('\n')]);
      return Buffer.concat(lines);
    });
  }

  item({ inboxId }: { readonly inboxId: string }): InboxItem {
    return getItem(this.#db, inboxId);
  }

  pending({ sessionId }: { readonly sessionId?: string }): InboxItem[] {
    return pendingItems(this.#db, sessionId);
  }

  leases(): LeaseInfo[] {
    const locks = (this.#home?.locks() ?? []).map(({ sessionId, file, alive, pid, createdAt }) => ({
      sessionId,
      epoch: 0,
      holder: { ...(pid !== undefined && { pid }), ...(createdAt !== undefined && { createdAt }) },
      alive,
      lockFile: file,
    }));
    return [...listLeases(this.#db, this.#self), ...locks];
  }

  stats(): StoreStats {
    const sessions = this.#db.row<{ n: number }>('SELECT count(*) AS n FROM sessions')?.n ?? 0;
    const inFiles = this.#db.row<{ n: number | null }>('SELECT sum(file_size) AS n FROM sessions')?.n ?? 0;
    const behind = this.#db.row<{ bytes: number | null; n: number }>(
      `SELECT sum(length(bytes)) AS bytes, count(DISTINCT session_id) AS n
       FROM journal JOIN sessions ON id = session_id WHERE first_seq > file_seq`,
    );
    return {
      sessions,
      bytes: inFiles + (behind?.bytes ?? 0),
      behind: this.#home === undefined ? 0 : (behind?.n ?? 0),
      problems: this.#home?.problems() ?? [],
    };
  }

  /** A scan, newest sessions and newest lines first, for as long as a person would wait. */
  search({ text, limit = 20, agentId }: SearchQuery): SearchHit[] {
    const wanted = text.toLowerCase();
    const hits: SearchHit[] = [];
    if (wanted === '') return hits;
    const deadline = performance.now() + SEARCH_MS;
    let cursor: string | null = null;
    do {
      const page: SessionPage = this.list({
        limit: 100,
        ...(agentId !== undefined && { agentId }),
        ...(cursor !== null && { cursor }),
      });
      for (const { id, lastSeq } of page.sessions) {
        if (lastSeq === 0) continue; // not read yet
        const { entries } = this.read({ id, limit: 10_000, direction: 'backward' });
        for (const { seq, entry } of entries) {
          const found = textOf(entry as Entry);
          const at = found.toLowerCase().indexOf(wanted);
          if (at !== -1)
            hits.push({
              id,
              seq,
              snippet: found.slice(Math.max(0, at - SNIPPET_CHARS / 2), at + SNIPPET_CHARS),
            });
          if (hits.length >= limit) return hits;
        }
        if (performance.now() > deadline) return hits;
      }
      cursor = page.cursor;
    } while (cursor !== null);
    return hits;
  }

  /** Reads every byte and believes none of them. */
  verify({ id }: { readonly id?: string }): VerifyReport {
    const rows =
      id === undefined
        ? this.#db.rows<{ id: string; seq: number }>('SELECT id, seq FROM sessions ORDER BY id')
        : [getSession(this.#db, id)];
    const findings = rows.flatMap((row) => (row.seq === 0 ? [unread(row)] : this.#verifySession(row.id)));
    const status = findings.some(({ kind }) => DAMAGE.has(kind))
      ? 'corrupt'
      : findings.some(({ kind }) => !HARMLESS.has(kind))
        ? 'quarantined'
        : 'clean';
    return { status, findings };
  }

  #verifySession(id: string): VerifyFinding[] {
    return this.#db.snapshot(() => {
      const row = getSession(this.#db, id);
      const standing = this.#home?.standing(row);
      if (standing?.kind === 'other') {
        const lines = row.file_seq > 0 ? `, and ${row.file_seq} lines are out of reach` : '';
        return [finding(id, 'not-a-file', `the transcript is ${standing.what}, not a file${lines}`)];
      }
      const transcript = this.#parse(row);
      if (transcript === undefined)
        return [finding(id, 'missing-lines', `nothing is left of the transcript and its ${row.seq} lines`)];
      const { issues, entries, sealed } = transcript;
      const findings = issues.examples
        .filter(({ kind }) => kind !== 'foreign-line' && kind !== 'inexact-number')
        .map(({ kind, offset = 0, detail }) => finding(id, kind, detail, offset));
      findings.push(...entries.flatMap((entry) => lostLines(id, entry)));
      if (!sealed) findings.push(finding(id, 'corrupt', 'the header is not sealed'));
      if (entries.length + 1 < row.seq) {
        const detail = `${row.seq - 1 - entries.length} of ${row.seq} lines are missing`;
        findings.push(finding(id, 'missing-lines', detail, row.file_size));
      }
      return [...findings, ...verifyBlobs(this.#blobs, row, entries)];
    });
  }

  /** Undefined for bytes that are no session any more. */
  #parse(row: SessionRow): Transcript | undefined {
    const reader = createTranscriptReader({ sessionId: row.id });
    for (const chunk of this.#source.chunks(row)) reader.push(chunk);
    try {
      return reader.finish();
    } catch (error) {
      if (error instanceof RepriseError && error.code === 'INVALID_INPUT') return undefined;
      throw error;
    }
  }
}

const finding = (session: string, kind: string, detail: string, offset = 0): VerifyFinding => ({
  session,
  offset,
  kind,
  detail,
});

/** What healing a cut transcript left as a note. */
function lostLines(id: string, { customType, data, timestamp }: Entry): VerifyFinding[] {
  if (customType !== 'reprise.lost' || !isObject(data)) return [];
  const { firstSeq, lastSeq, reason } = data;
  const detail = `lines ${String(firstSeq)} to ${String(lastSeq)} were ${String(reason)}, noticed ${timestamp}`;
  return [finding(id, 'lost-lines', detail)];
}

function unread({ id }: { readonly id: string }): VerifyFinding {
  return finding(id, 'missing-lines', 'its transcript could not be read');
}

function textOf(entry: Entry): string {
  const { message, summary, content } = entry;
  if (isObject(message)) return contentText(message['content']);
  return typeof summary === 'string' ? summary : contentText(content);
}
