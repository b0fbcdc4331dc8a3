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
  if (args === '') {
    const keys = surface === 'repl' ? [message('help.keys')] : [];
    return { messages: [...commandHelpMessages(surface), ...keys, message('help.escape')] };
  }
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

/** The last answer of the branch, for the clipboard. */
export const copyAnswer: CommandHandler = async (_args, { session }) => {
  const answer = pathEntries(await readEntries(session))
    .filter((entry) => roleOf(entry) === 'assistant')
    .map(({ message: stored }) => contentText(isObject(stored) ? stored['content'] : ''))
    .findLast((text) => text.trim() !== '');
  if (answer === undefined) throw failure('NOT_FOUND', 'copy.nothing');
  return { messages: [message('copy.done', { characters: answer.length })], copy: answer };
};

/** A map of the branch points: one line for each stretch of messages between two of them. */
export const showTree: CommandHandler = async (_args, { session }) => {
  const entries = await readEntries(session);
  const { roots, children, tree } = userTree(entries);
  const positions = messagePositions(entries);
  const current = new Set(pathTo(tree, tree.leaf));
  const messages: Message[] = [];
  const waiting = roots
    .map((at, i) => ({ at, above: '', isLast: i === roots.length - 1, isRoot: roots.length === 1 }))
    .reverse();
  for (let next = waiting.pop(); next !== undefined; next = waiting.pop()) {
    const { at, above, isLast, isRoot } = next;
    const entry = entries[at];
    if (entry === undefined) continue;
    let end = at;
    let count = 1;
    for (let below = children.get(end) ?? []; below.length === 1; below = children.get(end) ?? []) {
      end = below[0] ?? end;
      count++;
    }
    const { id, message: stored } = entry;
    const text = oneLine(contentText(isObject(stored) ? stored['content'] : ''), TREE_CHARS);
    const lines = isRoot ? '' : `${above}${isLast ? '└─' : '├─'}`;
    const name = messageName(positions, id);
    messages.push(message('tree.branch', { lines, isCurrent: current.has(at), name, text, messages: count }));
    const below = children.get(end) ?? [];
    const deeper = isRoot ? '' : `${above}${isLast ? '  ' : '│ '} `;
    for (const [i, child] of [...below.entries()].reverse())
      waiting.push({ at: child, above: deeper, isLast: i === below.length - 1, isRoot: false });
  }
  if (messages.length === 0) return { messages: [message('history.empty')] };
  const left = messages.length - MAX_TREE_LINES;
  const shown = messages.slice(0, MAX_TREE_LINES);
  return { messages: left > 0 ? [...shown, message('tree.more', { branches: left })] : shown };
};

/** The messages of users, and which of them follow which. */
function userTree(entries: readonly Entry[]): {
  readonly tree: ReturnType<typeof buildTree>;
  readonly roots: readonly number[];
  readonly children: ReadonlyMap<number, readonly number[]>;
} {
  const tree = buildTree(entries);
  const { parents } = tree;
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
  return { tree, roots: children.get(ROOT) ?? [], children };
}
