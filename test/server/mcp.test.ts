import { Client } from '@modelcontextprotocol/sdk/client/index.js';
import { StreamableHTTPClientTransport } from '@modelcontextprotocol/sdk/client/streamableHttp.js';
import { expect, test } from 'vitest';
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
