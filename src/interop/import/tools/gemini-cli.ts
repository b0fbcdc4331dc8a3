import { basename, dirname, join } from 'node:path';
import { isoTime } from '../../../transcript/dialects/time.ts';
import { isObject, type JsonObject } from '../../../transcript/json.ts';
import type { Candidate, Importer } from '../importer.ts';
import { readRecords, stampOf } from '../record-lines.ts';
import { type FoundSession, type ReadSession, textIn } from '../source.ts';
import { listFolder, readJson } from '../source-files.ts';
import { newestFirst } from '../source-index.ts';
import { EntryList, headerOf, textBlock, usageOf } from './entry-list.ts';

export const geminiCli: Importer = {
  tool: 'gemini-cli',
  name: 'Gemini CLI',
  places: ({ home, env }) => [join(env['GEMINI_CLI_HOME'] ?? home, '.gemini', 'tmp')],
  detect: isGemini,
  async list(path) {
    const files: string[] = [];
    if (/\.jsonl?$/.test(path)) files.push(path);
    else await collect(path, files, 4);
    const sessions: FoundSession[] = [];
    for (const file of files) {
      const stamp = await stampOf(file);
      const indexedAt = new Date(Number(stamp.split(':')[2])).toISOString();
      sessions.push({
        place: file,
        tool: 'gemini-cli',
        stamp,
        indexedAt,
        read: () => readGeminiSession(file),
      });
    }
    sessions.sort(newestFirst);
    return { kind: 'Gemini CLI', sessions, convlogs: [], problems: [] };
  },
  notImported: {
    'info, error and warning': 'notices of the program',
    'logs.json, checkpoints, shell history': 'other files of the tool',
    'earlier versions of a message': 'the last record with an id is the message',
  },
};

const CHAT = /^session-.*\.jsonl?$/;

async function isGemini({ path, folder, lines, start }: Candidate): Promise<boolean> {
  if (folder === undefined) {
    if (lines.some((record) => isHeader(record) || isObject(record['$set']) || '$rewindTo' in record))
      return true;
    return /^\s*\{\s*"sessionId"\s*:\s*"[^"]*"\s*,\s*"projectHash"\s*:/.test(start);
  }
  if (folder.files.some((name) => CHAT.test(name))) return true;
  const isTool =
    basename(path) === '.gemini' || basename(dirname(path)) === '.gemini' || folder.folders.includes('chats');
  if (!isTool) return false;
  const files: string[] = [];
  await collect(path, files, 4);
  return files.length > 0;
}

function isHeader({ sessionId, projectHash, startTime }: JsonObject): boolean {
  return [sessionId, projectHash, startTime].every((each) => typeof each === 'string');
}

async function collect(folder: string, found: string[], depth: number): Promise<void> {
  const { files, folders } = await listFolder(folder);
  for (const name of files) if (CHAT.test(name)) found.push(join(folder, name));
  if (depth === 0) return;
  for (const name of folders) await collect(join(folder, name), found, depth - 1);
}

async function readGeminiSession(path: string): Promise<ReadSession> {
  const reader = new GeminiReader();
  if (path.endsWith('.jsonl'))
    await readRecords(path, (record, line) => reader.add(record, `line ${line}`), reader.list.loss);
  else {
    const document = await readJson(path);
    if (typeof document === 'string') reader.list.loss.dropped(document, 'file');
    else reader.addDocument(document);
  }
  return reader.finish(basename(path).replace(/\.jsonl?$/, ''));
}

interface Placed {
  readonly record: JsonObject;
  readonly parent: string | null;
  readonly place: string;
}

class GeminiReader {
  readonly list: EntryList = new EntryList('gemini-cli');
  /** The newest version of each message, with the one before it. */
  readonly #messages: Map<string, Placed> = new Map();
  readonly #raw: { readonly kind: string; readonly record: JsonObject; readonly place: string }[] = [];
  #facts: Record<string, unknown> = {};
  #leaf: string | null = null;

  addDocument(document: JsonObject): void {
    const { messages, ...facts } = document;
    this.#facts = facts;
    this.#setMessages(messages, 'messages');
  }

  add(record: JsonObject, place: string): void {
    const { $set, $rewindTo, id, type } = record;
    if (isObject($set)) {
      const { messages, ...facts } = $set;
      Object.assign(this.#facts, facts);
      if (messages !== undefined) this.#setMessages(messages, place);
    } else if (typeof $rewindTo === 'string') {
      // The message that it names, and all behind it, left the conversation.
      const target = this.#messages.get($rewindTo);
      if (target === undefined) this.list.loss.dropped('rewind to an unknown message', place);
      else this.#leaf = target.parent;
    } else if (typeof id === 'string' && typeof type === 'string') this.#addMessage(record, id, place);
    else if (isHeader(record) || (typeof record['sessionId'] === 'string' && 'lastUpdated' in record)) {
      // A resumed session begins again with its header.
      this.#facts = { ...record, ...this.#facts };
    } else this.#raw.push({ kind: String(type ?? Object.keys(record)[0] ?? 'empty record'), record, place });
  }

  /** A whole history. It ends with the message that the conversation continues. */
  #setMessages(messages: unknown, place: string): void {
    if (!Array.isArray(messages)) return;
    this.#leaf = null;
    for (const [i, message] of (messages as readonly unknown[]).entries()) {
      const at = `${place}, message ${i + 1}`;
      if (isObject(message) && typeof message['id'] === 'string')
        this.#addMessage(message, message['id'], at);
      else this.list.loss.dropped('message without id', at);
    }
  }

  #addMessage(record: JsonObject, id: string, place: string): void {
    const known = this.#messages.get(id);
    // A history that was written again has fewer facts: no tokens, no model.
    const merged = known === undefined ? record : { ...known.record, ...withText(record, known.record) };
    this.#messages.set(id, {
      record: merged,
      parent: known?.parent ?? this.#leaf,
      place: known?.place ?? place,
    });
    this.#leaf = id;
  }

  finish(fallbackId: string): ReadSession {
    const { sessionId, startTime, summary, directories } = this.#facts;
    /** What a message became: its last entry. */
    const entryOf = new Map<string, string | null>();
    const answered = new Set<string>();
    for (const { record } of this.#messages.values())
      for (const part of partsOf(record['content']))
        if (isObject(part['functionResponse'])) answered.add(String(part['functionResponse']['id']));
    const ordered = [...this.#messages].filter(([id]) => id !== this.#leaf);
    const last = this.#leaf === null ? undefined : this.#messages.get(this.#leaf);
    for (const [id, placed] of [
      ...ordered,
      ...(last === undefined ? [] : [[this.#leaf, last] as [string, Placed]]),
    ])
      this.#addEntries(id, placed, entryOf, answered);
    for (const [i, { kind, record, place }] of this.#raw.entries())
      this.list.raw(kind, record, place, {
        ...{ id: `raw-${i}`, parentId: this.list.last },
        timestamp: isoTime(record['timestamp'] ?? startTime),
      });
    const cwd = Array.isArray(directories) ? (directories as readonly unknown[])[0] : undefined;
    return this.list.finish(
      headerOf(textIn(sessionId) ?? fallbackId, { timestamp: startTime, cwd, title: summary }),
    );
  }

  #addEntries(
    id: string,
    { record, parent: above, place }: Placed,
    entryOf: Map<string, string | null>,
    answered: ReadonlySet<string>,
  ): void {
    const { type, content } = record;
    let parent = above === null ? null : (entryOf.get(above) ?? null);
    entryOf.set(id, parent);
    const timestamp = isoTime(record['timestamp']);
    const push = (entryId: string, message: JsonObject): void => {
      this.list.message(entryId, parent, timestamp, message);
      parent = entryId;
      entryOf.set(id, parent);
    };
    if (type === 'user') {
      const parts = partsOf(content);
      for (const [i, part] of parts.entries()) {
        const { functionResponse } = part;
        if (isObject(functionResponse)) push(`${id}-${i}`, resultOf(functionResponse, false));
      }
      const blocks = parts.flatMap(blockOf);
      if (blocks.length === 0) {
        if (parent === above || parts.length === 0) this.list.loss.dropped('message without content', place);
      } else if (isSessionContext(blocks))
        this.list.loss.dropped('session context (facts about the machine)', place);
      else push(id, { role: 'user', content: blocks });
      return;
    }
    if (type === 'gemini') {
      const calls = list(record['toolCalls']);
      const blocks = [
        ...thoughtsOf(record['thoughts']),
        ...partsOf(content).flatMap(blockOf),
        ...calls.map(callOf),
      ];
      if (blocks.length === 0) {
        this.list.loss.dropped('message without content', place);
        return;
      }
      push(id, { role: 'assistant', content: blocks, provider: 'google', ...factsOf(record) });
      // Results that no later message of the user carries.
      for (const call of calls.filter((each) => !answered.has(String(each['id'])))) {
        const [first] = list(call['result']);
        const response = isObject(first?.['functionResponse']) ? first['functionResponse'] : undefined;
        const isError = call['status'] === 'error' || call['status'] === 'cancelled';
        if (response !== undefined) push(`${id}-${String(call['id'])}`, resultOf(response, isError));
      }
      return;
    }
    if (['info', 'error', 'warning'].includes(String(type))) this.list.loss.dropped(String(type), place);
    else {
      this.list.raw(String(type), record, place, { id, parentId: parent, timestamp });
      entryOf.set(id, id);
    }
  }
}

/** The text of a message that is written again as parts stays the text it was. */
function withText(record: JsonObject, before: JsonObject): JsonObject {
  const text = (content: unknown): string => JSON.stringify(partsOf(content).flatMap(blockOf));
  return text(record['content']) === text(before['content'])
    ? { ...record, content: before['content'], timestamp: before['timestamp'] }
    : record;
}

function list(value: unknown): readonly JsonObject[] {
  return Array.isArray(value) ? (value as readonly unknown[]).filter(isObject) : [];
}

function partsOf(content: unknown): readonly JsonObject[] {
  if (typeof content === 'string') return content === '' ? [] : [{ text: content }];
  if (isObject(content)) return [content];
  return Array.isArray(content)
    ? (content as readonly unknown[]).flatMap((part) =>
        typeof part === 'string' ? [{ text: part }] : isObject(part) ? [part] : [],
      )
    : [];
}

function blockOf({ text, inlineData, fileData, thought, functionCall }: JsonObject): readonly JsonObject[] {
  if (typeof text === 'string' && text !== '')
    return [thought === true ? { type: 'thinking', thinking: text } : textBlock(text)];
  if (isObject(inlineData) && typeof inlineData['data'] === 'string')
    return [{ type: 'image', mimeType: String(inlineData['mimeType']), data: inlineData['data'] }];
  if (isObject(fileData)) return [textBlock(`[file at ${String(fileData['fileUri'])}]`)];
  return isObject(functionCall) ? [callOf(functionCall)] : [];
}

function thoughtsOf(thoughts: unknown): readonly JsonObject[] {
  return list(thoughts).flatMap(({ subject, description }) => {
    const thinking = [subject, description]
      .filter((each) => typeof each === 'string' && each !== '')
      .join(': ');
    return thinking === '' ? [] : [{ type: 'thinking', thinking }];
  });
}

function callOf({ id, name, args }: JsonObject): JsonObject {
  return { type: 'toolCall', id: String(id), name: String(name), arguments: isObject(args) ? args : {} };
}

function resultOf({ id, name, response }: JsonObject, isError: boolean): JsonObject {
  const { output, error } = isObject(response) ? response : {};
  const whole = textIn(output) ?? textIn(error) ?? JSON.stringify(response ?? '');
  return {
    ...{ role: 'toolResult', toolCallId: String(id), toolName: String(name), content: [textBlock(whole)] },
    isError: isError || error !== undefined,
  };
}

function factsOf({ model, tokens }: JsonObject): JsonObject {
  const counted = isObject(tokens) ? tokens : {};
  const cached = Number(counted['cached'] ?? 0);
  const usage = usageOf(Number(counted['input'] ?? 0) - cached, counted['output'], cached, 0);
  return { ...(typeof model === 'string' && { model }), ...(usage !== undefined && { usage }) };
}

function isSessionContext(blocks: readonly JsonObject[]): boolean {
  return blocks.every(({ text }) => typeof text === 'string' && text.startsWith('<session_context>'));
}
