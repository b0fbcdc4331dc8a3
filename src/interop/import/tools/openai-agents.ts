import { isoTime } from '../../../transcript/dialects/time.ts';
import { isObject, type JsonObject } from '../../../transcript/json.ts';
import { limited, openDatabaseCopy, type Row } from '../database-copy.ts';
import type { Importer } from '../importer.ts';
import { stampOf } from '../record-lines.ts';
import { type ReadSession, textIn } from '../source.ts';
import { readDocument } from '../source-files.ts';
import { callArguments, EntryList, headerOf, imageOfUrl, textBlock } from './entry-list.ts';
import { fileTime, namedByFile, parsedRow } from './stored-messages.ts';

const ITEMS: ReadonlySet<unknown> = new Set([
  'message',
  'function_call',
  'function_call_output',
  'function_call_result',
  'reasoning',
]);

/** Items as sessions of the OpenAI Agents SDK store them: its SQLite session, or a file with the list of items. */
export const openaiAgents: Importer = {
  tool: 'openai-agents',
  name: 'OpenAI Agents SDK',
  places: () => [],
  detect: ({ start, tables }) =>
    (tables?.has('agent_messages') === true && tables.has('agent_sessions')) ||
    (/^\s*\[\s*\{/.test(start) &&
      /"(?:input_text|output_text|function_call|function_call_output|function_call_result)"/.test(start) &&
      !start.includes('"mapping"')),
  async list(path) {
    const at = await fileTime(path);
    if (!path.endsWith('.json')) return fromTable(path);
    const list = await readDocument(path);
    const id = namedByFile('openai-agents', path);
    const items = (Array.isArray(list) ? (list as readonly unknown[]) : []).map((item) => ({ item, at }));
    const read = (): Promise<ReadSession> =>
      Promise.resolve(
        readItems(items, id, at, ['the source has no times; the time of the file is used for every message']),
      );
    const session = {
      place: path,
      tool: 'openai-agents',
      id,
      stamp: await stampOf(path),
      indexedAt: at,
      read,
    };
    return { kind: 'OpenAI Agents SDK', sessions: [session], convlogs: [], problems: [] };
  },
  notImported: {
    'encrypted reasoning': 'only the provider can read it',
    system: 'the system prompt, listed as a setting',
  },
};

async function fromTable(path: string): ReturnType<Importer['list']> {
  const copy = await openDatabaseCopy(path);
  const ids = copy.look(
    ({ database }) => database.prepare('SELECT DISTINCT session_id FROM agent_messages').all() as Row[],
  );
  const sessions = ids.map(({ session_id: key }) => {
    const id = namedByFile('openai-agents', `${path} ${String(key)}`);
    const rows = (): Row[] =>
      copy.look(({ database }) =>
        database
          .prepare(
            `SELECT id, created_at, ${limited('message_data')} FROM agent_messages WHERE session_id = ? ORDER BY id`,
          )
          .all(key as string),
      );
    const read = (): Promise<ReadSession> => {
      const items = rows().map((row) => ({
        item: parsedRow(row['message_data']),
        at: isoTime(row['created_at']),
      }));
      return Promise.resolve(readItems(items, id, items[0]?.at ?? '', []));
    };
    return { place: `${path} session ${String(key)}`, tool: 'openai-agents', id, title: String(key), read };
  });
  return {
    ...{ kind: 'OpenAI Agents SDK database', sessions, convlogs: [], problems: copy.problems },
    [Symbol.asyncDispose]: () => copy[Symbol.asyncDispose](),
  };
}

function readItems(
  items: readonly { readonly item: unknown; readonly at: string }[],
  id: string,
  began: string,
  problems: readonly string[],
): ReadSession {
  const list = new EntryList('openai-agents');
  const settings: Record<string, unknown> = {};
  for (const [i, { item, at }] of items.entries()) {
    const place = `item ${i + 1}`;
    const record = isObject(item) ? item : {};
    const { role, content } = record;
    const type = record['type'] ?? (role === undefined ? undefined : 'message');
    const entryId = `${i + 1}-${textIn(record['id']) ?? textIn(record['call_id']) ?? textIn(record['callId']) ?? String(type)}`;
    if (!ITEMS.has(type))
      list.raw(String(type ?? 'unknown item'), item, place, {
        id: entryId,
        parentId: list.last,
        timestamp: at,
      });
    else if (type === 'message') {
      const blocks = contentBlocks(content);
      if (role === 'system' || role === 'developer') {
        settings['systemPrompt'] = blocks.map(({ text }) => text).join('\n');
        list.loss.dropped('system', place);
      } else if (blocks.length === 0) list.loss.dropped('message without content', place);
      else
        list.message(entryId, list.last, at, {
          role: role === 'assistant' ? 'assistant' : 'user',
          content: blocks,
        });
    } else if (type === 'function_call') {
      const call = {
        type: 'toolCall',
        id: callIdOf(record, entryId),
        name: textIn(record['name']) ?? 'tool',
      };
      const content = [{ ...call, ...callArguments(record['arguments']) }];
      list.message(entryId, list.last, at, { role: 'assistant', content, stopReason: 'toolUse' });
    } else if (type === 'reasoning') {
      const parts = [record['summary'], record['content'], record['rawContent']].flatMap((each) =>
        Array.isArray(each) ? contentBlocks(each) : [],
      );
      const thinking = parts.map(({ text }) => text).join('\n\n');
      if (thinking === '') list.loss.dropped('encrypted reasoning', place);
      else
        list.message(entryId, list.last, at, {
          role: 'assistant',
          content: [{ type: 'thinking', thinking }],
        });
    } else {
      const { output, status } = record;
      const blocks = Array.isArray(output)
        ? contentBlocks(output)
        : isObject(output) && 'text' in output
          ? contentBlocks([output])
          : [];
      const result =
        blocks.length > 0
          ? blocks
          : [textBlock(typeof output === 'string' ? output : JSON.stringify(output ?? ''))];
      const toolCallId = callIdOf(record, entryId);
      list.message(entryId, list.last, at, {
        role: 'toolResult',
        toolCallId,
        content: result,
        isError: status === 'incomplete',
      });
    }
  }
  return list.finish(headerOf(id, { timestamp: began }), problems, settings);
}

function callIdOf(record: JsonObject, fallback: string): string {
  return textIn(record['call_id']) ?? textIn(record['callId']) ?? fallback;
}

function contentBlocks(content: unknown): JsonObject[] {
  if (typeof content === 'string') return content === '' ? [] : [textBlock(content)];
  if (!Array.isArray(content)) return [];
  return (content as readonly unknown[]).flatMap((part): JsonObject[] => {
    if (!isObject(part)) return [];
    const { text, refusal, image_url: url, image } = part;
    const words = textIn(text) ?? textIn(refusal);
    if (words !== undefined) return [textBlock(words)];
    const address = url ?? image;
    return address === undefined
      ? []
      : [imageOfUrl(address) ?? textBlock(`[image at ${String(address).slice(0, 500)}]`)];
  });
}
