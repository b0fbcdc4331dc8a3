import type { Entry } from '../../transcript/entry.ts';
import { isObject } from '../../transcript/json.ts';
import { rebuildHistory } from '../../transcript/rebuild-history.ts';
import type { AnthropicMessage } from '../../transcript/render-anthropic.ts';
import { pathEntries } from '../../transcript/tree.ts';
import { entryTime } from '../session-document.ts';

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
 * A history for systems that keep a flat list and repair nothing when they load it: every message is one their API
 * accepts. In this order: what a summary stands for, what it left in place, and what was said after it.
 */
export interface SeedHistory {
  readonly covered: readonly TimedMessage[];
  readonly summary: SeedSummary | undefined;
  readonly kept: readonly TimedMessage[];
  readonly after: readonly TimedMessage[];
}

/** `full`: everything that was said, as if nothing had been summed up or hidden. */
export function seedHistory(entries: readonly Entry[], full = false): SeedHistory {
  const path = pathEntries(entries);
  const at = full ? -1 : path.findLastIndex(({ type }) => type === 'compaction');
  const compaction = path[at];
  if (compaction === undefined) {
    const said = path.filter(({ type }) => type !== 'compaction' && !(full && type === 'context_edit'));
    return { covered: [], summary: undefined, kept: [], after: timed(said) };
  }
  const firstKept = path.findIndex(({ id }, i) => i < at && id === compaction['firstKeptEntryId']);
  const from = firstKept === -1 ? at : firstKept;
  const covered = timed(path.slice(0, from).filter(({ type }) => !NOT_SAID.has(type)));
  const kept = path.slice(from, at).filter(({ type }) => type !== 'compaction');
  const summary = summaryOf(compaction);
  // An undone compaction: nothing stands before what is kept, and no summary either.
  if (summary.text.trim() === '' && covered.length === 0)
    return { covered, summary: undefined, kept: [], after: timed([...kept, ...path.slice(at + 1)]) };
  const context = timed([...kept, ...path.slice(at + 1)], 'behind a summary');
  const split = commonStart(context, timed(kept, 'behind a summary'));
  return { covered, summary, kept: context.slice(0, split), after: context.slice(split) };
}

const NOT_SAID: ReadonlySet<string> = new Set(['compaction', 'context_edit']);
/** Nobody's model: thinking and signatures are of use only to the one that made them, and these files name none. */
const NO_MODEL = { provider: '-', model: '-' };

function timed(entries: readonly Entry[], place?: 'behind a summary'): TimedMessage[] {
  const messages = rebuild(entries);
  if (place !== undefined && messages[0]?.content === openingLine()) messages.shift();
  return withTimes(messages, entries);
}

function rebuild(entries: readonly Entry[]): AnthropicMessage[] {
  const chain = entries.map((entry, i) => ({ ...entry, parentId: entries[i - 1]?.id ?? null }));
  return rebuildHistory(chain, { format: 'anthropic', target: NO_MODEL });
}

let opening: unknown;
/** What the projection says where an assistant speaks first; a summary in front makes it needless. */
function openingLine(): unknown {
  const message = { role: 'assistant', content: [{ type: 'text', text: '-' }] };
  opening ??= rebuild([{ type: 'message', id: 'a', parentId: null, timestamp: '', message }])[0]?.content;
  return opening;
}

function summaryOf(compaction: Entry): SeedSummary {
  const { summary, tokensBefore, tokensAfter } = compaction;
  const count = (value: unknown): number =>
    typeof value === 'number' && Number.isSafeInteger(value) ? value : 0;
  return {
    text: typeof summary === 'string' ? summary : '',
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

/** Messages of one side in a row became one; it has the time of the first entry of that row. */
function withTimes(messages: readonly AnthropicMessage[], entries: readonly Entry[]): TimedMessage[] {
  const rows: { readonly role: AnthropicMessage['role']; readonly at: string }[] = [];
  for (const entry of entries) {
    const role = roleOf(entry);
    if (role !== undefined && rows.at(-1)?.role !== role) rows.push({ role, at: entryTime(entry) });
  }
  let next = 0;
  let last = rows[0]?.at ?? new Date(0).toISOString();
  return messages.map((message) => {
    // An empty turn of the one side may have left no message; never look far for the other's.
    const found = rows.slice(next, next + 3).findIndex(({ role }) => role === message.role);
    if (found !== -1) {
      last = rows[next + found]?.at ?? last;
      next += found + 1;
    }
    return { message, at: last };
  });
}

function roleOf({ type, message }: Entry): AnthropicMessage['role'] | undefined {
  if (type === 'custom_message' || type === 'branch_summary') return 'user';
  if (type !== 'message' || !isObject(message) || message['role'] === 'system') return undefined;
  return message['role'] === 'assistant' ? 'assistant' : 'user';
}
