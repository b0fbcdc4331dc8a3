import { parseAgentId, parseSessionId } from '../../../keys/ids.ts';
import { parseSessionKey } from '../../../keys/session-key.ts';
import { failure } from '../../../messages/failure.ts';
import type { Entry, Seal } from '../../../transcript/entry.ts';
import { seqForEntryId } from '../../../transcript/entry-id.ts';
import { isObject, type JsonObject } from '../../../transcript/json.ts';
import { decodeLine } from '../../../transcript/line.ts';
import { sealPlace } from '../../../transcript/seal.ts';
import { malformed } from '../../copy/copy-state.ts';
import { keyText } from '../../port/key-text.ts';
import type { LinesRecord, SessionCopy } from '../../port/transfer.ts';
import { factsOf } from '../../rules/facts.ts';
import { applyForeign, type ForeignLine, foreignLine } from '../../rules/foreign-line.ts';
import { brokenSeal } from '../../rules/refusals.ts';
import { applyEntry, recentOf } from '../../rules/session-state.ts';
import type { Tx } from '../connection/tx.ts';
import { insertSession, type LineRow, lockAll, type SessionRow } from '../rows.ts';
import { shortName } from '../short-name.ts';
import { copyOrigin, rememberSourceIds } from '../sources.ts';
import { plainText } from '../text.ts';
import { copyActive } from '../write/active.ts';

const LF = 10;

/** A copied line that the database does not have yet. */
interface NewLine {
  readonly seq: number;
  readonly text: string;
  readonly record: JsonObject;
  readonly seal: Seal | undefined;
  /** Set for a line of another tool. */
  readonly foreign: ForeignLine | undefined;
}

/** Prepares a session that already exists. A new one is created with its first line. */
export async function beginCopy(tx: Tx, { id, epoch, corruptAt }: SessionCopy): Promise<void> {
  const row = await findLocked(tx, id);
  if (row === undefined) return;
  row.epoch = Math.max(row.epoch, epoch);
  if (corruptAt !== undefined) row.corrupt_at ??= corruptAt;
  tx.touch(row);
}

/** Verifies every seal and writes the lines. Lines that the database already has are skipped. */
export async function writeLines(
  tx: Tx,
  { session, first, bytes }: LinesRecord,
  copy: SessionCopy,
): Promise<void> {
  const row = (await findLocked(tx, session)) ?? (await makeRow(tx, copy));
  const lines = [...newLines(row, first, Buffer.from(bytes.buffer, bytes.byteOffset, bytes.length))];
  const [start] = lines;
  // Lines that the source lost keep their numbers. The session becomes read-only, so nothing is appended after the
  // gap.
  if (start !== undefined && start.seq > row.seq + 1) row.corrupt_at ??= 0;
  const known = await knownIds(tx, row, lines);
  const seqOf = (id: string): number | undefined => known?.get(id) ?? ownSeq(row, id, known === undefined);
  const stored: LineRow[] = [];
  const keyed: {
    readonly key: string;
    readonly hash: string;
    readonly first: number;
    readonly last: number;
  }[] = [];
  for (const { seq, text, record, seal, foreign } of lines) {
    const name = foreign?.id ?? (record['type'] === 'session' ? null : String(record['id']));
    // A line of another tool may reuse an earlier id; it can then be found only by its seq.
    const isTaken = name !== null && known?.has(name) === true;
    stored.push({
      session_id: row.id,
      seq,
      entry_id: isTaken || name === null ? null : shortName(name),
      line: text,
    });
    if (name !== null) known?.set(name, seq);
    row.bytes += Buffer.byteLength(text) + 1;
    if (foreign !== undefined) applyForeign(row, foreign, seqOf);
    else if (seal !== undefined) {
      applyOwn(tx, row, { record, seal, seq, seqOf });
      const { k, h } = seal;
      const { i, n } = sealPlace(seal);
      if (k !== undefined && h !== undefined)
        keyed.push({ key: keyText(k), hash: h, first: seq - i + 1, last: seq - i + n });
    }
  }
  tx.addLines(row, stored);
  rememberKeys(tx, row, keyed);
  if (row.seq >= copy.lastSeq && row.status === 'deleted')
    tx.run("UPDATE reprise.active SET session_id = '' WHERE key = $1 AND session_id = $2", [
      shortName(row.key),
      row.id,
    ]);
}

async function findLocked(tx: Tx, id: string): Promise<SessionRow | undefined> {
  return tx.sessions.get(id) ?? (await lockAll(tx, [id]))[0];
}

async function makeRow(tx: Tx, copy: SessionCopy): Promise<SessionRow> {
  const { key, parentId, createdAt, epoch, corruptAt = null } = copy;
  const parts = key === '' ? undefined : parseSessionKey(key);
  const row: SessionRow = {
    id: parseSessionId(copy.id),
    agent_id: parseAgentId(copy.agentId),
    key,
    kind: parts?.kind ?? 'other',
    channel: parts !== undefined && 'channel' in parts ? (parts.channel ?? null) : null,
    parent_id: parentId === undefined ? null : plainText(parentId),
    owner: null,
    title: '',
    label: null,
    status: 'open',
    created_at: createdAt,
    last_at: createdAt,
    recent: recentOf(createdAt),
    message_count: 0,
    turn_count: 0,
    token_estimate: 0,
    settings: '{}',
    seq: 0,
    q: 0,
    leaf: null,
    epoch,
    lease_epoch: 0,
    context_seq: 1,
    context_compaction: 0,
    bytes: 0,
    corrupt_at: corruptAt,
  };
  if (await insertSession(tx, row)) return row;
  throw malformed({ problem: 'idTaken', id: copy.id });
}

function* newLines(row: SessionRow, first: number, bytes: Buffer): Generator<NewLine> {
  let seq = first;
  for (let start = 0; start < bytes.length; seq++) {
    const end = bytes.indexOf(LF, start);
    if (end === -1) throw malformed({ problem: 'noLineEnd', id: row.id, line: seq });
    if (seq > row.seq) yield newLine(row, seq, bytes.subarray(start, end));
    start = end + 1;
  }
}

function newLine({ id }: SessionRow, seq: number, bytes: Buffer): NewLine {
  const decoded = decodeLine(bytes);
  if (decoded.kind !== 'record' || decoded.seal === 'broken') {
    throw brokenSeal(id, seq);
  }
  const { record, seal, badUtf8 } = decoded;
  if (badUtf8) throw failure('INVALID_INPUT', 'copy.notUtf8', { id, line: seq }, { details: { id, seq } });
  const foreign = seal === undefined ? foreignLine(record, seq) : undefined;
  if (seal === undefined && foreign === undefined) throw malformed({ problem: 'noEntry', id, line: seq });
  return { seq, text: bytes.toString(), record, seal, foreign };
}

interface OwnLine {
  readonly record: JsonObject;
  readonly seal: Seal;
  readonly seq: number;
  readonly seqOf: (id: string) => number | undefined;
}

function applyOwn(tx: Tx, row: SessionRow, { record, seal, seq, seqOf }: OwnLine): void {
  row.q = seal.q;
  row.epoch = Math.max(row.epoch, seal.e);
  if (record['type'] === 'session') {
    row.seq = seq;
    return;
  }
  const { id, parentId, timestamp, customType, data } = record as Entry;
  applyEntry(row, record, { id, parentId, seq, timestamp, seqOf });
  copyOrigin(tx, row, record);
  rememberSourceIds(tx, row, [record], seq);
  if (customType !== 'reprise.activate' || !isObject(data)) return;
  const { key, counter } = data;
  if (typeof key !== 'string' || typeof counter !== 'number' || !(counter > 0)) return;
  // Independent of the order in which sessions are copied.
  copyActive(tx, key, { session_id: row.id, counter, isLast: false });
}

/**
 * If all lines are ours, ids contain line numbers and this returns `undefined`. Otherwise it looks up the referenced
 * ids.
 */
async function knownIds(
  tx: Tx,
  row: SessionRow,
  lines: readonly NewLine[],
): Promise<Map<string, number> | undefined> {
  if (row.seq === row.q && lines.every(({ foreign }) => foreign === undefined)) return undefined;
  const named = lines.flatMap(({ record, foreign }) => {
    const { firstKept } = factsOf(record);
    const parents = (foreign?.entries ?? [record as Entry]).flatMap(({ parentId }) => parentId ?? []);
    return [...parents, ...(firstKept === undefined ? [] : [firstKept]), foreign?.id ?? String(record['id'])];
  });
  tx.flush();
  const byName = new Map(named.map((id) => [shortName(id), id]));
  const found = await tx.query<{ seq: number; entry_id: string }>(
    'SELECT seq, entry_id FROM reprise.lines WHERE session_id = $1 AND entry_id = ANY($2)',
    [row.id, [...byName.keys()]],
  );
  return new Map(found.map(({ entry_id, seq }) => [byName.get(entry_id) ?? entry_id, seq]));
}

function ownSeq({ q: last }: SessionRow, id: string, isPlain: boolean): number | undefined {
  const q = isPlain ? seqForEntryId(id) : undefined;
  return q === undefined || q < 2 || q > last ? undefined : q;
}

function rememberKeys(
  tx: Tx,
  { id }: SessionRow,
  keyed: readonly {
    readonly key: string;
    readonly hash: string;
    readonly first: number;
    readonly last: number;
  }[],
): void {
  if (keyed.length === 0) return;
  tx.run(
    `INSERT INTO reprise.append_keys (session_id, key, hash, first_seq, last_seq)
     SELECT $1, * FROM unnest($2::text[], $3::text[], $4::bigint[], $5::bigint[]) ON CONFLICT DO NOTHING`,
    [
      id,
      keyed.map(({ key }) => key),
      keyed.map(({ hash }) => hash),
      keyed.map(({ first }) => first),
      keyed.map(({ last }) => last),
    ],
  );
}
