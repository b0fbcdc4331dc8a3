import { isSessionId } from '../../keys/ids.ts';
import { examineSession, finding, otherSession, strayCopy, verdict } from '../common/examine.ts';
import type { LinePart, LineRange } from '../line-part.ts';
import type { StoreStats, TranscriptProblem, VerifyFinding, VerifyReport } from '../store.ts';
import { type BlobStore, verifyBlobs } from './blobs.ts';
import type { Database } from './database.ts';
import type { Owner } from './folders.ts';
import type { ForeignLock } from './foreign-lock.ts';
import type { LineSource } from './line-source.ts';
import { findIgnoringCase, findSession, getSession, type SessionRow } from './session-row.ts';
import type { Steps } from './steps.ts';
import type { Standing } from './transcript-files.ts';

const SESSIONS_PER_STEP = 500;
const ROWS_PER_STEP = 4000;
const COPY_BYTES = 4 * 1024 * 1024;
const LF = Buffer.from('\n');

/** What stands beside and instead of transcripts, for stores that have some. */
export interface HomeView {
  readonly standing: (row: SessionRow) => Standing;
  /** Which session the file of this one names as its own, if it is another. */
  readonly otherSession: (owner: Owner) => string | undefined;
  readonly locks: () => readonly ForeignLock[];
  /** Known to the thread that writes. */
  readonly problems: () => readonly TranscriptProblem[];
}

export interface ScanContext {
  readonly db: Database;
  readonly source: LineSource;
  readonly blobs: BlobStore;
  readonly home?: HomeView | undefined;
  /** Nobody brings index and files together while this store is open. */
  readonly frozen?: boolean;
}

/** Reads every byte, of one session or of all, and believes none of them. */
export function* verifySessions(context: ScanContext, id?: string): Steps<VerifyReport> {
  const { db } = context;
  const findings: VerifyFinding[] = [];
  const ids = id === undefined ? allIds(db) : [getSession(db, id).id];
  for (const session of ids) {
    findings.push(...(yield* verifySession(context, session)));
    yield;
  }
  if (id === undefined) findings.push(...(yield* verifyStrangers(context)));
  return { status: verdict(findings), findings };
}

/** Files among the transcripts that no session has. Those of other tools are their business. */
function* verifyStrangers({ db, home }: ScanContext): Steps<VerifyFinding[]> {
  const findings: VerifyFinding[] = [];
  for (const { id, agentId } of db.rows<Owner>('SELECT id, agent_id AS agentId FROM strangers')) {
    // Those of channels have a folder in their name.
    if (!isSessionId(id) || findIgnoringCase(db, id) !== undefined) continue;
    const named = home?.otherSession({ id, agentId });
    if (named !== undefined) {
      const isKept = findSession(db, named) !== undefined;
      findings.push(isKept ? strayCopy(id, named) : otherSession(id, named));
    }
    yield;
  }
  return findings;
}

function* allIds(db: Database): Generator<string> {
  for (let last = ''; ; ) {
    const rows = db.rows<{ id: string }>(
      `SELECT id FROM sessions WHERE id > ? ORDER BY id LIMIT ${SESSIONS_PER_STEP}`,
      last,
    );
    for (const { id } of rows) yield id;
    if (rows.length < SESSIONS_PER_STEP) return;
    last = rows.at(-1)?.id ?? last;
  }
}

function* verifySession({ db, source, blobs, home }: ScanContext, id: string): Steps<VerifyFinding[]> {
  const known = findSession(db, id);
  if (known === undefined) return [];
  if (known.seq === 0) return [finding(id, 'missing-lines', 'its transcript could not be read')];
  const standing = home?.standing(known);
  if (standing?.kind === 'other') {
    const lines = known.file_seq > 0 ? `, and ${known.file_seq} lines are out of reach` : '';
    return [finding(id, 'not-a-file', `the transcript is ${standing.what}, not a file${lines}`)];
  }
  const examiner = examineSession(id);
  const row = yield* readAll(db, source, id, examiner.push);
  // Purged before the end: what could not be read any more is no finding.
  if (row === undefined || findSession(db, id) === undefined) return [];
  const { findings, blobs: names } = examiner.finish({ lines: row.seq, bytes: row.file_size });
  if (names === undefined) return [...findings];
  return [...findings, ...(yield* verifyBlobs(blobs, row, names))];
}

/** The stored lines of a session in seq order, in a buffer of its own that can be given away. */
export function* exportSession({ db, source }: ScanContext, id: string): Steps<Uint8Array> {
  const { seq, isPlain } = db.snapshot(() => {
    const row = getSession(db, id);
    const skipped = db.row('SELECT 1 FROM skipped_lines WHERE session_id = ? LIMIT 1', row.id);
    return { seq: row.seq, isPlain: row.seq === row.q && skipped === undefined };
  });
  const parts: Buffer[] = [];
  if (isPlain) yield* readAll(db, source, id, (chunk) => parts.push(chunk));
  for (let from = 1; !isPlain && from <= seq; yield) {
    const page = db.snapshot(() => source.lines(getSession(db, id), { from, to: seq }));
    for (const line of page.lines) parts.push(line.bytes, LF);
    from = page.to + 1;
  }
  return yield* join(parts);
}

/** As many of these lines as one look should take. */
export function exportLines(
  { db, source }: ScanContext,
  { id, from, to }: LineRange & { readonly id: string },
): LinePart & { readonly damagedAt?: number } {
  const { page, fileSize } = db.snapshot(() => {
    const row = getSession(db, id);
    return { page: source.lines(row, { from, to: Math.min(to, row.seq) }), fileSize: row.file_size };
  });
  const parts = page.lines.flatMap(({ bytes }) => [bytes, LF]);
  // In a buffer of its own: what is sent to another thread takes along all of the memory it stands in.
  const bytes = Buffer.allocUnsafeSlow(parts.reduce((sum, { length }) => sum + length, 0));
  let at = 0;
  for (const part of parts) at += part.copy(bytes, at);
  // Fewer than there should be: the writer finds out what is left.
  const damagedAt = page.damagedAt ?? (page.isShort === true ? fileSize : undefined);
  return { bytes, next: page.to + 1, ...(damagedAt !== undefined && { isDamaged: true, damagedAt }) };
}

/** Like `Buffer.concat`, but nobody waits for hundreds of megabytes to be copied. */
function* join(parts: readonly Buffer[]): Steps<Uint8Array> {
  const whole = Buffer.allocUnsafeSlow(parts.reduce((sum, { length }) => sum + length, 0));
  let length = 0;
  let pause = COPY_BYTES;
  for (const part of parts) {
    length += part.copy(whole, length);
    if (length < pause) continue;
    pause = length + COPY_BYTES;
    yield;
  }
  return whole;
}

/** All bytes of a session as it is at the first step; answers with its row of then. */
function* readAll(
  db: Database,
  source: LineSource,
  id: string,
  use: (chunk: Buffer) => void,
): Steps<SessionRow | undefined> {
  let row: SessionRow | undefined;
  let chunks: Generator<Buffer, void> | undefined;
  try {
    for (;;) {
      const step = db.snapshot(() => {
        row ??= findSession(db, id);
        if (row !== undefined) chunks ??= source.chunks({ ...row });
        return chunks?.next();
      });
      if (step === undefined || step.done === true) return row;
      use(step.value);
      yield;
    }
  } finally {
    chunks?.return();
  }
}

/** Counted in portions: a hundred thousand rows are no reason for anybody to wait. */
export function* countAll({ db, home }: ScanContext): Steps<StoreStats> {
  const behind = new Set<string>();
  let sessions = 0;
  let bytes = 0;
  for (let last = 0; ; ) {
    const rows = db.row<Portion>(
      `SELECT max(rowid) AS last, count(*) AS n, sum(file_size) AS bytes FROM
         (SELECT rowid, file_size FROM sessions WHERE rowid > ? ORDER BY rowid LIMIT ${ROWS_PER_STEP})`,
      last,
    );
    sessions += rows?.n ?? 0;
    bytes += rows?.bytes ?? 0;
    if (rows?.last == null) break;
    last = rows.last;
    yield;
  }
  for (let last = 0; ; ) {
    const rows = db.rows<Journalled>(
      `SELECT number, session_id, CASE WHEN first_seq > file_seq THEN size END AS bytes FROM
         (SELECT rowid AS number, session_id, first_seq, length(bytes) AS size FROM journal
          WHERE rowid > ? ORDER BY rowid LIMIT ${ROWS_PER_STEP})
       LEFT JOIN sessions ON sessions.id = session_id`,
      last,
    );
    for (const row of rows) {
      last = Math.max(last, row.number);
      if (row.bytes === null) continue;
      bytes += row.bytes;
      behind.add(row.session_id);
    }
    if (rows.length === 0) break;
    yield;
  }
  // Where there are no transcripts nothing can be behind.
  return {
    sessions,
    bytes,
    behind: home === undefined ? 0 : behind.size,
    problems: home?.problems() ?? [],
  };
}

interface Journalled {
  readonly number: number;
  readonly session_id: string;
  /** Unset for a row its file has. */
  readonly bytes: number | null;
}

interface Portion {
  readonly last: number | null;
  readonly n?: number;
  readonly bytes: number | null;
}
