import { expect, test } from 'vitest';
import { createClient, type HistoryRow, type StreamEvent } from '../../../src/client/index.ts';
import { scripted } from '../../support/engine/engine.ts';
import { type OpenedServer, openServer, TOKEN, textOf } from '../../support/server/server.ts';

async function say(at: OpenedServer, message: string): Promise<void> {
  await (await at.chat({ message, sessionId: 's' })).text();
}

test('a follower of a session receives each entry once as it is stored, across broken connections', async () => {
  await using at = await openServer(scripted(['one', 'two', 'three']));
  await say(at, 'first');
  const { lastSeq } = await at.reprise.store.get('s');
  let cut: () => void = () => undefined;
  const over = new AbortController();
  const client = createClient({
    url: at.url,
    token: TOKEN,
    backoffMs: 1,
    retries: 0,
    fetch: (url, init) => {
      const broken = new AbortController();
      cut = () => broken.abort(new Error('cut'));
      return fetch(url, { ...init, signal: AbortSignal.any([broken.signal, over.signal]) });
    },
  });
  const rows: HistoryRow[] = [];
  const follow = client.session('s').follow({ afterSeq: lastSeq, signal: over.signal });
  const said = say(at, 'second');
  for await (const row of follow) {
    rows.push(row);
    if (row.role === 'assistant') cut();
    if (row.text === 'two') await said.then(() => say(at, 'third'));
    if (row.text === 'three') break;
  }
  expect(rows.filter(({ role }) => role !== 'custom').map(({ text }) => text)).toEqual([
    'second',
    'two',
    'third',
    'three',
  ]);
  const seqs = rows.map(({ seq }) => seq);
  expect(seqs).toEqual(seqs.map((_, i) => lastSeq + 1 + i));
  // From now on, by default.
  const late = client.session('s').follow({ signal: over.signal });
  const next = late.next();
  over.abort(new Error('enough'));
  await expect(next).rejects.toThrow('enough');
  await expect(
    createClient({ url: at.url, token: TOKEN }).session('x').follow().next(),
  ).rejects.toMatchObject({
    code: 'SESSION_NOT_FOUND',
  });
});

test('a server with all streams taken refuses another before it accepts anything, and takes it when one has ended', async () => {
  await using at = await openServer(scripted(['one', 'two']), {}, { limits: { streams: 1 } });
  await at.reprise.store.create({ id: 's', key: 'agent:main:session:s' });
  const over = new AbortController();
  const held = await at.request('/api/agents/main/sessions/s/follow', { signal: over.signal });
  expect(held.status).toBe(200);
  const refused = await at.chat({ message: 'go', sessionId: 's' });
  expect(refused.status).toBe(503);
  expect(refused.headers.get('retry-after')).toBe('5');
  expect(await refused.json()).toMatchObject({ code: 'UNAVAILABLE', details: { limit: 'streams', max: 1 } });
  expect(await at.reprise.store.inbox.pending()).toEqual([]);
  expect(await (await at.request('/metrics')).text()).toMatch(/^reprise_streams 1$/m);
  // Requests that do not stream continue.
  expect((await at.request('/api/sessions')).status).toBe(200);
  // A client waits for its turn.
  const client = createClient({ url: at.url, token: TOKEN, retries: 50, backoffMs: 1 });
  over.abort();
  const events: StreamEvent[] = [];
  for await (const event of client.chat('main', { message: 'go', sessionId: 's' })) events.push(event);
  expect(textOf(events)).toBe('one');
  expect((await at.request('/api/agents/main/chat/stream?sessionId=nobody')).status).toBe(404);
  // Its reader has the end before the server has put it away.
  await expect.poll(async () => (await at.request('/metrics')).text()).toMatch(/^reprise_streams 0$/m);
});
