import type { Entry } from '../../../transcript/entry.ts';
import { decodeLine } from '../../../transcript/line.ts';
import { fileChunks, fileLines } from '../../jsonl/file-lines.ts';
import type { TranscriptFiles } from '../../jsonl/transcript-files.ts';
import { LOOK_BYTES } from '../../shared/look-bytes.ts';
import type { Database } from '../database.ts';
import type { SessionRow } from '../session-row.ts';
import type { LinePage, LineQuery, LineSource, StoredLine } from './line-source.ts';

const LF = 10;
const ROWS_PER_STEP = 16;

/** Reads the journal only: the SQLite and memory stores keep every journal row. */
export function journalSource(db: Database): LineSource {
  return {
    stamp: () => undefined,
    lines: (row, query) => journalPage(db, row, query),
    *chunks(row) {
      for (let after = 0; ; ) {
        const rows = db.rows<JournalRow>(
          `SELECT first_seq, bytes FROM journal
           WHERE session_id = ? AND first_seq > ? AND first_seq <= ? ORDER BY first_seq LIMIT ${ROWS_PER_STEP}`,
          row.id,
          after,
          row.seq,
        );
        for (const { first_seq, bytes } of rows) {
          after = first_seq;
          yield bufferOf(bytes);
        }
        if (rows.length < ROWS_PER_STEP) return;
      }
    },
  };
}

export function fileSource(db: Database, files: TranscriptFiles): LineSource {
  return {
    stamp: ({ agent_id, id }) => files.stamp(agent_id, id),
    lines(row, query) {
      const isBehind = row.seq === row.q && row.file_seq < query.from;
      const inFile: LinePage = isBehind
        ? { lines: [], from: query.from, to: query.to }
        : fileLines(db, files, row, query);
      const { from, to } = inFile;
      if (to <= row.file_seq || inFile.otherSession !== undefined) return inFile;
      const { wanted } = query;
      const behind = { from: Math.max(from, row.file_seq + 1), to, ...(wanted !== undefined && { wanted }) };
      const { lines, damagedAt = inFile.damagedAt } = journalLines(db, row, behind);
      const all = [...inFile.lines, ...lines];
      if (row.seq !== row.q) all.sort((a, b) => a.seq - b.seq);
      const { isShort } = inFile;
      return {
        lines: all,
        from,
        to,
        ...(damagedAt !== undefined && { damagedAt }),
        ...(isShort !== undefined && { isShort }),
      };
    },
    *chunks(row) {
      // Read the journal first: its rows are deleted as soon as their bytes are synced to the file.
      const behind = db.rows<JournalRow>(
        'SELECT first_seq, bytes FROM journal WHERE session_id = ? AND first_seq > ? ORDER BY first_seq',
        row.id,
        row.file_seq,
      );
      yield* fileChunks(files, row);
      for (const { bytes } of behind) yield bufferOf(bytes);
    },
  };
}

interface JournalRow {
  readonly first_seq: number;
  readonly bytes: Uint8Array;
}

/** Reads as many rows as one read should take. */
function journalPage(db: Database, row: SessionRow, query: LineQuery): LinePage {
  const { from, to, backward = false } = query;
  const rows = db.sql(
    `SELECT first_seq, length(bytes) AS size FROM journal
     WHERE session_id = ? AND first_seq > ? AND first_seq <= ? ORDER BY first_seq ${backward ? 'DESC' : ''}`,
  );
  // Cut only at row boundaries. The row with the first line is always read, so its size does not count.
  let size = 0;
  for (const found of rows.iterate(row.id, from, to)) {
    const { first_seq, size: bytes } = found as { first_seq: number; size: number };
    size += bytes;
    if (size < LOOK_BYTES) continue;
    const cut = backward ? { from: first_seq } : { to: first_seq - 1 };
    return journalLines(db, row, { ...query, ...cut });
  }
  return journalLines(db, row, query);
}

function journalLines(db: Database, row: SessionRow, { from, to, wanted }: LineQuery): LinePage {
  // The row with `from` may begin before it; the index finds that row quickly.
  const start = db.row<{ first_seq: number }>(
    'SELECT first_seq FROM journal WHERE session_id = ? AND first_seq <= ? ORDER BY first_seq DESC LIMIT 1',
    row.id,
    from,
  );
  const rows = db.rows<JournalRow>(
    'SELECT first_seq, bytes FROM journal WHERE session_id = ? AND first_seq >= ? AND first_seq <= ? ORDER BY first_seq',
    row.id,
    start?.first_seq ?? from,
    to,
  );
  const lines: StoredLine[] = [];
  let damagedAt: number | undefined;
  for (const { first_seq, bytes } of rows) {
    const buffer = bufferOf(bytes);
    if (wanted?.(buffer) === false) continue;
    let seq = first_seq;
    for (const line of split(buffer)) {
      if (seq >= from && seq <= to) {
        const decoded = decodeLine(line);
        if (decoded.kind === 'record' && decoded.seal !== 'broken')
          lines.push({ seq, bytes: line, entry: decoded.record as Entry });
        else damagedAt ??= 0;
      }
      seq++;
    }
  }
  return { lines, from, to, ...(damagedAt !== undefined && { damagedAt }) };
}

function* split(bytes: Buffer): Generator<Buffer> {
  let start = 0;
  for (let lf = bytes.indexOf(LF); lf !== -1; lf = bytes.indexOf(LF, start)) {
    yield bytes.subarray(start, lf);
    start = lf + 1;
  }
}

function bufferOf({ buffer, byteOffset, length }: Uint8Array): Buffer {
  return Buffer.from(buffer, byteOffset, length);
}
