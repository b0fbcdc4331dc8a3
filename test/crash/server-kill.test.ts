import { describe, expect, test } from 'vitest';
import { type Client, createClient, type StreamEvent } from '../../src/client/index.ts';
import { TOKEN, textOf } from '../support/server/server.ts';
import { killServer, type RunningServer, ServerHome } from '../support/server/server-process.ts';

const PATIENCE_MS = 60_000;

const clientOf = ({ url }: RunningServer): Client =>
  createClient({ url, token: TOKEN, retries: 200, backoffMs: 50 });

async function until(isSo: () => Promise<boolean>, what: string): Promise<void> {
  for (const deadline = performance.now() + PATIENCE_MS; !(await isSo()); ) {
    if (performance.now() > deadline) throw new Error(`waited in vain until ${what}`);
    await new Promise((resolve) => setTimeout(resolve, 20));
  }
}

describe('a server that is killed in the middle of an answer', () => {
  test('continues the answer; the stream reports what was stored, the session and the queue continue', async () => {
    await using home = new ServerHome();
    const first = await home.start(['one two three…']);
    const events: StreamEvent[] = [];
    let killed: Promise<RunningServer> | undefined;
    let inboxId = '';
    const stream = clientOf(first).chat('main', { message: 'go', sessionId: 's' });
    for await (const event of stream) {
      events.push(event);
      if (textOf(events) !== 'one two three' || killed !== undefined) continue;
      // Accepted before the end of the process, so it runs after it.
      ({ inboxId } = await clientOf(first).inbound({ text: 'and then?', channel: 'web', sessionId: 's' }));
      await killServer(first);
      killed = home.start(['four five six', 'seven', 'eight']);
    }
    expect(events.map(({ type }) => type)).toEqual([
      'session',
      'turn_start',
      'text_delta',
      'text_delta',
      'text_delta',
      'interrupted',
      'turn_start',
      'text_delta',
      'text_delta',
      'text_delta',
      'usage',
      'done',
    ]);
    expect(events[5]).toMatchObject({ text: '' });
    expect(textOf(events)).toBe('four five six');
    const second = await (killed as Promise<RunningServer>);
    const client = clientOf(second);
    await until(async () => (await client.inbox(inboxId)).status === 'done', 'the queued message has run');
    expect(await client.inbox(inboxId)).toMatchObject({ reply: { text: 'seven' } });
    const more: StreamEvent[] = [];
    for await (const event of client.chat('main', { message: 'still there?', sessionId: 's' }))
      more.push(event);
    expect(textOf(more)).toBe('eight');
    const { data } = await client.session('s').history();
    const said = data.filter(({ role }) => role === 'user' || role === 'assistant').map(({ text }) => text);
    expect(said).toEqual(['go', 'four five six', 'and then?', 'seven', 'still there?', 'eight']);
  });

  test('T59 a message whose answer was lost is sent again and accepted once', async () => {
    await using home = new ServerHome();
    const first = await home.start(['one…']);
    const key = { idempotencyKey: 'the-same' };
    const stream = clientOf(first).chat('main', { message: 'go', sessionId: 's' }, key);
    for await (const event of stream) if (event.type === 'text_delta') break;
    await killServer(first);
    const second = await home.start(['two', 'not to be said']);
    const client = clientOf(second);
    const ends: StreamEvent[] = [];
    for (let i = 0; i < 2; i++)
      for await (const event of client.chat('main', { message: 'go', sessionId: 's' }, key))
        if (event.type === 'done') ends.push(event);
    expect(ends).toHaveLength(2);
    expect(ends[1]).toEqual(ends[0]);
    expect(ends[0]).toMatchObject({ text: 'two' });
    const { data } = await client.session('s').history();
    expect(data.filter(({ role }) => role === 'user')).toHaveLength(1);
    const other = client.chat('main', { message: 'another', sessionId: 's' }, key);
    await expect(other[Symbol.asyncIterator]().next()).rejects.toMatchObject({ code: 'KEY_REUSED' });
  });
});
