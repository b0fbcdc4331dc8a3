import { basename } from 'node:path';
import { isObject, type JsonObject } from '../../../transcript/json.ts';
import { limited, openDatabaseCopy, type Row } from '../database-copy.ts';
import type { Importer } from '../importer.ts';
import { stampOf } from '../record-lines.ts';
import { type ReadSession, textIn } from '../source.ts';
import { readDocument } from '../source-files.ts';
import { callArguments, EntryList, headerOf, imageOfUrl, textBlock, usageOf } from './entry-list.ts';
import { fileTime, namedByFile, parsedRow } from './stored-messages.ts';

const TYPES: ReadonlySet<unknown> = new Set([
  'human',
  'ai',
  'system',
  'tool',
  'function',
  'developer',
  'remove',
  'chat',
]);

/** Messages as LangChain stores them: a file with a list, or the table of a SQL chat history. */
export const langchain: Importer = {
  tool: 'langchain',
  name: 'LangChain',
  places: () => [],
  detect: ({ start, tables }) =>
    tables?.has('message_store') === true ||
    /^\s*\[\s*\{\s*"(?:type"\s*:\s*"(?:human|ai|system|tool|function|developer|chat)"\s*,\s*"data"|lc"\s*:)/.test(
      start,
    ),
  async list(path) {
    const at = await fileTime(path);
    if (!path.endsWith('.json')) return fromTable(path, at);
    const list = await readDocument(path);
    const id = namedByFile('langchain', path);
    const read = (): Promise<ReadSession> =>
      Promise.resolve(readMessages(Array.isArray(list) ? list : [], id, at));
    const session = {
      place: path,
      tool: 'langchain',
      id,
      title: basename(path),
      stamp: await stampOf(path),
      indexedAt: at,
      read,
    };
    return { kind: 'LangChain', sessions: [session], convlogs: [], problems: [] };
  },
  notImported: {
    remove: 'marks of deleted messages',
    times: 'the source has none; the time of the file is used',
  },
};

async function fromTable(path: string, at: string): ReturnType<Importer['list']> {
  const copy = await openDatabaseCopy(path);
  const ids = copy.look(
    ({ database }) => database.prepare('SELECT DISTINCT session_id FROM message_store').all() as Row[],
  );
  const sessions = ids.map(({ session_id: key }) => {
    const id = namedByFile('langchain', `${path} ${String(key)}`);
    const rows = (): Row[] =>
      copy.look(({ database }) =>
        database
          .prepare(`SELECT ${limited('message')} FROM message_store WHERE session_id = ? ORDER BY id`)
          .all(key as string),
      );
    const read = (): Promise<ReadSession> =>
      Promise.resolve(
        readMessages(
          rows().map((row) => parsedRow(row['message'])),
          id,
          at,
        ),
      );
    return {
      place: `${path} session ${String(key)}`,
      tool: 'langchain',
      id,
      title: String(key),
      indexedAt: at,
      read,
    };
  });
  return {
    ...{ kind: 'LangChain database', sessions, convlogs: [], problems: copy.problems },
    [Symbol.asyncDispose]: () => copy[Symbol.asyncDispose](),
  };
}

function readMessages(messages: readonly unknown[], id: string, at: string): ReadSession {
  const list = new EntryList('langchain');
  const settings: Record<string, unknown> = {};
  for (const [i, message] of messages.entries()) {
    const place = `message ${i + 1}`;
    const { type, data } = isObject(message) ? storedForm(message) : { type: undefined, data: {} };
    const entryId = `${i + 1}-${textIn(data['id']) ?? String(type)}`;
    const blocks = contentBlocks(data['content']);
    if (type === 'system' || type === 'developer') {
      settings['systemPrompt'] = blocks.map(({ text }) => text).join('\n');
      list.loss.dropped('system', place);
    } else if (type === 'human' || type === 'chat') {
      if (blocks.length === 0) list.loss.dropped('message without content', place);
      else
        list.message(entryId, list.last, at, {
          role: data['role'] === 'assistant' ? 'assistant' : 'user',
          content: blocks,
        });
    } else if (type === 'ai') addAnswer(list, data, blocks, entryId, place, at);
    else if (type === 'tool' || type === 'function') {
      const toolName = textIn(data['name']) ?? '';
      const toolCallId = textIn(data['tool_call_id']) ?? toolName;
      const isError = data['status'] === 'error';
      list.message(entryId, list.last, at, {
        role: 'toolResult',
        toolCallId,
        toolName,
        content: blocks,
        isError,
      });
    } else if (type === 'remove') list.loss.dropped('remove', place);
    else
      list.raw(String(type ?? 'unknown message'), message, place, {
        id: entryId,
        parentId: list.last,
        timestamp: at,
      });
  }
  const problems = ['the source has no times; the time of the file is used for every message'];
  return list.finish(headerOf(id, { timestamp: at }), problems, settings);
}

function addAnswer(
  list: EntryList,
  data: JsonObject,
  blocks: JsonObject[],
  id: string,
  place: string,
  at: string,
): void {
  const {
    tool_calls: calls,
    additional_kwargs: more,
    usage_metadata: usage,
    response_metadata: facts,
  } = data;
  const old =
    isObject(more) && Array.isArray(more['tool_calls']) ? (more['tool_calls'] as readonly unknown[]) : [];
  const newer = Array.isArray(calls) ? (calls as readonly unknown[]) : [];
  for (const call of newer.length > 0 ? newer : old) {
    if (!isObject(call)) continue;
    const { function: named, args, id: callId } = call;
    const name = textIn(call['name']) ?? (isObject(named) ? textIn(named['name']) : undefined) ?? 'tool';
    const input = isObject(named) ? named['arguments'] : args;
    blocks.push({
      type: 'toolCall',
      id: textIn(callId) ?? `${id}-${blocks.length}`,
      name,
      ...callArguments(input),
    });
  }
  if (blocks.length === 0) {
    list.loss.dropped('message without content', place);
    return;
  }
  const counted = isObject(usage) ? usage : {};
  const tokens = usageOf(counted['input_tokens'], counted['output_tokens'], 0, 0);
  const model = isObject(facts) ? textIn(facts['model_name'] ?? facts['model']) : undefined;
  const known = { ...(model !== undefined && { model }), ...(tokens !== undefined && { usage: tokens }) };
  list.message(id, list.last, at, { role: 'assistant', content: blocks, ...known });
}

/** `{type, data}`, or the form of `JSON.stringify` of a message: `{lc, id: [..., 'HumanMessage'], kwargs}`. */
function storedForm({ type, data, lc, id, kwargs }: JsonObject): {
  readonly type: unknown;
  readonly data: JsonObject;
} {
  if (lc !== undefined && Array.isArray(id) && isObject(kwargs)) {
    const name = String((id as readonly unknown[]).at(-1));
    const [, kind = ''] = /^(.*?)Message(?:Chunk)?$/.exec(name) ?? [];
    return { type: kind.toLowerCase(), data: kwargs };
  }
  return TYPES.has(type) && isObject(data) ? { type, data } : { type: undefined, data: {} };
}

function contentBlocks(content: unknown): JsonObject[] {
  if (typeof content === 'string') return content === '' ? [] : [textBlock(content)];
  if (!Array.isArray(content)) return [];
  return (content as readonly unknown[]).flatMap((part): JsonObject[] => {
    if (typeof part === 'string') return [textBlock(part)];
    if (!isObject(part)) return [];
    const { type, text, image_url: image, thinking } = part;
    if (typeof text === 'string') return text === '' ? [] : [textBlock(text)];
    if (typeof thinking === 'string') return [{ type: 'thinking', thinking }];
    const url = isObject(image) ? image['url'] : image;
    if (url !== undefined) return [imageOfUrl(url) ?? textBlock(`[image at ${String(url)}]`)];
    // Calls of Anthropic models are repeated in `tool_calls`.
    return type === 'tool_use' ? [] : [textBlock(`[${String(type)}]`)];
  });
}
