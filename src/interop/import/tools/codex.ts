import { basename, join } from 'node:path';
import { isoTime } from '../../../transcript/dialects/time.ts';
import { isObject, type JsonObject } from '../../../transcript/json.ts';
import type { Candidate, Importer } from '../importer.ts';
import { readRecords, stampOf } from '../record-lines.ts';
import { type FoundSession, originOf, type ReadSession, textIn } from '../source.ts';
import { listFolder } from '../source-files.ts';
import { callArguments, EntryList, headerOf, imageOfUrl, textBlock, usageOf } from './entry-list.ts';

const TYPES: ReadonlySet<unknown> = new Set([
  ...['session_meta', 'response_item', 'event_msg', 'turn_context', 'compacted', 'token_usage_record'],
]);
const ROLLOUT = /^rollout-(.*?)-?([0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f-]{22})\.jsonl(?:\.zst)?$/;
/** Items of the provider that have no message here. */
const STATE_ITEMS: ReadonlySet<unknown> = new Set(['ghost_snapshot', 'compaction_trigger', 'other']);
/** Events with words that no response item repeats, in sessions that have no response items at all. */
const SPOKEN_EVENTS: Readonly<Record<string, 'user' | 'assistant'>> = {
  user_message: 'user',
  agent_message: 'assistant',
};

export const codex: Importer = {
  tool: 'codex',
  name: 'Codex',
  places: ({ home, env }) => {
    const folder = env['CODEX_HOME'] ?? join(home, '.codex');
    return [join(folder, 'sessions'), join(folder, 'archived_sessions')];
  },
  detect: isCodex,
  async list(path) {
    const files: string[] = [];
    if (path.endsWith('.jsonl') || path.endsWith('.zst')) files.push(path);
    else await collect(path, files, 5);
    const ids = new Map(files.map((file) => [idOf(file), file]));
    const sessions: FoundSession[] = [];
    for (const file of files) {
      const stamp = await stampOf(file);
      const indexedAt = new Date(Number(stamp.split(':')[2])).toISOString();
      const read = (): Promise<ReadSession> => readCodexSession(file, ids);
      sessions.push({
        place: file,
        tool: 'codex',
        stamp,
        id: idOf(file),
        indexedAt,
        read,
      });
    }
    sessions.sort((a, b) => (basename(a.place) < basename(b.place) ? 1 : -1));
    return { kind: 'Codex', sessions, convlogs: [], problems: [] };
  },
  notImported: {
    event_msg: 'repeats response items for the display; a rollback of turns is imported',
    turn_context: 'settings of a turn; the model is listed as a setting',
    token_usage_record: 'usage, which is stored with the answer',
    'response_item/ghost_snapshot': 'a commit of the edited files',
    'encrypted reasoning': 'only the provider can read it; its summary is imported',
  },
};

async function isCodex({ path, folder, lines, start }: Candidate): Promise<boolean> {
  if (folder === undefined) {
    if (path.endsWith('.zst')) return ROLLOUT.test(basename(path)) && start.charCodeAt(0) === 0x28;
    return lines.some(({ type, payload }) => TYPES.has(type) && isObject(payload));
  }
  if (folder.files.some((name) => ROLLOUT.test(name))) return true;
  const below = ['sessions', 'archived_sessions'].filter((name) => folder.folders.includes(name));
  for (const name of below.length > 0 ? below : isYear(folder.folders) ? [''] : []) {
    const files: string[] = [];
    await collect(join(path, name), files, 4, 1);
    if (files.length > 0) return true;
  }
  return false;
}

/** Sessions are in folders of years, months and days. */
function isYear(folders: readonly string[]): boolean {
  return folders.some((name) => /^(?:\d{4}|\d\d)$/.test(name));
}

async function collect(
  folder: string,
  found: string[],
  depth: number,
  max: number = Number.POSITIVE_INFINITY,
): Promise<void> {
  const { files, folders } = await listFolder(folder);
  for (const name of files) if (ROLLOUT.test(name) && found.length < max) found.push(join(folder, name));
  if (depth === 0) return;
  for (const name of folders)
    if (found.length < max) await collect(join(folder, name), found, depth - 1, max);
}

function idOf(path: string): string | undefined {
  return ROLLOUT.exec(basename(path))?.[2];
}

/** `ids`: the other sessions of the source, because a fork names the session that has its beginning. */
async function readCodexSession(
  path: string,
  ids: ReadonlyMap<string | undefined, string>,
): Promise<ReadSession> {
  const reader = new CodexReader();
  await readRecords(path, (record, line) => reader.add(record, line), reader.list.loss);
  const { forkedFrom, forkedAt } = reader;
  // Newer versions do not copy the beginning of a fork.
  if (forkedFrom === undefined || forkedAt === undefined) return reader.finish();
  const parent = ids.get(forkedFrom);
  if (parent === undefined || parent === path)
    return reader.finish([
      `it is a fork of ${forkedFrom}, which is not in the source; its beginning is missing`,
    ]);
  const whole = new CodexReader();
  await readRecords(parent, (record, line) => {
    const { ordinal } = record;
    if ((typeof ordinal === 'number' ? ordinal : line) < forkedAt) whole.add(record, line);
  });
  whole.beginFork();
  await readRecords(path, (record, line) => whole.add(record, line), whole.list.loss);
  return whole.finish();
}

class CodexReader {
  list: EntryList = new EntryList('codex');
  forkedFrom: string | undefined;
  forkedAt: number | undefined;
  #prefix = '';
  #meta: JsonObject = {};
  #settings: Record<string, unknown> = {};
  readonly #spoken: {
    readonly role: 'user' | 'assistant';
    readonly text: string;
    readonly id: string;
    readonly at: string;
  }[] = [];
  #messages = 0;
  /** The first entry of each turn of the user, to roll turns back. */
  #turns: { readonly before: string | null }[] = [];
  #leaf: string | null = null;
  #usage: JsonObject | undefined;

  /** Lines of the fork have ordinals of their own file. */
  beginFork(): void {
    this.#prefix = 'fork-';
    this.#meta = {};
  }

  add(record: JsonObject, line: number): void {
    const { type, payload, timestamp, ordinal } = record;
    const place = `line ${line}`;
    const at = isoTime(timestamp);
    const position = `${this.#prefix}${typeof ordinal === 'number' ? ordinal : line}`;
    if (!isObject(payload)) {
      this.#raw(String(type ?? 'record without type'), record, place, position, at);
      return;
    }
    if (type === 'session_meta') this.#addMeta(payload, place);
    else if (type === 'response_item') this.#addItem(payload, place, position, at);
    else if (type === 'compacted') this.#addCompaction(payload, position, at, place);
    else if (type === 'event_msg') this.#addEvent(payload, place, position, at);
    else if (type === 'turn_context') {
      if (typeof payload['model'] === 'string') this.#settings['modelOverride'] = payload['model'];
      this.list.loss.dropped('turn_context', place);
    } else if (type === 'token_usage_record') this.#addUsage(payload['usage'], place, 'token_usage_record');
    else if (TYPES.has(type)) this.list.loss.dropped(String(type), place);
    else this.#raw(String(type), record, place, position, at);
  }

  #addMeta(payload: JsonObject, place: string): void {
    // A copied history has the header of its original too; the first one is that of the file.
    if (this.#meta['id'] !== undefined) {
      this.list.loss.dropped('session_meta of a copied beginning', place);
      return;
    }
    this.#meta = payload;
    this.forkedFrom = textIn(payload['forked_from_id']);
    const ordinal = payload['forked_from_ordinal_exclusive'];
    this.forkedAt = typeof ordinal === 'number' ? ordinal : undefined;
    const { base_instructions, instructions } = payload;
    const system = isObject(base_instructions) ? textIn(base_instructions['text']) : textIn(instructions);
    if (system !== undefined) this.#settings['systemPrompt'] = system;
  }

  #push(id: string, at: string, message: JsonObject): void {
    this.list.message(id, this.#leaf, at, message);
    this.#leaf = id;
  }

  #raw(kind: string, record: JsonObject, place: string, position: string, timestamp: string): void {
    this.list.raw(kind, record, place, { id: `raw-${position}`, parentId: this.#leaf, timestamp });
    this.#leaf = `raw-${position}`;
  }

  #addItem(payload: JsonObject, place: string, position: string, at: string): void {
    const { type } = payload;
    const id = `${textIn(payload['id']) ?? textIn(payload['call_id']) ?? type}-${position}`;
    if (type === 'message') this.#addMessage(payload, id, place, at);
    else if (type === 'reasoning') this.#addReasoning(payload, id, place, at);
    else if (CALLS.has(type)) this.#addCall(payload, id, at);
    else if (RESULTS.has(type)) this.#addResult(payload, id, at);
    else if (STATE_ITEMS.has(type)) this.list.loss.dropped(`response_item/${String(type)}`, place);
    else this.#raw(`response_item/${String(type)}`, payload, place, position, at);
  }

  #addMessage({ role, content }: JsonObject, id: string, place: string, at: string): void {
    const blocks = contentBlocks(content);
    if (blocks.length === 0) {
      this.list.loss.dropped('message without content', place);
      return;
    }
    if (role === 'assistant') {
      this.#messages++;
      this.#push(id, at, { role, content: blocks, provider: 'openai', ...this.#model() });
    } else if (role === 'user' && !isContext(blocks)) {
      this.#messages++;
      this.#turns.push({ before: this.#leaf });
      this.#push(id, at, { role, content: blocks });
    } else {
      const custom = { customType: `codex.${String(role)}`, content: blocks, display: false };
      this.list.add('custom_message', id, this.#leaf, at, custom);
      this.#leaf = id;
    }
  }

  #model(): JsonObject {
    const model = this.#settings['modelOverride'];
    return typeof model === 'string' ? { model } : {};
  }

  #addReasoning({ summary, content }: JsonObject, id: string, place: string, at: string): void {
    const texts = [summary, content].flatMap((list) =>
      Array.isArray(list) ? list.flatMap((part) => (isObject(part) ? (textIn(part['text']) ?? []) : [])) : [],
    );
    if (texts.length === 0) {
      this.list.loss.dropped('encrypted reasoning', place);
      return;
    }
    this.#push(id, at, { role: 'assistant', content: [{ type: 'thinking', thinking: texts.join('\n\n') }] });
  }

  #addCall(payload: JsonObject, id: string, at: string): void {
    const { type, call_id, name } = payload;
    const input = payload['arguments'] ?? payload['input'] ?? payload['action'] ?? {};
    const args =
      type === 'custom_tool_call' && typeof input === 'string'
        ? { arguments: { input } }
        : callArguments(input);
    const call = { type: 'toolCall', id: textIn(call_id) ?? id, name: textIn(name) ?? String(type), ...args };
    this.#messages++;
    if (!this.#joinAnswer(call))
      this.#push(id, at, { role: 'assistant', content: [call], stopReason: 'toolUse', ...this.#model() });
    // The provider ran it; its result is part of the answer.
    if (type !== 'web_search_call' && type !== 'image_generation_call') return;
    const { result, status } = payload;
    const image =
      typeof result === 'string' ? { type: 'image', mimeType: 'image/png', data: result } : undefined;
    const content = [image ?? textBlock(textIn(status) ?? 'done')];
    this.#push(`${id}-result`, at, {
      role: 'toolResult',
      toolCallId: call.id,
      toolName: call.name,
      content,
      isError: false,
    });
  }

  /** Parallel calls are items of one answer; in answers of their own, only the last one could have a result. */
  #joinAnswer(call: JsonObject): boolean {
    const { entries } = this.list;
    const last = entries.at(-1);
    if (last === undefined || last.id !== this.#leaf || !isObject(last['message'])) return false;
    const { role, content } = last['message'];
    if (role !== 'assistant' || !Array.isArray(content)) return false;
    const message = {
      ...last['message'],
      content: [...(content as readonly unknown[]), call],
      stopReason: 'toolUse',
    };
    entries[entries.length - 1] = { ...last, message };
    return true;
  }

  #addResult({ call_id, output, tools }: JsonObject, id: string, at: string): void {
    const whole = isObject(output) ? (output['content'] ?? output) : (output ?? tools);
    const blocks = Array.isArray(whole) ? contentBlocks(whole) : [];
    const text = typeof whole === 'string' ? whole : JSON.stringify(whole ?? '');
    const isError = isObject(output) && output['success'] === false;
    const content = blocks.length > 0 ? blocks : [textBlock(text)];
    this.#push(id, at, { role: 'toolResult', toolCallId: textIn(call_id) ?? id, content, isError });
  }

  #addCompaction(
    { message, replacement_history }: JsonObject,
    position: string,
    at: string,
    place: string,
  ): void {
    const summary = textIn(message) ?? summaryIn(replacement_history);
    if (summary === undefined) {
      this.list.loss.dropped('compaction that only the provider can read', place);
      return;
    }
    const id = `compacted-${position}`;
    this.list.add('compaction', id, this.#leaf, at, { summary, firstKeptEntryId: id, tokensBefore: 0 });
    this.#leaf = id;
  }

  #addEvent(payload: JsonObject, place: string, position: string, at: string): void {
    const type = String(payload['type']);
    if (type === 'token_count') {
      const { info } = payload;
      this.#addUsage(isObject(info) ? info['last_token_usage'] : undefined, place, 'event_msg/token_count');
      return;
    }
    if (type === 'thread_rolled_back') {
      const turns = Number(payload['num_turns']);
      const first = this.#turns.splice(Math.max(0, this.#turns.length - (turns > 0 ? turns : 0)))[0];
      if (first !== undefined) this.#leaf = first.before;
      return;
    }
    const role = SPOKEN_EVENTS[type];
    const text = textIn(payload['message']);
    if (role !== undefined && text !== undefined)
      this.#spoken.push({ role, text, id: `event-${position}`, at });
    this.list.loss.dropped(`event_msg/${type}`, place);
  }

  /** Written after each answer, sometimes in two forms. */
  #addUsage(value: unknown, place: string, kind: string): void {
    this.list.loss.dropped(kind, place);
    if (!isObject(value)) return;
    const cached = Number(value['cached_input_tokens'] ?? 0);
    const written = Number(value['cache_write_input_tokens'] ?? 0);
    const input = Number(value['input_tokens'] ?? 0) - cached - written;
    this.#usage = usageOf(input, value['output_tokens'], cached, written);
    const position = this.list.entries.findLastIndex(
      ({ message }) => isObject(message) && message['role'] === 'assistant',
    );
    const entry = this.list.entries[position];
    if (entry === undefined || this.#usage === undefined || !isObject(entry['message'])) return;
    this.list.entries[position] = { ...entry, message: { ...entry['message'], usage: this.#usage } };
  }

  finish(problems: readonly string[] = []): ReadSession {
    if (this.#messages === 0)
      for (const { role, text, id, at } of this.#spoken)
        this.#push(id, at, { role, content: role === 'user' ? text : [textBlock(text)] });
    const { id, timestamp, cwd, forked_from_id, parent_thread_id } = this.#meta;
    const parentSession = textIn(forked_from_id) ?? textIn(parent_thread_id) ?? originOf(this.#meta);
    return this.list.finish(
      headerOf(textIn(id), { timestamp, cwd, parentSession }),
      problems,
      this.#settings,
    );
  }
}

const CALLS: ReadonlySet<unknown> = new Set([
  ...['function_call', 'custom_tool_call', 'local_shell_call', 'web_search_call', 'image_generation_call'],
  'tool_search_call',
]);
const RESULTS: ReadonlySet<unknown> = new Set([
  ...['function_call_output', 'custom_tool_call_output', 'tool_search_output', 'mcp_tool_call_output'],
]);

function contentBlocks(content: unknown): JsonObject[] {
  if (typeof content === 'string') return content === '' ? [] : [textBlock(content)];
  if (!Array.isArray(content)) return [];
  return (content as readonly unknown[]).flatMap((part) => {
    if (!isObject(part)) return [];
    const { text, refusal, image_url } = part;
    if (image_url !== undefined)
      return [imageOfUrl(image_url) ?? textBlock(`[image at ${String(image_url)}]`)];
    const words = textIn(text) ?? textIn(refusal);
    return words === undefined ? [] : [textBlock(words)];
  });
}

/** The tool writes facts about the machine and instruction files as messages of the user. */
function isContext(blocks: readonly JsonObject[]): boolean {
  return blocks.every(({ text }) =>
    /^\s*(?:<(?:environment_context|user_instructions|permissions instructions|turn_aborted|skill|INSTRUCTIONS)\b|# AGENTS\.md instructions)/.test(
      typeof text === 'string' ? text : '',
    ),
  );
}

function summaryIn(history: unknown): string | undefined {
  if (!Array.isArray(history)) return undefined;
  const last = (history as readonly unknown[]).at(-1);
  const blocks = isObject(last) ? contentBlocks(last['content']) : [];
  return textIn(blocks.map(({ text }) => text).join('\n'));
}
