import { createServer, type IncomingHttpHeaders } from 'node:http';
import type { AddressInfo } from 'node:net';
import { describe, expect, test } from 'vitest';
import { createModel, type Model } from '../../src/index.ts';
import { openAnthropicServer, openOpenAiServer } from '../../testing/index.ts';
import { asking, run, textOf } from '../support/engine/models.ts';

const KEY = 'a-key-of-this-provider';

/** Answers every request with a redirect. */
async function openRedirect(
  status: number,
  to: (path: string) => string,
): Promise<AsyncDisposable & { readonly url: string; readonly seen: IncomingHttpHeaders[] }> {
  const seen: IncomingHttpHeaders[] = [];
  const server = createServer(({ headers, url = '' }, response) => {
    seen.push(headers);
    response.writeHead(status, { location: to(url) }).end();
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  const close = async (): Promise<void> => {
    server.closeAllConnections();
    await new Promise((resolve) => server.close(resolve));
  };
  const url = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
  return { url, seen, [Symbol.asyncDispose]: close };
}

const PROVIDERS: [
  name: string,
  open: typeof openAnthropicServer,
  make: (baseURL: string) => Promise<Model>,
][] = [
  ['anthropic', openAnthropicServer, (baseURL) => createModel('anthropic:a', { apiKey: KEY, baseURL })],
  ['openai', openOpenAiServer, (baseURL) => createModel('openai:a', { apiKey: KEY, baseURL })],
  [
    'openai-compatible',
    openOpenAiServer,
    (baseURL) => createModel('openai-compatible:a', { apiKey: KEY, baseURL, headers: { 'x-api-key': KEY } }),
  ],
];

describe.each(PROVIDERS)('%s', (_name, open, make) => {
  test.each([301, 302, 303, 307, 308])(
    'a redirect to another host (%i) gets neither the key nor the conversation',
    async (status) => {
      await using other = await openRedirect(status, () => '/');
      await using redirect = await openRedirect(status, (path) => other.url + path);
      const { error } = await run(await make(redirect.url), asking('hello'));
      expect(redirect.seen).toHaveLength(1);
      expect(JSON.stringify(redirect.seen)).toContain(KEY);
      expect(other.seen).toEqual([]);
      expect(error).toMatchObject({ code: 'MODEL_FAILED', message: expect.stringContaining(other.url) });
      expect(error?.details['next']).toContain('baseURL');
    },
  );

  test('a redirect within its own origin is followed', async () => {
    await using server = await open();
    server.push(({ path }) => ({ status: 307, headers: { location: path }, body: {} }), {
      blocks: [{ type: 'text', text: 'moved here' }],
    });
    expect(await textOf(await make(server.url), asking('hello'))).toBe('moved here');
    expect(server.requests.map(({ body }) => JSON.stringify(body).includes('hello'))).toEqual([true, true]);
  });
});
