import { describe, expect, test } from 'vitest';
import { createClient } from '../../src/client/index.ts';
import type { Tool } from '../../src/engine/tools/tool.ts';
import { scripted } from '../support/engine/engine.ts';
import { gate, type OpenedServer, openServer, TOKEN } from '../support/server/server.ts';

const echo: Tool = {
  name: 'echo',
  description: 'Says it again.',
  inputSchema: { type: 'object', properties: { text: { type: 'string' } } },
  safe: true,
  run: async ({ text }) => `echo: ${String(text)}`,
};

const clientOf = ({ url }: OpenedServer) => createClient({ url, token: TOKEN }).session('s');

async function talk(at: OpenedServer, ...texts: string[]): Promise<void> {
  for (const message of texts) await (await at.chat({ message, sessionId: 's' })).text();
}

describe('a history for viewers', () => {
  test('rows show model, usage, and how a tool ended, and marks show how turns ended', async () => {
    const usage = { input: 10, output: 5, cacheRead: 100, cacheWrite: 7, totalTokens: 122 };
    const calls = [{ name: 'echo', input: { text: 'x' } }];
    await using at = await openServer(scripted([{ text: 'see', calls, usage }, 'done']), { tools: [echo] });
    await talk(at, 'hi');
    const session = clientOf(at);
    const plain = await session.history();
    expect(plain.data.map(({ role }) => role)).toEqual(['user', 'assistant', 'toolResult', 'assistant']);
    expect(plain.data[1]).toMatchObject({
      model: 'scripted/scripted',
      stopReason: 'toolUse',
      usage: { inputTokens: 117, outputTokens: 5 },
    });
    expect(plain.data[2]).toMatchObject({ toolCallId: 'call_0_0', toolName: 'echo', isError: false });
    expect(plain.data[2]?.durationMs).toBeGreaterThanOrEqual(0);
    const marked = await session.history({ marks: true });
    expect(marked.data.at(-1)).toMatchObject({
      role: 'custom',
      details: { customType: 'reprise.turn', data: { status: 'done', turnId: expect.any(String) } },
    });
    expect(marked.data.slice(0, -1)).toEqual(plain.data);
  });

  test('user and assistant messages have a position on the current branch, whatever is sent or undone', async () => {
    const calls = [{ name: 'echo', input: { text: 'x' } }];
    const steps = [{ text: 'see', calls }, 'done', 'two', 'three'];
    await using at = await openServer(scripted(steps), { tools: [echo] });
    const session = clientOf(at);
    const positions = async () => (await session.history({ limit: 3 })).data.map(({ position }) => position);
    await talk(at, 'one');
    expect(await positions()).toEqual([2, undefined, 3]);
    await talk(at, 'two');
    expect(await positions()).toEqual([3, 4, 5]);
    await session.undo();
    expect(await positions()).toEqual([2, undefined, 3]);
    await talk(at, 'three');
    expect(await positions()).toEqual([3, 4, 5]);
  });

  test('a page around an entry, by id or number, has it in the middle; an entry of another branch is refused', async () => {
    await using at = await openServer(scripted(Array.from({ length: 10 }, (_, i) => `answer ${i}`)));
    await talk(at, ...Array.from({ length: 10 }, (_, i) => `question ${i}`));
    const session = clientOf(at);
    const { data: all } = await session.history();
    const wanted = all[9];
    for (const around of [wanted?.id, String(wanted?.seq), '#10'] as string[]) {
      const { data, hasMore } = await session.history({ around, limit: 6 });
      expect(data).toEqual(all.slice(6, 12));
      expect(hasMore).toBe(true);
    }
    const whole = await session.history({ around: wanted?.id ?? '', limit: 100 });
    expect(whole).toMatchObject({ data: all, hasMore: false });
    await expect(session.history({ around: '#21' })).rejects.toMatchObject({ code: 'INVALID_INPUT' });
    await expect(session.history({ around: 'nothing' })).rejects.toMatchObject({ code: 'INVALID_INPUT' });
    await expect(session.history({ around: 'x', after: 'y' })).rejects.toMatchObject({
      code: 'INVALID_INPUT',
    });
  });
});

describe('branches that were left can be continued', () => {
  test('/retry over HTTP sends the message again and names its turn; branch returns to the old answer', async () => {
    await using at = await openServer(scripted(['first', 'second', 'third']));
    await talk(at, '//slash');
    const session = clientOf(at);
    const old = (await session.history()).data.at(-1);
    const { inboxId, name } = await session.command('/retry');
    expect(name).toBe('retry');
    for await (const event of session.stream({ inboxId }))
      if (event.type === 'done') expect(event.text).toBe('second');
    const texts = async (): Promise<string[]> => (await session.history()).data.map(({ text }) => text);
    expect(await texts()).toEqual(['/slash', 'second']);
    await session.branch(old?.id ?? '');
    expect(await texts()).toEqual(['/slash', 'first']);
    expect((await session.redo()).redone).toBe('turn');
    expect(await texts()).toEqual(['/slash', 'second']);
    await expect(session.branch('nothing')).rejects.toMatchObject({ code: 'NOT_FOUND' });
    await talk(at, 'more');
    expect(await texts()).toEqual(['/slash', 'second', 'more', 'third']);
  });

  test('a message that was edited names all its branches, and each can be continued where it was left', async () => {
    await using at = await openServer(scripted(['a', 'b', 'c', 'd', 'e']));
    await talk(at, 'one', 'two');
    const session = clientOf(at);
    const texts = async (): Promise<string[]> => (await session.history()).data.map(({ text }) => text);
    const firstOf = async (text: string) => {
      const row = (await session.history({ marks: true })).data.find((one) => one.text === text);
      return row ?? expect.fail(`no ${text}`);
    };
    const one = await firstOf('one');
    expect(one.branches).toBeUndefined();
    // Also the very first message: its branches hang on nothing.
    await session.branch(one.id, { place: 'before' });
    expect(await texts()).toEqual([]);
    await talk(at, 'uno', 'due');
    expect(await texts()).toEqual(['uno', 'c', 'due', 'd']);
    const { id: uno, branches = [] } = await firstOf('uno');
    expect(branches).toEqual([one.id, uno]);
    expect((await firstOf('due')).branches).toBeUndefined();
    // A step back on a branch is where it stands when it is come back to.
    await session.undo();
    expect(await texts()).toEqual(['uno', 'c']);
    await session.branch(one.id, { place: 'end' });
    expect(await texts()).toEqual(['one', 'a', 'two', 'b']);
    expect((await firstOf('one')).branches).toEqual(branches);
    await session.branch(uno, { place: 'end' });
    expect(await texts()).toEqual(['uno', 'c']);
    expect((await session.redo()).redone).toBe('turn');
    expect(await texts()).toEqual(['one', 'a', 'two', 'b']);
    // The first row of a page knows its branches too, though what it hangs on is on another page.
    const two = await firstOf('two');
    await session.branch(two.id, { place: 'before' });
    await talk(at, 'zwei');
    const { data } = await session.history({ limit: 2, marks: false });
    expect(data.map(({ text }) => text)).toEqual(['zwei', 'e']);
    expect(data[0]?.branches).toEqual([two.id, data[0]?.id]);
    await expect(session.branch('nothing', { place: 'end' })).rejects.toMatchObject({ code: 'NOT_FOUND' });
  });

  test('queued messages are cancelled while the running turn continues', async () => {
    const { opened, open } = gate();
    await using at = await openServer(scripted([{ wait: opened, text: 'one' }]), {
      session: { queue: { mode: 'followup' } },
    });
    const first = at.chat({ message: 'a', sessionId: 's' });
    await (await first).body?.getReader().read();
    const second = await at.chat({ message: 'b', sessionId: 's' });
    expect(await clientOf(at).stop({ waiting: true, running: false })).toEqual({
      stopped: false,
      cancelled: 1,
      children: 0,
    });
    expect(await second.text()).toContain('"type":"error"');
    open();
    await at.reprise.idle();
    expect((await clientOf(at).history()).data.map(({ text }) => text)).toEqual(['a', 'one']);
  });
});
