import { describe, expect, test, vi } from 'vitest';
import { historyPageSchema } from '../../src/protocol/records.ts';
import { openMemoryStore } from '../../src/store/memory/open.ts';
import { startServer, talk } from '../support/server/http.ts';

const HI = ['one', 'two', 'three', 'four', 'five'];

describe('a history over HTTP', () => {
  test('is the newest page, oldest first, in the documented shape', async () => {
    await using server = await startServer();
    const id = await talk(server.reprise, HI);
    for (const path of [`/api/agents/main/sessions/${id}`, `/api/sessions/main/${id}`]) {
      const { status, json, headers } = await server.ask(path);
      expect(status).toBe(200);
      expect(() => historyPageSchema.parse(json)).not.toThrow();
      expect(json.session).toMatchObject({
        id,
        agentId: 'main',
        sessionKey: 'agent:main:main',
        messageCount: 10,
      });
      expect(json.session).not.toHaveProperty('epoch');
      expect(json.data).toHaveLength(10);
      expect(json.data[0]).toMatchObject({ role: 'user', text: 'one', id: json.firstId });
      expect(json.data.at(-1)).toMatchObject({ role: 'assistant', id: json.lastId });
      expect(json.hasMore).toBe(false);
      expect(headers.etag).toMatch(/^".+"$/);
      const seqs = json.data.map((row) => row['seq'] as number);
      expect([...seqs].sort((a, b) => a - b)).toEqual(seqs);
    }
  });

  test('can be walked in pages both ways without a gap or a repeat', async () => {
    await using server = await startServer();
    const id = await talk(server.reprise, HI);
    const path = `/api/agents/main/sessions/${id}`;
    const all = (await server.ask(path)).json.data.map((row) => row.id);
    const back: string[] = [];
    for (let before = ''; ; ) {
      const { json } = await server.ask(`${path}?limit=3${before}`);
      back.unshift(...json.data.map((row) => row.id));
      if (!json.hasMore) break;
      before = `&before=${json.firstId}`;
    }
    expect(back).toEqual(all);
    const on = [all[0] ?? ''];
    for (let more = true; more; ) {
      const { json } = await server.ask(`${path}?limit=4&after=${on.at(-1)}`);
      on.push(...json.data.map((row) => row.id));
      more = json.hasMore;
    }
    expect(on).toEqual(all);
    expect((await server.ask(`${path}?after=${all.at(-1)}`)).json.data).toEqual([]);
    for (const query of [
      'after=nope',
      'before=nope',
      'limit=0',
      'limit=x',
      'limit=1001',
      'limit=1&limit=2',
      'what=1',
      `after=${all[0]}&before=${all[1]}`,
    ])
      expect((await server.ask(`${path}?${query}`)).status, query).toBe(400);
  });

  test('of a session that was never compacted is read by the page, however much its context holds', async () => {
    await using server = await startServer();
    const id = await talk(server.reprise, HI);
    const tail = vi.spyOn(server.reprise.store, 'tail').mockRejectedValue(new Error('all of it'));
    const { status, json } = await server.ask(`/api/agents/main/sessions/${id}?limit=4`);
    tail.mockRestore();
    expect(status).toBe(200);
    expect(json.data).toHaveLength(4);
    expect(json.data.some((row) => row['compacted'] === true)).toBe(false);
  });

  test('keeps the originals of compacted messages, marked, and leaves out what was undone', async () => {
    await using server = await startServer(
      {},
      { compaction: { background: false, cut: { kind: 'keep-turns', turns: 1 } } },
    );
    const id = await talk(server.reprise, [
      'a '.repeat(4000),
      'b '.repeat(4000),
      'c '.repeat(4000),
      'last words',
    ]);
    const path = `/api/agents/main/sessions/${id}`;
    const preview = await server.ask(`${path}/compact`, { method: 'POST', body: { dryRun: true } });
    expect(preview.json['preview']).toMatchObject({ splitsTurn: expect.any(Boolean) });
    const before = (await server.ask(path)).json.data;
    const { json } = await server.ask(`${path}/compact`, { method: 'POST', body: { focus: 'names' } });
    expect(json['compaction']).toMatchObject({ tokensBefore: expect.any(Number) });
    const after = (await server.ask(path)).json.data;
    expect(after.filter((row) => row['role'] !== 'compaction').map((row) => row.id)).toEqual(
      before.map((row) => row.id),
    );
    expect(after[0]).toMatchObject({ compacted: true });
    expect(after.find((row) => row['text'] === 'last words')).not.toHaveProperty('compacted');
    // The same for any page: also one that ends before the summary, or starts after it.
    const marked = new Map(after.map((row) => [row.id, row['compacted']]));
    for (const row of after.slice(1)) {
      const { data } = (await server.ask(`${path}?limit=1&before=${row.id}`)).json;
      expect(data.map(({ compacted }) => compacted)).toEqual(data.map((one) => marked.get(one.id)));
    }
    expect((await server.ask(`${path}/undo`, { method: 'POST' })).json).toMatchObject({
      undone: 'compaction',
    });
    expect((await server.ask(path)).json.data.some((row) => row['compacted'] === true)).toBe(false);
    expect((await server.ask(`${path}/undo`, { method: 'POST' })).json).toMatchObject({ undone: 'turn' });
    expect((await server.ask(path)).json.data.some((row) => row['text'] === 'last words')).toBe(false);
    expect((await server.ask(`${path}/redo`, { method: 'POST' })).json).toMatchObject({ redone: 'turn' });
    expect((await server.ask(path)).json.data.some((row) => row['text'] === 'last words')).toBe(true);
    await server.ask(`${path}/undo`, { method: 'POST' });
    await talk(server.reprise, ['other words']);
    const said = (await server.ask(path)).json.data.map((row) => row['text']);
    expect(said).toContain('other words');
    expect(said).not.toContain('last words');
    const tree = await server.ask(`${path}/tree`);
    const users = tree.json.data.filter((node) => node['role'] === 'user');
    expect(users.map((node) => node['current'])).toEqual([true, true, true, false, true]);
  });

  test('is not sent again to who has seen it', async () => {
    await using server = await startServer();
    const id = await talk(server.reprise, ['one']);
    const path = `/api/agents/main/sessions/${id}`;
    const { headers } = await server.ask(path);
    const again = await server.ask(path, { headers: { 'If-None-Match': headers.etag ?? '' } });
    expect(again).toMatchObject({ status: 304, text: '' });
    await talk(server.reprise, ['two']);
    expect((await server.ask(path, { headers: { 'If-None-Match': headers.etag ?? '' } })).status).toBe(200);
  });
});

describe('sessions over HTTP', () => {
  test('are listed newest first, of one agent or of all, in pages both ways', async () => {
    await using server = await startServer();
    const ids: string[] = [];
    for (const name of ['a', 'b', 'c', 'd', 'e'])
      ids.unshift(await talk(server.reprise, [`hello ${name}`], `agent:main:direct:${name}`));
    const other = await talk(server.reprise, ['hello'], 'agent:other:main');
    expect((await server.ask('/api/sessions')).json.data.map((row) => row.id)).toEqual([other, ...ids]);
    const list = '/api/agents/main/sessions';
    expect((await server.ask(list)).json.data.map((row) => row.id)).toEqual(ids);
    const first = await server.ask(`${list}?limit=2`);
    expect(first.json).toMatchObject({ hasMore: true, firstId: ids[0], lastId: ids[1] });
    for (const go of [`after=${first.json.lastId}`, `cursor=${first.json.cursor}`])
      expect(
        (await server.ask(`${list}?limit=2&${go}`)).json.data.map((row) => row.id),
        go,
      ).toEqual([ids[2], ids[3]]);
    const up = await server.ask(`${list}?limit=2&before=${ids[4]}`);
    expect(up.json.data.map((row) => row.id)).toEqual([ids[2], ids[3]]);
    expect(up.json.hasMore).toBe(true);
    expect((await server.ask(`${list}?after=${ids[4]}`)).json).toMatchObject({ data: [], hasMore: false });
    expect((await server.ask(`${list}?q=hello%20c`)).json.data.map((row) => row.id)).toEqual([ids[2]]);
    for (const query of ['after=nobody', 'cursor=xx', `after=${ids[0]}&before=${ids[1]}`, 'status=odd'])
      expect((await server.ask(`${list}?${query}`)).status, query).toBe(400);
  });

  test('are sorted by messages and tokens over all of them, both ways, in pages', async () => {
    await using server = await startServer();
    const { store } = server.reprise;
    const totals = [300, 100, 200, 100];
    const ids: string[] = [];
    for (const [i, totalTokens] of totals.entries()) {
      const { id } = await store.create({ id: `s${i}`, key: `agent:main:direct:p${i}` });
      const usage = { input: totalTokens, output: 0, cacheRead: 0, cacheWrite: 0, totalTokens };
      const told = { type: 'message', message: { role: 'assistant', content: [], usage } };
      await store.append(
        id,
        Array.from({ length: i + 1 }, () => told),
      );
      ids.push(id);
    }
    const listed = async (query: string): Promise<string[]> => {
      const found: string[] = [];
      for (let cursor: string | null = ''; cursor !== null; ) {
        const at = cursor === '' ? '' : `&cursor=${cursor}`;
        const { json } = await server.ask(`/api/sessions?limit=3&${query}${at}`);
        found.push(...json.data.map((row) => row.id));
        cursor = json.cursor;
      }
      return found;
    };
    expect(await listed('sort=messages')).toEqual(['s3', 's2', 's1', 's0']);
    expect(await listed('sort=messages&order=asc')).toEqual(ids);
    expect(await listed('sort=tokens')).toEqual(['s0', 's2', 's3', 's1']);
    expect(await listed('sort=time&order=asc')).toEqual(ids);
    const first = (await server.ask('/api/sessions?sort=tokens&limit=1')).json;
    expect((await server.ask('/api/sessions?sort=tokens&limit=1&after=s0')).json.data[0]?.id).toBe('s2');
    expect((await server.ask('/api/sessions?sort=tokens&before=s1')).json.data).toHaveLength(3);
    for (const wrong of ['sort=mood', 'order=up', `sort=messages&cursor=${first.cursor}`])
      expect((await server.ask(`/api/sessions?${wrong}`)).status, wrong).toBe(400);
  });

  test('take a title and settings, and nothing that is the engine’s own (T76)', async () => {
    await using server = await startServer();
    const id = await talk(server.reprise, ['one']);
    const path = `/api/agents/main/sessions/${id}`;
    const patch = (body: object) => server.ask(path, { method: 'PATCH', body });
    expect((await patch({ title: 'Plans', label: 'plans', 'x-mine': 1 })).json.session).toMatchObject({
      title: 'Plans',
      label: 'plans',
      settings: { 'x-mine': 1 },
    });
    const before = (await server.ask(path)).json;
    for (const field of [
      'ownerId',
      'agentId',
      'seq',
      'epoch',
      'spawnedBy',
      'role',
      'createdAt',
      'id',
      'sessionKey',
      'lastSeq',
      'status',
      'sessionId',
      'toolPolicy',
      'depth',
      'nope',
    ])
      expect(await patch({ [field]: 'x' }), field).toMatchObject({ status: 400 });
    expect((await patch({ title: '' })).status).toBe(400);
    expect((await patch({ title: 'ok', epoch: 1 })).status).toBe(400);
    expect((await server.ask(path)).json).toEqual(before);
    expect(
      (await server.ask('/api/agents/main/sessions/nobody', { method: 'PATCH', body: { title: 'x' } }))
        .status,
    ).toBe(404);
  });

  test('are changed only as they were seen, where the caller says how', async () => {
    const store = await openMemoryStore({});
    // A slow disk, so that the second request could look before the first has written.
    const slow = new Proxy(store, {
      get: (target, name) => {
        const value: unknown = Reflect.get(target, name, target);
        if (typeof value !== 'function') return value;
        if (name !== 'patch') return value.bind(target) as unknown;
        return async (...args: Parameters<typeof target.patch>) => {
          await new Promise((resolve) => setTimeout(resolve, 200));
          return target.patch(...args);
        };
      },
    });
    await using server = await startServer({}, { store: slow });
    const id = await talk(server.reprise, ['one']);
    const path = `/api/agents/main/sessions/${id}`;
    const etag = (await server.ask(path)).headers.etag ?? '';
    const headers = { 'If-Match': etag };
    const both = await Promise.all(
      [1, 2].map((n) => server.ask(path, { method: 'PATCH', body: { label: `l${n}` }, headers })),
    );
    expect(both.map(({ status }) => status).sort()).toEqual([200, 412]);
    expect((await server.ask(path, { method: 'DELETE', headers })).json).toMatchObject({
      code: 'PRECONDITION_FAILED',
    });
    const now = both.find(({ status }) => status === 200)?.headers.etag ?? '';
    expect(
      (await server.ask(path, { method: 'DELETE', headers: { 'If-Match': `"x", ${now}` } })).status,
    ).toBe(200);
  });

  test('go to the trash, come back, and are gone for good only from there', async () => {
    await using server = await startServer();
    const id = await talk(server.reprise, ['one']);
    const path = `/api/agents/main/sessions/${id}`;
    expect((await server.ask(`${path}/purge`, { method: 'POST' })).status).toBeGreaterThanOrEqual(400);
    expect((await server.ask(path, { method: 'DELETE' })).json.session).toMatchObject({ status: 'deleted' });
    expect((await server.ask('/api/sessions')).json.data).toEqual([]);
    expect((await server.ask('/api/sessions?status=deleted')).json.data).toHaveLength(1);
    expect(await server.ask(`${path}/undo`, { method: 'POST' })).toMatchObject({
      status: 410,
      json: { code: 'SESSION_DELETED' },
    });
    expect((await server.ask(`${path}/restore`, { method: 'POST' })).json.session).toMatchObject({
      status: 'open',
    });
    expect((await server.ask(path)).json.data).toHaveLength(2);
    await server.ask(path, { method: 'DELETE' });
    expect((await server.ask(`${path}/purge`, { method: 'POST' })).json).toEqual({
      id,
      purged: true,
      copies: [],
      purgedToo: [],
    });
    expect((await server.ask(path)).status).toBe(410);
  });

  test('are forked, pinned, explained, measured and commanded', async () => {
    await using server = await startServer();
    const id = await talk(server.reprise, ['my name is Ada', 'what is my name?']);
    const path = `/api/agents/main/sessions/${id}`;
    const { data } = (await server.ask(path)).json;
    const fork = await server.ask(`${path}/fork`, { method: 'POST', body: { at: data[1]?.id } });
    expect(fork.status).toBe(201);
    expect((await server.ask(`/api/agents/main/sessions/${fork.json.session.id}`)).json.data).toHaveLength(2);
    expect((await server.ask(`${path}/fork`, { method: 'POST', body: { at: 'nope' } })).status).toBe(404);
    const pinned = await server.ask(`${path}/pin`, { method: 'POST', body: { entryId: data[0]?.id } });
    expect(pinned.json['pins']).toEqual([{ entryId: data[0]?.id, text: 'my name is Ada' }]);
    expect((await server.ask(`${path}/pins`)).json).toEqual(pinned.json);
    expect(
      (await server.ask(`${path}/unpin`, { method: 'POST', body: { entryId: data[0]?.id } })).json['pins'],
    ).toEqual([]);
    expect((await server.ask(`${path}/pin`, { method: 'POST', body: { entryId: 'nope' } })).status).toBe(404);
    expect((await server.ask(`${path}/context`)).json).toMatchObject({
      messages: 4,
      tokens: expect.any(Number),
    });
    expect((await server.ask(`${path}/totals`)).json).toMatchObject({ turns: 2, calls: 2 });
    const last = await server.ask(`${path}/explain/last`);
    expect(last.json).toMatchObject({
      status: 'done',
      messages: [{ inboxId: expect.any(String), state: 'done', entryId: data[2]?.id, position: 3 }],
      calls: [{ verified: true }],
    });
    expect((await server.ask(`${path}/explain/${String(last.json['turnId'])}`)).json).toEqual(last.json);
    const { turnCount } = (await server.ask(path)).json.session;
    expect((await server.ask(`${path}/explain/${String(turnCount)}`)).json).toEqual(last.json);
    expect(await server.ask(`${path}/explain/nope`)).toMatchObject({
      status: 404,
      json: { details: { next: expect.stringContaining('counted from 1') } },
    });
    const command = (text: string, confirm?: boolean) =>
      server.ask(`${path}/command`, {
        method: 'POST',
        body: { command: text, ...(confirm !== undefined && { confirm }) },
      });
    expect((await command('/rename plans')).json).toMatchObject({ name: 'rename' });
    expect((await server.ask(path)).json.session).toMatchObject({ label: 'plans' });
    expect(await command('/nonsense')).toMatchObject({ status: 404 });
    expect(await command('hello')).toMatchObject({ status: 400 });
    expect(await command('/quit')).toMatchObject({
      status: 403,
      json: { error: expect.stringContaining('/quit works only in a terminal chat') },
    });
    expect((await command('/delete')).status).toBe(400);
    expect((await server.ask(path)).json.session).toMatchObject({ status: 'open' });
    expect((await command('/delete', true)).status).toBe(200);
    expect((await server.ask(path)).json.session).toMatchObject({ status: 'deleted' });
  });
});
