import { describe, expect, test } from 'vitest';
import { openStore } from '../../../src/config/open.ts';
import { forkThread, MAX_FORK_TOKENS } from '../../../src/engine/intake/thread-fork.ts';
import { parseTranscript, rebuildHistory } from '../../../src/exports/transcript.ts';
import type { Store } from '../../../src/index.ts';

const PARENT = 'agent:main:telegram:group:7';
const THREAD = `${PARENT}:thread:1`;

const user = (content: string): { type: string; [name: string]: unknown } => ({
  type: 'message',
  message: { role: 'user', content },
});
const assistant = (text: string, totalTokens = 10): { type: string; [name: string]: unknown } => ({
  type: 'message',
  message: {
    role: 'assistant',
    content: [{ type: 'text', text }],
    usage: { input: 1, output: 1, cacheRead: 0, cacheWrite: 0, totalTokens },
    stopReason: 'stop',
  },
});

async function parentWith(store: Store, turns: number, totalTokens?: number): Promise<string> {
  const { id } = await store.create({ key: PARENT, activate: true });
  for (let i = 0; i < turns; i++)
    await store.append(id, [user(`question ${i}`), assistant(`answer ${i}`, totalTokens)]);
  return id;
}

async function spoken(store: Store, id: string): Promise<readonly unknown[]> {
  return rebuildHistory(parseTranscript(await store.exportSession(id)).entries, { format: 'anthropic' });
}

describe('a thread that starts with the history of its parent', () => {
  test('contains the parent history word for word, and then develops separately', async () => {
    await using store = await openStore({ kind: 'memory' });
    const parentId = await parentWith(store, 3);
    await store.append(parentId, [user('left'), assistant('left too')]);
    const leaf = (await store.read(parentId, { from: 8, limit: 1 })).entries[0]?.entry;
    await store.append(parentId, [
      { type: 'custom', customType: 'reprise.leaf', parentId: (leaf as { id: string }).id },
    ]);
    const image = { type: 'image', data: Buffer.alloc(90_000, 7).toString('base64'), mimeType: 'image/png' };
    await store.append(parentId, [
      { type: 'message', message: { role: 'user', content: [{ type: 'text', text: 'see' }, image] } },
      assistant('seen'),
    ]);
    const record = await store.create({ key: THREAD, activate: true });
    expect(await forkThread(store, { record, parentKey: PARENT })).toBe('forked');
    expect(await spoken(store, record.id)).toEqual(await spoken(store, parentId));
    expect(JSON.stringify(await spoken(store, record.id))).not.toContain('left too');

    await store.append(record.id, [user('only in the thread')]);
    await store.append(parentId, [user('only in the parent')]);
    expect(await forkThread(store, { record, parentKey: PARENT })).toBe('forked');
    const again = await store.get(record.id);
    expect(await forkThread(store, { record: again, parentKey: PARENT })).toBe('forked');
    expect(again.lastSeq).toBe((await store.get(record.id)).lastSeq);
    expect(JSON.stringify(await spoken(store, record.id))).not.toContain('only in the parent');
  });

  test('is forked once when two first messages race, though the parent changes', async () => {
    await using store = await openStore({ kind: 'memory' });
    const parentId = await parentWith(store, 150);
    const before = await spoken(store, parentId);
    const record = await store.create({ key: THREAD, activate: true });
    const racers = Array.from({ length: 4 }, async (_, i) => {
      if (i === 2) await store.append(parentId, [user('meanwhile')]);
      const outcome = await forkThread(store, { record, parentKey: PARENT });
      await store.patch(record.id, { lastTo: String(i) });
      return outcome;
    });
    expect(new Set(await Promise.all(racers))).toEqual(new Set(['forked']));
    const after = await spoken(store, record.id);
    const withMore = await spoken(store, parentId);
    expect([JSON.stringify(before), JSON.stringify(withMore)]).toContain(JSON.stringify(after));
    expect((await store.get(record.id)).messageCount).toBe(after.length);
  });

  test('a copy interrupted by a crash is finished by the next, with settings set in between', async () => {
    await using store = await openStore({ kind: 'memory' });
    const parentId = await parentWith(store, 160);
    const keep = (await store.read(parentId, { from: 210, limit: 1 })).entries[0]?.entry as { id: string };
    await store.append(parentId, [
      { type: 'compaction', summary: 'so far', firstKeptEntryId: keep.id, tokensBefore: 9 },
      user('and now'),
    ]);
    const record = await store.create({ key: THREAD, activate: true });
    let appends = 0;
    const failing = new Proxy(store, {
      get: (target, name) => {
        if (name === 'append' && ++appends === 4) throw new Error('the process died');
        const value: unknown = Reflect.get(target, name, target);
        return typeof value === 'function' ? value.bind(target) : value;
      },
    });
    await expect(forkThread(failing, { record, parentKey: PARENT })).rejects.toThrow('died');
    await store.patch(record.id, { label: 'set in between' });
    const left = await store.get(record.id);
    expect(left.messageCount).toBeGreaterThan(0);
    expect(await forkThread(store, { record: left, parentKey: PARENT })).toBe('forked');
    expect(await spoken(store, record.id)).toEqual(await spoken(store, parentId));
    expect((await store.get(record.id)).messageCount).toBe((await store.get(parentId)).messageCount);
  });

  test('only the holder of the session may do it', async () => {
    await using store = await openStore({ kind: 'memory' });
    await parentWith(store, 1);
    const record = await store.create({ key: THREAD, activate: true });
    const lease = await store.lease(record.id);
    const { epoch } = lease;
    await expect(forkThread(store, { record, parentKey: PARENT, epoch: epoch - 1 })).rejects.toMatchObject({
      code: 'FENCED',
    });
    expect(await forkThread(store, { record, parentKey: PARENT, epoch })).toBe('forked');
  });

  test('above 100,000 tokens nothing is copied, also later', async () => {
    await using store = await openStore({ kind: 'memory' });
    const parentId = await parentWith(store, 1, MAX_FORK_TOKENS + 1);
    const record = await store.create({ key: THREAD, activate: true });
    expect(await forkThread(store, { record, parentKey: PARENT })).toBe('too-long');
    await store.append(parentId, [assistant('short again', 10)]);
    const later = await store.get(record.id);
    expect(await forkThread(store, { record: later, parentKey: PARENT })).toBe('too-long');
    expect((await store.get(record.id)).messageCount).toBe(0);
  });

  test('is measured also if no provider reported usage', async () => {
    await using store = await openStore({ kind: 'memory' });
    const { id } = await store.create({ key: PARENT, activate: true });
    await store.append(id, [user('plum '.repeat(400))]);
    const record = await store.create({ key: THREAD, activate: true });
    expect(await forkThread(store, { record, parentKey: PARENT, maxTokens: 300 })).toBe('too-long');
  });

  test('nothing happens without a parent, in a thread after a reset, or after its first message', async () => {
    await using store = await openStore({ kind: 'memory' });
    const lonely = await store.create({ key: THREAD, activate: true });
    expect(await forkThread(store, { record: lonely, parentKey: PARENT })).toBe('none');
    await parentWith(store, 1);
    const anew = await store.create({ key: THREAD, parentId: lonely.id });
    expect(await forkThread(store, { record: anew, parentKey: PARENT })).toBe('none');
    await store.append(lonely.id, [user('hello')]);
    // As it was before, and as it is: a stale record must not put a history after the first message.
    expect(await forkThread(store, { record: lonely, parentKey: PARENT })).toBe('none');
    expect(await forkThread(store, { record: await store.get(lonely.id), parentKey: PARENT })).toBe('none');
  });
});
