import { canonicalBlock, toolResult } from '../../../transcript/dialects/blocks.ts';
import { isoTime } from '../../../transcript/dialects/time.ts';
import { isObject, type JsonObject } from '../../../transcript/json.ts';
import type { Importer } from '../importer.ts';
import { type ReadSession, textIn } from '../source.ts';
import { EntryList, headerOf, textBlock } from './entry-list.ts';
import { isWebExport, openWebExport } from './web-export.ts';

/** The data export of claude.ai. docs/interop.md names the public descriptions of the format. */
export const claudeAi: Importer = {
  tool: 'claude.ai',
  name: 'claude.ai',
  places: () => [],
  detect: (candidate) => isWebExport(candidate, /"chat_messages"\s*:\s*\[/),
  list: (path) =>
    openWebExport(path, {
      ...{ tool: 'claude.ai', name: 'claude.ai', read: readConversation },
      isConversation: ({ chat_messages }) => Array.isArray(chat_messages),
      describe: ({ uuid, name, updated_at }) => ({
        ...{ id: textIn(uuid), title: textIn(name) },
        indexedAt: typeof updated_at === 'string' ? isoTime(updated_at) : undefined,
      }),
    }),
  notImported: {
    attachment: 'files are not in the export; their names and extracted texts are imported',
    'users.json, projects.json': 'other files of the export',
  },
};

function readConversation(value: JsonObject): ReadSession {
  const list = new EntryList('claude.ai');
  const messages = Array.isArray(value['chat_messages'])
    ? (value['chat_messages'] as readonly unknown[])
    : [];
  const entryOf = new Map<string, string | null>();
  let last: string | null = null;
  for (const [i, message] of messages.entries()) {
    if (!isObject(message)) {
      list.loss.dropped('message that is no object', `message ${i + 1}`);
      continue;
    }
    const id = textIn(message['uuid']) ?? `message-${i + 1}`;
    const above = textIn(message['parent_message_uuid']);
    // Older exports have no tree. The root of a tree is not a message.
    const parent: string | null = above === undefined ? last : (entryOf.get(above) ?? null);
    last = addMessage(list, message, id, parent, value);
    entryOf.set(id, last);
  }
  const { uuid, name, created_at: timestamp } = value;
  return list.finish(headerOf(textIn(uuid), { timestamp, title: name }));
}

/** @returns the last entry of the message. */
function addMessage(
  list: EntryList,
  message: JsonObject,
  id: string,
  above: string | null,
  conversation: JsonObject,
): string | null {
  const { sender, text, content, attachments, files } = message;
  const at = isoTime(message['created_at'] ?? conversation['created_at']);
  let parent = above;
  let blocks: unknown[] = [];
  let part = 0;
  const role = sender === 'assistant' ? 'assistant' : 'user';
  const flush = (): void => {
    if (blocks.length === 0) return;
    const entryId = part === 0 ? id : `${id}-${part}`;
    list.message(entryId, parent, at, { role, content: blocks });
    [parent, blocks, part] = [entryId, [], part + 1];
  };
  for (const block of Array.isArray(content) ? (content as readonly unknown[]) : []) {
    if (!isObject(block)) continue;
    const { type } = block;
    if (type === 'tool_result') {
      flush();
      const resultId = `${id}-${part++}`;
      list.message(resultId, parent, at, toolResult(block));
      parent = resultId;
    } else if (type === 'text' && textIn(block['text']) !== undefined)
      blocks.push(textBlock(String(block['text'])));
    else if (type === 'thinking' && textIn(block['thinking']) !== undefined)
      blocks.push({ type: 'thinking', thinking: block['thinking'] });
    else if (type === 'tool_use')
      blocks.push(canonicalBlock({ ...block, id: textIn(block['id']) ?? `${id}-call-${part}` }));
    else list.loss.dropped(`content/${String(type)}`, `message ${id}`);
  }
  if (part === 0 && blocks.length === 0 && textIn(text) !== undefined) blocks.push(textBlock(String(text)));
  for (const file of [attachments, files].flatMap((each) =>
    Array.isArray(each) ? (each as readonly unknown[]) : [],
  )) {
    if (!isObject(file)) continue;
    const words = textIn(file['extracted_content']);
    const name = textIn(file['file_name']) ?? 'without a name';
    if (words === undefined) list.loss.dropped('attachment', `message ${id}`);
    blocks.push(textBlock(words === undefined ? `[file ${name}]` : `[file ${name}]\n${words}`));
  }
  flush();
  if (parent === above) list.loss.dropped('message without content', `message ${id}`);
  return parent;
}
