import { expect, test } from 'vitest';
import { OWN_TYPE } from '../../src/protocol/media-type.ts';
import type { ConvlogLine } from '../../src/store/port/convlog.ts';
import { startServer } from '../support/server/http.ts';

const line = (channelId: string, content: string, rest: Partial<ConvlogLine> = {}): ConvlogLine => ({
  agentId: 'main',
  channelType: 'telegram',
  channelId,
  role: 'user',
  content,
  sender: { id: 'u1', name: 'Ada' },
  ...rest,
});

test('messages of channels can be listed, filtered and read in pages', async () => {
  await using server = await startServer();
  const { convlog } = server.reprise.store;
  const lines = Array.from({ length: 7 }, (_, i) => line('chat/1 ü', `line ${i + 1}`));
  await convlog.append(lines);
  await convlog.append([line('2', 'hello there', { channelType: 'web', sender: { id: 'u2', name: 'Bob' } })]);
  await convlog.append([line('2', 'other agent', { agentId: 'other' })]);

  const all = await server.ask('/api/conversations');
  expect(all.json.data.map(({ agentId, channelType, id }) => [agentId, channelType, id])).toEqual([
    ['other', 'telegram', '2'],
    ['main', 'web', '2'],
    ['main', 'telegram', 'chat/1 ü'],
  ]);
  const page = await server.ask('/api/conversations?limit=2');
  expect(page.json).toMatchObject({ hasMore: true });
  expect((await server.ask(`/api/conversations?limit=2&cursor=${page.json.cursor}`)).json.data).toHaveLength(
    1,
  );
  for (const [query, count] of [
    ['agentId=main', 2],
    ['channelType=web', 1],
    ['channelType=Web', 1],
    ['channelType=TELEGRAM', 2],
    ['q=THERE', 1],
    ['member=ada', 2],
    ['q=nothing', 0],
  ] as const)
    expect((await server.ask(`/api/conversations?${query}`)).json.data, query).toHaveLength(count);
  expect((await server.ask('/api/agents/main/conversations')).json.data).toHaveLength(2);
  expect((await server.ask('/api/conversations?agentId=..')).status).toBe(400);
  expect((await server.ask('/api/conversations?cursor=x')).status).toBe(400);

  const path = `/api/agents/main/conversations/${encodeURIComponent('chat/1 ü')}`;
  const newest = await server.ask(`${path}?limit=3`);
  expect(newest.json.data.map((row) => row['content'])).toEqual(['line 5', 'line 6', 'line 7']);
  expect(newest.json).toMatchObject({
    hasMore: true,
    firstId: '5',
    lastId: '7',
    conversation: { channelType: 'telegram' },
  });
  const older = await server.ask(`${path}?limit=3&before=${newest.json.firstId}`);
  expect(older.json.data.map((row) => row['content'])).toEqual(['line 2', 'line 3', 'line 4']);
  const on = await server.ask(`${path}?limit=3&after=${older.json.lastId}`);
  expect(on.json.data.map((row) => row['content'])).toEqual(['line 5', 'line 6', 'line 7']);
  expect(on.json.hasMore).toBe(false);
  expect((await server.ask(`${path}?before=1`)).json.data).toEqual([]);
  expect((await server.ask(`${path}?q=line%203`)).json.data).toHaveLength(1);
  expect((await server.ask('/api/agents/main/conversations/nobody')).status).toBe(404);
  expect((await server.ask(`${path}?after=1&before=2`)).status).toBe(400);
});

test('the list of chats counts all that match, in one shape under every profile and header', async () => {
  await using server = await startServer({}, { profile: 'zyhive' });
  const { convlog } = server.reprise.store;
  await convlog.append(Array.from({ length: 7 }, (_, i) => line(`c${i}`, 'hello')));
  await convlog.append([line('w', 'hello there', { channelType: 'web' })]);
  for (const headers of [{}, { accept: OWN_TYPE }]) {
    for (const [query, total] of [
      ['', 8],
      ['limit=3', 8],
      ['limit=3&channelType=Telegram', 7],
      ['member=nobody', 0],
      ['q=there', null],
    ] as const) {
      const { json } = await server.ask(`/api/conversations?${query}`, { headers });
      expect(json, query).toMatchObject({ data: expect.any(Array), total });
    }
    const { json } = await server.ask('/api/agents/main/conversations?limit=1', { headers });
    expect(json).toMatchObject({ total: 8, hasMore: true });
  }
});

test('a request for a chat id of two channels must name the channel', async () => {
  await using server = await startServer();
  await server.reprise.store.convlog.append([line('1', 'a'), line('1', 'b', { channelType: 'web' })]);
  const path = '/api/agents/main/conversations/1';
  expect(await server.ask(path)).toMatchObject({ status: 409, json: { code: 'AMBIGUOUS_REF' } });
  expect((await server.ask(`${path}?channelType=web`)).json.data).toMatchObject([{ content: 'b' }]);
  await server.reprise.store.convlog.append([line('1', 'c', { channelType: 'Web' })]);
  expect((await server.ask(`${path}?channelType=Web`)).json.data).toMatchObject([{ content: 'c' }]);
  expect((await server.ask(`${path}?channelType=WEB`)).status).toBe(409);
});
