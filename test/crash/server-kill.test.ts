import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import { type Client, createClient, type StreamEvent } from '../../src/client/index.ts';
import { TOKEN, textOf } from '../support/server.ts';

const script = fileURLToPath(new URL('../support/server-driver.ts', import.meta.url));
const PATIENCE_MS = 60_000;

interface Running {
  readonly child: ChildProcess;
  readonly url: string;
}

let home = '';
const children: ChildProcess[] = [];
beforeEach(() => {
  home = mkdtempSync(join(tmpdir(), 'reprise-server-'));
});
afterEach(() => {
  for (const child of children.splice(0)) child.kill('SIGKILL');
  rmSync(home, { recursive: true, force: true });
});

async function start(answers: readonly string[], port = 0): Promise<Running> {
  const args = [script, home, String(port), JSON.stringify(answers)];
  const child = spawn(process.execPath, args, { stdio: ['ignore', 'pipe', 'inherit'] });
  children.push(child);
  const [line] = (await once(child.stdout, 'data')) as [Buffer];
  return { child, url: line.toString().trim() };
}

async function kill({ child }: Running): Promise<void> {
  child.kill('SIGKILL');
  await once(child, 'exit');
}

const clientOf = ({ url }: Running): Client =>
  createClient({ url, token: TOKEN, retries: 200, backoffMs: 50 });

async function until(isSo: () => Promise<boolean>, what: string): Promise<void> {
  for (const deadline = performance.now() + PATIENCE_MS; !(await isSo()); ) {
    if (performance.now() > deadline) throw new Error(`waited in vain until ${what}`);
    await new Promise((resolve) => setTimeout(resolve, 20));
  }
}

describe('a server that is killed in the middle of an answer', () => {
  test('takes the answer up again; the stream is told what was kept, the session and the queue go on', async () => {
    const first = await start(['one two three…']);
    const events: StreamEvent[] = [];
    let killed: Promise<Running> | undefined;
    let inboxId = '';
    const stream = clientOf(first).chat('main', { message: 'go', sessionId: 's' });
    for await (const event of stream) {
      events.push(event);
      if (textOf(events) !== 'one two three' || killed !== undefined) continue;
      // Accepted before the end of the process, so it runs behind it.
      ({ inboxId } = await clientOf(first).inbound({ text: 'and then?', channel: 'web', sessionId: 's' }));
      await kill(first);
      killed = start(['four five six', 'seven', 'eight'], Number(new URL(first.url).port));
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
    const second = await (killed as Promise<Running>);
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
    const first = await start(['one…']);
    const key = { idempotencyKey: 'the-same' };
    const stream = clientOf(first).chat('main', { message: 'go', sessionId: 's' }, key);
    for await (const event of stream) if (event.type === 'text_delta') break;
    await kill(first);
    const second = await start(['two', 'not to be said'], Number(new URL(first.url).port));
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
