import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { COMMANDS } from '../../../src/engine/commands/commands.ts';
import { openReprise, type Reprise } from '../../../src/index.ts';
import { createApp, type RepriseApp } from '../../../src/server/create-app.ts';
import type { JsonObject } from '../../../src/transcript/json.ts';

/** What only B may read, and what only the owner may. */
const SECRET_OF_B = 'zebra-of-bob';
const SECRET_OF_OWNER = 'walrus-of-owner';

interface Operation {
  readonly id: string;
  readonly method: string;
  readonly path: string;
  readonly isOpen: boolean;
}

interface Person {
  readonly sessionId: string;
  readonly inboxId: string;
  readonly entryId: string;
  readonly turnId: string;
}

let reprise: Reprise;
let app: RepriseApp;
let operations: readonly Operation[] = [];
const people: Record<string, Person> = {};
const NOBODY: Person = {
  sessionId: 'no-such-session',
  inboxId: 'no-such-message',
  entryId: 'x',
  turnId: 'x',
};

const CALLERS = {
  owner: 'root owner',
  alice: 'alice user',
  bob: 'bob user',
  reader: 'alice reader',
  unknown: '',
} as const;
type Caller = keyof typeof CALLERS;

async function ask(caller: Caller, method: string, path: string, body?: object, key?: string) {
  const request = new Request(`http://app.example/mounted${path}`, {
    method: method.toUpperCase(),
    headers: {
      'x-caller': CALLERS[caller],
      host: 'app.example',
      ...(body !== undefined && { 'content-type': 'application/json' }),
      ...(key !== undefined && { 'idempotency-key': key }),
    },
    ...(body !== undefined && { body: JSON.stringify(body) }),
  });
  const response = await app(request);
  const { status } = response;
  // Following a session ends only with its client.
  if (status !== 200 || !path.includes('/follow')) return { status, text: await response.text() };
  await response.body?.cancel();
  return { status, text: '' };
}

/** An operation about what this person has: in the path, the query and the body at once. */
function requestAbout(
  { method, path }: Operation,
  about: Person,
): [method: string, path: string, body?: object] {
  const filled = path
    .replace('{agentId}', 'main')
    .replace('{sessionId}', about.sessionId)
    .replace('{inboxId}', about.inboxId)
    .replace('{turnId}', about.turnId)
    .replace('{blob}', 'a'.repeat(64))
    .replace(/\{\w+\}/, 'x');
  const isSession = path.includes('{sessionId}');
  const query = isSession || !/chat\/(stream|status|stop)/.test(path) ? '' : `?sessionId=${about.sessionId}`;
  const search = path === '/api/search' ? `?q=of&limit=50` : query;
  if (method === 'get') return [method, `${filled}${search}`];
  const isChat = path.endsWith('/chat');
  const body = isSession
    ? path.endsWith('/command')
      ? { command: '/context' }
      : path.endsWith('/branch')
        ? { entryId: about.entryId }
        : /pin$/.test(path)
          ? { entryId: about.entryId }
          : {}
    : isChat
      ? { message: 'hello', sessionId: about.sessionId }
      : path.endsWith('/stop')
        ? { sessionId: about.sessionId }
        : { channel: 'telegram', peer: '1', text: 'hi', sessionId: about.sessionId };
  return method === 'delete' ? [method, `${filled}${search}`] : [method, `${filled}${search}`, body];
}

/** The same answer with the id of the request left out: what is left must not say more than that of a missing one. */
function shapeOf(
  { status, text }: { status: number; text: string },
  { sessionId, inboxId, turnId }: Person,
): string {
  const plain = text
    .replaceAll(sessionId, '<id>')
    .replaceAll(inboxId, '<message>')
    .replaceAll(`/${turnId}`, '/<turn>');
  return `${status} ${plain.replace(/"requestId":"[^"]*"/, '')}`;
}

beforeAll(async () => {
  reprise = await openReprise({ store: 'memory', model: 'offline' });
  app = createApp({
    reprise,
    basePath: '/mounted',
    auth: (request) => {
      const [user = '', role = ''] = (request.headers.get('x-caller') ?? '').split(' ');
      return user === '' ? undefined : { user, role: role as 'owner' };
    },
  });
  const texts = { owner: SECRET_OF_OWNER, alice: 'alpaca-of-alice', bob: SECRET_OF_B };
  for (const [name, secret] of Object.entries(texts)) {
    const answer = await ask(
      name as Caller,
      'post',
      '/api/agents/main/chat',
      { message: `my word is ${secret}` },
      'same-key',
    );
    expect(answer.status).toBe(200);
    const ids = /"sessionId":"([^"]+)".*?"inboxId":"([^"]+)"/.exec(answer.text);
    const turnId = /"turnId":"([^"]+)"/.exec(answer.text)?.[1] ?? '';
    const session = await reprise.session({ id: ids?.[1] ?? '' });
    const [first] = await session.messages();
    people[name] = { sessionId: session.id, inboxId: ids?.[2] ?? '', entryId: first?.entryId ?? '', turnId };
  }
  const { text } = await ask('owner', 'get', '/openapi.json');
  const { paths } = JSON.parse(text) as { paths: Record<string, Record<string, JsonObject>> };
  operations = Object.entries(paths).flatMap(([path, methods]) =>
    Object.entries(methods).map(([method, { operationId, security }]) => ({
      ...{ id: String(operationId), method, path },
      isOpen: Array.isArray(security) && security.length === 0,
    })),
  );
});
afterAll(async () => {
  app.close();
  await reprise.close();
});

const of = (name: string): Person => people[name] ?? NOBODY;
const stateOf = async (name: string): Promise<unknown> => {
  const { lastSeq, status, title, settings } = await reprise.store.get(of(name).sessionId);
  return { lastSeq, status, title, settings };
};

describe('I-92 the rights of a caller', () => {
  test('one idempotency key of three callers is three messages in three sessions', async () => {
    const ids = Object.values(people).map(({ sessionId }) => sessionId);
    expect(new Set(ids).size).toBe(3);
    expect((await reprise.store.get(of('alice').sessionId)).owner).toBe('alice');
    expect((await reprise.store.get(of('owner').sessionId)).owner).toBeUndefined();
  });

  test('an unknown caller gets 401 everywhere, whether the path exists or not', async () => {
    for (const operation of operations) {
      const { status, text } = await ask('unknown', ...requestAbout(operation, of('alice')));
      expect([operation.id, status]).toEqual([operation.id, operation.isOpen ? 200 : 401]);
      expect(text).not.toContain('alpaca');
    }
    expect((await ask('unknown', 'get', '/api/no-such')).status).toBe(401);
  });

  test.each(['alice', 'reader'] as const)(
    '%s gets the same answers for sessions of others as for missing ones',
    async (caller) => {
      const before = [await stateOf('bob'), await stateOf('owner')];
      for (const operation of operations) {
        for (const other of ['bob', 'owner']) {
          const answer = await ask(caller, ...requestAbout(operation, of(other)));
          expect(`${operation.id} ${answer.text}`).not.toMatch(/zebra|walrus/);
          const names = /sessionId|inboxId/.test(operation.path) || /chat(\/|$)/.test(operation.path);
          if (!names) continue;
          const missing = await ask(caller, ...requestAbout(operation, NOBODY));
          expect([operation.id, answer.status]).toEqual([operation.id, 404]);
          expect(`${operation.id} ${shapeOf(answer, of(other))}`).toBe(
            `${operation.id} ${shapeOf(missing, NOBODY)}`,
          );
        }
      }
      expect([await stateOf('bob'), await stateOf('owner')]).toEqual(before);
    },
  );

  test('a reader changes nothing of its user: every operation but reads looks as if it did not exist', async () => {
    const before = await stateOf('alice');
    for (const operation of operations) {
      const { status } = await ask('reader', ...requestAbout(operation, of('alice')));
      // MCP reads with POST too; the tools that write are not offered to a reader (test/mcp).
      if (operation.method !== 'get' && operation.id !== 'mcp')
        expect([operation.id, status]).toEqual([operation.id, 404]);
    }
    expect(await stateOf('alice')).toEqual(before);
  });

  test('a reader and a user read what belongs to the user, and the owner reads all', async () => {
    for (const caller of ['reader', 'alice', 'owner'] as const) {
      const { sessionId } = of('alice');
      for (const path of [
        `/api/agents/main/sessions/${sessionId}`,
        `/api/sessions/main/${sessionId}/export`,
        `/api/inbox/${of('alice').inboxId}`,
      ]) {
        const { status, text } = await ask(caller, 'get', path);
        expect([caller, path, status]).toEqual([caller, path, 200]);
        if (!path.includes('inbox')) expect(text).toContain('alpaca-of-alice');
      }
    }
    expect((await ask('owner', 'get', `/api/sessions/main/${of('bob').sessionId}`)).text).toContain(
      SECRET_OF_B,
    );
  });

  test('lists, search and pages name only what the caller may see', async () => {
    const idsIn = async (caller: Caller, path: string): Promise<string[]> => {
      const { status, text } = await ask(caller, 'get', path);
      expect(status).toBe(200);
      const { data } = JSON.parse(text) as { data: { id: string; sessionId?: string }[] };
      return [...new Set(data.map(({ id, sessionId = id }) => sessionId))];
    };
    for (const path of ['/api/sessions', '/api/agents/main/sessions', '/api/search?q=word']) {
      expect(await idsIn('alice', path)).toEqual([of('alice').sessionId]);
      expect(await idsIn('reader', path)).toEqual([of('alice').sessionId]);
      expect((await idsIn('owner', path)).length).toBe(3);
    }
    expect(await idsIn('alice', `/api/search?q=zebra`)).toEqual([]);
    const places = [`after=${of('bob').sessionId}`, `before=${of('owner').sessionId}`];
    for (const place of places) {
      const foreign = await ask('alice', 'get', `/api/sessions?${place}`);
      const missing = await ask('alice', 'get', `/api/sessions?${place.split('=')[0]}=no-such-session`);
      expect(foreign.status).toBe(missing.status);
    }
  });

  test('owner routes look as if they did not exist', async () => {
    for (const path of [
      '/metrics',
      '/readyz',
      '/api/stats',
      '/api/usage',
      '/api/conversations',
      '/api/no-such',
    ])
      for (const caller of ['alice', 'reader'] as const) {
        const { status, text } = await ask(caller, 'get', path);
        expect([path, status]).toEqual([path, 404]);
        expect(text).toContain('request.noRoute');
      }
  });

  test('a user runs the commands of senders, in a message or by the route, and no other', async () => {
    const forbidden = COMMANDS.filter(({ surfaces }) => !surfaces.includes('channel'));
    expect(forbidden.length).toBeGreaterThan(5);
    const { sessionId } = of('alice');
    for (const { name } of forbidden) {
      const path = `/api/agents/main/sessions/${sessionId}/command`;
      const { status, text } = await ask('alice', 'post', path, {
        command: `/${name} ${of('bob').sessionId}`,
        confirm: true,
      });
      expect([name, status >= 400], text).toEqual([name, true]);
      expect(text).not.toMatch(/zebra|walrus/);
      const typed = await ask('alice', 'post', '/api/agents/main/chat', { message: `/${name}`, sessionId });
      expect(typed.text).not.toMatch(/zebra|walrus/);
    }
    expect((await stateOf('bob')) as object).toMatchObject({ status: 'open' });
  });

  test('a user sets no model or prompt, and reaches no session by key or channel', async () => {
    const { sessionId } = of('alice');
    const patch = (body: object) => ask('alice', 'patch', `/api/agents/main/sessions/${sessionId}`, body);
    expect((await patch({ model: 'offline:slow' })).status).toBe(403);
    expect((await patch({ systemPrompt: 'obey' })).status).toBe(403);
    expect((await patch({ title: 'Mine' })).status).toBe(200);
    const key = (await reprise.store.get(of('bob').sessionId)).sessionKey;
    for (const extra of [{ sessionKey: key }, { channel: 'telegram' }]) {
      const answer = await ask('alice', 'post', '/api/agents/main/chat', { message: 'hi', ...extra });
      expect(answer.status).toBe(403);
    }
  });

  test('a fork and a new session of a user belong to the user', async () => {
    const { sessionId } = of('alice');
    const forked = await ask('alice', 'post', `/api/agents/main/sessions/${sessionId}/fork`, {});
    expect(forked.status, forked.text).toBeLessThan(300);
    const id = /"id":"([^"]+)"/.exec(forked.text)?.[1] ?? '';
    expect((await reprise.store.get(id)).owner).toBe('alice');
    expect((await ask('bob', 'get', `/api/agents/main/sessions/${id}`)).status).toBe(404);
  });
});

describe('the function auth', () => {
  const openApp = (auth: unknown): RepriseApp => createApp({ reprise, auth: auth as never });
  const get = (one: RepriseApp) =>
    one(new Request('http://localhost/api/sessions', { headers: { host: 'localhost' } }));

  test.each([
    [
      'throws',
      () => {
        throw new Error('no database');
      },
    ],
    ['rejects', () => Promise.reject(new Error('no database'))],
    ['returns nonsense', () => ({ user: '', role: 'user' })],
    ['returns an unknown role', () => ({ user: 'a', role: 'admin' })],
  ])('that %s lets no request in and is answered with 503', async (_, auth) => {
    const response = await get(openApp(auth));
    expect(response.status).toBe(503);
    expect(await response.text()).toContain('request.authFailed');
  });

  test('that returns undefined means an unknown caller', async () => {
    expect((await get(openApp(() => undefined))).status).toBe(401);
  });
});
