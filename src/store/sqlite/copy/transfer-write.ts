import { parseAgentId, parseSessionId } from '../../../keys/ids.ts';
import { parseSessionKey } from '../../../keys/session-key.ts';
import { failure } from '../../../messages/failure.ts';
import { quotedValue } from '../../../messages/quoted.ts';
import { decodeLine } from '../../../transcript/line.ts';
import { assertRun, malformed, otherRun, sessionOf } from '../../copy/copy-state.ts';
import { addLine, openChat, saveChat } from '../../jsonl/channel-log/convlog-rows.ts';
import { adoptForeign, adoptOwn, leaveKeyIfDeleted } from '../../jsonl/recovery/adopt.ts';
import type {
  BlobRecord,
  ConvlogRecord,
  FinishOptions,
  InboundRecord,
  KeyRecord,
  LinesRecord,
  PurgedRecord,
  SessionCopy,
  TransferNote,
  TransferRecord,
} from '../../port/transfer.ts';
import { namesOf, toRow } from '../../rules/convlog-line.ts';
import { keptKey } from '../../rules/kept-key.ts';
import { brokenSeal } from '../../rules/refusals.ts';
import { recentOf } from '../../rules/session-state.ts';
import { sha256 } from '../../shared/sha256.ts';
import { raiseEpochFloor } from '../identity.ts';
import { findIgnoringCase, type SessionRow, seqFinder } from '../session-row.ts';
import type { Batch } from '../write/batch.ts';
import { holdPending, saveItem } from '../write/inbox-rows.ts';
import { removeSession } from '../write/sessions.ts';
import { copyState, saveCopyState, transferState } from './transfer-state.ts';

const LF = 10;

/** Writes the records of a copy and its progress, all or none. Records that the store already has change nothing. */
export function writeTransfer(
  batch: Batch,
  { records, run, cursor }: TransferNote & { readonly records: readonly TransferRecord[] },
): void {
  const { db } = batch;
  let state = assertRun(copyState(db), run, () => transferState(db).empty);
  batch.space?.assertRoom();
  batch.attempt(() => {
    for (const record of records) {
      switch (record.kind) {
        case 'epoch':
          state = { ...state, epoch: Math.max(state.epoch, record.epoch) };
          break;
        case 'item':
          saveItem(db, record.item);
          break;
        case 'inbound':
          writeInbound(batch, record);
          break;
        case 'key':
          writeKey(batch, record);
          break;
        case 'session':
          state = { ...state, session: record };
          beginSession(batch, record);
          break;
        case 'blob':
          writeBlob(batch, record, sessionOf(state, record.session));
          break;
        case 'lines':
          writeLines(batch, record, sessionOf(state, record.session));
          break;
        case 'convlog':
          writeConvlog(batch, record);
          break;
        case 'purged':
          writePurged(batch, record);
          break;
        case 'damage':
          break;
        default:
          throw malformed({ problem: 'unknownKind', kind: quotedValue((record as { kind?: unknown }).kind) });
      }
    }
    saveCopyState(db, { ...state, cursor });
  });
}

/**
 * Ends the copy. Epochs continue above all copied ones, so a lease holder of the source can never write here (P5).
 */
export function finishTransfer(
  { db }: Batch,
  { run, hold = false }: FinishOptions & { readonly run: string },
): void {
  const state = copyState(db);
  if (state?.run !== run) throw otherRun(state);
  if (state.finished) return;
  raiseEpochFloor(db, state.epoch);
  const { session: _, ...rest } = state;
  saveCopyState(db, { ...rest, finished: true });
  if (hold) holdPending(db);
  // Keys are copied before sessions. A session that was purged or became unreadable since then did not arrive.
  db.run(
    `UPDATE active SET session_id = '' WHERE session_id <> ''
     AND NOT EXISTS (SELECT 1 FROM sessions WHERE id = active.session_id)`,
  );
}

function writeInbound({ db }: Batch, { agentId, source, key, hash, inboxId }: InboundRecord): void {
  const values = [agentId, keptKey(source), keptKey(key), hash, inboxId];
  db.run('INSERT OR REPLACE INTO inbound_keys VALUES (?, ?, ?, ?, ?)', ...values);
}

/** A later activation may already be known from copied lines; the higher counter wins. */
function writeKey({ db }: Batch, { key, sessionId, counter }: KeyRecord): void {
  parseSessionKey(key);
  db.run(
    `INSERT INTO active VALUES (?, ?, ?) ON CONFLICT (key) DO UPDATE
     SET session_id = excluded.session_id, counter = excluded.counter WHERE excluded.counter >= counter`,
    key,
    sessionId ?? '',
    counter,
  );
}

/**
 * Prepares a session. Its row is created with its first line, because a row without lines means an unread transcript.
 */
function beginSession(batch: Batch, { id, epoch, corruptAt }: SessionCopy): void {
  const row = batch.find(id);
  if (row === undefined) return;
  row.epoch = Math.max(row.epoch, epoch);
  batch.touch(row);
  if (corruptAt !== undefined) markCorrupt(batch, row, corruptAt);
}

function makeRow(batch: Batch, session: SessionCopy): SessionRow {
  const { db } = batch;
  const { agentId, key, parentId, createdAt, epoch, corruptAt } = session;
  const id = parseSessionId(session.id);
  const parts = key === '' ? undefined : parseSessionKey(key);
  db.run(
    `INSERT INTO sessions (id, agent_id, key, kind, channel, parent_id, created_at, last_at, recent, epoch, seq, q)
     VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, 0, 0)`,
    id,
    parseAgentId(agentId),
    key,
    parts?.kind ?? 'other',
    parts !== undefined && 'channel' in parts ? (parts.channel ?? null) : null,
    parentId ?? null,
    createdAt,
    createdAt,
    recentOf(createdAt),
    epoch,
  );
  const row = batch.find(id);
  if (row === undefined) throw malformed({ problem: 'idTaken', id });
  if (corruptAt !== undefined) markCorrupt(batch, row, corruptAt);
  return row;
}

function markCorrupt({ db }: Batch, row: SessionRow, offset: number): void {
  row.corrupt_at ??= offset;
  db.run('UPDATE sessions SET corrupt_at = ? WHERE id = ?', row.corrupt_at, row.id);
}

function writeBlob({ blobs }: Batch, { session, hash, bytes }: BlobRecord, { agentId }: SessionCopy): void {
  if (sha256(bytes) !== hash)
    throw failure('STORE_CORRUPT', 'copy.blobChanged', { id: session, blob: `sha256:${hash}` });
  const owner = { id: parseSessionId(session), agent_id: parseAgentId(agentId) };
  blobs.keep(owner as SessionRow, new Map([[hash, bytes]]));
}

/** Verifies every seal and writes the lines. Lines that the store already has are skipped. */
function writeLines(batch: Batch, { session, first, bytes }: LinesRecord, copy: SessionCopy): void {
  const { db } = batch;
  const row = batch.find(session) ?? makeRow(batch, copy);
  const seqOf = seqFinder(db, row);
  const buffer = Buffer.from(bytes.buffer, bytes.byteOffset, bytes.length);
  let seq = first;
  let fresh = -1;
  let firstFresh = 0;
  for (let start = 0; start < buffer.length; seq++) {
    const end = buffer.indexOf(LF, start);
    if (end === -1) throw malformed({ problem: 'noLineEnd', id: session, line: seq });
    if (seq > row.seq) {
      if (fresh === -1) {
        fresh = start;
        firstFresh = seq;
        // Lines that the source lost keep their numbers. The session becomes read-only, so nothing is appended after
        // the gap.
        if (seq > row.seq + 1) markCorrupt(batch, row, 0);
      }
      takeLine(batch, row, { line: buffer.subarray(start, end), seq, seqOf });
    }
    start = end + 1;
  }
  batch.touch(row);
  if (fresh !== -1) batch.addBytes(row, { first: firstFresh, last: seq - 1, bytes: buffer.subarray(fresh) });
  if (row.seq >= copy.lastSeq) leaveKeyIfDeleted(db, row);
}

interface NewLine {
  readonly line: Buffer;
  readonly seq: number;
  readonly seqOf: (id: string) => number | undefined;
}

function takeLine({ db }: Batch, row: SessionRow, { line, seq, seqOf }: NewLine): void {
  const decoded = decodeLine(line);
  if (decoded.kind !== 'record' || decoded.seal === 'broken') {
    throw brokenSeal(row.id, seq);
  }
  const { record, seal } = decoded;
  if (seal !== undefined) adoptOwn(db, row, { record, seal, seq, seqOf });
  else {
    row.seq = seq - 1;
    if (!adoptForeign(db, row, record)) throw malformed({ problem: 'noEntry', id: row.id, line: seq });
  }
}

function writeConvlog({ db }: Batch, { line }: ConvlogRecord): void {
  const chat = openChat(db, namesOf(line), false);
  if (line.number <= chat.last_number) return;
  addLine(db, chat, toRow(line, line.number, line.ts));
  saveChat(db, chat);
}

/** The source purged this session after its lines were copied, so its data is removed here too. */
function writePurged(batch: Batch, { id }: PurgedRecord): void {
  const found = findIgnoringCase(batch.db, parseSessionId(id));
  const row = found === undefined ? undefined : batch.find(found.id);
  if (row !== undefined) removeSession(batch, row);
  else batch.db.run('INSERT OR IGNORE INTO purged VALUES (?)', id);
}
