import { parseAgentId } from '../../keys/ids.ts';
import { formatSessionKey, parseSessionKey } from '../../keys/session-key.ts';
import { canonicalEntries } from '../../transcript/dialects/canonical.ts';
import type { Entry } from '../../transcript/entry.ts';
import { createHistoryRule, type PlacedRecord } from '../../transcript/history-rule.ts';
import { IssueLog } from '../../transcript/issues.ts';
import { isObject, type JsonObject } from '../../transcript/json.ts';
import { DEFAULT_RECORD_LIMITS } from '../../transcript/limits.ts';
import { decodeLine } from '../../transcript/line.ts';
import { sealPlace } from '../../transcript/seal.ts';
import { createLineSplitter } from '../../transcript/split-lines.ts';
import type { Database } from './database.ts';
import { factsOf } from './facts.ts';
import { addMark, lastMark, MARK_BYTES } from './marks.ts';
import { applyFacts, type SessionRow, saveSession, seqFinder } from './session-row.ts';
import { readRange } from './transcript-files.ts';

const CHUNK = 1024 * 1024;
/** Whoever wrote with an index we no longer have may have had any epoch up to this far above the file's. */
export const EPOCH_JUMP = 1_000_000;

export interface Adoption {
  /** Behind the last line that was taken in; what follows belongs to nobody: a torn append, or garbage. */
  readonly end: number;
  readonly corruptAt: number | undefined;
}

export interface AdoptRange {
  readonly from: number;
  readonly to: number;
  /** False while lines with lower seqs are still to be written behind these: no place here can be a mark. */
  readonly marks?: boolean;
}

interface LineToAdopt extends PlacedRecord {
  /** Offset behind its LF. */
  readonly end: number;
}

/**
 * Takes lines of a transcript into the index that the index does not know: lines of another tool, or our own
 * that an index now lost or older knew. The file alone decides what is history (I-4).
 */
export function adoptLines(
  db: Database,
  row: SessionRow,
  fd: number,
  { from, to, marks = true }: AdoptRange,
): Adoption {
  const seqOf = seqFinder(db, row);
  let end = from;
  let corruptAt: number | undefined;
  let marked = lastMark(db, row.id).offset;
  const mark = ({ seal, offset }: PlacedRecord, seq: number): void => {
    if (!marks || offset - marked < MARK_BYTES) return;
    if (seal !== undefined && seal !== 'broken' && sealPlace(seal).i > 1) return;
    addMark(db, row.id, { seq, offset });
    marked = offset;
  };
  const accept = (placed: PlacedRecord): void => {
    const { record, seal } = placed;
    const seq = row.seq + 1;
    mark(placed, seq);
    end = Math.max(end, (placed as LineToAdopt).end);
    if (seal === undefined || seal === 'broken') {
      adoptForeign(db, row, record);
      return;
    }
    row.q = seal.q;
    row.epoch = Math.max(row.epoch, seal.e);
    if (record['type'] === 'session') {
      row.seq = seq;
      return;
    }
    const { id, parentId, timestamp } = record as Entry;
    applyFacts(row, factsOf(record), { id, parentId, seq, timestamp, seqOf });
    adoptActivation(db, row, record);
    const { k, h } = seal;
    if (k === undefined || h === undefined) return;
    const { i, n } = sealPlace(seal);
    db.run(
      'INSERT OR IGNORE INTO append_keys VALUES (?, ?, ?, ?, ?)',
      row.id,
      k,
      h,
      seq - i + 1,
      seq - i + n,
    );
  };
  const rule = createHistoryRule(
    accept,
    ({ kind, offset }) => {
      if (kind === 'corrupt') corruptAt ??= offset;
    },
    { lines: row.q, epoch: row.epoch },
  );
  const splitter = createLineSplitter(
    DEFAULT_RECORD_LIMITS.maxRecordBytes,
    ({ bytes, offset, length, terminated }) => {
      const place = { line: 0, offset: from + offset, end: from + offset + length + (terminated ? 1 : 0) };
      const decoded = length > bytes.length ? ({ kind: 'bad' } as const) : decodeLine(bytes);
      if (decoded.kind === 'bad') rule.addBad(place);
      else if (decoded.kind === 'record') rule.add({ ...place, record: decoded.record, seal: decoded.seal });
    },
  );
  for (let at = from; at < to; at += CHUNK) splitter.push(readRange(fd, at, Math.min(at + CHUNK, to)));
  splitter.end();
  rule.finish();
  saveSession(db, row);
  return { end, corruptAt };
}

/** What a line of another tool says: nothing, one thing, or in some dialects several. */
export function foreignEntries(record: JsonObject): readonly Entry[] {
  const placed = [{ record, seal: undefined, line: 0, offset: 0 }];
  return canonicalEntries(placed, new IssueLog()).entries;
}

function adoptForeign(db: Database, row: SessionRow, record: JsonObject): void {
  for (const entry of foreignEntries(record)) {
    const seq = row.seq + 1;
    db.run('INSERT INTO foreign_lines VALUES (?, ?, ?)', row.id, seq, entry.id);
    const facts = factsOf(entry);
    const { id, parentId, timestamp } = entry;
    const seqOf = seqFinder(db, row);
    applyFacts(row, facts, { id, parentId, seq, timestamp, seqOf });
    // Another tool moves its leaf with any line; ours is then where that line hangs.
    if (facts.side && parentId !== null && seqOf(parentId) !== undefined) row.leaf = parentId;
  }
}

/** The highest counter of a key wins, whichever file is read first. */
function adoptActivation(db: Database, row: SessionRow, { customType, data }: JsonObject): void {
  if (customType !== 'reprise.activate' || !isObject(data)) return;
  const { key, counter } = data;
  if (typeof key !== 'string' || typeof counter !== 'number' || !Number.isSafeInteger(counter)) return;
  if (row.key === '') setKey(db, row, key);
  const known = db.row<{ counter: number }>('SELECT counter FROM active WHERE key = ?', key);
  if (counter > 0 && counter > (known?.counter ?? 0))
    db.run('INSERT OR REPLACE INTO active VALUES (?, ?, ?)', key, row.id, counter);
}

function setKey(db: Database, row: SessionRow, key: string): void {
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

/** A row for a transcript the index does not know, from its header alone. */
export function insertFromHeader(db: Database, header: JsonObject, agentId: string): void {
  const { id, key, timestamp, parentSession } = header;
  const at = typeof timestamp === 'string' ? timestamp : new Date(0).toISOString();
  const canonical = typeof key === 'string' ? formatSessionKey(parseSessionKey(key)) : '';
  const parts = canonical === '' ? undefined : parseSessionKey(canonical);
  db.run(
    `INSERT OR IGNORE INTO sessions (id, agent_id, key, kind, channel, parent_id, created_at, last_at, seq, q)
     VALUES (?, ?, ?, ?, ?, ?, ?, ?, 0, 0)`,
    id as string,
    parseAgentId(agentId),
    canonical,
    parts?.kind ?? 'other',
    parts !== undefined && 'channel' in parts ? (parts.channel ?? null) : null,
    typeof parentSession === 'string' ? parentSession : null,
    at,
    at,
  );
}
