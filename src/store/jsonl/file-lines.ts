import { closeSync } from 'node:fs';
import { createHistoryRule, type PlacedRecord } from '../../transcript/history-rule.ts';
import { DEFAULT_RECORD_LIMITS } from '../../transcript/limits.ts';
import { decodeLine } from '../../transcript/line.ts';
import { createLineSplitter } from '../../transcript/split-lines.ts';
import { LOOK_BYTES } from '../shared/look-bytes.ts';
import type { Database } from '../sqlite/database.ts';
import type { LinePage, LineQuery, StoredLine } from '../sqlite/read/line-source.ts';
import type { SessionRow } from '../sqlite/session-row.ts';
import { otherSessionIn } from './file-header.ts';
import { MARK_BYTES, type Mark, markAfter, markAt, marksAfter, marksBefore } from './marks.ts';
import { openPlain, readRange, type TranscriptFiles } from './transcript-files.ts';

const CHUNK = 256 * 1024;
const MARKS_PER_LOOK = LOOK_BYTES / MARK_BYTES;

interface PlacedLine extends PlacedRecord {
  readonly bytes: Buffer;
}

/**
 * Reads the lines of a transcript between two marks, with the same history rule as when the file is first read (I-4).
 */
export function fileLines(db: Database, files: TranscriptFiles, row: SessionRow, query: LineQuery): LinePage {
  const { from, to } = cutAtMarks(db, row, query);
  const start = markAt(db, row.id, from);
  const end = Math.min(markAfter(db, row.id, to)?.offset ?? row.file_size, row.file_size);
  const numbering = new Numbering(db, row, start, to);
  const own = Math.max(0, Math.min(to, row.file_seq) - from + 1);
  const expected = own + numbering.foreignFrom(Math.max(from, row.file_seq + 1));
  const bytes = readPart(files, row, start.offset, end);
  if (typeof bytes === 'string') return { lines: [], from, to, otherSession: bytes };
  if (query.wanted?.(bytes) === false) return { lines: [], from, to };
  const lines: StoredLine[] = [];
  let suspect: number | undefined;
  const accept = (placed: PlacedRecord): void => {
    const { record, seal } = placed;
    const isOwn = seal !== undefined && seal !== 'broken';
    const seq = isOwn ? numbering.own(seal.q) : numbering.foreign();
    if (seq === undefined || seq > to || seq < from) return;
    lines.push({ seq, bytes: (placed as PlacedLine).bytes, entry: record as StoredLine['entry'] });
  };
  const rule = createHistoryRule(
    accept,
    ({ kind, offset }) => {
      if (kind !== 'foreign-line' && kind !== 'stale-line') suspect ??= offset;
    },
    { lines: numbering.ownBefore, epoch: 0 },
  );
  const skipped = skippedBetween(db, row.id, start.offset, end);
  const splitter = createLineSplitter(DEFAULT_RECORD_LIMITS.maxRecordBytes, (line) => {
    const place = { line: 0, offset: start.offset + line.offset };
    if (skipped.has(place.offset)) return;
    const decoded = line.length > line.bytes.length ? ({ kind: 'bad' } as const) : decodeLine(line.bytes);
    if (decoded.kind === 'bad') rule.addBad(place);
    else if (decoded.kind === 'record') {
      const { record, seal } = decoded;
      rule.add({ ...place, record, seal, bytes: line.bytes } as PlacedLine);
    }
  });
  splitter.push(bytes);
  splitter.end();
  rule.finish();
  // Lines of another tool can precede our own lines that were numbered earlier.
  if (row.seq !== row.q) lines.sort((a, b) => a.seq - b.seq);
  if (lines.length >= expected) return { lines, from, to };
  return { lines, from, to, ...(suspect === undefined ? { isShort: true } : { damagedAt: suspect }) };
}

/** Limits the range to about one read, from the requested end; at least from one mark to the next. */
function cutAtMarks(
  db: Database,
  { id, file_size }: SessionRow,
  { from, to, backward = false }: LineQuery,
): { readonly from: number; readonly to: number } {
  if (backward) {
    const end = markAfter(db, id, to)?.offset ?? file_size;
    const marks = marksBefore(db, id, to, MARKS_PER_LOOK);
    if (marks.length < MARKS_PER_LOOK) marks.push({ seq: 1, offset: 0 });
    const cut = marks.findLast(({ offset }) => end - offset <= LOOK_BYTES) ?? marks[0];
    return { from: Math.max(from, cut?.seq ?? 1), to };
  }
  const start = markAt(db, id, from).offset;
  const marks = marksAfter(db, id, from, MARKS_PER_LOOK);
  if (marks.length < MARKS_PER_LOOK) marks.push({ seq: to + 1, offset: file_size });
  const cut = marks.findLast(({ offset }) => offset - start <= LOOK_BYTES) ?? marks[0];
  return { from, to: Math.min(to, (cut?.seq ?? to + 1) - 1) };
}

/**
 * Assigns seqs to lines. Our own lines contain their number; add one for every line of another tool that was known
 * before it. Lines of other tools are identified by their order only.
 */
class Numbering {
  /** Number of our own lines before the start. */
  readonly ownBefore: number;
  readonly #foreignBefore: number;
  /** Seqs of other tools' lines in the requested range; later ones are not needed. */
  readonly #foreign: readonly number[];
  #knownBefore = 0;
  #nextForeign = 0;

  constructor(db: Database, row: SessionRow, { seq: start }: Mark, to: number) {
    const isPlain = row.seq === row.q;
    this.#foreignBefore = isPlain ? 0 : countForeign(db, row.id, start);
    this.#foreign = isPlain ? [] : foreignBetween(db, row.id, start, to);
    this.ownBefore = start - 1 - this.#foreignBefore;
  }

  own(q: number): number {
    const base = q + this.#foreignBefore;
    while ((this.#foreign[this.#knownBefore] ?? Number.POSITIVE_INFINITY) <= base + this.#knownBefore)
      this.#knownBefore++;
    return base + this.#knownBefore;
  }

  /** How many lines of other tools have this seq or a higher one. */
  foreignFrom(seq: number): number {
    return this.#foreign.filter((known) => known >= seq).length;
  }

  foreign(): number | undefined {
    return this.#foreign[this.#nextForeign++];
  }
}

function countForeign(db: Database, sessionId: string, before: number): number {
  const row = db.row<{ n: number }>(
    'SELECT count(*) AS n FROM foreign_lines WHERE session_id = ? AND seq < ?',
    sessionId,
    before,
  );
  return row?.n ?? 0;
}

function foreignBetween(db: Database, sessionId: string, from: number, to: number): number[] {
  const rows = db.rows<{ seq: number }>(
    'SELECT seq FROM foreign_lines WHERE session_id = ? AND seq >= ? AND seq <= ? ORDER BY seq',
    sessionId,
    from,
    to,
  );
  return rows.map(({ seq }) => seq);
}

/** Offsets of lines without a number in a part of the file; nearly always empty. */
function skippedBetween(db: Database, sessionId: string, from: number, to: number): ReadonlySet<number> {
  const rows = db.rows<{ offset: number }>(
    'SELECT offset FROM skipped_lines WHERE session_id = ? AND offset >= ? AND offset < ?',
    sessionId,
    from,
    to,
  );
  return new Set(rows.map(({ offset }) => offset));
}

/**
 * Reads the whole recorded transcript. The file is opened at the first step, so a purge cannot interrupt the read.
 */
export function* fileChunks(files: TranscriptFiles, row: SessionRow): Generator<Buffer, void> {
  const fd = row.file_size === 0 ? undefined : openIfThere(files.path(row.agent_id, row.id));
  if (fd === undefined) return;
  try {
    if (otherSessionIn(fd, row.id) !== undefined) return;
    for (let at = 0; at < row.file_size; at += CHUNK) {
      yield readRange(fd, at, Math.min(at + CHUNK, row.file_size));
    }
  } finally {
    closeSync(fd);
  }
}

/** @returns the bytes, or the id of another session if the file is its transcript; its lines must not be used. */
function readPart(files: TranscriptFiles, row: SessionRow, from: number, to: number): Buffer | string {
  const fd = from >= to ? undefined : openIfThere(files.path(row.agent_id, row.id));
  if (fd === undefined) return Buffer.alloc(0);
  try {
    return otherSessionIn(fd, row.id) ?? readRange(fd, from, to);
  } finally {
    closeSync(fd);
  }
}

/** A removed transcript has no lines; `verify` reports how many are missing. */
function openIfThere(path: string): number | undefined {
  try {
    return openPlain(path);
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'ENOENT') return undefined;
    throw error;
  }
}
