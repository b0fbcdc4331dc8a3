import { describe, expect, test } from 'vitest';
import { Reprise } from '../../src/engine/reprise.ts';
import { RepriseError } from '../../src/errors.ts';
import type { Store } from '../../src/index.ts';
import type { ScriptedModel } from '../../src/models/scripted/scripted-model.ts';
import { serve } from '../../src/server/serve.ts';
import { openMemoryStore } from '../../src/store/memory/open.ts';
import { scripted } from '../support/engine/engine.ts';
import { type Answer, ask, TOKEN } from '../support/server/http.ts';

const QUIET = { info: () => undefined, warn: () => undefined, error: () => undefined };
const PATH = '/api/agents/main/sessions/s';

interface Life extends AsyncDisposable {
  readonly reprise: Reprise;
  command(line: string, key: string): Promise<Answer>;
  sayBefore(before: string, message: string, key: string): Promise<Answer>;
}

/** One life of a server on a store that outlives it. */
async function live(store: Store, model: ScriptedModel): Promise<Life> {
  const reprise = new Reprise({ compaction: { background: false }, store, model });
  const served = await serve({ reprise, config: { port: 0, token: TOKEN }, logger: QUIET });
  const port = Number(new URL(served.url).port);
  return {
    reprise,
    command: (command, key) =>
      ask(port, `${PATH}/command`, {
        method: 'POST',
        body: { command },
        headers: { 'Idempotency-Key': key },
      }),
    sayBefore: (before, message, key) =>
      ask(port, '/api/agents/main/chat', {
        method: 'POST',
        body: { message, sessionId: 's', before },
        headers: { 'Idempotency-Key': key },
      }),
    [Symbol.asyncDispose]: async () => {
      await reprise.idle();
      await served.close();
    },
  };
}

async function talked(): Promise<Store> {
  const store = await openMemoryStore({});
  const reprise = new Reprise({ store, model: scripted(['the first answer']) });
  await reprise.receive({ sessionId: 's', channel: 'web', text: 'hello' }, { atOnce: true });
  await reprise.idle();
  return store;
}

/** All messages on all branches, and those of the current branch. */
async function saidIn(store: Store): Promise<{ users: string[]; leaf: string }> {
  const { entries } = await store.read('s', { limit: 1000 });
  const texts = entries.flatMap(({ entry }) => {
    const { message } = entry as { message?: { role: string; content: unknown } };
    return message?.role === 'user' ? [String(message.content)] : [];
  });
  const { leaf } = await store.get('s');
  const last = entries.find(({ entry }) => (entry as { id: string }).id === leaf)?.entry;
  return { users: texts, leaf: JSON.stringify(last) };
}

/** The same store, but the test decides what `append` with a delivered message does. */
function withFault(store: Store, fault: (work: () => Promise<unknown>) => Promise<never>): Store {
  let isDue = true;
  return new Proxy(store, {
    get: (target, name) => {
      const value: unknown = Reflect.get(target, name, target);
      if (typeof value !== 'function') return value;
      if (name !== 'append') return value.bind(target) as unknown;
      return (...args: Parameters<Store['append']>) => {
        if (!isDue || (args[2]?.deliver ?? []).length === 0) return target.append(...args);
        isDue = false;
        return fault(() => target.append(...args));
      };
    },
  });
}

describe.each([
  ['/retry', 'hello'],
  ['/edit good evening', 'good evening'],
])('%s over HTTP', (line, text) => {
  test('whose answer was lost is found by its key in the next life of the server, and runs once', async () => {
    const store = await talked();
    const told: Answer[] = [];
    for (const answers of [['the second answer'], []]) {
      await using server = await live(store, scripted(answers));
      told.push(await server.command(line, 'k1'), await server.command(line, 'k1'));
    }
    const [first, ...others] = told;
    expect(first).toMatchObject({ status: 200, json: { inboxId: expect.any(String) } });
    for (const other of others) expect([other.status, other.json]).toEqual([200, first?.json]);
    const { users, leaf } = await saidIn(store);
    expect(users).toEqual(['hello', text]);
    expect(leaf).toContain('the second answer');
  });

  test('is not done, and the old answer stands, where the store refused it; the same key does it then', async () => {
    const store = await talked();
    const refusing = withFault(store, async () => {
      throw new RepriseError('STORE_FULL', 'no room');
    });
    await using server = await live(refusing, scripted(['the second answer']));
    expect((await server.command(line, 'k1')).status).toBe(507);
    expect(await saidIn(store)).toMatchObject({
      users: ['hello'],
      leaf: expect.stringContaining('the first answer'),
    });
    expect((await server.command(line, 'k1')).status).toBe(200);
    await server.reprise.idle();
    expect((await saidIn(store)).users).toEqual(['hello', text]);
  });

  test('with an unknown outcome is repeated with its key, and was done once', async () => {
    const store = await talked();
    const losing = withFault(store, async (work) => {
      await work();
      throw new RepriseError('STORE_FAILED', 'the answer was lost');
    });
    await using server = await live(losing, scripted(['the second answer']));
    expect(await server.command(line, 'k1')).toMatchObject({ status: 503, json: { outcome: 'unknown' } });
    const again = await server.command(line, 'k1');
    expect(again).toMatchObject({ status: 200, json: { inboxId: expect.any(String) } });
    await server.reprise.idle();
    expect(await server.reprise.inbox(String(again.json['inboxId']))).toMatchObject({
      status: 'done',
      reply: { text: 'the second answer' },
    });
    const { users, leaf } = await saidIn(store);
    expect(users).toEqual(['hello', text]);
    expect(leaf).toContain('the second answer');
  });
});

test('a key that was used for one message is refused for another, also after a restart of the server', async () => {
  const store = await talked();
  {
    await using server = await live(store, scripted(['the second answer']));
    expect((await server.command('/retry', 'k1')).status).toBe(200);
  }
  await using server = await live(store, scripted([]));
  expect(await server.command('/edit other words', 'k1')).toMatchObject({
    status: 422,
    json: { code: 'KEY_REUSED' },
  });
  expect((await saidIn(store)).users).toEqual(['hello', 'hello']);
});

describe('a message that replaces an earlier one', () => {
  async function first(store: Store): Promise<string> {
    const { entries } = await store.read('s', { limit: 1000 });
    const [found] = entries
      .map(({ entry }) => entry as { id: string; message?: { role: string } })
      .filter(({ message }) => message?.role === 'user');
    return found?.id ?? '';
  }

  test('is repeated with its key after a restart of the server, and was stored once', async () => {
    const store = await talked();
    const before = await first(store);
    for (const answers of [['the second answer'], []]) {
      await using server = await live(store, scripted(answers));
      for (let i = 0; i < 2; i++)
        expect((await server.sayBefore(before, 'good evening', 'k1')).text).toContain('the second answer');
    }
    const { users, leaf } = await saidIn(store);
    expect(users).toEqual(['hello', 'good evening']);
    expect(leaf).toContain('the second answer');
    const { entries } = await store.read('s', { limit: 1000 });
    const said = entries.map(
      ({ entry }) => entry as { id: string; parentId: string | null; message?: { role: string } },
    );
    const [old, anew] = said.filter(({ message }) => message?.role === 'user');
    expect(anew?.parentId).toBe(old?.parentId);
  });

  test('is not stored, and nothing has moved, if the store refused it or the message is not of this session', async () => {
    const store = await talked();
    const refusing = withFault(store, async () => {
      throw new RepriseError('STORE_FULL', 'no room');
    });
    await using server = await live(refusing, scripted(['the second answer']));
    const before = await first(store);
    expect((await server.sayBefore(before, 'good evening', 'k1')).status).toBe(507);
    expect((await server.sayBefore('elsewhere', 'good evening', 'k2')).status).toBe(404);
    expect(await saidIn(store)).toMatchObject({
      users: ['hello'],
      leaf: expect.stringContaining('the first answer'),
    });
    expect((await server.sayBefore(before, 'good evening', 'k1')).status).toBe(200);
    await server.reprise.idle();
    expect((await saidIn(store)).users).toEqual(['hello', 'good evening']);
  });
});
