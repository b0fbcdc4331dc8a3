import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, describe, expect, test, vi } from 'vitest';
import { openStore } from '../../src/config/open.ts';
import type { Inbound } from '../../src/store/port/inbox.ts';
import type { Store } from '../../src/store/port/store.ts';
import { startDriver } from '../../testing/crash/driver-process.ts';

const homes: string[] = [];
const newHome = (): string => {
  const home = mkdtempSync(join(tmpdir(), 'reprise-inbox-watch-'));
  homes.push(home);
  return home;
};
afterAll(() => {
  for (const home of homes) rmSync(home, { recursive: true, force: true });
});

const message = (text: string, more: Partial<Inbound> = {}): Inbound => ({
  sessionKey: 'agent:main:main',
  source: 'tg',
  body: { text },
  ...more,
});

/** The sessions of everything a watch reports, from now on. */
function listen(store: Store, signal: AbortSignal): string[] {
  const heard: string[] = [];
  void (async () => {
    for await (const { sessionId } of store.inbox.watch({ signal })) heard.push(sessionId);
  })();
  return heard;
}

const soon = { timeout: 60_000, interval: 5 };

describe.each(['jsonl', 'sqlite'] as const)('watching the inbox of a shared %s store', (kind) => {
  test('what another handle and another process accept and settle is heard', async () => {
    const home = newHome();
    const stop = new AbortController();
    await using ours = await openStore({ kind, home, durability: 'os' });
    await using other = await openStore({ kind, home, durability: 'os' });
    const heard = listen(ours, stop.signal);
    const { inboxId, sessionId } = await other.inbox.receive(message('by another handle'));
    await vi.waitFor(() => expect(heard).toContain(sessionId), soon);
    heard.length = 0;
    await other.inbox.settle(inboxId, 'done');
    await vi.waitFor(() => expect(heard).toContain(sessionId), soon);

    const driver = await startDriver({ store: kind, home });
    const key = 'agent:main:tg:direct:carol';
    const put = await driver.send({ op: 'put', key, body: { text: 'by another process' } });
    await vi.waitFor(() => expect(heard).toContain(put['id']), soon);
    heard.length = 0;
    await driver.send({ op: 'settle', inboxId: put['inboxId'] });
    await vi.waitFor(() => expect(heard).toContain(put['id']), soon);
    expect((await driver.stop()).code).toBe(0);
    stop.abort();
  });

  test('own changes and those of another handle are heard in any order, none is missed', async () => {
    const home = newHome();
    const stop = new AbortController();
    await using ours = await openStore({ kind, home, durability: 'os' });
    await using other = await openStore({ kind, home, durability: 'os' });
    const heard = new Set<string>();
    void (async () => {
      for await (const { inboxId, state } of ours.inbox.watch({ signal: stop.signal }))
        heard.add(`${inboxId} ${state}`);
    })();
    const expected = new Set<string>();
    const change = async (store: Store, n: number): Promise<void> => {
      const { inboxId } = await store.inbox.receive(
        message(`${n}`, { sessionKey: `agent:main:tg:direct:${n}` }),
      );
      expected.add(`${inboxId} accepted`);
      if (n % 3 > 0) return;
      await vi.waitFor(() => expect(heard).toContain(`${inboxId} accepted`), soon);
      await store.inbox.settle(inboxId, 'done');
      expected.add(`${inboxId} done`);
    };
    for (let n = 0; n < 60; n++) await Promise.all([change(ours, 2 * n), change(other, 2 * n + 1)]);
    await vi.waitFor(() => expect([...expected].filter((one) => !heard.has(one))).toEqual([]), soon);
    stop.abort();
  });

  test('a group is not exceeded by two handles that fill it at once, and a session ends once', async () => {
    const home = newHome();
    await using one = await openStore({ kind, home, durability: 'os' });
    await using two = await openStore({ kind, home, durability: 'os' });
    const group = { name: 'g', max: 5 };
    const fill = [one, two].flatMap((store) =>
      Array.from({ length: 10 }, (_, n) => store.inbox.receive(message(`${n}`, { group }))),
    );
    const results = await Promise.allSettled(fill);
    expect(results.filter(({ status }) => status === 'fulfilled')).toHaveLength(5);

    const from = (await one.active('agent:main:main'))?.id ?? '';
    const resets = [one, two].flatMap((store) =>
      Array.from({ length: 5 }, () =>
        store.inbox.receive(message('late', { reset: { reason: 'daily', from } })),
      ),
    );
    const receipts = await Promise.all(resets);
    expect(new Set(receipts.map(({ sessionId }) => sessionId)).size).toBe(1);
    expect(receipts.flatMap(({ created }) => created ?? [])).toEqual([{ replaced: from }]);
  });
});
