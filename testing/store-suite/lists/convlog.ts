import assert from 'node:assert/strict';
import type {
  ConvlogChatRef,
  ConvlogLine,
  ConvlogRange,
  StoredConvlogLine,
} from '../../../src/store/port/convlog.ts';
import type { Store } from '../../../src/store/port/store.ts';
import { beforeAndAfter, KEY, range, refused, session, user } from '../kit.ts';
import type { StoreCase } from '../store-case.ts';

export const CHAT: ConvlogChatRef = { agentId: 'main', channelType: 'telegram', channelId: '42' };
export const ANN = { id: 'u1', name: 'Ann' };
export const BOB = { id: 'u2', name: 'Bob' };

export const convlogCases: readonly StoreCase[] = [
  {
    name: 'channel log lines are read back unchanged',
    promise: 'P9: every message is visible',
    area: 'convlog',
    async run(t) {
      const hostile =
        'NUL \0, half \ud800 a pair, \u202eturned round, "quoted"\n and a separate line \u{1f600}';
      const lines: ConvlogLine[] = [
        {
          ...CHAT,
          role: 'user',
          content: hostile,
          sender: ANN,
          ts: '2025-03-01T10:00:00.000Z',
          messageId: 'm\0 1',
        },
        { ...CHAT, role: 'assistant', content: '', ts: '2025-03-01T11:30:00+01:00', sessionId: 's1' },
        { ...CHAT, role: 'system', content: 'x'.repeat(100_000), ts: '2025-03-01T10:31:00Z' },
      ];
      await t.store.convlog.append(lines);
      for await (const store of beforeAndAfter(t)) {
        const read = await readAll(store, CHAT);
        const expected = lines.map((line, i) => ({
          ...line,
          number: i + 1,
          ts: new Date(line.ts ?? '').toISOString(),
        }));
        assert.deepEqual(read, expected);
      }
    },
  },
  {
    name: 'reset, delete and a purge by retention do not change the channel log',
    promise: 'P9: the record of a channel stays',
    area: 'convlog',
    async run({ store, reopen }) {
      const said = (content: string): ConvlogLine => ({ ...CHAT, role: 'user', content });
      const { sessionId } = await store.inbox.receive({
        sessionKey: KEY,
        source: 'tg',
        body: {},
        log: said('one'),
      });
      await store.append(sessionId, [user('two')], { log: [said('two')] });
      const before = await readAll(store, CHAT);
      assert.deepEqual(
        before.map(({ content, sessionId: id }) => [content, id]),
        [
          ['one', sessionId],
          ['two', sessionId],
        ],
      );
      await store.delete(sessionId);
      await store.purge(sessionId, { keepChannelLog: true });
      assert.deepEqual(await readAll(store, CHAT), before);
      assert.deepEqual(await readAll(await reopen(), CHAT), before);
    },
  },
  {
    name: 'a purge removes the lines and messages of its session, and no others',
    promise: 'P3: data that a user purges is gone',
    area: 'convlog',
    async run({ store, reopen }) {
      const said = (content: string, name: string): ConvlogLine => ({
        ...CHAT,
        role: 'user',
        content,
        sender: { id: name, name },
      });
      const kept = await session(store);
      await store.append(kept, [user('a')], { log: [said('one', 'ann')] });
      const inbound = { sessionKey: KEY, source: 'tg', body: { text: 'two' } };
      const { sessionId, inboxId } = await store.inbox.receive({ ...inbound, log: said('two', 'bob') });
      const keyed = { ...inbound, sessionId, idempotencyKey: 'k' };
      await store.inbox.receive(keyed);
      await store.append(kept, [user('b')], { log: [said('three', 'ann')] });
      await store.append(sessionId, [user('c')], { log: [said('four', 'bob')] });
      const numbers = (await readAll(store, CHAT)).map(({ number }) => number);
      await store.delete(sessionId);
      assert.deepEqual(await store.purge(sessionId), { files: [] });
      await refused(store.inbox.get(inboxId), 'NOT_FOUND');
      assert.equal((await store.inbox.receive(keyed)).fresh, false);
      for await (const open of beforeAndAfter({ store, reopen })) {
        const left = await readAll(open, CHAT);
        assert.deepEqual(
          left.map(({ content, number }) => [content, number]),
          [
            ['one', numbers[0]],
            ['three', numbers[2]],
          ],
        );
        const [chat] = (await open.convlog.list()).chats;
        assert.equal(chat?.messages, 2);
        assert.equal(chat.lastText, 'three');
        assert.deepEqual(
          chat.members.map(({ id }) => id),
          ['ann'],
        );
      }
    },
  },
  {
    name: 'a message that is sent twice is logged once',
    promise: 'P2: a retry is written once',
    area: 'convlog',
    async run({ store }) {
      const log: ConvlogLine = { ...CHAT, role: 'user', content: 'once' };
      const inbound = { sessionKey: KEY, source: 'tg', idempotencyKey: 'k', body: { text: 'once' }, log };
      await store.inbox.receive(inbound);
      assert.equal((await store.inbox.receive(inbound)).fresh, false);
      const id = await session(store);
      for (const _ of range(1, 2)) await store.append(id, [user('a')], { key: 'k', log: [log] });
      assert.deepEqual(
        (await readAll(store, CHAT)).map(({ number }) => number),
        [1, 2],
      );
    },
  },
  {
    name: 'a refused message is not logged',
    promise: 'P2: a refusal stores nothing',
    area: 'convlog',
    async run({ store }) {
      const log: ConvlogLine = { ...CHAT, role: 'assistant', content: 'never' };
      const id = await session(store, ['a']);
      await refused(store.append(id, [user('b')], { expectedLeaf: null, log: [log] }), 'LEAF_MOVED');
      await refused(store.append(id, [user('b')], { epoch: 99, log: [log] }), 'FENCED');
      await refused(
        store.inbox.receive({ sessionKey: 'agent:main:other', sessionId: id, source: 'tg', body: {}, log }),
        'INVALID_INPUT',
      );
      await refused(store.convlog.read(CHAT), 'NOT_FOUND');
      assert.deepEqual(await store.convlog.list(), { chats: [], cursor: null, complete: true });
    },
  },
  {
    name: 'an invalid channel log line refuses the whole call',
    promise: 'P2: all or nothing',
    area: 'convlog',
    async run({ store }) {
      const good: ConvlogLine = { ...CHAT, role: 'user', content: 'good' };
      const id = await session(store);
      const bad: readonly object[] = [
        { agentId: '../x' },
        { channelId: '' },
        { channelType: '' },
        { channelId: 'x'.repeat(2000) },
        { role: 'tool' },
        { content: 7 },
        { ts: 'yesterday' },
        { sender: { id: '' } },
      ];
      for (const fields of bad) {
        const line = { ...good, ...fields } as ConvlogLine;
        const codes = ['INVALID_INPUT', 'INVALID_ID'] as const;
        await refused(store.convlog.append([good, line]), codes);
        await refused(store.append(id, [user('x')], { log: [line] }), codes);
        await refused(store.inbox.receive({ sessionKey: KEY, source: 'tg', body: {}, log: line }), codes);
      }
      const huge = { ...good, content: 'x'.repeat(17 * 1024 * 1024) };
      await refused(store.convlog.append([good, huge]), 'LIMIT_EXCEEDED');
      await refused(store.convlog.read(CHAT), 'NOT_FOUND');
      assert.equal((await store.get(id)).messageCount, 0);
      assert.deepEqual(await store.inbox.pending(), []);
    },
  },
  {
    name: 'a channel log is read in pages from both ends, and every line appears once',
    promise: 'P9: every message is visible',
    area: 'convlog',
    async run({ store }) {
      for (const part of [range(1, 50), range(51, 103)])
        await store.convlog.append(part.map((i) => ({ ...CHAT, role: 'user', content: `line ${i}` })));
      for (const limit of [1, 10, 103, 500]) {
        const there = await readAll(store, CHAT, { limit });
        assert.deepEqual(
          there.map(({ content }) => content),
          range(1, 103).map((i) => `line ${i}`),
        );
        const back = await readAll(store, CHAT, { limit, direction: 'backward' });
        assert.deepEqual(back, there.toReversed());
      }
      const middle = await store.convlog.read(CHAT, { from: 50, limit: 2, direction: 'backward' });
      assert.deepEqual(
        middle.lines.map(({ number }) => number),
        [50, 49],
      );
      assert.deepEqual([middle.hasMore, middle.next], [true, 48]);
      const end = await store.convlog.read(CHAT, { from: 102, limit: 2 });
      assert.deepEqual([end.lines.length, end.hasMore, end.next], [2, false, null]);
      await refused(store.convlog.read(CHAT, { limit: 0 }), 'INVALID_INPUT');
    },
  },
  {
    name: 'a channel log can be filtered by words and by sender',
    promise: 'P9: users find what they look for',
    area: 'convlog',
    async run({ store }) {
      await store.convlog.append([
        { ...CHAT, role: 'user', content: 'Wie geht es? ÄRGER', sender: ANN },
        { ...CHAT, role: 'assistant', content: 'gut, danke' },
        { ...CHAT, role: 'user', content: '你好世界 50%_done', sender: BOB },
        { ...CHAT, role: 'user', content: 'ärgerlich', sender: { id: 'u1', name: 'ann' } },
      ]);
      const cases: readonly (readonly [ConvlogRange, readonly number[]])[] = [
        [{ text: 'ärger' }, [1, 4]],
        [{ text: '世界' }, [3]],
        [{ text: '50%_d' }, [3]],
        [{ text: 'nothing' }, []],
        [{ member: 'u1' }, [1, 4]],
        [{ member: 'ANN' }, [1, 4]],
        [{ member: 'Bob' }, [3]],
        [{ member: 'ann', text: 'GEHT' }, [1]],
      ];
      for (const [query, numbers] of cases) {
        const found = await readAll(store, CHAT, { ...query, limit: 1 });
        assert.deepEqual(
          found.map(({ number }) => number),
          numbers,
          JSON.stringify(query),
        );
      }
    },
  },
  {
    name: 'a session search does not search the channel log',
    promise: 'P8: the channel log is for operators',
    area: 'convlog',
    async run({ store }) {
      const id = await session(store, ['a message that any search may find']);
      await store.convlog.append([{ ...CHAT, role: 'user', content: 'a secret word', sessionId: id }]);
      assert.deepEqual((await store.search({ text: 'secret' })).hits, []);
      assert.deepEqual((await store.list({ text: 'secret' })).sessions, []);
      assert.ok(!Buffer.from(await store.exportSession(id)).includes('secret'));
    },
  },
];

/** Every line of a chat, following the `next` of each page. */
export async function readAll(
  store: Store,
  chat: ConvlogChatRef,
  query: ConvlogRange = {},
): Promise<StoredConvlogLine[]> {
  const all: StoredConvlogLine[] = [];
  for (let from: number | null | undefined = query.from; from !== null; ) {
    const page = await store.convlog.read(chat, { ...query, ...(from !== undefined && { from }) });
    assert.ok(page.lines.length <= (query.limit ?? 50), 'a page is not longer than asked for');
    assert.equal(page.hasMore, page.next !== null, 'a page with more lines has a next position');
    all.push(...page.lines);
    from = page.next;
  }
  return all;
}
