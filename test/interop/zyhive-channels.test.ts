import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterEach, expect, test } from 'vitest';
import type { InboundMessage } from '../../src/engine/intake/inbound.ts';
import type { Store } from '../../src/index.ts';
import { openChannels } from '../support/engine/channels.ts';
import { scripted } from '../support/engine/engine.ts';
import {
  everySession,
  freshFolder,
  freshStore,
  importFrom,
  writeLayout,
} from '../support/store/interop-home.ts';
import { writeIndex, writeLines } from '../support/store/source-homes.ts';

/** As ZyHive 0.9 writes them: times without a fraction, the channel in the id, the sender as one text. */
function home(root = freshFolder()): string {
  const agent = join(root, 'agents', 'xiuliu');
  const line = (channelType: string, chat: string, second: number, rest: object): object => ({
    ts: `2026-03-01T09:00:0${second}Z`,
    ...rest,
    channelId: `${channelType}-${chat}`,
    channelType,
  });
  const log = (name: string, ...lines: readonly object[]): void => {
    writeLines(join(agent, 'convlogs', `${name}.jsonl`), ...lines);
  };
  const group = (second: number, rest: object): object => line('telegram', '-100123', second, rest);
  log(
    'telegram--100123',
    group(1, { role: 'user', content: 'hello', sender: '小明 (B) (77)' }),
    group(2, { role: 'assistant', content: 'hi' }),
    group(3, { role: 'user', content: 'no first name', sender: ' (78)' }),
  );
  log('telegram-42', line('telegram', '42', 1, { role: 'user', content: 'alone', sender: 'Ann (42)' }));
  log('web-shop', line('web', 'shop', 1, { role: 'user', content: 'visitor', sender: 'tok-1_x' }));
  const sessions: Record<string, object> = {};
  for (const id of ['telegram--100123', 'telegram-42', 'ses-1708300000000']) {
    writeLines(
      join(agent, 'sessions', `${id}.jsonl`),
      { type: 'session', version: 3, agentId: 'xiuliu', createdAt: 1_772_355_600_000 },
      { type: 'message', message: { role: 'user', content: `said in ${id}` }, timestamp: 1_772_355_601_000 },
      {
        ...{ type: 'message', message: { role: 'assistant', content: [{ type: 'text', text: 'yes' }] } },
        timestamp: 1_772_355_602_000,
      },
    );
    const facts = { messageCount: 2, createdAt: 1_772_355_600_000, lastAt: 1_772_355_602_000 };
    sessions[id] = { id, agentId: 'xiuliu', filePath: `${id}.jsonl`, title: id, ...facts, tokenEstimate: 9 };
  }
  writeIndex(join(agent, 'sessions', 'sessions.json'), { sessions });
  return root;
}

const GROUP = { agentId: 'xiuliu', channelType: 'telegram', channelId: '-100123' };

async function linesOf(store: Store, chat = GROUP) {
  return (await store.convlog.read(chat)).lines.map(({ ts, role, content, sender }) => ({
    ...{ ts, role, content },
    ...(sender !== undefined && { sender }),
  }));
}

/** Closed at the end: an engine closes its store. */
const engines: AsyncDisposable[] = [];
afterEach(async () => {
  for (const engine of engines.splice(0)) await engine[Symbol.asyncDispose]();
});

/** The next message of a chat, and what the model then sees. */
async function next(store: Store, message: Pick<InboundMessage, 'peer' | 'peerKind'>) {
  const at = await openChannels(scripted(['an answer']), { store });
  engines.push(at);
  const { sessionId } = await at.reprise.receive({
    ...{ agentId: 'xiuliu', channel: 'telegram', text: 'again', mentioned: true, ...message },
    sender: { id: '77', name: '小明 (B)' },
  });
  await at.reprise.idle();
  return { sessionId, request: JSON.stringify(at.model.requests.at(-1)?.messages ?? []) };
}

test('a channel log of ZyHive keeps its senders, whose name and id are one text there', async () => {
  const store = await freshStore();
  const report = await importFrom(store, home());
  expect(report.problems).toEqual([]);
  expect(await linesOf(store)).toEqual([
    {
      ...{ ts: '2026-03-01T09:00:01.000Z', role: 'user', content: 'hello' },
      sender: { id: '77', name: '小明 (B)' },
    },
    { ts: '2026-03-01T09:00:02.000Z', role: 'assistant', content: 'hi' },
    {
      ...{ ts: '2026-03-01T09:00:03.000Z', role: 'user', content: 'no first name' },
      sender: { id: '78' },
    },
  ]);
  const web = { agentId: 'xiuliu', channelType: 'web', channelId: 'shop' };
  expect(await linesOf(store, web)).toMatchObject([{ content: 'visitor', sender: { id: 'tok-1_x' } }]);
  const { chats } = await store.convlog.list({ member: '小明 (b)' });
  expect(chats).toMatchObject([GROUP]);
});

test.each([
  ['telegram--100123', { peer: '-100123', peerKind: 'group' }],
  ['telegram-42', { peer: '42' }],
] as const)(
  'the next message of the chat %s extends its channel log and its session',
  async (id, message) => {
    const store = await freshStore();
    await importFrom(store, home());
    const chats = async () => (await store.convlog.list()).chats.map(({ channelId }) => channelId).sort();
    const before = await chats();
    const sessions = (await everySession(store)).length;
    const { sessionId, request } = await next(store, message);
    expect(sessionId).toBe(id);
    expect(request).toContain(`said in ${id}`);
    expect(await chats()).toEqual(before);
    const lines = await linesOf(store, { ...GROUP, channelId: message.peer });
    expect(lines.slice(-2).map(({ content }) => content)).toEqual(['again', 'an answer']);
    expect((await everySession(store)).length).toBe(sessions);
  },
);

test('a second import of the same channel logs adds nothing', async () => {
  const store = await freshStore();
  const folder = home();
  expect((await importFrom(store, folder)).convlogLines).toBe(5);
  const again = await importFrom(store, folder);
  expect(again.convlogLines).toBe(0);
  expect(again.sessions.map(({ action }) => action)).toEqual(['unchanged', 'unchanged', 'unchanged']);
});

test('an export gives ZyHive its channel ids, senders and the session of a chat, and comes back the same', async () => {
  const store = await freshStore();
  await importFrom(store, home());
  await next(store, { peer: '-100123', peerKind: 'group' });
  // A session that started here, and one that a reset replaced.
  const key = 'agent:xiuliu:telegram:direct:43';
  await store.create({ id: 'started-here', key });
  await store.append('started-here', [{ type: 'message', message: { role: 'user', content: 'mine' } }]);
  await store.activate(key, 'started-here');
  await store.create({ id: 'ses-2', key: 'agent:xiuliu:telegram:direct:42' });
  await store.append('ses-2', [{ type: 'message', message: { role: 'user', content: 'after a reset' } }]);
  await store.activate('agent:xiuliu:telegram:direct:42', 'ses-2');

  const out = await writeLayout(store, 'zyhive');
  const agent = join(out, 'agents', 'xiuliu');
  expect(readdirSync(join(agent, 'convlogs')).sort()).toEqual([
    'telegram--100123.jsonl',
    'telegram-42.jsonl',
    'web-shop.jsonl',
  ]);
  const [first, second] = readFileSync(join(agent, 'convlogs', 'telegram--100123.jsonl'), 'utf8').split('\n');
  expect(JSON.parse(first ?? '')).toEqual({
    ...{ ts: '2026-03-01T09:00:01.000Z', role: 'user', content: 'hello' },
    ...{ channelId: 'telegram--100123', channelType: 'telegram', sender: '小明 (B) (77)' },
  });
  expect(JSON.parse(second ?? '')).not.toHaveProperty('sender');
  const { sessions } = JSON.parse(readFileSync(join(agent, 'sessions', 'sessions.json'), 'utf8')) as {
    sessions: Record<string, { id: string; filePath: string }>;
  };
  expect(Object.keys(sessions).sort()).toEqual([
    'ses-1708300000000',
    'telegram--100123',
    'telegram-42',
    'telegram-42-inactive',
    'telegram-43',
  ]);
  expect(sessions['telegram-43']).toMatchObject({ id: 'telegram-43', filePath: 'telegram-43.jsonl' });
  expect(readFileSync(join(agent, 'sessions', 'telegram-42.jsonl'), 'utf8')).toContain('after a reset');

  const copy = await freshStore();
  await importFrom(copy, out);
  expect((await everySession(copy)).map(({ id, sessionKey }) => [id, sessionKey]).sort()).toEqual(
    (await everySession(store)).map(({ id, sessionKey }) => [id, sessionKey]).sort(),
  );
  for (const channelId of ['-100123', '42'])
    expect(await linesOf(copy, { ...GROUP, channelId })).toEqual(
      await linesOf(store, { ...GROUP, channelId }),
    );
  expect((await next(copy, { peer: '43' })).sessionId).toBe('started-here');
});
