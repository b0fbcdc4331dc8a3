import { setImmediate as nextTick } from 'node:timers/promises';
import { expect, test } from 'vitest';
import { RepriseError } from '../../src/errors.ts';
import type { Store } from '../../src/index.ts';
import { openDownload } from '../../src/server/download.ts';
import { openMemoryStore } from '../../src/store/memory/open.ts';
import { startServer } from '../support/server/http.ts';

const PATH = '/api/agents/main/sessions/s/export';
const LINES = 8;

/** Lines of which no two make one part. */
async function longSession(): Promise<Store> {
  const store = await openMemoryStore({});
  await store.create({ id: 's', key: 'agent:main:session:s' });
  for (let i = 0; i < LINES; i++)
    await store.append('s', [
      { type: 'message', message: { role: 'user', content: `${i} `.repeat(500_000) } },
    ]);
  return store;
}

/** The same store; what `exportLines` does is decided by the test. */
function withParts(store: Store, part: (n: number, work: () => Promise<unknown>) => Promise<unknown>): Store {
  let count = 0;
  return new Proxy(store, {
    get: (target, name) => {
      const value: unknown = Reflect.get(target, name, target);
      if (typeof value !== 'function') return value;
      if (name !== 'exportLines') return value.bind(target) as unknown;
      return (...args: Parameters<Store['exportLines']>) => part(++count, () => target.exportLines(...args));
    },
  });
}

test('a download is the transcript byte for byte', async () => {
  const store = await longSession();
  await using server = await startServer({}, { store });
  const { status, headers, text } = await server.ask(PATH);
  expect(status).toBe(200);
  expect(headers['content-disposition']).toBe('attachment; filename="s.jsonl"');
  // Its end says that it is whole.
  expect(headers['transfer-encoding']).toBe('chunked');
  expect(text === Buffer.from(await store.exportSession('s')).toString()).toBe(true);
});

test('no part is read before the one in front of it was taken, and none after the client has disconnected', async () => {
  let read = 0;
  let isOver = false;
  async function* parts(): AsyncGenerator<Uint8Array, void, undefined> {
    try {
      for (;;) yield Buffer.from(`part ${++read}`);
    } finally {
      isOver = true;
    }
  }
  const context = { get: () => 'r1' } as unknown as Parameters<typeof openDownload>[0];
  const logger = { info: () => undefined, warn: () => undefined, error: () => undefined };
  const reader = (await openDownload(context, { logger }, parts())).getReader();
  for (let taken = 1; taken <= 5; taken++) {
    expect(Buffer.from((await reader.read()).value ?? []).toString()).toBe(`part ${taken}`);
    await nextTick();
    expect(read).toBe(taken);
  }
  await reader.cancel();
  expect([read, isOver]).toEqual([5, true]);
});

test('an error in the middle makes no complete file, and an error at once is a problem', async () => {
  let failing = 4;
  const store = withParts(await longSession(), async (n, work) => {
    if (n >= failing) throw new RepriseError('STORE_FAILED', 'the disk said no');
    return work();
  });
  await using server = await startServer({}, { store });
  // Nothing is looked through before.
  await expect(server.ask(`${PATH}?lost=preview`)).rejects.toThrow(/aborted|hang up|ECONNRESET/);
  expect(server.logs).toContainEqual(expect.objectContaining({ message: 'a download broke off' }));
  failing = 0;
  expect(await server.ask(PATH)).toMatchObject({ status: 503, json: { code: 'STORE_FAILED' } });
});

test('of a damaged session every byte is exported', async () => {
  const whole = await longSession();
  const store = withParts(whole, async (_n, work) => ({ ...((await work()) as object), isDamaged: true }));
  await using server = await startServer({}, { store });
  const { status, text } = await server.ask(PATH);
  expect(status).toBe(200);
  expect(text).toBe(Buffer.from(await whole.exportSession('s')).toString());
});
