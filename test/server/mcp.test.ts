import { Client } from '@modelcontextprotocol/sdk/client/index.js';
import { StreamableHTTPClientTransport } from '@modelcontextprotocol/sdk/client/streamableHttp.js';
import { expect, test } from 'vitest';
import { openReprise } from '../../src/index.ts';
import { createApp } from '../../src/server/index.ts';
import { startServer, TOKEN, talk } from '../support/server/http.ts';

test('the client of the official SDK lists, searches and reads over HTTP', async () => {
  await using server = await startServer();
  const id = await talk(server.reprise, ['where did I put the key?']);
  const transport = new StreamableHTTPClientTransport(new URL(`${server.url}/mcp`), {
    requestInit: { headers: { Authorization: `Bearer ${TOKEN}` } },
  });
  const client = new Client({ name: 'test', version: '1' });
  await client.connect(transport);
  expect(client.getServerVersion()).toEqual({ name: 'reprise', version: '9.9.9' });
  expect((await client.listTools()).tools.map(({ name }) => name)).not.toContain('session_send');
  const found = await client.callTool({ name: 'sessions_search', arguments: { query: 'key' } });
  expect(JSON.stringify(found)).toContain(id);
  expect(JSON.stringify(found)).toContain('<quoted-history');
  await client.close();
});

test('POST /mcp needs the token, answers one message, and offers writing tools only if the URL asks for them', async () => {
  await using server = await startServer();
  const list = { jsonrpc: '2.0', id: 7, method: 'tools/list' };
  const post = (path: string, body: unknown, token?: null) =>
    server.ask(path, { method: 'POST', body, ...(token === null && { token }) });
  expect((await post('/mcp', list, null)).status).toBe(401);
  expect((await post('/mcp', list)).json).toMatchObject({
    jsonrpc: '2.0',
    id: 7,
    result: { tools: expect.any(Array) },
  });
  expect((await post('/mcp', list)).text).not.toContain('session_spawn');
  expect((await post('/mcp?write=true', list)).text).toContain('session_spawn');
  const notification = await post('/mcp', { jsonrpc: '2.0', method: 'notifications/initialized' });
  expect(notification).toMatchObject({ status: 202, text: '' });
  expect((await post('/mcp', { jsonrpc: '2.0', id: 'a', method: 'server/discover' })).json).toMatchObject({
    id: 'a',
    error: { code: -32601 },
  });
  expect((await post('/mcp', [list])).json).toMatchObject({ code: 'INVALID_INPUT' });
  expect((await server.ask('/mcp')).status).toBe(405);
});

test('a user of a mounted API sees its own sessions only, and a reader gets no tools that write', async () => {
  await using reprise = await openReprise({ store: 'memory' });
  const auth = (request: Request): { readonly user: string; readonly role: 'user' | 'reader' } => {
    const user = request.headers.get('authorization')?.replace('Bearer ', '') ?? '';
    return { user, role: user === 'carl' ? 'reader' : 'user' };
  };
  const app = createApp({ reprise, auth });
  for (const owner of ['ada', 'bob']) {
    const { id } = await reprise.store.create({
      key: `agent:main:session:${owner}`,
      id: `of-${owner}`,
      owner,
    });
    await reprise.store.append(id, [
      { type: 'message', message: { role: 'user', content: `a needle of ${owner}` } },
    ]);
  }
  const ask = async (user: string, method: string, params: object = {}): Promise<string> => {
    const headers = { authorization: `Bearer ${user}`, 'content-type': 'application/json' };
    const body = JSON.stringify({ jsonrpc: '2.0', id: 1, method, params });
    const request = new Request('http://127.0.0.1/mcp?write=true', { method: 'POST', headers, body });
    return (await app(request)).text();
  };
  const call = (user: string, name: string, input: object): Promise<string> =>
    ask(user, 'tools/call', { name, arguments: input });
  const found = await call('ada', 'sessions_search', { query: 'needle' });
  expect(found).toContain('needle of ada');
  expect(found).not.toContain('bob');
  expect(await call('ada', 'sessions_list', {})).not.toContain('of-bob');
  expect(await call('ada', 'sessions_read', { session: 'of-bob' })).not.toContain('needle');
  expect(await call('ada', 'session_annotate', { session: 'of-bob', title: 'mine' })).toContain(
    'SESSION_NOT_FOUND',
  );
  expect(await reprise.store.get('of-bob')).toMatchObject({ title: expect.stringContaining('needle') });
  expect(await ask('ada', 'tools/list')).toContain('session_send');
  expect(await ask('carl', 'tools/list')).not.toContain('session_send');
  app.close();
});
