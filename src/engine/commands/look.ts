import { roleOf } from '../../compaction/safe-cut.ts';
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
import { commandHelp, commandUsage, findCommand } from '../commands.ts';
import { type CommandHandler, oneLine, refuse } from './command-context.ts';
import { readEntries } from './read-entries.ts';

const SHOWN_MESSAGES = 10;
const SHOWN_CHARS = 400;
const TREE_CHARS = 70;
const MAX_TREE_LINES = 200;

export const help: CommandHandler = async (args, { surface }) => {
  if (args === '') {
    const others = 'Everything else is a message; // begins one with a slash.';
    return { text: [...commandHelp(surface), others].join('\n') };
  }
  const row = findCommand(args.replace(/^\//, ''));
  if (row === undefined || !row.surfaces.includes(surface))
    throw refuse(`there is no command "${args}" here`, '/help lists what there is.');
  const also = row.aliases.map((name) => `/${name}`).join(', ');
  const refused = row.refused === undefined ? '' : `\n${row.refused}`;
  return { text: `${commandUsage(row)}: ${row.help}${also === '' ? '' : ` (also ${also})`}${refused}` };
};

export const history: CommandHandler = async (args, { session }) => {
  const wanted = args === '' ? SHOWN_MESSAGES : Number(args);
  if (!Number.isSafeInteger(wanted) || wanted < 1)
    throw refuse(`/history wants a whole number above 0, not "${args}"`, 'Write: /history 20');
  const path = pathEntries(await readEntries(session));
  const positions = positionsOf(messageIds(path));
  const shown = path.filter(({ type }) => type === 'message').at(-wanted);
  const from = shown === undefined ? 0 : path.indexOf(shown);
  const lines = path.slice(from).flatMap((entry) => historyLine(entry, positions));
  return { text: lines.length === 0 ? 'Nothing was said here yet.' : lines.join('\n') };
};

function historyLine(entry: Entry, positions: MessagePositions): string[] {
  const { id, message, summary } = entry;
  if (entry.type === 'compaction')
    return [
      `-- the messages above are compacted; the model is sent this summary: ${oneLine(String(summary), 80)}`,
    ];
  if (entry.type !== 'message' || !isObject(message)) return [];
  const calls = Array.isArray(message['content']) ? message['content'].flatMap(callName) : [];
  const text = oneLine(contentText(message['content']), SHOWN_CHARS);
  const said = [text, ...calls].filter((part) => part !== '').join(' ');
  const position = positions.of(id);
  return [`${position === undefined ? '  ' : `#${position} `}${roleOf(entry) ?? 'unknown'}: ${said}`];
}

function callName(block: unknown): string[] {
  return isObject(block) && block['type'] === 'toolCall' ? [`(calls ${String(block['name'])})`] : [];
}

/** One line for each thing the user said; deeper where the conversation forked. */
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
  const lines: string[] = [];
  const waiting = (children.get(ROOT) ?? []).map((at) => ({ at, depth: 0 })).reverse();
  for (let next = waiting.pop(); next !== undefined; next = waiting.pop()) {
    const { at, depth } = next;
    const entry = entries[at];
    if (entry === undefined) continue;
    const { id, message } = entry;
    const text = oneLine(contentText(isObject(message) ? message['content'] : ''), TREE_CHARS);
    lines.push(`${current.has(at) ? '*' : ' '} ${'  '.repeat(depth)}${messageName(positions, id)} ${text}`);
    const below = children.get(at) ?? [];
    const deeper = below.length > 1 ? depth + 1 : depth;
    for (const child of [...below].reverse()) waiting.push({ at: child, depth: deeper });
  }
  if (lines.length === 0) return { text: 'Nothing was said here yet.' };
  const left = lines.length - MAX_TREE_LINES;
  return {
    text: [...(left > 0 ? [`… ${left} older lines`] : []), ...lines.slice(-MAX_TREE_LINES)].join('\n'),
  };
};
