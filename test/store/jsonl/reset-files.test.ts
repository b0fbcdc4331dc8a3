import { appendFileSync, readFileSync, writeFileSync } from 'node:fs';
import { expect, test } from 'vitest';
import type { Inbound } from '../../../src/store/port/inbox.ts';
import { JsonlHome, say } from '../../support/store/jsonl-home.ts';

const KEY = 'agent:main:main';
const reset = (more: Partial<Inbound> = {}): Inbound => ({
  sessionKey: KEY,
  source: 'tg',
  body: { text: 'hi' },
  reset: { reason: 'asked for' },
  ...more,
});
const foreign = {
  type: 'message',
  id: 'f0000001',
  parentId: null,
  timestamp: '2026-01-01T00:00:00.000Z',
  message: { role: 'user', content: 'from outside' },
};

async function openHome(home: JsonlHome): Promise<void> {
  await home.open();
  await home.seed('s1', 'one');
  await home.store.activate(KEY, 's1');
  await home.followed();
}

test('what another tool has added to a session comes before the note that ends it', async () => {
  await using home = new JsonlHome();
  await openHome(home);
  appendFileSync(home.file(), `${JSON.stringify(foreign)}\n`);
  await home.store.inbox.receive(reset());
  const expected = ['one', 'reprise.activate', 'from outside', 'reprise.reset'];
  expect(await home.texts()).toEqual(expected);
  await home.followed();
  const file = readFileSync(home.file(), 'utf8');
  await home.rebuild();
  expect(await home.texts()).toEqual(expected);
  expect(readFileSync(home.file(), 'utf8')).toBe(file);
});

test('a session that cannot be written does not block its key', async () => {
  await using home = new JsonlHome();
  await openHome(home);
  await home.close();
  const before = readFileSync(home.file(), 'utf8');
  // Another tool holds it; nothing is written beside its lock.
  writeFileSync(`${home.file()}.lock`, String(process.pid));
  await home.open();
  const { sessionId, created } = await home.store.inbox.receive(reset());
  expect(created).toEqual({ replaced: 's1' });
  expect((await home.store.active(KEY))?.id).toBe(sessionId);
  expect((await home.store.get(sessionId)).parentId).toBe('s1');
  await home.followed();
  expect(readFileSync(home.file(), 'utf8')).toBe(before);
});

test('of a reset that is refused nothing is left, whatever shares its transaction', async () => {
  await using home = new JsonlHome();
  await openHome(home);
  const settings = { x: 'x'.repeat(17 * 1024 * 1024) };
  const all = await Promise.allSettled([
    home.store.append('s1', [say('two')]),
    home.store.patch('s1', { model: 'm' }),
    home.store.inbox.receive(reset({ create: { id: 'never', settings } })),
    home.store.inbox.receive(reset({ create: { id: 's1' } })),
    home.store.append('s1', [say('three')]),
  ]);
  expect(all.map(({ status }) => status)).toEqual([
    'fulfilled',
    'fulfilled',
    'rejected',
    'rejected',
    'fulfilled',
  ]);
  const expected = ['one', 'reprise.activate', 'two', 'reprise.settings', 'three'];
  expect(await home.texts()).toEqual(expected);
  expect(await home.store.get('s1')).toMatchObject({ settings: { model: 'm' }, lastSeq: 6, active: true });
  await home.followed();
  expect(await home.store.verify()).toEqual({ status: 'clean', findings: [] });
  await home.rebuild();
  expect(await home.texts()).toEqual(expected);
  expect((await home.store.list()).sessions.map(({ id }) => id)).toEqual(['s1']);
});
