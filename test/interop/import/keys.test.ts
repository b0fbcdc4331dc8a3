import { join } from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import { expect, test } from 'vitest';
import { lastOwn } from '../../../src/cli/repl/choose-session.ts';
import { resolveRef } from '../../../src/engine/admin/ref.ts';
import type { InboundMessage } from '../../../src/engine/intake/inbound.ts';
import { keyOfRoute } from '../../../src/engine/intake/route.ts';
import type { SessionOptions } from '../../../src/engine/session-options.ts';
import type { Store } from '../../../src/index.ts';
import { classicKey, zeroclawKey } from '../../../src/interop/export/original-key.ts';
import type { ImportOptions } from '../../../src/interop/import/run-import.ts';
import { agentOfKey } from '../../../src/keys/session-key.ts';
import { openChannels } from '../../support/engine/channels.ts';
import { scripted } from '../../support/engine/engine.ts';
import {
  everySession,
  freshFolder,
  freshStore,
  importFrom,
  writeLayout,
} from '../../support/store/interop-home.ts';
import {
  classicHome,
  DAYS,
  openClawHome,
  type ZeroclawSession,
  zeroclawHome,
} from '../../support/store/source-homes.ts';

async function imported(sessions: readonly ZeroclawSession[], options: ImportOptions = {}) {
  const store = await freshStore();
  const report = await importFrom(store, zeroclawHome(freshFolder(), sessions), options);
  return { store, report };
}

/** Which session the next message of a sender is stored in, and what the model then sees. */
async function next(store: Store, message: Partial<InboundMessage>, session: SessionOptions = {}) {
  await using at = await openChannels(scripted(['an answer']), { store, session });
  const sender = { id: message.peer ?? 'me' };
  const { sessionId } = await at.reprise.receive({ channel: 'telegram', text: 'again', sender, ...message });
  await at.reprise.idle();
  const request = JSON.stringify(at.model.requests.at(-1)?.messages ?? []);
  return { sessionId, request, sessions: (await everySession(store)).length };
}

const CONVERSATIONS: readonly (readonly [string, Partial<InboundMessage>])[] = [
  ['direct:telegram:alice', { channel: 'telegram', peer: 'alice' }],
  ['direct:matrix:@bob:example.org', { channel: 'matrix', peer: '@bob:example.org' }],
  ['group:discord:x', { channel: 'discord', peer: 'x', peerKind: 'group' }],
  ['group:signal:a/b+c=', { channel: 'signal', peer: 'a/b+c=', peerKind: 'group' }],
  ['thread:telegram:-1001:17', { channel: 'telegram', peer: '-1001', peerKind: 'group', thread: '17' }],
  [
    'thread:matrix:!room:example.org:17',
    { channel: 'matrix', peer: '!room:example.org', peerKind: 'group', thread: '17' },
  ],
  ['direct:cli:me', { channel: 'cli', peer: 'me' }],
];

test.each(CONVERSATIONS)(
  'the next message of a conversation that ZeroClaw calls %s is stored in the imported session',
  async (key, message) => {
    const { store, report } = await imported([{ id: 'theirs', key }]);
    expect(report.sessions[0]?.notes).toEqual([]);
    const { sessionId, request, sessions } = await next(store, { ...message, mentioned: true });
    expect(sessionId).toBe('theirs');
    expect(request).toContain('question of theirs');
    expect(sessions).toBe(1);
  },
);

test('keys of ZeroClaw follow the routing rules of the configuration', async () => {
  const session: SessionOptions = {
    dmScope: 'per-peer',
    identityLinks: { alice: ['telegram:4711', 'discord:alice'] },
    bindings: [{ agentId: 'support', match: { channel: 'slack' } }],
  };
  const agents = { support: {} };
  const { store } = await imported(
    [
      { id: 'linked', key: 'direct:telegram:4711' },
      { id: 'bound', key: 'group:slack:C1' },
    ],
    { keyOf: (from) => keyOfRoute(from, { session, agents }) },
  );
  expect((await store.get('bound')).agentId).toBe('support');
  expect((await next(store, { channel: 'discord', peer: 'alice' }, session)).sessionId).toBe('linked');
});

test('a key that cannot be translated is reported, and its session and all others are imported', async () => {
  const { store, report } = await imported([
    { id: 'a', key: 'thread:telegram:17' },
    { id: 'b', key: 'direct:telegram' },
    { id: 'c', key: 'group::x' },
    { id: 'd', key: 'direct:telegram:dan' },
    { id: 'e', key: '' },
  ]);
  const notes = new Map(report.sessions.map((plan) => [plan.id, plan.notes.join()]));
  for (const [id, key] of [
    ['a', 'thread:telegram:17'],
    ['b', 'direct:telegram'],
    ['c', 'group::x'],
  ] as const)
    expect(notes.get(id)).toBe(`its key "${key}" is incomplete; it gets a key by its id`);
  for (const id of ['a', 'b', 'c', 'e'])
    expect((await store.get(id)).sessionKey).toBe(`agent:main:session:${id}`);
  expect((await store.get('d')).sessionKey).toBe('agent:main:telegram:direct:dan');
});

test('of several sessions with one key of ZeroClaw, the one in its index gets the next message', async () => {
  const key = 'direct:telegram:alice';
  const { store } = await imported([
    { id: 'old', key, day: DAYS[0], status: 'inactive' },
    { id: 'new', key, day: DAYS[1] },
  ]);
  expect((await store.get('old')).active).toBe(false);
  expect((await next(store, { peer: 'alice' })).sessionId).toBe('new');
});

test('a later version of ZeroClaw has no index: the newest session of a key gets the next message', async () => {
  const key = 'direct:telegram:alice';
  const folder = zeroclawHome(freshFolder(), [
    { id: 'new', key, day: DAYS[1] },
    { id: 'old', key, day: DAYS[0], status: 'inactive' },
  ]);
  const database = new DatabaseSync(join(folder, 'workspace/memory/sessions.db'));
  database.exec('DROP TABLE session_index; ALTER TABLE sessions RENAME COLUMN session_key TO inbound_key');
  database.close();
  const store = await freshStore();
  await importFrom(store, folder);
  expect((await next(store, { peer: 'alice' })).sessionId).toBe('new');
});

test('chats of a terminal become chats of the owner: the newest is the main one, each can be resumed', async () => {
  const store = await freshStore();
  const { sessions } = await importFrom(store, classicHome(freshFolder()));
  const [oldest, , newest] = ['00aa22bb44cc', '10aa22bb44cc', '20aa22bb44cc'];
  expect((await store.active('agent:main:main'))?.id).toBe(newest);
  expect((await lastOwn(store, undefined))?.id).toBe(newest);
  expect((await store.get(oldest ?? '')).sessionKey).toBe(`agent:main:session:${oldest}`);
  expect(sessions.find(({ id }) => id === oldest)?.notes.join()).toContain(
    `agent:main:main has the session ${newest}`,
  );
  expect((await next(store, { channel: 'cli', peer: 'me' })).sessionId).toBe(newest);
});

test('the chat of a terminal is resumed although the owner has a main session that is older', async () => {
  const store = await freshStore();
  await store.create({
    id: 'mine',
    key: 'agent:main:main',
    activate: true,
    createdAt: '2026-01-01T00:00:00.000Z',
  });
  await store.append('mine', [
    { type: 'message', message: { role: 'user', content: 'old' }, copiedAt: '2026-01-01T00:00:00.000Z' },
  ]);
  await importFrom(store, classicHome(freshFolder(), ['user']));
  expect((await store.active('agent:main:main'))?.id).toBe('mine');
  expect((await lastOwn(store, undefined))?.id).toBe('00aa22bb44cc');
});

test('a session is found by the key that it had in the system it comes from, or by its start', async () => {
  const store = await freshStore();
  await importFrom(store, classicHome(freshFolder()));
  await importFrom(store, zeroclawHome(freshFolder(), [{ id: 'z', key: 'direct:telegram:alice' }]));
  expect((await resolveRef(store, 'main:cli:user')).id).toBe('00aa22bb44cc');
  expect((await resolveRef(store, 'main:cli:user_10')).id).toBe('10aa22bb44cc');
  expect((await resolveRef(store, 'direct:telegram:alice')).id).toBe('z');
  await using at = await openChannels(scripted([]), { store, run: false });
  await (await at.reprise.session({ id: 'z' })).fork();
  expect((await resolveRef(store, 'direct:telegram:alice')).id).toBe('z');
});

test('a message of a thread continues the imported forum topic, and other threads get sessions of their own', async () => {
  const store = await freshStore();
  await importFrom(store, openClawHome(freshFolder()));
  await using at = await openChannels(scripted(Array(4).fill('an answer')), { store });
  const group = { channel: 'telegram', peer: '-1001', peerKind: 'group', mentioned: true } as const;
  const say = async (thread: string, text = 'hello'): Promise<string> => {
    const { sessionKey } = await at.reprise.receive({ ...group, thread, text, sender: { id: 'ada' } });
    await at.reprise.idle();
    return sessionKey;
  };
  const topic = 'agent:main:telegram:group:-1001:topic:42';
  expect(await say('42')).toBe(topic);
  expect(JSON.stringify(at.model.requests.at(-1)?.messages)).toContain('the menu');
  expect(await say('43')).toBe('agent:main:telegram:group:-1001:thread:43');
  // A new session of the topic keeps its key.
  expect(await say('42', '/new')).toBe(topic);
  expect((await store.active(topic))?.id).not.toBe('oc-topic');
  expect(await say('42')).toBe(topic);
});

test('a thread that has a session under its own key is not moved to an imported topic', async () => {
  const store = await freshStore();
  const own = 'agent:main:telegram:group:-1001:thread:42';
  const { id } = await store.create({ key: own, activate: true });
  await importFrom(store, openClawHome(freshFolder()));
  const group = { channel: 'telegram', peer: '-1001', peerKind: 'group', mentioned: true } as const;
  expect((await next(store, { ...group, thread: '42' })).sessionId).toBe(id);
});

const EXPORTED: readonly (readonly [string, string | undefined, string, string])[] = [
  ['agent:main:main', undefined, 'main:cli:user', 'agent:main:main'],
  ['agent:main:main', 'main:cli:ada', 'main:cli:ada', 'agent:main:main'],
  ['agent:main:main', 'direct:cli:me', 'main:cli:user', 'direct:cli:me'],
  ['agent:main:session:x', 'main:cli:user_2', 'main:cli:user_2', 'agent:main:session:x'],
  ['agent:main:telegram:direct:ben', undefined, 'main:telegram:ben', 'direct:telegram:ben'],
  ['agent:work:telegram:direct:ben', undefined, 'work:telegram:ben', 'agent:work:telegram:direct:ben'],
  ['agent:main:telegram:a1:direct:ben', undefined, '', ''],
  ['agent:main:direct:ben', undefined, '', ''],
  // By the rules of routing this is the owner, whose key is another one.
  ['agent:main:web:direct:ben', undefined, '', ''],
  ['agent:main:matrix:direct:@bob%3Aexample.org', undefined, '', 'direct:matrix:@bob:example.org'],
  ['agent:main:discord:group:x', undefined, '', 'group:discord:x'],
  ['agent:main:discord:channel:x', undefined, '', ''],
  ['agent:main:telegram:group:-1001:thread:17', undefined, '', 'thread:telegram:-1001:17'],
  ['agent:main:telegram:group:-1001:topic:17', undefined, '', ''],
  ['agent:main:telegram:direct:ben:thread:17', undefined, '', ''],
  ['global', undefined, '', ''],
];

test.each(EXPORTED)(
  'an export calls %s (%s in its source) as claw0 classic and ZeroClaw do',
  (key, sourceKey, classic, zeroclaw) => {
    const document = { agentId: key === 'global' ? 'main' : agentOfKey(key), key, sourceKey };
    expect(classicKey(document)).toBe(classic === '' ? key : classic);
    expect(zeroclawKey(document)).toBe(zeroclaw === '' ? key : zeroclaw);
  },
);

test('two conversations with one key in their source are both in an exported index', async () => {
  for (const layout of ['claw0-classic', 'zeroclaw']) {
    const store = await freshStore();
    const importedFrom = { key: layout === 'zeroclaw' ? 'direct:cli:user' : 'main:cli:user' };
    const keys = ['agent:main:main', 'agent:main:session:b'];
    for (const [i, key] of keys.entries()) {
      await store.create({ id: `${i}`, key, settings: { importedFrom }, activate: true });
      await store.append(`${i}`, [{ type: 'message', message: { role: 'user', content: `text ${i}` } }]);
    }
    const copy = await freshStore();
    const report = await importFrom(copy, await writeLayout(store, layout));
    expect(
      report.sessions.map(({ action }) => action),
      layout,
    ).toEqual(['new', 'new']);
    expect(await copy.active('agent:main:main'), layout).toBeDefined();
  }
});
