import { basename, dirname, join } from 'node:path';
import { zstdDecompressSync } from 'node:zlib';
import { normalizeAgentId } from '../../../keys/ids.ts';
import { parseIndexKey } from '../../../keys/index-key.ts';
import { canonicalEntries } from '../../../transcript/dialects/canonical.ts';
import { isoTime } from '../../../transcript/dialects/time.ts';
import type { SessionHeader } from '../../../transcript/entry.ts';
import { IssueLog } from '../../../transcript/issues.ts';
import { isObject, type JsonObject } from '../../../transcript/json.ts';
import { limited, openDatabaseCopy, type Row, type SourceDatabase } from '../database-copy.ts';
import type { Importer, OpenSource } from '../importer.ts';
import { LossCounter } from '../loss-report.ts';
import { type FoundSession, problemsOf, type ReadSession, textIn } from '../source.ts';
import { listFolder } from '../source-files.ts';
import { newestFirst } from '../source-index.ts';
import { settingsOfIndex } from '../source-settings.ts';

/** What OpenClaw allows a packed event to become. */
const MAX_EVENT_BYTES = 4 * 1024 * 1024;
const DATABASE = /^openclaw-agent.*\.sqlite$/;

/** The database that OpenClaw keeps for each agent since 2026.9. Its events are the lines of the earlier files. */
export const openclawDatabase: Importer = {
  tool: 'openclaw',
  name: 'OpenClaw (database)',
  places: ({ home, env }) => [join(env['OPENCLAW_STATE_DIR'] ?? join(home, '.openclaw'), 'agents')],
  async detect({ path, folder, tables }) {
    if (tables !== undefined) return tables.has('transcript_events');
    return folder !== undefined && (await databasesIn(path)).length > 0;
  },
  async list(path) {
    const files = await databasesIn(path);
    const sources: OpenSource[] = [];
    for (const file of files.length > 0 ? files : [path]) sources.push(await openDatabase(file));
    return {
      kind: 'OpenClaw database',
      sessions: sources.flatMap(({ sessions }) => sessions),
      convlogs: [],
      problems: sources.flatMap(({ problems }) => problems),
      [Symbol.asyncDispose]: async () => {
        for (const source of sources) await source[Symbol.asyncDispose]?.();
      },
    };
  },
  notImported: {
    'trajectory events': 'a trace of requests; the messages are in the transcript',
    'model, contextTokens and counters': 'statistics of the last run, not choices',
    'archives of deleted sessions': 'sessions that were deleted there',
  },
};

async function databasesIn(path: string): Promise<readonly string[]> {
  const found: string[] = [];
  const look = async (folder: string, depth: number): Promise<void> => {
    const { files, folders } = await listFolder(folder);
    for (const name of files) if (DATABASE.test(name)) found.push(join(folder, name));
    if (depth === 0) return;
    const isHome = basename(folder) === 'agents' || folders.includes('agents');
    for (const name of isHome ? folders : folders.filter((each) => /^(?:agent|sessions|state)$/.test(each)))
      await look(join(folder, name), depth - 1);
  };
  if ((await listFolder(path)).folders.includes('agents')) await look(join(path, 'agents'), 3);
  else await look(path, 3);
  return found;
}

async function openDatabase(path: string): Promise<OpenSource> {
  const copy = await openDatabaseCopy(path);
  const agentId = agentOf(path);
  const sessions = copy
    .look((source) => findSessions(source, path, agentId))
    .map((each) => ({
      ...each,
      read: () => Promise.resolve(copy.look((source) => readEvents(source, each.id ?? ''))),
    }));
  return {
    ...{ kind: 'OpenClaw database', sessions, convlogs: [], problems: copy.problems },
    [Symbol.asyncDispose]: () => copy[Symbol.asyncDispose](),
  };
}

function agentOf(path: string): string | undefined {
  const parts = dirname(path).split(/[\\/]/);
  const at = parts.lastIndexOf('agents');
  const name = at === -1 ? undefined : parts[at + 1];
  return name === undefined ? undefined : normalizeAgentId(name);
}

function findSessions(
  { database, tables }: SourceDatabase,
  path: string,
  agentId: string | undefined,
): Omit<FoundSession, 'read'>[] {
  const all = (table: string, columns: string): Row[] =>
    tables.has(table) ? database.prepare(`SELECT ${columns} FROM ${table}`).all() : [];
  const nodes = new Map(
    all(
      'session_nodes',
      `session_key, current_session_id, label, display_name, ${limited('entry_json')}`,
    ).map((row) => [String(row['session_key']), row]),
  );
  const windows = new Map(
    all('session_windows', 'session_id, session_key, previous_session_id, updated_at').map((row) => [
      String(row['session_id']),
      row,
    ]),
  );
  const ids = database
    .prepare(
      'SELECT session_id, max(seq) AS seq, max(created_at) AS at FROM transcript_events GROUP BY session_id',
    )
    .all();
  const sessions = ids.map((row): Omit<FoundSession, 'read'> => {
    const id = String(row['session_id']);
    const window = windows.get(id) ?? {};
    const key = textIn(window['session_key']);
    const node = (key === undefined ? undefined : nodes.get(key)) ?? {};
    const isActive = node['current_session_id'] === id;
    const { settings, unknown } = isActive
      ? settingsOfIndex(entryOf(node['entry_json']))
      : { settings: {}, unknown: [] };
    const notes =
      unknown.length === 0
        ? []
        : [`unknown fields of its entry are not imported: ${unknown.slice(0, 8).join(', ')}`];
    const place = `${path} session ${id}`;
    const at = isoTime(row['at']);
    const named = { label: textIn(node['label']), displayName: textIn(node['display_name']) };
    const names = Object.fromEntries(Object.entries(named).filter(([, value]) => value !== undefined));
    return {
      ...{ place, tool: 'openclaw', agentId, id, notes, indexedAt: at, stamp: `${String(row['seq'])} ${at}` },
      ...(key !== undefined && parseIndexKey(key, id)),
      settings: { ...settings, ...names },
      active: key === undefined ? undefined : isActive,
      parentId: textIn(window['previous_session_id']),
    };
  });
  return sessions.sort(newestFirst);
}

function entryOf(json: unknown): JsonObject {
  try {
    const value: unknown = JSON.parse(String(json));
    return isObject(value) ? value : {};
  } catch {
    return {};
  }
}

function readEvents({ database }: SourceDatabase, id: string): ReadSession {
  const loss = new LossCounter();
  const issues = new IssueLog();
  const columns = new Set(
    database
      .prepare('PRAGMA table_info(transcript_events)')
      .all()
      .map(({ name }) => name),
  );
  const packed = columns.has('event_zstd') ? `, ${limited('event_zstd')}` : '';
  const rows = database
    .prepare(
      `SELECT seq, ${limited('event_json')}${packed} FROM transcript_events WHERE session_id = ? ORDER BY seq`,
    )
    .iterate(id);
  const records: { record: JsonObject; seal: undefined; line: number; offset: number }[] = [];
  for (const { seq, event_json: json, event_zstd: zstd } of rows as Iterable<Row>) {
    const record = entryOf(json ?? unpack(zstd));
    if (Object.keys(record).length === 0) loss.dropped('event that cannot be read', `event ${String(seq)}`);
    else records.push({ record, seal: undefined, line: Number(seq) + 1, offset: 0 });
  }
  const header = records.find(({ record }) => record['type'] === 'session')?.record as
    | SessionHeader
    | undefined;
  const { entries } = canonicalEntries(records, issues);
  for (const { type, message } of entries)
    loss.imported(type === 'message' && isObject(message) ? String(message['role']) : type);
  return { header, entries, problems: problemsOf(issues), loss: loss.report };
}

function unpack(value: unknown): string {
  if (!(value instanceof Uint8Array)) return '';
  try {
    return zstdDecompressSync(value, { maxOutputLength: MAX_EVENT_BYTES }).toString('utf8');
  } catch {
    return ''; // Damaged or too large: counted as an event that cannot be read.
  }
}
