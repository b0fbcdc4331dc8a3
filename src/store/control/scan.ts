import { createTranscriptChecker } from '../../transcript/check.ts';
import type { StoreStats, VerifyFinding, VerifyReport } from '../store.ts';
import type { Database } from './database.ts';
import type { LineSource } from './line-source.ts';
import { findSession, getSession, type SessionRow } from './session-row.ts';
import type { Steps } from './steps.ts';

const SESSIONS_PER_STEP = 500;
const ROWS_PER_STEP = 4000;
const COPY_BYTES = 4 * 1024 * 1024;
const LF = Buffer.from('\n');

/** Reads every byte, of one session or of all, and believes none of them. */
export function* verifySessions(db: Database, source: LineSource, id?: string): Steps<VerifyReport> {
  const findings: VerifyFinding[] = [];
  const ids = id === undefined ? allIds(db) : [getSession(db, id).id];
  for (const session of ids) {
    if (session !== undefined) findings.push(...(yield* verifySession(db, source, session)));
    yield;
  }
  const status = findings.some(({ kind }) => kind === 'corrupt' || kind === 'missing-lines')
    ? 'corrupt'
    : findings.length > 0
      ? 'quarantined'
      : 'clean';
  return { status, findings };
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

function* verifySession(db: Database, source: LineSource, id: string): Steps<VerifyFinding[]> {
  const checker = createTranscriptChecker({ sessionId: id });
  const row = yield* readAll(db, source, id, (chunk) => checker.push(chunk));
  // Purged before the end: what could not be read any more is no finding.
  if (row === undefined || findSession(db, id) === undefined) return [];
  const { issues, entries, sealed } = checker.finish();
  const findings = issues.examples
    .filter(({ kind }) => kind !== 'foreign-line' && kind !== 'inexact-number')
    .map(({ kind, offset = 0, detail }) => ({ session: id, offset, kind: kind as string, detail }));
  if (!sealed) findings.push({ session: id, offset: 0, kind: 'corrupt', detail: 'the header is not sealed' });
  if (entries + 1 < row.seq) {
    const detail = `${row.seq - 1 - entries} of ${row.seq} lines are missing`;
    findings.push({ session: id, offset: row.file_size, kind: 'missing-lines', detail });
  }
  return findings;
}

/** The stored lines of a session in seq order, in a buffer of its own that can be given away. */
export function* exportSession(db: Database, source: LineSource, id: string): Steps<Uint8Array> {
  const { seq, q } = db.snapshot(() => getSession(db, id));
  const parts: Buffer[] = [];
  if (seq === q) yield* readAll(db, source, id, (chunk) => parts.push(chunk));
  for (let from = 1; seq !== q && from <= seq; yield) {
    const page = db.snapshot(() => source.lines(getSession(db, id), { from, to: seq }));
    for (const line of page.lines) {
      // A line of another tool may begin before the page: it has been written with the page before.
      if (line.seq >= from) parts.push(line.bytes, LF);
    }
    from = page.to + 1;
  }
  return yield* join(parts);
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
export function* countAll(db: Database): Steps<StoreStats> {
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
    const rows = db.row<Portion>(
      `SELECT max(number) AS last, sum(CASE WHEN first_seq > file_seq THEN size END) AS bytes FROM
         (SELECT rowid AS number, session_id, first_seq, length(bytes) AS size FROM journal
          WHERE rowid > ? ORDER BY rowid LIMIT ${ROWS_PER_STEP})
       LEFT JOIN sessions ON sessions.id = session_id`,
      last,
    );
    bytes += rows?.bytes ?? 0;
    if (rows?.last == null) return { sessions, bytes };
    last = rows.last;
    yield;
  }
}

interface Portion {
  readonly last: number | null;
  readonly n?: number;
  readonly bytes: number | null;
}
