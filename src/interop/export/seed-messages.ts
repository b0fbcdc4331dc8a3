import { type Entry, entryTime } from '../../transcript/entry.ts';
import { isObject } from '../../transcript/json.ts';
import { type CarrierName, carrySummary, SUMMARY_CARRIERS } from '../../transcript/render/carrier.ts';
import { rebuildHistory } from '../../transcript/render/rebuild-history.ts';
import type { AnthropicMessage } from '../../transcript/render/render-anthropic.ts';
import { selectContext } from '../../transcript/render/select.ts';
import { buildTree, type EntryTree, pathEntries, pathTo } from '../../transcript/tree.ts';

export interface TimedMessage {
  readonly message: AnthropicMessage;
  /** ISO-8601. */
  readonly at: string;
}

export interface SeedSummary {
  readonly text: string;
  readonly at: string;
  readonly tokensBefore: number;
  readonly tokensAfter: number;
}

/**
 * A history for tools that store a flat list and do not repair it on load: each message is one their API accepts. In
 * order: the messages a summary covers, the messages it kept, and the messages after it.
 */
export interface SeedHistory {
  readonly covered: readonly TimedMessage[];
  readonly summary: SeedSummary | undefined;
  readonly kept: readonly TimedMessage[];
  readonly after: readonly TimedMessage[];
}

/** With `full`, all messages, without compactions and context edits. */
export function seedHistory(entries: readonly Entry[], full = false): SeedHistory {
  const tree = buildTree(entries);
  const path = pathTo(tree, tree.leaf);
  const entryAt = (position: number | undefined): Entry | undefined => entries[position ?? -1];
  const without = (positions: readonly number[], types: ReadonlySet<string>): number[] =>
    positions.filter((position) => !types.has(entryAt(position)?.type ?? ''));
  const at = full ? -1 : path.findLastIndex((position) => entryAt(position)?.type === 'compaction');
  const compaction = entryAt(path[at]);
  if (compaction === undefined) {
    const said = without(path, full ? NOT_SAID : COMPACTIONS);
    return { covered: [], summary: undefined, kept: [], after: timed(tree, said) };
  }
  const name = compaction['firstKeptEntryId'];
  const firstKept = path.findIndex((position, i) => i < at && entryAt(position)?.id === name);
  const from = firstKept === -1 ? at : firstKept;
  const covered = timed(tree, without(path.slice(0, from), NOT_SAID));
  const kept = without(path.slice(from, at), COMPACTIONS);
  const summary = summaryOf(compaction);
  // An undone compaction: it covers nothing and has no summary.
  if (summary.text.trim() === '' && covered.length === 0)
    return { covered, summary: undefined, kept: [], after: timed(tree, [...kept, ...path.slice(at + 1)]) };
  const isSummed = summary.text.trim() !== '';
  const context = timed(tree, [...kept, ...path.slice(at + 1)], isSummed);
  const split = commonStart(context, timed(tree, kept, isSummed));
  return { covered, summary, kept: context.slice(0, split), after: context.slice(split) };
}

export interface PairedHistory {
  readonly messages: readonly TimedMessage[];
  readonly hasSummary: boolean;
  /** Entries that the summary covers; they are not among the messages. */
  readonly underSummary: readonly Entry[];
}

/**
 * The current context, with its summary as the pair of messages that claw0 keeps in memory; or with `full` all
 * messages.
 */
export function pairedHistory(entries: readonly Entry[], full: boolean): PairedHistory {
  if (full) return { messages: seedHistory(entries, true).after, hasSummary: false, underSummary: [] };
  const { compaction, entries: context } = selectContext(entries);
  const told = compaction === undefined ? context : [compaction, ...context];
  const messages = withTimes(rebuild(entries, 'user+assistant'), told);
  if (compaction === undefined) return { messages, hasSummary: false, underSummary: [] };
  const inContext = new Set(context);
  const underSummary = pathEntries(entries, compaction.id).filter((entry) => !inContext.has(entry));
  return { messages, hasSummary: textOf(compaction).trim() !== '', underSummary };
}

const COMPACTIONS: ReadonlySet<string> = new Set(['compaction']);
const NOT_SAID: ReadonlySet<string> = new Set(['compaction', 'context_edit']);
/**
 * A model that matches no other: thinking and signatures are useful only to the model that made them, and these files
 * name none.
 */
const NO_MODEL = { provider: '-', model: '-' };

/**
 * Renders these entries as messages. With `isSummed` they are rendered after a stand-in summary, which is then removed,
 * because the first message is built differently at the start of a conversation.
 */
function timed(tree: EntryTree, positions: readonly number[], isSummed = false): TimedMessage[] {
  const entries = chainOf(tree, positions);
  if (!isSummed) return withTimes(rebuild(entries), entries);
  const [first, ...rest] = entries;
  const chain = first === undefined ? [STAND_IN] : [STAND_IN, { ...first, parentId: STAND_IN.id }, ...rest];
  return withTimes(withoutStandIn(rebuild(chain)), entries);
}

const STAND_IN: Entry = {
  type: 'compaction',
  id: 'stand-in',
  parentId: null,
  timestamp: '',
  summary: '-',
  firstKeptEntryId: 'stand-in',
};

/** Removes the stand-in summary, which is a message or the start of the first one. */
function withoutStandIn([first, ...rest]: readonly AnthropicMessage[]): AnthropicMessage[] {
  const [line] = carrySummary(STAND_IN['summary'], SUMMARY_CARRIERS.user);
  const summary = line?.text ?? '';
  const cut = (text: string): string => text.slice(summary.length).replace(/^\n\n/, '');
  if (first === undefined) return rest;
  const { role, content } = first;
  if (typeof content === 'string')
    return content === summary ? rest : [{ role, content: cut(content) }, ...rest];
  const blocks = content.flatMap((block, i) => {
    if (i > 0 || block.type !== 'text') return [block];
    return block.text === summary ? [] : [{ ...block, text: cut(block.text) }];
  });
  return [{ role, content: blocks }, ...rest];
}

/** These entries as a chain. They are identified by position, because ids of other tools may be duplicates. */
function chainOf({ entries, find }: EntryTree, positions: readonly number[]): Entry[] {
  return positions.flatMap((position, i) => {
    const entry = entries[position];
    if (entry === undefined) return [];
    const { targetId } = entry;
    const target = typeof targetId === 'string' ? find(targetId, position) : undefined;
    const parent = positions[i - 1];
    return {
      ...entry,
      id: `at-${position}`,
      parentId: parent === undefined ? null : `at-${parent}`,
      ...(target !== undefined && { targetId: `at-${target}` }),
    };
  });
}

function rebuild(entries: readonly Entry[], carrier: CarrierName = 'user'): AnthropicMessage[] {
  return rebuildHistory(entries, { format: 'anthropic', carrier, target: NO_MODEL });
}

function textOf({ summary }: Entry): string {
  return typeof summary === 'string' ? summary : '';
}

function summaryOf(compaction: Entry): SeedSummary {
  const { tokensBefore, tokensAfter } = compaction;
  const count = (value: unknown): number =>
    typeof value === 'number' && Number.isSafeInteger(value) ? value : 0;
  return {
    text: textOf(compaction),
    at: entryTime(compaction),
    tokensBefore: count(tokensBefore),
    tokensAfter: count(tokensAfter),
  };
}

function commonStart(all: readonly TimedMessage[], start: readonly TimedMessage[]): number {
  const differs = start.findIndex(
    ({ message }, i) => JSON.stringify(message) !== JSON.stringify(all[i]?.message),
  );
  return differs === -1 ? start.length : differs;
}

/** Consecutive messages of one role were merged; the result has the time of the first. */
function withTimes(messages: readonly AnthropicMessage[], entries: readonly Entry[]): TimedMessage[] {
  const rows: { readonly role: AnthropicMessage['role']; readonly at: string }[] = [];
  for (const entry of entries) {
    for (const role of rolesOf(entry))
      if (rows.at(-1)?.role !== role) rows.push({ role, at: entryTime(entry) });
  }
  let next = 0;
  let last = rows[0]?.at ?? new Date(0).toISOString();
  return messages.map((message) => {
    // An empty message may have been left out, so search only a few rows ahead.
    const found = rows.slice(next, next + 3).findIndex(({ role }) => role === message.role);
    if (found !== -1) {
      last = rows[next + found]?.at ?? last;
      next += found + 1;
    }
    return { message, at: last };
  });
}

function rolesOf({ type, message }: Entry): readonly AnthropicMessage['role'][] {
  if (type === 'compaction') return ['user', 'assistant'];
  if (type === 'custom_message' || type === 'branch_summary') return ['user'];
  if (type !== 'message' || !isObject(message) || message['role'] === 'system') return [];
  return [message['role'] === 'assistant' ? 'assistant' : 'user'];
}
