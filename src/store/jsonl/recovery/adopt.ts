import { parseAgentId } from '../../../keys/ids.ts';
import { formatSessionKey, parseSessionKey } from '../../../keys/session-key.ts';
import type { Entry, Seal } from '../../../transcript/entry.ts';
import { createHistoryRule, type PlacedRecord } from '../../../transcript/history-rule.ts';
import { isObject, type JsonObject } from '../../../transcript/json.ts';
import { DEFAULT_RECORD_LIMITS } from '../../../transcript/limits.ts';
import { decodeLine } from '../../../transcript/line.ts';
import { sealPlace } from '../../../transcript/seal.ts';
import { createLineSplitter } from '../../../transcript/split-lines.ts';
import { applyForeign, foreignLine } from '../../rules/foreign-line.ts';
import { applyEntry, recentOf } from '../../rules/session-state.ts';
import type { Database } from '../../sqlite/database.ts';
import { type SessionRow, saveSession, seqFinder } from '../../sqlite/session-row.ts';
import { adoptOrigin, rememberSourceIds } from '../../sqlite/write/sources.ts';
import type { Owner } from '../folders.ts';
import { addMark, lastMark, MARK_BYTES } from '../marks.ts';
import { readRange } from '../transcript-files.ts';
import type { Peek } from './peek.ts';

const CHUNK = 1024 * 1024;
const LF = 10;

export interface Adoption {
  /** End of the last accepted line. What follows is not assigned yet: a torn append, a fragment or garbage. */
  readonly end: number;
  readonly corruptAt: number | undefined;
  /** The seq of the last line in the file. */
  readonly fileSeq: number;
  /** Lines that were accepted from a journal and are in no file yet. */
  readonly unfiled: readonly UnfiledLine[];
  /** How many bytes of `ours` the file already has. */
  readonly matched: number;
}

export interface UnfiledLine {
  readonly seq: number;
  /** Includes the LF. */
  readonly bytes: Uint8Array;
}

export interface AdoptOptions {
  /** Committed lines that are already counted, in order. If they appear between other lines, they are skipped. */
  readonly ours?: Buffer;
  /** Leave a last line without LF to the caller. */
  readonly leaveTail?: boolean;
}

export interface Adopter {
  /** Reads the next bytes of the file. */
  push(bytes: Buffer): void;
  /** Called after the end of the file with the lines that follow it; the file may have some of them. */
  pushJournal(bytes: Uint8Array): void;
  finish(): Adoption;
}

interface LineToAdopt extends PlacedRecord {
  /** Offset after its LF; unset for a line of a journal. */
  readonly end?: number;
  readonly bytes?: Uint8Array;
}

/**
 * Reads lines of a transcript that the index does not know: lines of another tool, or our own lines that an index
 * lost or has not seen yet. Only the file decides what is history (I-4).
 */
export function adoptLines(
  db: Database,
  row: SessionRow,
  fd: number,
  from: number,
  to: number,
  options: AdoptOptions = {},
): Adoption {
  const adopter = createAdopter(db, row, { ...options, from });
  for (let at = from; at < to; at += CHUNK) adopter.push(readRange(fd, at, Math.min(at + CHUNK, to)));
  return adopter.finish();
}

/**
 * Like `adoptLines`, for a file that is read in parts; `from` is the offset of the first part. Repeating it after an
 * interruption gives the same rows.
 */
export function createAdopter(
  db: Database,
  row: SessionRow,
  { from, ours = Buffer.alloc(0), leaveTail = false }: AdoptOptions & { readonly from: number },
): Adopter {
  const seqOf = seqFinder(db, row);
  let end = from;
  let matched = 0;
  let fileSeq = row.file_seq;
  let marked = from === 0 ? 0 : lastMark(db, row.id).offset;
  const unfiled: UnfiledLine[] = [];
  let corruptAt: number | undefined;
  /** Start offsets of lines without a number so far. If an accepted line follows, they are skipped permanently. */
  const loose = new Set<number>();
  const file = (seq: number, placed: LineToAdopt): void => {
    if (placed.end === undefined) {
      if (placed.bytes !== undefined) unfiled.push({ seq, bytes: placed.bytes });
      return;
    }
    loose.delete(placed.offset);
    fileSeq = Math.max(fileSeq, seq);
    const { offset, seal } = placed;
    if (offset - marked < MARK_BYTES) return;
    // No mark before our own lines with lower seqs later in the file, or inside an append.
    if (matched < ours.length || (typeof seal === 'object' && sealPlace(seal).i > 1)) return;
    marked = offset;
    addMark(db, row.id, { seq, offset });
  };
  const accept = (placed: LineToAdopt): void => {
    const { record, seal } = placed;
    end = Math.max(end, placed.end ?? 0);
    if (seal === undefined || seal === 'broken') {
      if (adoptForeign(db, row, record)) file(row.seq, placed);
      return;
    }
    // Missing lines keep their numbers, so that the other lines keep theirs.
    const seq = row.seq + Math.max(1, seal.q - row.q);
    file(seq, placed);
    adoptOwn(db, row, { record, seal, seq, seqOf });
  };
  const rule = createHistoryRule(
    accept,
    ({ kind, offset }) => {
      if (kind === 'corrupt') corruptAt ??= offset;
    },
    { lines: row.q, epoch: row.epoch },
  );
  const isOurs = (bytes: Buffer): boolean => {
    const behind = matched + bytes.length;
    return ours[behind] === LF && ours.subarray(matched, behind).equals(bytes);
  };
  const splitter = createLineSplitter(
    DEFAULT_RECORD_LIMITS.maxRecordBytes,
    ({ bytes, offset, length, terminated }) => {
      if (!terminated && leaveTail) return;
      const place = { line: 0, offset: from + offset, end: from + offset + length + (terminated ? 1 : 0) };
      if (terminated && isOurs(bytes)) {
        matched += length + 1;
        end = place.end;
        return;
      }
      const decoded = length > bytes.length ? ({ kind: 'bad' } as const) : decodeLine(bytes);
      loose.add(place.offset);
      if (decoded.kind === 'bad') rule.addBad(place);
      else if (decoded.kind === 'record') rule.add({ ...place, record: decoded.record, seal: decoded.seal });
      else if (place.offset === end) end = place.end;
    },
  );
  let inFile = true;
  const endFile = (): void => {
    if (inFile) splitter.end();
    inFile = false;
  };
  return {
    push(bytes) {
      splitter.push(bytes);
    },
    pushJournal(bytes) {
      endFile();
      for (let start = 0; start < bytes.length; ) {
        const lf = bytes.indexOf(LF, start);
        const next = lf === -1 ? bytes.length : lf + 1;
        const line = bytes.subarray(start, next);
        const decoded = decodeLine(Buffer.from(line.subarray(0, lf === -1 ? line.length : line.length - 1)));
        const place = { line: 0, offset: end, bytes: line };
        if (decoded.kind === 'record' && decoded.seal !== undefined)
          rule.add({ ...place, record: decoded.record, seal: decoded.seal });
        else rule.addBad(place);
        start = next;
      }
    },
    finish() {
      endFile();
      rule.finish();
      for (const offset of loose) if (offset < end) skipLine(db, row, offset);
      saveSession(db, row);
      return { end, corruptAt, fileSeq, unfiled, matched };
    },
  };
}

interface OwnLine {
  readonly record: JsonObject;
  readonly seal: Seal;
  readonly seq: number;
  readonly seqOf: (id: string) => number | undefined;
}

/** Applies a sealed line to its session's row: the index can rebuild everything about a session from its lines. */
export function adoptOwn(db: Database, row: SessionRow, { record, seal, seq, seqOf }: OwnLine): void {
  row.q = seal.q;
  row.epoch = Math.max(row.epoch, seal.e);
  if (record['type'] === 'session') {
    row.seq = seq;
    return;
  }
  const { id, parentId, timestamp } = record as Entry;
  applyEntry(row, record, { id, parentId, seq, timestamp, seqOf });
  adoptActivation(db, row, record);
  adoptOrigin(db, row, record);
  rememberSourceIds(db, row, [record], seq);
  const { k, h } = seal;
  if (k === undefined || h === undefined) return;
  const { i, n } = sealPlace(seal);
  db.run('INSERT OR IGNORE INTO append_keys VALUES (?, ?, ?, ?, ?)', row.id, k, h, seq - i + 1, seq - i + n);
}

/** The session's last entry decides: the key of a deleted session points to no session. */
export function leaveKeyIfDeleted(db: Database, { id, key, status }: SessionRow): void {
  if (status === 'deleted')
    db.run("UPDATE active SET session_id = '' WHERE key = ? AND session_id = ?", key, id);
}

/** Records a line that stays in the file without a number; readers skip it, as the history rule does. */
export function skipLine(db: Database, { id }: SessionRow, offset: number): void {
  db.run('INSERT OR IGNORE INTO skipped_lines VALUES (?, ?)', id, offset);
}

/**
 * Gives one number to the line, whatever its content. @returns false for a record that is not an entry in any known
 * format; it gets no number.
 */
export function adoptForeign(db: Database, row: SessionRow, record: JsonObject): boolean {
  const seq = row.seq + 1;
  const line = foreignLine(record, seq);
  if (line === undefined) return false;
  db.run('INSERT OR REPLACE INTO foreign_lines VALUES (?, ?, ?)', row.id, seq, line.id);
  applyForeign(row, line, seqFinder(db, row));
  return true;
}

/** Applies an activation: the highest counter of a key wins, whichever file is read first. */
function adoptActivation(db: Database, row: SessionRow, { customType, data }: JsonObject): void {
  if (customType !== 'reprise.activate' || !isObject(data)) return;
  const { key, counter } = data;
  if (typeof key !== 'string' || typeof counter !== 'number' || !Number.isSafeInteger(counter)) return;
  if (row.key === '') setKey(db, row, key);
  const known = db.row<{ counter: number }>('SELECT counter FROM active WHERE key = ?', key);
  if (counter > 0 && counter > (known?.counter ?? 0))
    db.run('INSERT OR REPLACE INTO active VALUES (?, ?, ?)', key, row.id, counter);
}

export function setKey(db: Database, row: SessionRow, key: string): void {
  const parts = parseSessionKey(key);
  row.key = key;
  row.kind = parts.kind;
  row.channel = 'channel' in parts ? parts.channel : null;
  db.run(
    'UPDATE sessions SET key = ?, kind = ?, channel = ? WHERE id = ?',
    row.key,
    row.kind,
    row.channel,
    row.id,
  );
}

/** Creates a row for an unknown transcript from its header, and from what its ends show. */
export function insertFromHeader(
  db: Database,
  header: JsonObject,
  { id, agentId }: Owner,
  { title, lastAt, status }: Partial<Peek> = {},
): void {
  const { key, timestamp, parentSession } = header;
  const at = typeof timestamp === 'string' ? timestamp : new Date(0).toISOString();
  const canonical = typeof key === 'string' ? formatSessionKey(parseSessionKey(key)) : '';
  const parts = canonical === '' ? undefined : parseSessionKey(canonical);
  db.run(
    `INSERT OR IGNORE INTO sessions
     (id, agent_id, key, kind, channel, parent_id, created_at, last_at, recent, title, status, seq, q)
     VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, 0, 0)`,
    id,
    parseAgentId(agentId),
    canonical,
    parts?.kind ?? 'other',
    parts !== undefined && 'channel' in parts ? (parts.channel ?? null) : null,
    typeof parentSession === 'string' ? parentSession : null,
    at,
    lastAt ?? at,
    recentOf(lastAt ?? at),
    title ?? '',
    status ?? 'open',
  );
}
