import { failure } from '../../../messages/failure.ts';
import type { OpenSession, RecordPage, SessionPlace } from '../../copy/transfer-place.ts';
import type { LinesRecord } from '../../port/transfer.ts';
import { sha256 } from '../../shared/sha256.ts';
import type { StoredLine } from '../read/line-source.ts';
import type { ScanContext } from '../read/scan.ts';
import { findSession, type SessionRow } from '../session-row.ts';

const HASH = /^[0-9a-f]{64}$/;
const LF = 10;

/**
 * Reads one step: a session's record, some of its blobs or some of its lines. @returns `undefined` after the last
 * session.
 */
export function readSessionCopy(
  context: ScanContext,
  { after, open }: SessionPlace,
  page: RecordPage,
): SessionPlace | undefined {
  const { db } = context;
  if (open === undefined) {
    const row = db.row<SessionRow>('SELECT * FROM sessions WHERE id > ? ORDER BY id LIMIT 1', after);
    return row === undefined ? undefined : beginSession(context, row, page);
  }
  const row = findSession(db, open.id);
  // The session was purged meanwhile. Its id follows among the purged ids, and the target then removes what it has of
  // it.
  if (row === undefined) return { at: 'sessions', after: open.id };
  if (open.from === undefined) return { at: 'sessions', after, open: readBlobs(context, row, open, page) };
  const next = readLines(context, row, { from: open.from, to: open.to }, page);
  if (next > open.to) return { at: 'sessions', after: open.id };
  return { at: 'sessions', after, open: { ...open, from: next } };
}

function beginSession(context: ScanContext, row: SessionRow, page: RecordPage): SessionPlace {
  const { id, seq } = row;
  if (seq === 0) {
    page.add({ kind: 'damage', session: id, detail: 'its transcript could not be read' });
    return { at: 'sessions', after: id };
  }
  assertAsKnown(context, row);
  page.add({
    kind: 'session',
    id,
    agentId: row.agent_id,
    key: row.key,
    ...(row.parent_id !== null && { parentId: row.parent_id }),
    createdAt: row.created_at,
    epoch: row.epoch,
    lastSeq: seq,
    ...(row.corrupt_at !== null && { corruptAt: row.corrupt_at }),
  });
  return { at: 'sessions', after: id, open: { id, to: seq } };
}

/**
 * A frozen store does not read lines that other tools added, so a copy would miss them. Refuse it if the file
 * changed.
 */
function assertAsKnown({ home, frozen = false }: ScanContext, row: SessionRow): void {
  if (!frozen || home === undefined) return;
  const found = home.standing(row);
  if (found.kind === 'file' && found.size === row.file_size) return;
  throw failure('STORE_BUSY', 'copy.notRead', { id: row.id }, { details: { id: row.id } });
}

function readBlobs(
  { blobs }: ScanContext,
  row: SessionRow,
  open: OpenSession,
  page: RecordPage,
): OpenSession {
  const { blob = '' } = open;
  const names = blobs.names(row).filter((name) => HASH.test(name) && name > blob);
  for (const [i, hash] of names.entries()) {
    const bytes = blobs.get(row, hash);
    if (bytes !== undefined && sha256(bytes) === hash)
      page.add({ kind: 'blob', session: row.id, hash, bytes: ownBytes([bytes]) }, bytes.length);
    else page.add({ kind: 'damage', session: row.id, detail: `blob sha256:${hash} cannot be read` });
    if (page.isFull && i < names.length - 1) return { ...open, blob: hash };
  }
  return { ...open, from: 1 };
}

/** Reads lines and returns the next seq. Lines that do not match their seals are left out and reported as damage. */
function readLines(
  { source }: ScanContext,
  row: SessionRow,
  { from, to }: { readonly from: number; readonly to: number },
  page: RecordPage,
): number {
  const found = source.lines(row, { from, to });
  let seq = from;
  for (const run of consecutive(found.lines)) {
    const first = run[0]?.seq ?? seq;
    page.addMissing(row.id, seq, first - 1);
    const record = linesRecord(row.id, first, run);
    page.add(record, record.bytes.length);
    seq = first + run.length;
  }
  page.addMissing(row.id, seq, found.to);
  return found.to + 1;
}

function* consecutive(lines: readonly StoredLine[]): Generator<readonly StoredLine[]> {
  for (let start = 0; start < lines.length; ) {
    let end = start + 1;
    while (end < lines.length && lines[end]?.seq === (lines[end - 1]?.seq ?? 0) + 1) end++;
    yield lines.slice(start, end);
    start = end;
  }
}

function linesRecord(session: string, first: number, lines: readonly StoredLine[]): LinesRecord {
  const end = Buffer.from([LF]);
  return {
    kind: 'lines',
    session,
    first,
    bytes: ownBytes(lines.flatMap(({ bytes }) => [bytes, end])),
  };
}

/** Copies the parts into a new buffer, because sending a buffer to another thread transfers all of its memory. */
function ownBytes(parts: readonly Uint8Array[]): Uint8Array {
  const whole = Buffer.allocUnsafeSlow(parts.reduce((sum, { length }) => sum + length, 0));
  let at = 0;
  for (const part of parts) {
    whole.set(part, at);
    at += part.length;
  }
  return whole;
}
