import { roleOf } from '../../compaction/safe-cut.ts';
import { failure } from '../../messages/failure.ts';
import { type Message, message } from '../../messages/message.ts';
import { contentText } from '../../transcript/content.ts';
import type { Entry } from '../../transcript/entry.ts';
import { isObject } from '../../transcript/json.ts';
import {
  type MessagePositions,
  messageIds,
  messageName,
  messagePositions,
  positionsOf,
} from '../../transcript/message-position.ts';
import { buildTree, pathEntries, pathTo, ROOT } from '../../transcript/tree.ts';
import { type CommandHandler, oneLine } from './command-context.ts';
import { commandHelpMessages, commandUsage, findCommand } from './commands.ts';
import { readEntries } from './read-entries.ts';

const SHOWN_MESSAGES = 10;
const SHOWN_CHARS = 400;
const SUMMARY_CHARS = 80;
const TREE_CHARS = 70;
const MAX_TREE_LINES = 200;

export const help: CommandHandler = async (args, { surface }) => {
  if (args === '') return { messages: [...commandHelpMessages(surface), message('help.escape')] };
  const row = findCommand(args.replace(/^\//, ''));
  if (row === undefined || !row.surfaces.includes(surface))
    throw failure('INVALID_INPUT', 'command.unknownHere', { name: args });
  const { name: about, aliases, refused } = row;
  const command = message('help.one', { usage: commandUsage(row), about, aliases });
  return { messages: refused === undefined ? [command] : [command, message(refused)] };
};

export const history: CommandHandler = async (args, { session }) => {
  const wanted = args === '' ? SHOWN_MESSAGES : Number(args);
  if (!Number.isSafeInteger(wanted) || wanted < 1)
    throw failure('INVALID_INPUT', 'history.badCount', { value: args });
  const path = pathEntries(await readEntries(session));
  const positions = positionsOf(messageIds(path));
  const shown = path.filter(({ type }) => type === 'message').at(-wanted);
  const from = shown === undefined ? 0 : path.indexOf(shown);
  const messages = path.slice(from).flatMap((entry) => historyMessages(entry, positions));
  return { messages: messages.length === 0 ? [message('history.empty')] : messages };
};

function historyMessages(entry: Entry, positions: MessagePositions): Message[] {
  const { id, type, message: stored, summary } = entry;
  if (type === 'compaction')
    return [message('history.compaction', { summary: oneLine(String(summary), SUMMARY_CHARS) })];
  if (type !== 'message' || !isObject(stored)) return [];
  const { content } = stored;
  const calls = Array.isArray(content) ? content.flatMap(callName) : [];
  const text = oneLine(contentText(content), SHOWN_CHARS);
  const role = roleOf(entry) ?? 'unknown';
  return [message('history.message', { position: positions.of(id) ?? null, role, text, calls })];
}

function callName(block: unknown): string[] {
  return isObject(block) && block['type'] === 'toolCall' ? [String(block['name'])] : [];
}

/** One line for each user message, indented where the conversation branched. */
export const showTree: CommandHandler = async (_args, { session }) => {
  const entries = await readEntries(session);
  const tree = buildTree(entries);
  const { parents } = tree;
  const positions = messagePositions(entries);
  const current = new Set(pathTo(tree, tree.leaf));
  const children = new Map<number, number[]>();
  for (const [at, entry] of entries.entries()) {
    const parent = parents[at] ?? ROOT;
    if (roleOf(entry) !== 'user' || parent < ROOT) continue;
    let above = parent;
    for (let up = entries[above]; up !== undefined && roleOf(up) !== 'user'; up = entries[above])
      above = parents[above] ?? ROOT;
    const siblings = children.get(above);
    if (siblings === undefined) children.set(above, [at]);
    else siblings.push(at);
  }
  const messages: Message[] = [];
  const waiting = (children.get(ROOT) ?? []).map((at) => ({ at, depth: 0 })).reverse();
  for (let next = waiting.pop(); next !== undefined; next = waiting.pop()) {
    const { at, depth } = next;
    const entry = entries[at];
    if (entry === undefined) continue;
    const { id, message: stored } = entry;
    const text = oneLine(contentText(isObject(stored) ? stored['content'] : ''), TREE_CHARS);
    const name = messageName(positions, id);
    messages.push(message('tree.message', { isCurrent: current.has(at), depth, name, text }));
    const below = children.get(at) ?? [];
    const deeper = below.length > 1 ? depth + 1 : depth;
    for (const child of [...below].reverse()) waiting.push({ at: child, depth: deeper });
  }
  if (messages.length === 0) return { messages: [message('history.empty')] };
  const older = messages.length - MAX_TREE_LINES;
  const shown = messages.slice(-MAX_TREE_LINES);
  return { messages: older > 0 ? [message('tree.older', { messages: older }), ...shown] : shown };
};
