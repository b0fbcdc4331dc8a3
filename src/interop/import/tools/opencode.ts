import { basename, join } from 'node:path';
import { isoTime } from '../../../transcript/dialects/time.ts';
import { isObject, type JsonObject } from '../../../transcript/json.ts';
import { limited, openDatabaseCopy, type Row, type SourceDatabase } from '../database-copy.ts';
import type { Candidate, Importer, OpenSource } from '../importer.ts';
import { stampOf } from '../record-lines.ts';
import { type FoundSession, type ReadSession, textIn } from '../source.ts';
import { hasFile, listFolder, readJson } from '../source-files.ts';
import { newestFirst } from '../source-index.ts';
import { EntryList, headerOf, imageOfUrl, textBlock, usageOf } from './entry-list.ts';

const TABLES = ['session', 'message', 'part'];
const DATABASE = /^opencode(?:-[\w.]+)?\.db$/;

export const opencode: Importer = {
  tool: 'opencode',
  name: 'opencode',
  places: ({ home, env }) => [join(env['XDG_DATA_HOME'] ?? join(home, '.local', 'share'), 'opencode')],
  detect({ path, folder, start, tables }: Candidate) {
    if (tables !== undefined) return TABLES.every((name) => tables.has(name));
    if (folder === undefined) return /^\s*\{\s*"info"\s*:\s*\{\s*"id"\s*:\s*"ses_/.test(start);
    return (
      folder.files.some((name) => DATABASE.test(name)) ||
      (folder.folders.includes('session') && folder.folders.includes('message')) ||
      (basename(path) === 'opencode' && folder.folders.includes('storage'))
    );
  },
  async list(path) {
    const { files, folders } = await listFolder(path);
    const name = files.find((each) => DATABASE.test(each));
    if (name !== undefined) return fromDatabase(join(path, name));
    if (folders.includes('storage')) return fromStorage(join(path, 'storage'));
    if (folders.includes('session')) return fromStorage(path);
    return path.endsWith('.json') ? fromExport(path) : fromDatabase(path);
  },
  notImported: {
    'step-start, step-finish, snapshot, patch': 'states of the files; usage is stored with the answer',
    'todo, permission, share': 'states of the program',
    event: 'repeats messages and parts',
  },
};

interface Message {
  readonly info: JsonObject;
  readonly parts: readonly JsonObject[];
}

const SESSION_COLUMNS = ['id', 'parent_id', 'title', 'directory', 'time_created', 'time_updated'];

async function fromDatabase(path: string): Promise<OpenSource> {
  const copy = await openDatabaseCopy(path);
  const rows = copy.look(
    ({ database }) => database.prepare(`SELECT ${SESSION_COLUMNS.join(', ')} FROM session`).all() as Row[],
  );
  const sizes = copy.look(
    ({ database }) =>
      database
        .prepare(
          'SELECT session_id, count(*) AS parts, sum(octet_length(data)) AS bytes FROM part GROUP BY session_id',
        )
        .all() as Row[],
  );
  const sizeOf = new Map(
    sizes.map((row) => [row['session_id'], `${String(row['parts'])} ${String(row['bytes'])}`]),
  );
  const sessions = rows.map((row): FoundSession => {
    const id = String(row['id']);
    const { time_created: created, time_updated: updated } = row;
    const info = {
      id,
      parentID: row['parent_id'],
      title: row['title'],
      directory: row['directory'],
      time: { created, updated },
    };
    return {
      ...found(`${path} session ${id}`, info),
      stamp: `${String(updated)} ${sizeOf.get(id) ?? ''}`,
      read: () =>
        Promise.resolve(
          readSession(
            info,
            copy.look((source) => messagesOf(source, id)),
          ),
        ),
    };
  });
  return {
    ...{ kind: 'opencode', sessions: sessions.sort(newestFirst), convlogs: [], problems: copy.problems },
    [Symbol.asyncDispose]: () => copy[Symbol.asyncDispose](),
  };
}

function messagesOf({ database }: SourceDatabase, id: string): readonly Message[] {
  const select = (table: string, columns: string): Row[] =>
    database
      .prepare(
        `SELECT ${columns}, ${limited('data')} FROM ${table} WHERE session_id = ? ORDER BY time_created, id`,
      )
      .all(id);
  const parts = Map.groupBy(select('part', 'id, message_id'), (row) => String(row['message_id']));
  return select('message', 'id').map((row) => ({
    info: { ...parsed(row['data']), id: String(row['id']) },
    parts: (parts.get(String(row['id'])) ?? []).map((part) => ({
      ...parsed(part['data']),
      id: String(part['id']),
    })),
  }));
}

function parsed(text: unknown): JsonObject {
  if (typeof text !== 'string') return { type: 'value over 32 MB' };
  try {
    const value: unknown = JSON.parse(text);
    return isObject(value) ? value : {};
  } catch {
    return { type: 'damaged JSON' };
  }
}

/** Versions before 1.1 keep a file for each session, message and part. */
async function fromStorage(path: string): Promise<OpenSource> {
  const sessions: FoundSession[] = [];
  const problems: string[] = [];
  const root = join(path, 'session');
  const { folders, files } = await listFolder(root);
  const all = [
    ...files,
    ...(
      await Promise.all(
        folders.map(async (folder) =>
          (await listFolder(join(root, folder))).files.map((name) => join(folder, name)),
        ),
      )
    ).flat(),
  ];
  for (const name of all.filter((each) => each.endsWith('.json'))) {
    const file = join(root, name);
    const info = await readJson(file);
    if (typeof info === 'string') problems.push(`${file}: ${info}`);
    else if (typeof info['id'] === 'string') {
      const { id } = info;
      sessions.push({
        ...found(file, info),
        read: async () => readSession(info, await storedMessages(path, String(id))),
      });
    }
  }
  return { kind: 'opencode', sessions: sessions.sort(newestFirst), convlogs: [], problems };
}

async function storedMessages(path: string, id: string): Promise<readonly Message[]> {
  const messages: Message[] = [];
  if (!/^[\w-]+$/.test(id)) return messages;
  const folder = join(path, 'message', id);
  for (const name of (await listFolder(folder)).files) {
    const info = await readJson(join(folder, name));
    if (typeof info === 'string') continue;
    const parts: JsonObject[] = [];
    const partFolder = join(path, 'part', basename(name, '.json'));
    for (const part of (await listFolder(partFolder)).files) {
      const value = await readJson(join(partFolder, part));
      if (typeof value !== 'string') parts.push(value);
    }
    messages.push({ info: { id: basename(name, '.json'), ...info }, parts });
  }
  return messages.sort((a, b) => (String(a.info['id']) < String(b.info['id']) ? -1 : 1));
}

async function fromExport(path: string): Promise<OpenSource> {
  const document = (await hasFile(path)) ? await readJson(path) : 'no file';
  const { info, messages } = typeof document === 'string' ? {} : document;
  const list = Array.isArray(messages) ? (messages as readonly unknown[]).filter(isObject) : [];
  const session = isObject(info) ? info : {};
  const read = (): Promise<ReadSession> =>
    Promise.resolve(
      readSession(
        session,
        list.map(({ info: each, parts }) => ({
          info: isObject(each) ? each : {},
          parts: Array.isArray(parts) ? (parts as readonly unknown[]).filter(isObject) : [],
        })),
      ),
    );
  const sessions = [{ ...found(path, session), stamp: await stampOf(path), read }];
  return {
    kind: 'opencode',
    sessions,
    convlogs: [],
    problems: typeof document === 'string' ? [document] : [],
  };
}

function found(place: string, info: JsonObject): Omit<FoundSession, 'read'> {
  const { time } = info;
  const { updated } = isObject(time) ? time : {};
  return {
    ...{ place, tool: 'opencode', id: textIn(info['id']), title: textIn(info['title']) },
    indexedAt: typeof updated === 'number' ? isoTime(updated) : undefined,
    parentId: textIn(info['parentID']),
  };
}

const STATE_PARTS: ReadonlySet<unknown> = new Set([
  'step-start',
  'step-finish',
  'snapshot',
  'patch',
  'retry',
  'agent',
]);

function readSession(info: JsonObject, messages: readonly Message[]): ReadSession {
  const list = new EntryList('opencode');
  for (const message of messages) addMessage(list, message);
  const { time, directory } = info;
  const { created } = isObject(time) ? time : {};
  const timestamp = typeof created === 'number' ? isoTime(created) : undefined;
  const parentSession = info['parentID'];
  return list.finish(
    headerOf(textIn(info['id']), { timestamp, cwd: directory, title: info['title'], parentSession }),
  );
}

function addMessage(list: EntryList, { info, parts }: Message): void {
  const id = String(info['id']);
  const { time, role } = info;
  const { created } = isObject(time) ? time : {};
  const at = isoTime(typeof created === 'number' ? created : undefined);
  const blocks: JsonObject[] = [];
  const results: { readonly id: string; readonly message: JsonObject }[] = [];
  for (const part of parts) {
    const place = `${id}, part ${String(part['id'])}`;
    const { type } = part;
    if (type === 'text' && textIn(part['text']) !== undefined) blocks.push(textBlock(String(part['text'])));
    else if (type === 'reasoning' && textIn(part['text']) !== undefined)
      blocks.push({ type: 'thinking', thinking: String(part['text']) });
    else if (type === 'tool') addTool(part, blocks, results);
    else if (type === 'file') blocks.push(fileBlock(part));
    else if (type === 'subtask')
      blocks.push(textBlock(textIn(part['prompt']) ?? textIn(part['description']) ?? ''));
    else if (type === 'text' || type === 'reasoning' || type === 'compaction' || STATE_PARTS.has(type))
      list.loss.dropped(`part/${String(type)}`, place);
    else
      list.raw(`part/${String(type)}`, part, place, {
        id: `${id}-${String(part['id'])}`,
        parentId: list.last,
        timestamp: at,
      });
  }
  if (info['summary'] === true && role === 'assistant') {
    const summary = blocks.map(({ text }) => (typeof text === 'string' ? text : '')).join('\n');
    if (summary !== '') {
      list.add('compaction', id, list.last, at, { summary, firstKeptEntryId: id, tokensBefore: 0 });
      return;
    }
  }
  if (blocks.length === 0) list.loss.dropped('message without content', id);
  else if (role === 'assistant') list.message(id, list.last, at, { role, content: blocks, ...factsOf(info) });
  else list.message(id, list.last, at, { role: 'user', content: blocks });
  for (const result of results) list.message(result.id, list.last, at, result.message);
}

function addTool(
  { id, tool, callID, state }: JsonObject,
  blocks: JsonObject[],
  results: { id: string; message: JsonObject }[],
): void {
  const { status, input, output, error, attachments } = isObject(state) ? state : {};
  const callId = textIn(callID) ?? String(id);
  blocks.push({ type: 'toolCall', id: callId, name: String(tool), arguments: isObject(input) ? input : {} });
  if (status !== 'completed' && status !== 'error') return;
  const text = textIn(output) ?? textIn(error) ?? '';
  const files = Array.isArray(attachments)
    ? (attachments as readonly unknown[]).filter(isObject).map(fileBlock)
    : [];
  const content = [...(text === '' && files.length > 0 ? [] : [textBlock(text)]), ...files];
  const message = {
    role: 'toolResult',
    toolCallId: callId,
    toolName: String(tool),
    content,
    isError: status === 'error',
  };
  results.push({ id: `${String(id)}-result`, message });
}

function fileBlock({ url, filename, mime }: JsonObject): JsonObject {
  const image = typeof mime === 'string' && mime.startsWith('image/') ? imageOfUrl(url) : undefined;
  return image ?? textBlock(`[file ${textIn(filename) ?? String(url).slice(0, 200)}]`);
}

function factsOf({ providerID, modelID, tokens, error, finish }: JsonObject): JsonObject {
  const counted = isObject(tokens) ? tokens : {};
  const cache = isObject(counted['cache']) ? counted['cache'] : {};
  const output = Number(counted['output'] ?? 0) + Number(counted['reasoning'] ?? 0);
  const usage = usageOf(counted['input'], output, cache['read'], cache['write']);
  const stopReason = error !== undefined ? 'error' : finish === 'tool-calls' ? 'toolUse' : 'stop';
  return {
    ...(typeof providerID === 'string' && { provider: providerID }),
    ...(typeof modelID === 'string' && { model: modelID }),
    ...(usage !== undefined && { usage }),
    ...(finish !== undefined || error !== undefined ? { stopReason } : {}),
  };
}
