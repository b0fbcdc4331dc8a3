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

/** The entry is usually near the end: the first read is small, later ones grow. */
const [FIRST_PAGE, PAGE] = [8, 200];
const larger = (page: number): number => Math.min(PAGE, page * 5);

export interface StoredFrame extends Frame {
  readonly seq: number;
  /** Set on the last frame of a turn. */
  readonly end?: StoredEnd;
  /** The idempotency key of the append; for a user message, the message id. */
  readonly key?: string;
}

/**
 * Events after an id, derived from stored entries, up to an entry. The ids are the same each time: a completely sent
 * entry is `<seq>.0`, and the events before the next such id are counted from there.
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
    // A stream that continues with the running turn gets these tool calls from the log.
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

/** Entries before a position, newest first. */
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

/** The stored text of the answer that was in progress after an entry; undefined if there was none. */
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

/** Clocks can be set back, but rarely by more than this. */
const CLOCK_SLACK_MS = 60_000;

/** The entry with the text of a message; undefined if it is not stored, or not under this message's id. */
export async function findMessage(
  store: Store,
  { sessionId, inboxId, createdAt }: Awaited<ReturnType<Store['inbox']['get']>>,
): Promise<number | undefined> {
  // No entry of a message is older than the message, so a new message is not searched in the whole history.
  const oldest = Date.parse(createdAt) - CLOCK_SLACK_MS;
  for await (const { seq, entry } of entriesBefore(store, sessionId)) {
    if (entry.seal?.k === inboxId) return seq;
    if (Date.parse(entry.timestamp ?? '') < oldest) return undefined;
  }
  return undefined;
}
