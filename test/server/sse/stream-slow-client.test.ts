// @module-tag long
import { connect, type Socket } from 'node:net';
import { expect, test } from 'vitest';
import { frames, type RawFrame, TOKEN, textOf } from '../../support/server/server.ts';
import { peakBytes, ServerHome } from '../../support/server/server-process.ts';

const EVENTS = 200_000;
const MB = 1024 * 1024;
const ALL = Array.from({ length: EVENTS }, (_, i) => `${i},`).join('');

const asOwner = { authorization: `Bearer ${TOKEN}` };

const stream = (url: string, headers = {}): Promise<Response> =>
  fetch(`${url}/api/agents/main/chat/stream?sessionId=s`, { headers: { ...asOwner, ...headers } });

const chat = (url: string, sessionId: string): Promise<Response> =>
  fetch(`${url}/api/agents/main/chat`, {
    method: 'POST',
    headers: { ...asOwner, 'content-type': 'application/json' },
    body: JSON.stringify({ message: 'go', sessionId }),
  });

/** A client that asks and then never reads. */
function deaf(url: string): Socket {
  const { hostname, port } = new URL(url);
  const socket = connect(Number(port), hostname);
  socket.pause();
  socket.on('error', () => undefined);
  const path = '/api/agents/main/chat/stream?sessionId=s';
  socket.write(`GET ${path} HTTP/1.1\r\nHost: ${hostname}:${port}\r\nAuthorization: Bearer ${TOKEN}\r\n\r\n`);
  return socket;
}

async function readAll(response: Response): Promise<{ count: number; isExact: boolean }> {
  let count = 0;
  const texts: string[] = [];
  for await (const { event } of frames(response)) {
    if (event.type === 'error') throw new Error(event.error);
    if (event.type !== 'text_delta') continue;
    count++;
    texts.push(event.text);
  }
  return { count, isExact: texts.join('') === ALL };
}

test('T82 a client that never reads is cut at the cap, costs no memory, and resumes with each event once', async () => {
  await using home = new ServerHome();
  const server = await home.start([`#${EVENTS}`, `#${EVENTS}`, `#${EVENTS}`]);
  const { url, child } = server;
  // Until its heap has the size such turns need: what comes on top of that is what deaf clients cost.
  for (const session of ['warm-up', 'warmer']) {
    const heard = await chat(url, session);
    child.stdin?.write('go\n');
    expect(await readAll(heard)).toEqual({ count: EVENTS, isExact: true });
  }
  const peak = peakBytes(server);

  const reads = await chat(url, 's');
  const breaks = await stream(url);
  const sockets = [deaf(url), deaf(url), deaf(url)];
  const metrics = async (): Promise<string> => (await fetch(`${url}/metrics`, { headers: asOwner })).text();
  await expect.poll(metrics).toMatch(/^reprise_streams 5$/m);
  child.stdin?.write('go\n');
  // One client breaks off early, three never read, and one reads it all.
  const heard: RawFrame[] = [];
  for await (const frame of frames(breaks)) {
    heard.push(frame);
    if (frame.event.type === 'text_delta' && heard.length > 500) break;
  }
  expect(await readAll(reads)).toEqual({ count: EVENTS, isExact: true });
  for (const socket of sockets) {
    let tail = '';
    socket.on('data', (chunk: Buffer) => {
      tail = (tail + chunk.toString('latin1')).slice(-2000);
    });
    const closed = new Promise((resolve) => socket.on('close', resolve));
    socket.resume();
    await closed;
    // What waited in the kernel, and then nothing.
    expect(tail).not.toContain('"done"');
  }
  if (peak !== undefined) expect((peakBytes(server) ?? 0) - peak).toBeLessThan(96 * MB);
  const rest: RawFrame[] = [];
  for await (const frame of frames(await stream(url, { 'last-event-id': heard.at(-1)?.id })))
    rest.push(frame);
  const both = [...heard, ...rest].map(({ event }) => event);
  expect(textOf(both) === ALL).toBe(true);
  expect(both.filter(({ type }) => type === 'done')).toHaveLength(1);
  expect(await metrics()).toMatch(/reprise_streams_cut_total(?:\{\})? 3\b/);
});
