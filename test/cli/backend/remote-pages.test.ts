import { expect, test } from 'vitest';
import { RemoteBackend } from '../../../src/cli/backend/remote-backend.ts';
import { listSessions } from '../../../src/cli/commands/ls.ts';
import { createClient } from '../../../src/client/index.ts';

const MANY = 100;

/** A server that answers each list with the next of these pages, and the last one from then on. */
function backendOf(...pages: readonly object[]): { readonly backend: RemoteBackend; asked(): number } {
  let asked = 0;
  const fetch = async (): Promise<Response> => {
    const page = pages[Math.min(asked++, pages.length - 1)];
    if (asked > MANY) throw new Error('asked without end');
    return Response.json(page);
  };
  const client = createClient({ url: 'http://server.example', token: 't', fetch, retries: 0 });
  return { backend: new RemoteBackend(client), asked: () => asked };
}

const endless = { code: 'CONNECT_FAILED', why: expect.objectContaining({ code: 'list.endless' }) };

test.each([
  ['no cursor', [{ data: [] }], 1],
  ['the cursor of the page before', [{ data: [], cursor: 'a' }], 2],
  [
    'cursors that go round',
    [
      { data: [], cursor: 'a' },
      { data: [], cursor: 'b' },
      { data: [], cursor: 'a' },
    ],
    3,
  ],
])('a list with %s ends with an error, not with requests without end', async (_what, pages, requests) => {
  for (const walk of [
    (backend: RemoteBackend) => backend.find('garden'),
    (backend: RemoteBackend) => backend.lookup.get('garden'),
    (backend: RemoteBackend) => listSessions(backend, {}, { limit: 10, all: true, after: undefined }),
  ]) {
    const { backend, asked } = backendOf(...pages);
    await expect(walk(backend)).rejects.toMatchObject(endless);
    expect(asked()).toBe(requests);
  }
});

test('a history that promises more rows and has none ends with an error', async () => {
  const row = { id: 'e1', seq: 1, role: 'user', text: 'hi', timestamp: '2026-01-01T00:00:00.000Z' };
  const session = { id: 's', agentId: 'main', sessionKey: 'agent:main:main' } as never;
  for (const pages of [[{ data: [], hasMore: true }], [{ data: [row], hasMore: true }]]) {
    const { backend } = backendOf(...pages);
    await expect(backend.history(session, { leaf: undefined, limit: undefined })).rejects.toMatchObject(
      endless,
    );
  }
});
