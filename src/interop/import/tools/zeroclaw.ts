import { join } from 'node:path';
import type { DatabaseSync } from 'node:sqlite';
import type { RepriseError } from '../../../errors.ts';
import { DEFAULT_AGENT_ID } from '../../../keys/ids.ts';
import { failure } from '../../../messages/failure.ts';
import { quoted } from '../../../messages/quoted.ts';
import { canonicalEntries } from '../../../transcript/dialects/canonical.ts';
import { isoTime } from '../../../transcript/dialects/time.ts';
import { summaryOfRow } from '../../../transcript/dialects/zeroclaw.ts';
import { IssueLog } from '../../../transcript/issues.ts';
import type { JsonObject } from '../../../transcript/json.ts';
import { SUMMARY_META } from '../../export/zeroclaw-layout.ts';
import { openDatabaseCopy, type Row } from '../database-copy.ts';
import type { Importer, OpenSource } from '../importer.ts';
import { type FoundSession, problemsOf, type ReadSession, textIn } from '../source.ts';
import { listFolder } from '../source-files.ts';
import { newestFirst } from '../source-index.ts';

/** Of `session_messages`. */
const COLUMNS = ['id', 'session_id', 'role', 'content'];

export const zeroclaw: Importer = {
  tool: 'zeroclaw',
  name: 'ZeroClaw',
  places: ({ home }) => [join(home, '.zeroclaw', 'workspace', 'memory', 'sessions.db')],
  async detect({ path, folder, tables }) {
    if (tables !== undefined) return tables.has('session_messages');
    return folder !== undefined && (await databaseIn(path)) !== undefined;
  },
  async list(path) {
    return openZeroclaw((await databaseIn(path)) ?? path);
  },
  notImported: { 'tool calls': 'the database has only texts' },
};

/** The database of a project, its workspace, or its memory folder. */
async function databaseIn(path: string): Promise<string | undefined> {
  for (const parts of [[], ['memory'], ['workspace', 'memory']])
    if ((await listFolder(join(path, ...parts))).files.includes('sessions.db'))
      return join(path, ...parts, 'sessions.db');
  return undefined;
}

/** Also opens a database of an unknown tool, to say what it is. */
export async function openZeroclaw(path: string): Promise<OpenSource> {
  const copy = await openDatabaseCopy(path);
  try {
    const sessions = copy
      .look(({ database }) => findSessions(database, path))
      .sort(newestFirst)
      .map((found) => ({
        ...found,
        read: () => Promise.resolve(copy.look(({ database }) => readRows(database, found.id))),
      }));
    return {
      ...{ kind: 'ZeroClaw database', sessions, convlogs: [], problems: copy.problems },
      [Symbol.asyncDispose]: () => copy[Symbol.asyncDispose](),
    };
  } catch (error) {
    await copy[Symbol.asyncDispose]();
    throw error;
  }
}

interface FoundRows extends Omit<FoundSession, 'read'> {
  readonly id: string;
}

function findSessions(database: DatabaseSync, path: string): FoundRows[] {
  const { quick_check } = database.prepare('PRAGMA quick_check(1)').get() as { quick_check: unknown };
  if (quick_check !== 'ok') throw new Error(String(quick_check));
  const of = (table: string): Row[] =>
    hasTable(database, table) ? database.prepare(`SELECT * FROM ${table}`).all() : [];
  if (!hasTable(database, 'session_messages')) throw notZeroclaw(database, path);
  const columns = new Set(
    database
      .prepare('PRAGMA table_info(session_messages)')
      .all()
      .map(({ name }) => name),
  );
  const missing = COLUMNS.filter((name) => !columns.has(name));
  if (missing.length > 0) throw failure('INVALID_INPUT', 'import.missingColumns', { path, columns: missing });
  const keyOf = new Map(of('session_index').map((row) => [row['active_session_id'], row['session_key']]));
  const known = new Map(of('sessions').map((row) => [textIn(row['session_id']) ?? textIn(row['id']), row]));
  const spoken = database.prepare('SELECT DISTINCT session_id FROM session_messages').all();
  const ids = new Set([...known.keys(), ...spoken.map((row) => textIn(row['session_id']))]);
  return [...ids].flatMap((id) => {
    if (id === undefined) return [];
    const row = known.get(id) ?? {};
    const { session_key, inbound_key, title, updated_at } = row;
    return [
      {
        place: `session ${id}`,
        tool: 'zeroclaw',
        mayBeEmpty: true,
        id,
        ...keyFacts(textIn(session_key) ?? textIn(inbound_key) ?? textIn(keyOf.get(id))),
        title: textIn(title),
        // Later versions have no index: the newest session of a key is the active one.
        active: hasTable(database, 'session_index') ? keyOf.has(id) : undefined,
        indexedAt: updated_at === undefined || updated_at === null ? undefined : isoTime(updated_at),
      },
    ];
  });
}

/**
 * ZeroClaw's keys are `direct:<channel>:<sender>`, `group:<channel>:<chat>` and `thread:<channel>:<chat>:<thread>`, unescaped:
 * a chat may have colons in it. They do not say whether a chat is a group or a channel, so it counts as a group.
 */
function keyFacts(key: string | undefined): Pick<FoundSession, 'from' | 'key' | 'notes'> {
  const [, kind, channel = '', rest = ''] = /^(direct|group|thread):([^:]*):(.*)$/s.exec(key ?? '') ?? [];
  const [, chat = '', thread = ''] = /^(.*):([^:]*)$/s.exec(rest) ?? [];
  const isWhole = channel !== '' && rest !== '' && (kind !== 'thread' || (chat !== '' && thread !== ''));
  if (kind !== undefined && isWhole) {
    if (kind === 'direct') return { key, from: { channel, peer: rest } };
    if (kind === 'group') return { key, from: { channel, peer: rest, peerKind: 'group' } };
    return { key, from: { channel, peer: chat, peerKind: 'group', thread } };
  }
  if (key !== undefined && /^(?:direct|group|thread)(?::|$)/.test(key))
    return {
      notes: [`its key ${JSON.stringify(key.slice(0, 120))} is incomplete; it gets a key by its id`],
    };
  return {
    key: key === undefined || /^(?:agent:|global$)/.test(key) ? key : `agent:${DEFAULT_AGENT_ID}:${key}`,
  };
}

const MAX_TABLES_SHOWN = 8;

function notZeroclaw(database: DatabaseSync, path: string): RepriseError {
  const rows = database.prepare("SELECT name FROM sqlite_master WHERE type = 'table' ORDER BY name").all();
  const tables = rows.map(({ name }) => String(name));
  const shown = tables.slice(0, MAX_TABLES_SHOWN).map((name) => quoted(name.slice(0, 40)));
  return failure('INVALID_INPUT', 'import.otherDatabase', { path, shown, tables: tables.length });
}

function hasTable(database: DatabaseSync, name: string): boolean {
  const found = database.prepare("SELECT 1 FROM sqlite_master WHERE type = 'table' AND name = ?").get(name);
  return found !== undefined;
}

function readRows(database: DatabaseSync, id: string): ReadSession {
  const rows: Row[] = database
    .prepare('SELECT * FROM session_messages WHERE session_id = ? ORDER BY id')
    .all(id);
  const issues = new IssueLog();
  const placed = rows.map((row, i) => ({
    record: recordOf(row, i),
    seal: undefined,
    line: i + 1,
    offset: 0,
  }));
  return {
    header: undefined,
    entries: canonicalEntries(placed, issues).entries,
    problems: problemsOf(issues),
  };
}

/** A summary we wrote says where the context begins; of any other the last exchange is kept as well. */
function recordOf(row: Row, place: number): JsonObject {
  const { role, content, created_at, meta_json } = row;
  const said = { role: String(role), content: String(content ?? ''), created_at };
  const summary = meta_json === SUMMARY_META ? summaryOfRow(said) : undefined;
  if (summary === undefined) return said;
  const id = `summary-${place}`;
  const kept = { firstKeptEntryId: id, tokensBefore: 0 };
  return { type: 'compaction', id, summary, ...kept, timestamp: created_at };
}
