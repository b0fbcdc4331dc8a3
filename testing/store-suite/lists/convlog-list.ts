import assert from 'node:assert/strict';
import type {
  ConvlogChat,
  ConvlogChatRef,
  ConvlogLine,
  ConvlogQuery,
} from '../../../src/store/port/convlog.ts';
import type { Store } from '../../../src/store/port/store.ts';
import { beforeAndAfter, range, refused } from '../kit.ts';
import type { StoreCase } from '../store-case.ts';
import { ANN, BOB, CHAT, readAll } from './convlog.ts';

export const convlogListCases: readonly StoreCase[] = [
  {
    name: 'chats are listed with their details, the most recently used first',
    promise: 'P9: recent items come first',
    area: 'convlog',
    async run(t) {
      const at = (second: number): string => new Date(Date.UTC(2025, 0, 1, 0, 0, second)).toISOString();
      const web: ConvlogChatRef = { agentId: 'other', channelType: 'web', channelId: 'lobby' };
      await t.store.convlog.append([
        { ...CHAT, role: 'user', content: 'first', sender: ANN, ts: at(1) },
        { ...web, role: 'user', content: 'hello', sender: BOB, ts: at(2) },
        { ...CHAT, role: 'assistant', content: 'y'.repeat(5000), ts: at(3) },
        { ...CHAT, role: 'user', content: 'came late', sender: { id: 'u1', name: 'Anna' }, ts: at(0) },
      ]);
      for await (const store of beforeAndAfter(t)) {
        const { chats } = await store.convlog.list();
        const members = [{ id: 'u1', name: 'Anna' }];
        const times = { firstAt: at(0), lastAt: at(3) };
        assert.deepEqual(chats[0], { ...CHAT, messages: 3, ...times, lastText: 'y'.repeat(200), members });
        assert.deepEqual(chats[1], {
          ...web,
          messages: 1,
          firstAt: at(2),
          lastAt: at(2),
          lastText: 'hello',
          members: [BOB],
        });
      }
    },
  },
  {
    name: 'the pages of a chat list contain every chat once, in either order',
    promise: 'P9: everything is visible',
    area: 'convlog',
    async run({ store }) {
      // Several chats have the same time, and many the same count.
      const lines = range(1, 40).flatMap((i) => {
        const ts = new Date(Date.UTC(2025, 0, 1, 0, 0, i % 13)).toISOString();
        const line: ConvlogLine = { ...CHAT, channelId: `c${i}`, role: 'user', content: `message ${i}`, ts };
        return range(0, i % 3).map(() => line);
      });
      await store.convlog.append(lines);
      const ids = range(1, 40)
        .map((i) => `c${i}`)
        .sort();
      for (const sort of ['time', 'messages'] as const) {
        for (const limit of [1, 7, 40, 100]) {
          const chats = await listAll(store, { sort, limit });
          assert.deepEqual(chats.map(({ channelId }) => channelId).sort(), ids, `${sort}, pages of ${limit}`);
          const values = chats.map(({ lastAt, messages }) => (sort === 'time' ? lastAt : messages));
          assert.ok(
            values.every((value, i) => i === 0 || value <= (values[i - 1] ?? '')),
            `${sort} goes down`,
          );
        }
      }
      await refused(store.convlog.list({ cursor: 'from nowhere' }), 'INVALID_INPUT');
      for (const place of [
        ['time', '\u0000', 1],
        ['time', '2026', 1, 1, 0.5],
      ]) {
        const cursor = Buffer.from(JSON.stringify(place)).toString('base64url');
        await refused(store.convlog.list({ cursor }), 'INVALID_INPUT');
      }
    },
  },
  {
    name: 'chats can be filtered by agent, channel, member and text',
    promise: 'P9: users find what they look for',
    area: 'convlog',
    async run({ store }) {
      const chat = (agentId: string, channelType: string, channelId: string) => ({
        agentId,
        channelType,
        channelId,
      });
      await store.convlog.append([
        { ...chat('main', 'telegram', 'a'), role: 'user', content: 'Kraków', sender: ANN },
        { ...chat('main', 'telegram', 'b'), role: 'user', content: 'nothing', sender: BOB },
        { ...chat('main', 'web', 'c'), role: 'user', content: 'to krak', sender: ANN },
        { ...chat('other', 'telegram', 'd'), role: 'assistant', content: 'KRAKÓW again' },
        { ...chat('main', 'telegram', 'a'), role: 'assistant', content: 'and no more' },
      ]);
      const cases: readonly (readonly [ConvlogQuery, string])[] = [
        [{ agentId: 'main' }, 'abc'],
        [{ agentId: 'other' }, 'd'],
        [{ channelType: 'telegram' }, 'abd'],
        [{ channelType: 'TeleGram' }, 'abd'],
        [{ channelType: 'telegram', agentId: 'main' }, 'ab'],
        [{ channelType: 'Telegram', agentId: 'main', sort: 'messages' }, 'ab'],
        [{ member: 'u1' }, 'ac'],
        [{ member: 'bob' }, 'b'],
        [{ member: 'u1', channelType: 'web' }, 'c'],
        [{ text: 'kraków' }, 'ad'],
        [{ text: 'KRAK' }, 'acd'],
        [{ text: 'krak', member: 'Ann' }, 'ac'],
        [{ text: 'krak', agentId: 'other', sort: 'messages' }, 'd'],
        [{ agentId: 'nobody' }, ''],
      ];
      for (const [query, expected] of cases) {
        const found = await listAll(store, { ...query, limit: 1 });
        assert.equal(
          found
            .map(({ channelId }) => channelId)
            .sort()
            .join(''),
          expected,
          JSON.stringify(query),
        );
      }
    },
  },
  {
    name: 'every page reports the number of matching chats, whatever its size',
    promise: 'P9: users see how many there are',
    area: 'convlog',
    async run({ store }) {
      assert.equal((await store.convlog.list({ withTotal: true })).total, 0);
      const lines = range(1, 12).map((i): ConvlogLine => {
        const names = {
          agentId: i % 3 === 0 ? 'other' : 'main',
          channelType: 'telegram',
          channelId: `c${i}`,
        };
        return { ...names, role: 'user', content: 'hello', sender: i % 2 === 0 ? ANN : BOB };
      });
      await store.convlog.append(lines);
      const cases: readonly (readonly [ConvlogQuery, number])[] = [
        [{}, 12],
        [{ sort: 'messages' }, 12],
        [{ agentId: 'other' }, 4],
        [{ agentId: 'other', sort: 'messages' }, 4],
        [{ member: 'u1' }, 6],
        [{ member: 'u1', agentId: 'main', channelType: 'TELEGRAM' }, 4],
        [{ channelType: 'web' }, 0],
      ];
      for (const [query, expected] of cases) {
        const first = await store.convlog.list({ ...query, limit: 2, withTotal: true });
        assert.equal(first.total, expected, JSON.stringify(query));
        if (first.cursor === null) continue;
        const next = await store.convlog.list({ ...query, limit: 1, cursor: first.cursor, withTotal: true });
        assert.equal(next.total, expected, JSON.stringify(query));
      }
      await refused(store.convlog.list({ text: 'hello', withTotal: true }), 'INVALID_INPUT');
    },
  },
  {
    name: 'chats with similar ids are different chats',
    promise: 'P8: an id is never mistaken for another',
    area: 'convlog',
    async run({ store, reopen }) {
      const ids = [
        '..',
        '.',
        '../../../src',
        'a/b',
        'a%2Fb',
        'a\\b',
        '\0',
        '\ud800',
        '\udfff',
        '\u202eabc',
        'Chat',
        'chat',
        '~',
        '%7E',
      ];
      ids.push(
        'x'.repeat(300),
        `${'x'.repeat(299)}y`,
        '世'.repeat(300),
        'e\u0301',
        '\u00e9',
        'CON',
        'a:b',
        ' ',
        'a\nb',
        '.jsonl',
      );
      await store.convlog.append(
        ids.map((channelId) => ({ ...CHAT, channelId, role: 'user', content: `in ${channelId}` })),
      );
      await store.convlog.append(
        ids.map((channelType) => ({ ...CHAT, channelType, role: 'user', content: `on ${channelType}` })),
      );
      const again = await reopen();
      for (const id of ids) {
        const texts = async (ref: ConvlogChatRef): Promise<string[]> =>
          (await readAll(again, ref)).map(({ content }) => content);
        assert.deepEqual(await texts({ ...CHAT, channelId: id }), [`in ${id}`]);
        assert.deepEqual(await texts({ ...CHAT, channelType: id }), [`on ${id}`]);
      }
      assert.equal((await listAll(again, { limit: 5 })).length, 2 * ids.length);
    },
  },
];

async function listAll(store: Store, query: ConvlogQuery): Promise<ConvlogChat[]> {
  const all: ConvlogChat[] = [];
  for (let cursor: string | null | undefined; cursor !== null; ) {
    const page = await store.convlog.list({ ...query, ...(cursor !== undefined && { cursor }) });
    all.push(...page.chats);
    cursor = page.cursor;
  }
  return all;
}
