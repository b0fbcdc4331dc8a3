import { escapeKeyPart } from '../../../keys/escape.ts';
import { parseSessionId } from '../../../keys/ids.ts';
import { parseSessionKey } from '../../../keys/session-key.ts';
import { failure } from '../../../messages/failure.ts';
import { quotedValue } from '../../../messages/quoted.ts';
import { assertRun, type CopyState, malformed, otherRun, sessionOf } from '../../copy/copy-state.ts';
import type { StoredConvlogLine } from '../../port/convlog.ts';
import { normalKeyText } from '../../port/key-text.ts';
import type {
  BlobRecord,
  FinishOptions,
  InboundRecord,
  ItemRecord,
  KeyRecord,
  PurgedRecord,
  TransferNote,
  TransferRecord,
} from '../../port/transfer.ts';
import { EPOCH_JUMP } from '../../rules/epoch-jump.ts';
import { sha256 } from '../../shared/sha256.ts';
import type { Tx } from '../connection/tx.ts';
import { removeSession } from '../sessions.ts';
import { copyActive } from '../write/active.ts';
import { writeLog } from '../write/convlog-rows.ts';
import { holdPending } from '../write/inbox-rows.ts';
import { highestEpoch, isEmpty, lockCopy, saveCopy } from './copies.ts';
import { beginCopy, writeLines } from './transfer-lines.ts';

const SAVE_ITEM = `INSERT INTO reprise.inbox
    (id, session_id, session_key, state, class, group_name, body, detail, carries, attempts, created_at)
  VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11)
  ON CONFLICT (id) DO UPDATE SET state = excluded.state, body = excluded.body, detail = excluded.detail,
    carries = excluded.carries, attempts = excluded.attempts
  WHERE (inbox.state, inbox.body, inbox.detail, inbox.carries, inbox.attempts) IS DISTINCT FROM
    (excluded.state, excluded.body, excluded.detail, excluded.carries, excluded.attempts)`;

/** Writes the records of a copy and its progress, all or none. Records that the store already has change nothing. */
export async function writeTransfer(
  tx: Tx,
  records: readonly TransferRecord[],
  { run, cursor }: TransferNote,
): Promise<void> {
  const known = await lockCopy(tx);
  const empty = known === undefined && (await isEmpty(tx));
  let state: CopyState = assertRun(known, run, () => empty);
  for (const [i, record] of records.entries()) {
    switch (record.kind) {
      case 'epoch':
        state = { ...state, epoch: Math.max(state.epoch, record.epoch) };
        break;
      case 'item':
        writeItem(tx, record);
        break;
      case 'inbound':
        writeInbound(tx, record);
        break;
      case 'key':
        writeKey(tx, record);
        break;
      case 'session':
        state = { ...state, session: record };
        await beginCopy(tx, record);
        break;
      case 'blob':
        sessionOf(state, record.session);
        writeBlob(tx, record);
        break;
      case 'lines':
        await writeLines(tx, record, sessionOf(state, record.session));
        break;
      case 'convlog':
        if (isFirstOfChat(records, i)) await writeLog(tx, chatFrom(records, i));
        break;
      case 'purged':
        await writePurged(tx, record);
        break;
      case 'damage':
        break;
      default:
        throw malformed({ problem: 'unknownKind', kind: quotedValue((record as { kind?: unknown }).kind) });
    }
  }
  saveCopy(tx, { ...state, cursor });
}

/**
 * Ends the copy. Epochs continue above all copied ones, so a lease holder of the source can never write here (P5).
 */
export async function finishTransfer(tx: Tx, run: string, { hold = false }: FinishOptions): Promise<void> {
  const state = await lockCopy(tx);
  if (state?.run !== run) throw otherRun(state);
  if (state.finished) return;
  const { session: _, ...rest } = state;
  saveCopy(tx, { ...rest, finished: true });
  if (hold) holdPending(tx);
  const floor = Math.max(state.epoch, await highestEpoch(tx)) + EPOCH_JUMP;
  tx.run('UPDATE reprise.copies SET epoch_floor = $1', [floor]);
  // Keys are copied before sessions. A session that was purged or became unreadable since then did not arrive.
  tx.run(
    `UPDATE reprise.active AS a SET session_id = '' WHERE session_id <> ''
     AND NOT EXISTS (SELECT 1 FROM reprise.sessions AS s WHERE s.id = a.session_id)`,
  );
}

function writeItem(tx: Tx, { item }: ItemRecord): void {
  const { inboxId, sessionId, sessionKey, state, group, body, detail, carries, attempts, createdAt } = item;
  tx.run(SAVE_ITEM, [
    escapeKeyPart(inboxId),
    sessionId,
    sessionKey,
    state,
    item.class,
    group === undefined ? null : escapeKeyPart(group),
    JSON.stringify(body),
    detail === undefined ? null : JSON.stringify(detail),
    carries === undefined ? null : JSON.stringify(carries),
    attempts,
    createdAt,
  ]);
}

function writeInbound(tx: Tx, { agentId, source, key, hash, inboxId }: InboundRecord): void {
  tx.run(
    `INSERT INTO reprise.inbound_keys (agent_id, source, key, hash, inbox_id) VALUES ($1, $2, $3, $4, $5)
     ON CONFLICT (agent_id, source, key) DO UPDATE SET hash = excluded.hash, inbox_id = excluded.inbox_id`,
    [agentId, normalKeyText(source), normalKeyText(key), hash, escapeKeyPart(inboxId)],
  );
}

/** A later activation may already be known from copied lines; the higher counter wins. */
function writeKey(tx: Tx, { key, sessionId, counter }: KeyRecord): void {
  parseSessionKey(key);
  copyActive(tx, key, { session_id: sessionId ?? '', counter, isLast: true });
}

function writeBlob(tx: Tx, { session, hash, bytes }: BlobRecord): void {
  if (sha256(bytes) !== hash)
    throw failure('STORE_CORRUPT', 'copy.blobChanged', { id: session, blob: `sha256:${hash}` });
  tx.run('INSERT INTO reprise.blobs (session_id, hash, bytes) VALUES ($1, $2, $3) ON CONFLICT DO NOTHING', [
    parseSessionId(session),
    hash,
    bytes,
  ]);
}

/** Chats are created one by one in the source's order, which is their order in lists for equal times. */
function isFirstOfChat(records: readonly TransferRecord[], i: number): boolean {
  const [record, before] = [records[i], records[i - 1]];
  if (record?.kind !== 'convlog' || before?.kind !== 'convlog') return true;
  return chatOf(record.line) !== chatOf(before.line);
}

function chatFrom(records: readonly TransferRecord[], start: number): StoredConvlogLine[] {
  const lines: StoredConvlogLine[] = [];
  for (let i = start; i < records.length && (i === start || !isFirstOfChat(records, i)); i++) {
    const record = records[i];
    if (record?.kind !== 'convlog') break;
    lines.push(record.line);
  }
  return lines;
}

const chatOf = ({ agentId, channelType, channelId }: StoredConvlogLine): string =>
  JSON.stringify([agentId, channelType, channelId]);

/** The source purged this session after its lines were copied, so its data is removed here too. */
async function writePurged(tx: Tx, { id }: PurgedRecord): Promise<void> {
  const folded = parseSessionId(id).toLowerCase();
  tx.flush();
  const [found] = await tx.query<{ id: string }>('SELECT id FROM reprise.sessions WHERE folded = $1', [
    folded,
  ]);
  if (found !== undefined) await removeSession(tx, found.id);
  else tx.run('INSERT INTO reprise.purged (id) VALUES ($1) ON CONFLICT DO NOTHING', [folded]);
}
