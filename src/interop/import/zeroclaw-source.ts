import { mkdtemp, rm, stat } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import { RepriseError } from '../../errors.ts';
import { DEFAULT_AGENT_ID } from '../../keys/ids.ts';
import { failure } from '../../messages/failure.ts';
import { quoted } from '../../messages/quoted.ts';
import { canonicalEntries } from '../../transcript/dialects/canonical.ts';
import { isoTime } from '../../transcript/dialects/time.ts';
import { summaryOfRow } from '../../transcript/dialects/zeroclaw.ts';
import { IssueLog } from '../../transcript/issues.ts';
import type { JsonObject } from '../../transcript/json.ts';
import { SUMMARY_META } from '../export/zeroclaw-layout.ts';
import { type FoundSession, type ImportSource, problemsOf, type ReadSession, textIn } from './source.ts';
import { copyDatabase, firstBytes } from './source-files.ts';
import { newestFirst } from './source-index.ts';
import { notSupportedYet, toolOfTables } from './unsupported-tools.ts';

type Row = Readonly<Record<string, unknown>>;

const OPEN =
  'is open in another program or was not closed; what that program has not committed yet is missing. Import it again later to add it.';
/** Of `session_messages`. */
const COLUMNS = ['id', 'session_id', 'role', 'content'];

/**
 * ZeroClaw's database. It is read from a copy: even a reader makes files beside a database, and nothing of the source
 * is touched.
 */
export async function openZeroclaw(path: string): Promise<ImportSource & AsyncDisposable> {
  const folder = await mkdtemp(join(tmpdir(), 'reprise-import-'));
  const dispose = (): Promise<void> => rm(folder, { recursive: true, force: true });
  try {
    const copy = join(folder, 'sessions.db');
    const isOpen = await copyDatabase(path, copy);
    // The pages that seem to be missing may be in the files beside it.
    if (!isOpen) await checkLength(copy, path);
    const sessions = look(copy, path, (database) => findSessions(database, path))
      .sort(newestFirst)
      .map((found) => ({
        ...found,
        read: () => Promise.resolve(look(copy, path, (database) => readRows(database, found.id))),
      }));
    return {
      kind: 'ZeroClaw database',
      sessions,
      convlogs: [],
      problems: isOpen ? [`${path} ${OPEN}`] : [],
      [Symbol.asyncDispose]: dispose,
    };
  } catch (error) {
    await dispose();
    throw error;
  }
}

function look<T>(copy: string, path: string, ask: (database: DatabaseSync) => T): T {
  let database: DatabaseSync | undefined;
  try {
    database = new DatabaseSync(copy);
    return ask(database);
  } catch (error) {
    if (error instanceof RepriseError) throw error;
    const { message: reason } = error as Error;
    throw failure('INVALID_INPUT', 'import.damagedDatabase', { path, reason }, { cause: error });
  } finally {
    database?.close();
  }
}

/** The header of a database says how many pages it has; a copy that was cut off has fewer. */
async function checkLength(copy: string, path: string): Promise<void> {
  const header = await firstBytes(copy, 100);
  const { size } = await stat(copy);
  const whole = Buffer.concat([header, Buffer.alloc(100 - header.length)]);
  const pageBytes = whole.readUInt16BE(16) === 1 ? 65_536 : whole.readUInt16BE(16);
  // SQLite sets these two when it writes the number of pages. Where they differ, the number is not valid.
  const isCounted =
    whole.readUInt32BE(24) === whole.readUInt32BE(92) && Number.isInteger(Math.log2(pageBytes));
  const expected = isCounted ? Math.max(100, pageBytes * whole.readUInt32BE(28)) : 100;
  if (size < expected) throw failure('INVALID_INPUT', 'import.cutDatabase', { path, bytes: size, expected });
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
  const tool = toolOfTables(new Set(tables));
  if (tool !== undefined) return notSupportedYet(path, tool);
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
