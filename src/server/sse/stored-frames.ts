import type { Reprise } from '../../engine/reprise.ts';
import type { StreamEvent } from '../../protocol/events.ts';
import {
  answerText,
  endOfTurn,
  isUserMessage,
  type StoredEnd,
  toldByEntry,
} from '../../protocol/stored-events.ts';
import type { EventId, Frame } from './frame.ts';

type Store = Reprise['store'];
type Stored = Awaited<ReturnType<Store['read']>>['entries'][number];

/** What is looked for stands near, nearly always: a look that has to go on takes more at a time. */
const [FIRST_PAGE, PAGE] = [8, 200];
const larger = (page: number): number => Math.min(PAGE, page * 5);

export interface StoredFrame extends Frame {
  readonly seq: number;
  /** Set on the last frame of a turn. */
  readonly end?: StoredEnd;
  /** The key of the append: of a message's words, the id of the message. */
  readonly key?: string;
}

/**
 * What followed an id as the entries tell it, up to an entry. The same ids come out each time: an entry that was told
 * whole is `<seq>.0`, and what comes before the next such id is counted from there.
 */
export async function* storedFrames(
  store: Store,
  sessionId: string,
  after: EventId,
  until: number,
): AsyncGenerator<StoredFrame | { readonly seq: number; readonly key?: string }, void, undefined> {
  const { n: skip } = after;
  let whole = after.seq;
  let text = '';
  let count = 0;
  const place = (event: StreamEvent): Frame | undefined => {
    const id = { seq: whole, n: ++count };
    return whole === after.seq && count <= skip ? undefined : { id, event };
  };
  for await (const { seq, entry } of entriesFrom(store, sessionId, Math.max(1, after.seq), until)) {
    const { said, calls } = toldByEntry(entry);
    text = isUserMessage(entry) ? '' : (answerText(entry) ?? text);
    const named = { seq, ...(entry.seal?.k !== undefined && { key: entry.seal.k }) };
    if (seq > after.seq) {
      const end = endOfTurn(entry, sessionId);
      yield named;
      for (const [i, event] of said.entries()) {
        const isLast = i === said.length - 1;
        if (isLast) [whole, count] = [seq, 0];
        const frame = isLast ? { id: { seq, n: 0 }, event } : place(event);
        if (frame !== undefined) yield { ...named, ...frame };
      }
      if (end !== undefined) {
        [whole, count] = [seq, 0];
        const event = end.frame.type === 'done' ? { ...end.frame, text } : end.frame;
        yield { ...named, id: { seq, n: 0 }, event, end };
      }
    }
    // Whoever goes on from here with a running turn hears its calls there.
    if (seq === until) return;
    for (const event of calls) {
      const frame = place(event);
      if (frame !== undefined) yield { ...named, ...frame };
    }
  }
}

async function* entriesFrom(
  store: Store,
  sessionId: string,
  from: number,
  until: number,
): AsyncGenerator<Stored, void, undefined> {
  for (let [next, page] = [from, FIRST_PAGE]; next <= until; page = larger(page)) {
    const limit = Math.min(page, until - next + 1);
    const { entries, hasMore } = await store.read(sessionId, { from: next, limit });
    for (const stored of entries) {
      if (stored.seq > until) return;
      yield stored;
      next = stored.seq + 1;
    }
    if (!hasMore || entries.length === 0) return;
  }
}

/** Newest first. */
async function* entriesBefore(
  store: Store,
  sessionId: string,
  from?: number,
): AsyncGenerator<Stored, void, undefined> {
  let next = from;
  for (let limit = FIRST_PAGE; next === undefined || next >= 1; limit = larger(limit)) {
    const range = { limit, direction: 'backward', ...(next !== undefined && { from: next }) } as const;
    const { entries, hasMore } = await store.read(sessionId, range);
    const newestFirst = [...entries].sort((a, b) => b.seq - a.seq);
    yield* newestFirst;
    const oldest = newestFirst.at(-1);
    if (!hasMore || oldest === undefined) return;
    next = oldest.seq - 1;
  }
}

/** What is stored of the answer that was under way behind an entry; undefined: none was. */
export async function keptText(store: Store, sessionId: string, seq: number): Promise<string | undefined> {
  const texts: string[] = [];
  for await (const { entry } of entriesBefore(store, sessionId, seq)) {
    if (endOfTurn(entry, sessionId) !== undefined) return texts.length === 0 ? undefined : texts.join('');
    if (isUserMessage(entry) || entry.type === 'session') break;
    const text = answerText(entry);
    if (text !== undefined) texts.unshift(text);
  }
  return texts.join('');
}

/** Clocks are set back, but hardly more than this. */
const CLOCK_SLACK_MS = 60_000;

/** Where the words of a message stand; undefined: they do not, or not under its name. */
export async function findMessage(
  store: Store,
  { sessionId, inboxId, createdAt }: Awaited<ReturnType<Store['inbox']['get']>>,
): Promise<number | undefined> {
  // Nothing of it can be older than itself: a new message is not looked for in years of history.
  const oldest = Date.parse(createdAt) - CLOCK_SLACK_MS;
  for await (const { seq, entry } of entriesBefore(store, sessionId)) {
    if (entry.seal?.k === inboxId) return seq;
    if (Date.parse(entry.timestamp ?? '') < oldest) return undefined;
  }
  return undefined;
}
