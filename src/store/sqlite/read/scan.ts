import type { Owner } from '../../jsonl/folders.ts';
import type { ForeignLock } from '../../jsonl/foreign-lock.ts';
import { logFindings } from '../../jsonl/log-damage.ts';
import type { Standing } from '../../jsonl/transcript-files.ts';
import type { LinePart, LineRange } from '../../port/line-part.ts';
import type { TranscriptProblem } from '../../port/stats.ts';
import type { StoreStats } from '../../port/store.ts';
import type { VerifyFinding } from '../../port/verify-report.ts';
import { examineSession, finding, otherSession, strayCopy } from '../../rules/examine.ts';
import type { Database } from '../database.ts';
import { findIgnoringCase, findSession, getSession, type SessionRow } from '../session-row.ts';
import type { Steps } from '../threads/steps.ts';
import { type BlobStore, verifyBlobs } from './blobs.ts';
import type { LineSource } from './line-source.ts';
import type { StrangerReport } from './survey.ts';

const SESSIONS_PER_STEP = 500;
const ROWS_PER_STEP = 4000;
/** Progress interval; also the redraw interval of a progress bar. */
const VERIFY_MS_PER_CALL = 100;
const COPY_BYTES = 4 * 1024 * 1024;
const LF = Buffer.from('\n');

/** The files around the transcripts, for stores that have files. */
export interface HomeView {
  readonly standing: (row: SessionRow) => Standing;
  /** Files in the transcript folders that the index does not know. */
  readonly unknownFiles: () => readonly Owner[];
  readonly inspect: (owner: Owner) => StrangerReport;
  readonly locks: () => readonly ForeignLock[];
  /** Problems that the writer thread has found. */
  readonly problems: () => readonly TranscriptProblem[];
}

export interface ScanContext {
  readonly db: Database;
  readonly source: LineSource;
  readonly blobs: BlobStore;
  /** Path of the database. */
  readonly path: string;
  readonly home?: HomeView | undefined;
  /** The store is open read-only, so index and files are not synchronized. */
  readonly frozen?: boolean;
}

/** One call of a verification: it reads sessions for about VERIFY_MS_PER_CALL. */
export interface VerifyPart {
  readonly findings: readonly VerifyFinding[];
  /** Sessions that were read. */
  readonly done: number;
  /** Sessions in the store. */
  readonly total: number;
  /** The id after which the next call continues; unset after the last session. */
  readonly next?: string;
}

/** Reads every byte, of one session or of those after an id, and compares it with its checksums. */
export function* verifySessions(
  context: ScanContext,
  { id, after = '' }: { readonly id?: string; readonly after?: string },
): Steps<VerifyPart> {
  const { db } = context;
  if (id !== undefined)
    return { findings: yield* verifySession(context, getSession(db, id).id), done: 1, total: 1 };
  const findings: VerifyFinding[] = [];
  const until = performance.now() + VERIFY_MS_PER_CALL;
  const total = db.row<{ n: number }>('SELECT count(*) AS n FROM sessions')?.n ?? 0;
  let done = 0;
  for (const session of idsAfter(db, after)) {
    findings.push(...(yield* verifySession(context, session)));
    done++;
    yield;
    if (performance.now() > until) return { findings, done, total, next: session };
  }
  findings.push(...(yield* verifyFolders(context)), ...logFindings(context.path));
  return { findings, done, total };
}

/** Compares the folders with the index. Files of other tools are not reported. */
function* verifyFolders({ db, home }: ScanContext): Steps<VerifyFinding[]> {
  const findings: VerifyFinding[] = [];
  for (const owner of home?.unknownFiles() ?? []) {
    const { id } = owner;
    // Created since the folder was listed.
    if (findIgnoringCase(db, id) !== undefined) continue;
    const { isDamaged, otherSession: named, unreadable } = home?.inspect(owner) ?? {};
    if (named !== undefined) {
      const isKept = findSession(db, named) !== undefined;
      findings.push(isKept ? strayCopy(id, named) : otherSession(id, named));
    } else if (isDamaged === true) findings.push(finding(id, 'corrupt', 'the header is damaged or missing'));
    else if (unreadable !== undefined)
      findings.push(finding(id, 'missing-lines', `the transcript cannot be read: ${unreadable}`));
    yield;
  }
  return findings;
}

function* idsAfter(db: Database, after: string): Generator<string> {
  for (let last = after; ; ) {
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
  const named = home?.inspect({ id, agentId: known.agent_id }).otherSession;
  if (named !== undefined) return [otherSession(id, named)];
  const examiner = examineSession(id);
  const row = yield* readAll(db, source, id, examiner.push);
  // The session was purged during the check, so unreadable lines are not a finding.
  if (row === undefined || findSession(db, id) === undefined) return [];
  const { findings, blobs: names } = examiner.finish({ lines: row.seq, bytes: row.file_size });
  if (names === undefined) return [...findings];
  return [...findings, ...(yield* verifyBlobs(blobs, row, names))];
}

/** The stored lines of a session in seq order, in a new buffer that can be transferred to another thread. */
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

/** Returns as many of these lines as one read should take. */
export function exportLines(
  { db, source }: ScanContext,
  { id, from, to }: LineRange & { readonly id: string },
): LinePart & { readonly damagedAt?: number } {
  const { page, fileSize } = db.snapshot(() => {
    const row = getSession(db, id);
    return { page: source.lines(row, { from, to: Math.min(to, row.seq) }), fileSize: row.file_size };
  });
  const parts = page.lines.flatMap(({ bytes }) => [bytes, LF]);
  // A new buffer, because sending a buffer to another thread transfers all of its memory.
  const bytes = Buffer.allocUnsafeSlow(parts.reduce((sum, { length }) => sum + length, 0));
  let at = 0;
  for (const part of parts) at += part.copy(bytes, at);
  // Lines are missing; the writer finds out what is left of the file.
  const damagedAt = page.damagedAt ?? (page.isShort === true ? fileSize : undefined);
  return { bytes, next: page.to + 1, ...(damagedAt !== undefined && { isDamaged: true, damagedAt }) };
}

/**
 * Like `Buffer.concat`, but yields between parts, because copying hundreds of megabytes would block other requests.
 */
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

/** Reads all bytes of a session as of the first step. @returns the session's row at that time. */
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

/** Counts in portions, because reading 100,000 rows at once would block other requests. */
export function* countAll({ db, home }: ScanContext): Steps<StoreStats> {
  const behind = new Set<string>();
  let sessions = 0;
  let damaged = 0;
  let bytes = 0;
  for (let last = 0; ; ) {
    const rows = db.row<Portion>(
      `SELECT max(rowid) AS last, count(*) AS n, count(corrupt_at) AS damaged, sum(file_size) AS bytes FROM
         (SELECT rowid, file_size, corrupt_at FROM sessions WHERE rowid > ? ORDER BY rowid LIMIT ${ROWS_PER_STEP})`,
      last,
    );
    sessions += rows?.n ?? 0;
    damaged += rows?.damaged ?? 0;
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
  // Without transcript files nothing can be behind.
  return {
    sessions,
    damaged,
    bytes,
    behind: home === undefined ? 0 : behind.size,
    problems: home?.problems() ?? [],
  };
}

interface Journalled {
  readonly number: number;
  readonly session_id: string;
  /** Null for a row whose bytes are already in the file. */
  readonly bytes: number | null;
}

interface Portion {
  readonly last: number | null;
  readonly n?: number;
  readonly damaged?: number;
  readonly bytes: number | null;
}
