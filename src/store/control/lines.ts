import { closeSync } from 'node:fs';
import { decodeLine } from '../../transcript/line.ts';
import type { Database } from './database.ts';
import { foreignSeqs, type SessionRow, seqOfOwn } from './session-row.ts';
import { openPlain, readRange, type TranscriptFiles } from './transcript-files.ts';

/** A stored line without its LF. */
export interface StoredLine {
  readonly seq: number;
  readonly bytes: Buffer;
  /** Where it stands in the transcript; unset for lines that are still in the journal only. */
  readonly offset?: number;
}

const LF = 10;
const CHUNK = 256 * 1024;

/** Where the lines of a session can be read: its file as far as that follows, and the journal behind it. */
export interface LineSource {
  /** Lines with `from <= seq <= to`, in seq order. Only committed lines, never a torn one. */
  lines(row: SessionRow, from: number, to: number): StoredLine[];
  /** All bytes of a session in file order, in chunks. */
  chunks(row: SessionRow): Generator<Buffer>;
}

/** The journal alone: the SQLite and the memory store keep every row. */
export function journalSource(db: Database): LineSource {
  return {
    lines: (row, from, to) => journalLines(db, row, from, to),
    *chunks(row) {
      yield* journalChunks(db, row, 0);
    },
  };
}

export function fileSource(db: Database, files: TranscriptFiles): LineSource {
  return {
    lines(row, from, to) {
      const behind = journalLines(db, row, Math.max(from, row.file_seq + 1), to);
      if (row.file_seq < from && row.seq === row.q) return behind;
      const foreign = foreignSeqs(db, row);
      // In a damaged file the place of a line says nothing about its number; each of ours says it itself.
      const isMixed = foreign.length > 0 || row.corrupt_at !== null;
      const inFile = isMixed ? mixedFile(db, files, row, foreign) : ownFile(db, files, row, from, to);
      const lines = [...inFile.filter(({ seq }) => seq >= from && seq <= to), ...behind];
      return isMixed ? lines.sort((a, b) => a.seq - b.seq) : lines;
    },
    *chunks(row) {
      yield* fileChunks(files, row, 0);
      yield* journalChunks(db, row, row.file_seq);
    },
  };
}

function journalLines(db: Database, row: SessionRow, from: number, to: number): StoredLine[] {
  // The row that holds `from` may begin before it. Found by the index, however many rows a session has.
  const start = db.row<{ first_seq: number }>(
    'SELECT first_seq FROM journal WHERE session_id = ? AND first_seq <= ? ORDER BY first_seq DESC LIMIT 1',
    row.id,
    from,
  );
  const rows = db.rows<{ first_seq: number; bytes: Uint8Array }>(
    'SELECT first_seq, bytes FROM journal WHERE session_id = ? AND first_seq >= ? AND first_seq <= ? ORDER BY first_seq',
    row.id,
    start?.first_seq ?? from,
    to,
  );
  const lines: StoredLine[] = [];
  for (const { first_seq, bytes } of rows) {
    let seq = first_seq;
    for (const line of split(Buffer.from(bytes.buffer, bytes.byteOffset, bytes.length))) {
      if (seq >= from && seq <= to) lines.push({ seq, bytes: line });
      seq++;
    }
  }
  return lines;
}

function* journalChunks(db: Database, row: SessionRow, after: number): Generator<Buffer> {
  const rows = db.rows<{ bytes: Uint8Array }>(
    'SELECT bytes FROM journal WHERE session_id = ? AND first_seq > ? ORDER BY first_seq',
    row.id,
    after,
  );
  for (const { bytes } of rows) yield Buffer.from(bytes.buffer, bytes.byteOffset, bytes.length);
}

/** A file of our own lines only: a line's seq is its number, and a mark tells where to start counting. */
function ownFile(
  db: Database,
  files: TranscriptFiles,
  row: SessionRow,
  from: number,
  to: number,
): StoredLine[] {
  const mark = db.row<{ seq: number; offset: number }>(
    'SELECT seq, offset FROM marks WHERE session_id = ? AND seq <= ? ORDER BY seq DESC LIMIT 1',
    row.id,
    from,
  ) ?? { seq: 1, offset: 0 };
  const lines: StoredLine[] = [];
  const skipped = skippedOffsets(db, row);
  let { seq, offset } = mark;
  let rest: Buffer = Buffer.alloc(0);
  for (const chunk of fileChunks(files, row, mark.offset)) {
    const bytes = rest.length === 0 ? chunk : Buffer.concat([rest, chunk]);
    const end = bytes.lastIndexOf(LF) + 1;
    for (const line of split(bytes.subarray(0, end))) {
      const isSkipped = skipped.has(offset);
      if (!isSkipped && seq >= from && seq <= to) lines.push({ seq, bytes: line, offset });
      offset += line.length + 1;
      if (!isSkipped) seq++;
    }
    if (seq > to) break;
    rest = bytes.subarray(end);
  }
  return lines;
}

/**
 * With lines of other tools in between, each of ours says its number itself; the others come in known order. What is
 * neither, and was not skipped when it was met, stands where the next of ours should be: it is damage.
 */
function mixedFile(
  db: Database,
  files: TranscriptFiles,
  row: SessionRow,
  foreign: readonly number[],
): StoredLine[] {
  const lines: StoredLine[] = [];
  const skipped = skippedOffsets(db, row);
  let nextForeign = 0;
  let nextQ = 1;
  let offset = 0;
  for (const bytes of split(Buffer.concat([...fileChunks(files, row, 0)]))) {
    const at = offset;
    offset += bytes.length + 1;
    if (skipped.has(at)) continue;
    const decoded = decodeLine(bytes);
    const seal = decoded.kind === 'record' ? decoded.seal : 'broken';
    if (seal === undefined) {
      const seq = foreign[nextForeign++];
      if (seq !== undefined) lines.push({ seq, bytes, offset: at });
    } else {
      if (seal !== 'broken') nextQ = seal.q;
      lines.push({ seq: seqOfOwn(nextQ++, foreign), bytes, offset: at });
    }
  }
  return lines;
}

/** Where lines start that have no number; empty for nearly every session. */
export function skippedOffsets(db: Database, { id }: SessionRow): ReadonlySet<number> {
  const rows = db.rows<{ offset: number }>('SELECT offset FROM skipped_lines WHERE session_id = ?', id);
  return new Set(rows.map(({ offset }) => offset));
}

function* fileChunks(files: TranscriptFiles, row: SessionRow, from: number): Generator<Buffer> {
  if (row.file_size <= from) return;
  const fd = openIfThere(files.path(row.agent_id, row.id));
  if (fd === undefined) return;
  try {
    for (let at = from; at < row.file_size; at += CHUNK) {
      yield readRange(fd, at, Math.min(at + CHUNK, row.file_size));
    }
  } finally {
    closeSync(fd);
  }
}

function* split(bytes: Buffer): Generator<Buffer> {
  let start = 0;
  for (let lf = bytes.indexOf(LF); lf !== -1; lf = bytes.indexOf(LF, start)) {
    yield bytes.subarray(start, lf);
    start = lf + 1;
  }
}

/** A transcript somebody removed has no lines; `verify` says how many are missing. */
function openIfThere(path: string): number | undefined {
  try {
    return openPlain(path);
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'ENOENT') return undefined;
    throw error;
  }
}
