import { createClient } from 'reprise/client';
import { expect, test } from 'vitest';
import { HistoryWindow } from '../../web/src/conversation/history.ts';
import { scripted } from '../support/engine/engine.ts';
import { gate, type OpenedServer, openServer, TOKEN } from '../support/server/server.ts';

const said = (text: string) => ({ type: 'message', message: { role: 'user', content: text } });
const many = (count: number) => Array.from({ length: count }, (_, i) => said(`word ${i}`));
const summary = (firstKeptEntryId: string) => ({
  type: 'compaction',
  summary: 'in short',
  firstKeptEntryId,
  tokensBefore: 100,
});

/** Answers with their ids. */
async function add(
  { reprise: { store } }: OpenedServer,
  entries: readonly object[],
): Promise<(string | undefined)[]> {
  const { firstSeq } = await store.append('s', entries as never);
  const page = await store.read('s', { from: firstSeq, limit: entries.length });
  return page.entries.map(({ entry }) => entry.id);
}

function windowOn(at: OpenedServer, fetch: typeof globalThis.fetch = globalThis.fetch): HistoryWindow {
  const client = createClient({ url: at.url, token: TOKEN, fetch });
  return new HistoryWindow(() => client.session('s'), new AbortController().signal);
}

test('scrolling down past an old summary continues from the same place, to the last message', async () => {
  await using at = await openServer(scripted([]));
  await at.reprise.store.create({ id: 's', key: 'agent:main:session:s' });
  const ids = await add(at, many(200));
  await add(at, [summary(ids[150] ?? '')]);
  await add(at, many(300));
  const history = windowOn(at);
  expect(await history.loadAround(ids[20] ?? '')).toBe(true);
  const [first] = history.rows.value;
  for (let i = 0; i < 10 && history.hasNewer.value; i++) await history.loadNewer();
  const seqs = history.rows.value.map(({ seq }) => seq);
  expect(history.rows.value[0]).toBe(first);
  expect(seqs).toEqual(seqs.map((_, i) => (seqs[0] ?? 0) + i));
  expect(history.rows.value.at(-1)?.text).toBe('word 299');
});

test('a new summary covers what was loaded before it, without moving the reader', async () => {
  await using at = await openServer(scripted([]));
  await at.reprise.store.create({ id: 's', key: 'agent:main:session:s' });
  const ids = await add(at, many(200));
  const history = windowOn(at);
  await history.loadAround(ids[120] ?? '');
  expect(history.rows.value.some(({ compacted }) => compacted)).toBe(false);
  await add(at, [summary(ids[190] ?? '')]);
  await add(at, many(300));
  const isShown = (): boolean => history.rows.value.some(({ role }) => role === 'compaction');
  for (let i = 0; i < 10 && !isShown(); i++) await history.loadNewer();
  expect(isShown()).toBe(true);
  const covered = history.rows.value.filter(({ seq, role }) => role === 'user' && seq <= 190);
  expect(covered.length).toBeGreaterThan(0);
  expect(covered.every(({ compacted }) => compacted)).toBe(true);
  expect(history.hasNewer.value).toBe(true);
});

test('a user who goes to another place while updates are loaded stays there', async () => {
  await using at = await openServer(scripted([]));
  await at.reprise.store.create({ id: 's', key: 'agent:main:session:s' });
  const ids = await add(at, many(300));
  const [asked, late] = [gate(), gate()];
  let isHeld = false;
  const history = windowOn(at, async (url, init) => {
    const response = await fetch(url, init);
    if (isHeld && !/after|around/.test(String(url))) {
      asked.open();
      await late.opened;
    }
    return response;
  });
  await history.loadLatest();
  isHeld = true;
  // The user was on another branch and came back: everything is loaded again.
  const [leaf] = await add(at, [said('elsewhere')]);
  const session = await at.reprise.session({ id: 's' });
  await session.branch(ids[298] ?? '');
  await session.branch(leaf ?? '');
  const news = history.catchUp();
  await asked.opened;
  expect(await history.loadAround(ids[20] ?? '')).toBe(true);
  late.open();
  await news;
  expect(history.rows.value.map(({ id }) => id)).toContain(ids[20]);
  expect(history.hasNewer.value).toBe(true);
});

test('a message that replaces an old one takes nothing from a user who has gone to another place', async () => {
  await using at = await openServer(scripted([]));
  await at.reprise.store.create({ id: 's', key: 'agent:main:session:s' });
  const ids = await add(at, many(300));
  const history = windowOn(at);
  await history.loadAround(ids[20] ?? '');
  const { value: before } = history.rows;
  await history.cutBefore(ids[290] ?? '');
  expect(history.rows.value).toBe(before);
  expect(history.hasNewer.value).toBe(true);
});

test('a message that replaces one far above, or one that is shown already, leaves what stands before it', async () => {
  await using at = await openServer(scripted([]));
  await at.reprise.store.create({ id: 's', key: 'agent:main:session:s' });
  const ids = await add(at, many(300));
  const history = windowOn(at);
  await history.loadLatest();
  await (await at.reprise.session({ id: 's' })).branch(ids[19] ?? '');
  await add(at, [said('in other words')]);
  const shown = (): string[] => history.rows.value.map(({ text }) => text).filter((text) => /w/.test(text));
  for (const _ of ['far above', 'shown already']) {
    await history.cutBefore(ids[20] ?? '');
    expect(shown()).toEqual(many(20).map(({ message }) => message.content));
    expect(history.hasNewer.value).toBe(false);
    await history.loadLatest();
  }
});

test.each(['loadNewer', 'loadOlder'] as const)(
  'a user who scrolls on after the branch was left meanwhile sees the current branch (%s)',
  async (scroll) => {
    await using at = await openServer(scripted([]));
    await at.reprise.store.create({ id: 's', key: 'agent:main:session:s' });
    const ids = await add(at, many(300));
    const history = windowOn(at);
    await history.loadAround(ids[180] ?? '');
    await (await at.reprise.session({ id: 's' })).branch(ids[19] ?? '');
    await add(at, [said('in other words')]);
    await history[scroll]();
    expect(history.rows.value.findLast(({ role }) => role === 'user')?.text).toBe('in other words');
    expect(history.hasNewer.value).toBe(false);
  },
);
