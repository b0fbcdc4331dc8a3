import assert from 'node:assert/strict';
import { setTimeout as delay } from 'node:timers/promises';
import { type ErrorCode, RepriseError } from '../../src/errors.ts';
import type { AppendReceipt, NewEntry, Store, StoredEntry } from '../../src/store/port/store.ts';
import type { Entry } from '../../src/transcript/entry.ts';
import type { JsonObject } from '../../src/transcript/json.ts';
import { patienceMs } from './patience.ts';
import type { StoreUnderTest } from './store-case.ts';

/** Shared by the cases: entries to write, ways to read them back, and the check of a refusal. */

export const KEY = 'agent:main:main';
const POLL_MS = 3;

export function user(text: string): NewEntry {
  return { type: 'message', message: { role: 'user', content: text } };
}

export function assistant(text: string): NewEntry {
  return { type: 'message', message: { role: 'assistant', content: [{ type: 'text', text }] } };
}

/** A side entry: a fact about the session that never becomes the leaf. */
export function note(name: string, data: JsonObject = {}): NewEntry {
  return { type: 'custom', customType: `reprise.${name}`, data };
}

export function leafMove(parentId: string | null): NewEntry {
  return { type: 'custom', customType: 'reprise.leaf', parentId };
}

export function compaction(summary: string, firstKeptEntryId: string): NewEntry {
  return { type: 'compaction', summary, firstKeptEntryId, tokensBefore: 1000 };
}

/** Creates a session for a case, with the given messages. */
export async function session(
  store: Store,
  texts: readonly string[] = [],
  key: string = KEY,
): Promise<string> {
  const { id } = await store.create({ key });
  for (const text of texts) await store.append(id, [user(text)]);
  return id;
}

/** The open store, then the reopened one: assertions must hold both times. */
export async function* beforeAndAfter({ store, reopen }: StoreUnderTest): AsyncGenerator<Store> {
  yield store;
  yield await reopen();
}

/** Expects a refusal: an error with a code that wrote nothing (P2). Anything else, even a hang, fails the case. */
export async function refused(
  work: Promise<unknown>,
  codes: ErrorCode | readonly ErrorCode[],
): Promise<RepriseError> {
  const error = await failure(work);
  const allowed = typeof codes === 'string' ? [codes] : codes;
  assert.ok(allowed.includes(error.code), `expected ${allowed.join(' or ')}, got ${error.code}`);
  assert.equal(error.outcome, 'none', `${error.code} must say that nothing was written`);
  return error;
}

export async function failure(work: Promise<unknown>): Promise<RepriseError> {
  let answer: unknown;
  try {
    answer = await within(work, 'an answer');
  } catch (error) {
    if (error instanceof RepriseError) return error;
    throw error;
  }
  return assert.fail(`expected a refusal, got ${JSON.stringify(answer)}`);
}

/** Every line of the session, starting with the header, read in pages. */
export async function readAll(store: Store, id: string, limit = 100): Promise<StoredEntry[]> {
  const all: StoredEntry[] = [];
  for (let from = 1, more = true; more; ) {
    const page = await store.read(id, { from, limit });
    all.push(...page.entries);
    more = page.hasMore;
    const last = page.entries.at(-1)?.seq;
    if (more) assert.ok(last !== undefined && last >= from, 'a page with more lines after it makes progress');
    from = (last ?? from) + 1;
  }
  return all;
}

export async function readEntries(store: Store, id: string): Promise<Entry[]> {
  return entriesOf(await readAll(store, id));
}

export function entriesOf(stored: readonly StoredEntry[]): Entry[] {
  return stored.flatMap(({ entry }) => (isEntry(entry) ? [entry] : []));
}

export function isEntry(entry: StoredEntry['entry']): entry is Entry {
  return entry.type !== 'session';
}

export async function entryAt(store: Store, id: string, seq: number): Promise<Entry> {
  const page = await store.read(id, { from: seq, limit: 1 });
  const [found] = page.entries;
  assert.equal(found?.seq, seq, `a line with seq ${seq}`);
  assert.ok(found !== undefined && isEntry(found.entry), `an entry at seq ${seq}`);
  return found.entry;
}

/** Appends one entry and reads it back as stored. */
export async function appendOne(
  store: Store,
  id: string,
  entry: NewEntry,
  options: Parameters<Store['append']>[2] = {},
): Promise<Entry> {
  const { firstSeq, lastSeq } = await store.append(id, [entry], options);
  assert.equal(firstSeq, lastSeq, 'one entry takes one seq');
  return entryAt(store, id, firstSeq);
}

/** The caller's part of an entry, without the fields that the store adds. */
export function bodyOf(entry: Entry): JsonObject {
  const { id: _id, parentId: _parent, timestamp: _time, seal: _seal, ...body } = entry;
  return body;
}

export function textOf(entry: Entry): unknown {
  const message = entry['message'] as { readonly content?: unknown } | undefined;
  return message?.content;
}

export function seqsOf({ firstSeq, lastSeq }: AppendReceipt): number[] {
  return range(firstSeq, lastSeq);
}

/** Options for a search that must be complete; other cases test the time limit. */
export const PATIENT = { budgetMs: 15_000 } as const;

/** Both ends are included. */
export function range(first: number, last: number): number[] {
  return Array.from({ length: Math.max(0, last - first + 1) }, (_, i) => first + i);
}

/** Waits for a condition that becomes true soon but not at once, such as an index or a signal from another thread. */
export async function until(condition: () => boolean | Promise<boolean>, what: string): Promise<void> {
  const deadline = performance.now() + patienceMs();
  while (!(await condition())) {
    if (performance.now() > deadline) assert.fail(`waited in vain for ${what}`);
    await delay(POLL_MS);
  }
}

/** Marks work that is awaited later: if the case fails before that, its rejection is not reported. */
export function meanwhile<T>(work: Promise<T>): Promise<T> {
  work.catch(() => undefined);
  return work;
}

/** Fails the case if the store never answers, instead of hanging the run. */
export async function within<T>(work: PromiseLike<T>, what: string): Promise<T> {
  const timer = new AbortController();
  const late = meanwhile(
    delay(patienceMs(), undefined, { signal: timer.signal }).then(() =>
      assert.fail(`waited in vain for ${what}`),
    ),
  );
  try {
    return await Promise.race([work, late]);
  } finally {
    timer.abort();
  }
}
