import { isoTime } from '../../../transcript/dialects/time.ts';
import { isObject, type JsonObject } from '../../../transcript/json.ts';
import type { Importer } from '../importer.ts';
import { type ReadSession, textIn } from '../source.ts';
import { EntryList, headerOf, textBlock } from './entry-list.ts';
import { isWebExport, openWebExport } from './web-export.ts';

/** The data export of ChatGPT. docs/interop.md names the public descriptions of the format. */
export const chatgpt: Importer = {
  tool: 'chatgpt',
  name: 'ChatGPT',
  places: () => [],
  detect: (candidate) => isWebExport(candidate, /"mapping"\s*:\s*\{/),
  list: (path) =>
    openWebExport(path, {
      ...{ tool: 'chatgpt', name: 'ChatGPT', read: readConversation },
      isConversation: ({ mapping }) => isObject(mapping),
      describe: (value) => ({
        ...{ id: idOf(value), title: textIn(value['title']) },
        indexedAt: typeof value['update_time'] === 'number' ? isoTime(value['update_time']) : undefined,
      }),
    }),
  notImported: {
    'hidden system messages': 'instructions of the service',
    attachment: 'images and files are beside the list of conversations; a text names them',
    'user.json, message_feedback.json, chat.html': 'other files of the export',
  },
};

function idOf(value: JsonObject): string | undefined {
  return textIn(value['conversation_id']) ?? textIn(value['id']);
}

function readConversation(value: JsonObject): ReadSession {
  const list = new EntryList('chatgpt');
  const mapping = isObject(value['mapping']) ? value['mapping'] : {};
  const began = isoTime(value['create_time']);
  /** What a node became: its entry, or the nearest one above it. */
  const entryOf = new Map<string, string | null>();
  const current = textIn(value['current_node']);
  const onBranch = new Set<string>();
  for (let id = current; id !== undefined && !onBranch.has(id); id = parentOf(mapping, id)) onBranch.add(id);
  // The current branch is written last, because a conversation continues at its newest entry.
  const ordered = orderNodes(mapping);
  for (const id of [
    ...ordered.filter((each) => !onBranch.has(each)),
    ...ordered.filter((each) => onBranch.has(each)),
  ])
    place(id);
  return list.finish(headerOf(idOf(value), { timestamp: began, title: value['title'] }));

  function place(id: string): string | null {
    const known = entryOf.get(id);
    if (known !== undefined) return known;
    const path: string[] = [];
    for (let at: string | undefined = id; at !== undefined && !entryOf.has(at); at = parentOf(mapping, at)) {
      // A cycle: the walk ends.
      if (path.includes(at)) break;
      path.push(at);
    }
    for (const each of path.reverse()) {
      const above = parentOf(mapping, each);
      addNode(
        list,
        mapping[each],
        each,
        above === undefined ? null : (entryOf.get(above) ?? null),
        began,
        entryOf,
      );
    }
    return entryOf.get(id) ?? null;
  }
}

function parentOf(mapping: JsonObject, id: string): string | undefined {
  const node = mapping[id];
  const parent = isObject(node) ? textIn(node['parent']) : undefined;
  return parent !== undefined && isObject(mapping[parent]) ? parent : undefined;
}

/** Oldest first, so that branches keep the order in which they were written. */
function orderNodes(mapping: JsonObject): readonly string[] {
  const timeOf = (id: string): number => {
    const node = mapping[id];
    const message = isObject(node) && isObject(node['message']) ? node['message'] : {};
    return typeof message['create_time'] === 'number' ? message['create_time'] : 0;
  };
  return Object.keys(mapping).sort((a, b) => timeOf(a) - timeOf(b));
}

function addNode(
  list: EntryList,
  node: unknown,
  id: string,
  parent: string | null,
  began: string,
  entryOf: Map<string, string | null>,
): void {
  entryOf.set(id, parent);
  const message = isObject(node) ? node['message'] : undefined;
  if (!isObject(message)) return;
  const { author, content, create_time, metadata, recipient } = message;
  const role = isObject(author) ? author['role'] : undefined;
  const at = typeof create_time === 'number' ? isoTime(create_time) : began;
  const facts = isObject(metadata) ? metadata : {};
  const blocks = isObject(content) ? contentBlocks(list, content, id) : [];
  if (role === 'system' && (facts['is_visually_hidden_from_conversation'] === true || blocks.length === 0)) {
    list.loss.dropped('hidden system message', `node ${id}`);
    return;
  }
  if (blocks.length === 0) {
    list.loss.dropped('message without content', `node ${id}`);
    return;
  }
  const model = textIn(facts['model_slug']);
  if (role === 'user') list.message(id, parent, at, { role, content: blocks });
  else if (role === 'assistant') {
    const isCall = typeof recipient === 'string' && recipient !== 'all' && recipient !== '';
    const words = blocks.map(({ text }) => text).join('\n');
    const call = { type: 'toolCall', id, name: String(recipient), arguments: { input: words } };
    const fields = {
      provider: 'openai',
      ...(model !== undefined && { model }),
      ...(isCall && { stopReason: 'toolUse' }),
    };
    list.message(id, parent, at, { role, content: isCall ? [call] : blocks, ...fields });
  } else if (role === 'tool') {
    const toolName = isObject(author) ? (textIn(author['name']) ?? '') : '';
    list.message(id, parent, at, {
      role: 'toolResult',
      toolCallId: parent ?? id,
      toolName,
      content: blocks,
      isError: false,
    });
  } else if (role === 'system')
    list.add('custom_message', id, parent, at, {
      customType: 'chatgpt.system',
      content: blocks,
      display: false,
    });
  else list.raw(`role/${String(role)}`, message, `node ${id}`, { id, parentId: parent, timestamp: at });
  entryOf.set(id, id);
}

function contentBlocks(list: EntryList, content: JsonObject, id: string): JsonObject[] {
  const { content_type: type, parts, text, result, thoughts, content: inner } = content;
  if (type === 'thoughts' && Array.isArray(thoughts))
    return (thoughts as readonly unknown[]).flatMap((thought) => {
      const thinking = isObject(thought)
        ? (textIn(thought['content']) ?? textIn(thought['summary']))
        : undefined;
      return thinking === undefined ? [] : [{ type: 'thinking', thinking }];
    });
  if (type === 'reasoning_recap')
    return textIn(inner) === undefined ? [] : [{ type: 'thinking', thinking: String(inner) }];
  if (Array.isArray(parts))
    return (parts as readonly unknown[]).flatMap((part): JsonObject[] => {
      if (typeof part === 'string') return part === '' ? [] : [textBlock(part)];
      if (!isObject(part)) return [];
      const words = textIn(part['text']);
      if (words !== undefined) return [textBlock(words)];
      const pointer = textIn(part['asset_pointer']) ?? textIn(part['audio_asset_pointer']) ?? 'unknown';
      list.loss.dropped('attachment', `node ${id}`);
      return [textBlock(`[${String(part['content_type'] ?? 'attachment')} ${pointer}]`)];
    });
  const words = textIn(text) ?? textIn(result) ?? textIn(inner);
  if (words !== undefined) return [textBlock(words)];
  const { user_profile: profile, user_instructions: instructions, model_set_context: context } = content;
  const settings = [profile, instructions, context].filter((each) => typeof each === 'string' && each !== '');
  return settings.length === 0 ? [] : [textBlock(settings.join('\n'))];
}
