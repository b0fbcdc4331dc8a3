import type { DatabaseSync, SQLInputValue } from 'node:sqlite';
import { isSessionId, parseAgentId } from '../../../keys/ids.ts';
import { parseSessionKey } from '../../../keys/session-key.ts';
import { isObject, type JsonObject } from '../../../transcript/json.ts';
import { decodeLine } from '../../../transcript/line.ts';
import { sha256 } from '../../shared/sha256.ts';
import type { Database } from '../../sqlite/database.ts';
import { raiseEpochFloor } from '../../sqlite/identity.ts';
import { CONVLOG_VERSION } from '../../sqlite/schema.ts';
import { adoptSalvagedLog, isLogLine, LINE_COLUMNS } from '../channel-log/convlog-salvage.ts';
import { insertFromHeader } from './adopt.ts';
import { hasTable, listRowids, type Row, readByKey, readRows } from './salvage-rows.ts';

export interface Salvaged {
  /** Number of rows by table. */
  readonly kept: Readonly<Record<string, number>>;
  /** Descriptions of what could not be read. */
  readonly lost: readonly string[];
}

const LF = 10;
/** SQLITE_CONSTRAINT and SQLITE_MISMATCH. */
const REFUSED: ReadonlySet<number> = new Set([19, 20]);
const STATES: ReadonlySet<unknown> = new Set(
  'accepted running waiting done failed cancelled merged dropped held interrupted'.split(' '),
);

const CLASSES: ReadonlySet<unknown> = new Set(['message', 'system', 'command']);
const INBOX_COLUMNS = 'number id session_id session_key state body detail attempts created_at'.split(' ');
const OUTBOX_COLUMNS =
  'number session_id channel conversation key payload state attempts next_at created_at parked_reason'.split(
    ' ',
  );
const OUTBOX_STATES: ReadonlySet<unknown> = new Set(['queued', 'sent', 'parked']);
/** Defaults for columns that an older version does not have. */
const LATER: Readonly<Record<string, string>> = { class: 'message' };

/**
 * Copies what is readable in a damaged database into a new one: data that is in no transcript (journal, inbox,
 * inbound keys, purged ids) and the highest epoch. Sessions, keys, append keys and marks are derived from lines
 * again, and leases belong to processes that cannot continue with the new file. `aloneInJournal`: a store without
 * transcripts.
 */
export function salvage(from: DatabaseSync, into: Database, aloneInJournal: boolean): Salvaged {
  const kept: Record<string, number> = {};
  const lost = new Set<string>();
  const take = (table: string, columns: readonly string[], row: Row): boolean => {
    const places = columns.map(() => '?').join(', ');
    const values = columns.map((name) => row[name] ?? LATER[name] ?? null) as SQLInputValue[];
    try {
      const isNew = into.run(
        `INSERT OR IGNORE INTO ${table} (${columns.join(', ')}) VALUES (${places})`,
        ...values,
      );
      kept[table] = (kept[table] ?? 0) + isNew;
      return true;
    } catch (error) {
      // The value has another type than the column: a changed byte, or a row of another table.
      if (REFUSED.has(((error as { errcode?: number }).errcode ?? 0) & 0xff)) return false;
      throw error;
    }
  };
  /** Copies rows by rowid. A row that the table's index names but its pages do not contain is lost. */
  const copy = (table: string, columns: readonly string[], accept: (row: Row) => boolean): void => {
    const seen = new Set<number>();
    const isWhole = readRows(from, table, (row, rowid) => {
      seen.add(rowid);
      if (!accept(row) || !take(table, columns, row))
        lost.add(`${table}: a row that makes no sense (${describe(row)})`);
    });
    const unseen = [...listRowids(from, table)].filter(([rowid]) => !seen.has(rowid));
    for (const [, row] of unseen) lost.add(`${table}: ${describe(row)}`);
    if (!isWhole && unseen.length === 0) lost.add(`${table}: maybe more; not all of its pages can be read`);
  };

  const headers = new Map<string, JsonObject>();
  copy('journal', ['session_id', 'first_seq', 'last_seq', 'bytes'], (row) => {
    const { session_id, first_seq, bytes } = row;
    if (typeof session_id !== 'string' || !isSessionId(session_id) || !(bytes instanceof Uint8Array))
      return false;
    const { broken, header } = checkLines(bytes);
    if (broken > 0)
      lost.add(`journal: ${broken} lines of session ${session_id} from line ${String(first_seq)} on`);
    if (header?.['id'] === session_id) headers.set(session_id, header);
    return true;
  });
  copy(
    'inbox',
    [...INBOX_COLUMNS, 'class', 'group_name', 'carries', 'turn_id'],
    ({ id, session_id, state, body, detail, class: kind = 'message', carries = null }) =>
      typeof id === 'string' &&
      typeof session_id === 'string' &&
      STATES.has(state) &&
      CLASSES.has(kind) &&
      isJsonObject(body) &&
      (detail === null || isJsonObject(detail)) &&
      (carries === null || isJsonArray(carries)),
  );
  if (hasTable(from, 'outbox'))
    copy('outbox', OUTBOX_COLUMNS, ({ payload, state }) => isJsonObject(payload) && OUTBOX_STATES.has(state));
  // In other stores blobs are files.
  if (aloneInJournal)
    copy(
      'blobs',
      ['session_id', 'hash', 'bytes'],
      ({ hash, bytes }) => bytes instanceof Uint8Array && sha256(bytes) === hash,
    );
  if (hasTable(from, 'convlog_lines')) copy('convlog_lines', LINE_COLUMNS, isLogLine);
  // In a store with files, the logs are read from them again and nothing is lost.
  else if (aloneInJournal)
    readRows(from, 'meta', ({ name, value }) => {
      if (name === 'schema' && Number(value) >= CONVLOG_VERSION) lost.add('convlog_lines: all of the table');
    });
  adoptSalvagedLog(into, { hasFiles: !aloneInJournal });
  copy('purged', ['id'], ({ id }) => typeof id === 'string' && isSessionId(id));
  const keyColumns = ['agent_id', 'source', 'key', 'hash', 'inbox_id'];
  const allKeys = readByKey(from, 'inbound_keys', keyColumns.slice(0, 3), (row) => {
    // Without its message, a key would confirm a retry of a message that no longer exists.
    const isKnown = into.row('SELECT 1 FROM inbox WHERE id = ?', String(row['inbox_id'])) !== undefined;
    if (!isKnown || !take('inbound_keys', keyColumns, row)) lost.add(`inbound_keys: ${describe(row)}`);
  });
  if (!allKeys) lost.add('inbound_keys: maybe more; a message that is sent again may be accepted twice');

  let highest = 0;
  const see = (epoch: unknown): void => {
    if (typeof epoch === 'number' && Number.isSafeInteger(epoch)) highest = Math.max(highest, epoch);
  };
  for (const [id, header] of headers) addSession(into, id, header);
  readRows(from, 'sessions', ({ id, agent_id, key, parent_id, created_at, epoch }) => {
    see(epoch);
    if (typeof id !== 'string' || !isSessionId(id)) return;
    const hasLines = into.row('SELECT 1 FROM journal WHERE session_id = ?', id) !== undefined;
    // Sessions with a transcript are found by it; a store without transcripts has their lines only here.
    if (hasLines)
      addSession(into, id, { id, agentId: agent_id, key, parentSession: parent_id, timestamp: created_at });
    else if (aloneInJournal) lost.add(`session ${id}: none of its lines can be read`);
  });
  readRows(from, 'leases', ({ epoch }) => see(epoch));
  readRows(from, 'meta', ({ name, value }) => {
    if (name === 'epoch_floor') see(Number(value));
  });
  raiseEpochFloor(into, highest);
  return { kept, lost: [...lost] };
}

/** Inserts the session as unread; the rebuild completes its row from its lines. */
function addSession(into: Database, id: string, header: JsonObject): void {
  try {
    parseSessionKey(String(header['key'] ?? ''));
  } catch {
    // The key is missing in a long header, or was changed. The lines contain it.
    insertFromHeader(into, { ...header, key: undefined }, { id, agentId: agentOf(header) });
    return;
  }
  insertFromHeader(into, header, { id, agentId: agentOf(header) });
}

function agentOf({ agentId }: JsonObject): string {
  try {
    return parseAgentId(String(agentId));
  } catch {
    // A byte was changed, so the agent of the transcript is unknown.
    return 'main';
  }
}

function checkLines(bytes: Uint8Array): { broken: number; header: JsonObject | undefined } {
  let broken = 0;
  let header: JsonObject | undefined;
  for (let start = 0; start < bytes.length; ) {
    const lf = bytes.indexOf(LF, start);
    const end = lf === -1 ? bytes.length : lf;
    const line = decodeLine(bytes.subarray(start, end));
    if (line.kind !== 'record' || line.seal === undefined || line.seal === 'broken') broken++;
    else if (line.record['type'] === 'session') header = line.record;
    start = end + 1;
  }
  return { broken, header };
}

function isJsonArray(text: unknown): boolean {
  try {
    return typeof text === 'string' && Array.isArray(JSON.parse(text));
  } catch {
    // A byte was changed.
    return false;
  }
}

function isJsonObject(text: unknown): boolean {
  try {
    return typeof text === 'string' && isObject(JSON.parse(text));
  } catch {
    // A byte was changed.
    return false;
  }
}

/** Names, never contents, because users share such reports. */
function describe({ session_id, first_seq, id, source, key, channel_type, number }: Row): string {
  const parts = [
    session_id !== undefined && `session ${String(session_id)}`,
    first_seq !== undefined && `from line ${String(first_seq)} on`,
    typeof id === 'string' && `item ${id}`,
    channel_type !== undefined && `line ${String(number)} of a chat of ${String(channel_type)}`,
    key !== undefined && source !== undefined && `key ${String(key)} of ${String(source)}`,
  ];
  return (
    parts
      .filter((part) => part !== false)
      .join(' ')
      .slice(0, 200) || 'unnamed'
  );
}
