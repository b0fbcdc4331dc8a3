import { once } from 'node:events';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { getRequestListener } from '@hono/node-server';
import { AbstractChat, type ChatState, type ChatStatus, DefaultChatTransport, type UIMessage } from 'ai';
import { describe, expect, expectTypeOf, onTestFinished, test } from 'vitest';
import { z } from 'zod';
import { createChatHandler, toUIMessages, type UiMessage } from '../../src/ai-sdk/index.ts';
import { openReprise, type Reprise, tool } from '../../src/index.ts';
import { createScriptedModel, type ScriptedModel } from '../../testing/index.ts';
import { gate, until } from '../support/engine/channels.ts';
import { pngBase64 } from '../support/engine/images.ts';

/** What `useChat` keeps in the state of a component. */
class State implements ChatState<UIMessage> {
  status: ChatStatus = 'ready';
  error: Error | undefined;
  messages: UIMessage[];
  constructor(messages: UIMessage[]) {
    this.messages = messages;
  }
  pushMessage = (message: UIMessage): void => {
    this.messages = [...this.messages, message];
  };
  popMessage = (): void => {
    this.messages = this.messages.slice(0, -1);
  };
  replaceMessage = (index: number, message: UIMessage): void => {
    this.messages = this.messages.with(index, structuredClone(message));
  };
  snapshot = <T>(value: T): T => structuredClone(value);
}

class Page extends AbstractChat<UIMessage> {}

interface App {
  readonly reprise: Reprise;
  /** Opens the page of a chat, with the messages that the application loaded for it. */
  open(chatId: string, messages?: readonly UiMessage[], user?: string): Page;
}

async function startApp(model: ScriptedModel, tools: Parameters<typeof openReprise>[0] = {}): Promise<App> {
  const reprise = await openReprise({ store: 'memory', model, ...tools });
  const handler = createChatHandler({
    reprise,
    session: async (request, chatId) => {
      const user = request.headers.get('x-user');
      return user === null ? undefined : reprise.session({ user, thread: chatId });
    },
  });
  const server = createServer(getRequestListener(handler, { overrideGlobalObjects: false }));
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  onTestFinished(async () => {
    server.closeAllConnections();
    server.close();
    await reprise.close();
  });
  const api = `http://127.0.0.1:${(server.address() as AddressInfo).port}/api/chat`;
  return {
    reprise,
    open: (id, messages = [], user = 'ada') =>
      new Page({
        id,
        state: new State(messages as UIMessage[]),
        transport: new DefaultChatTransport({ api, ...(user !== '' && { headers: { 'x-user': user } }) }),
      }),
  };
}

const textOf = (message: UIMessage | undefined): string =>
  (message?.parts ?? []).flatMap((part) => (part.type === 'text' ? [part.text] : [])).join('');

describe('useChat with DefaultChatTransport', () => {
  test('shows an answer with thinking, tool calls and their results, as the stored messages show it', async () => {
    const weather = tool({
      name: 'weather',
      description: 'Weather',
      input: z.object({ city: z.string() }),
      run: ({ city }, { progress }) => {
        progress('asking');
        if (city === 'Atlantis') throw new Error('no such city');
        return { degrees: 21 };
      },
    });
    const model = createScriptedModel([
      {
        thinking: { text: 'Let me look.' },
        text: ['One ', 'moment.'],
        calls: [
          { id: 'c1', name: 'weather', input: { city: 'Paris' } },
          { id: 'c2', name: 'weather', input: { city: 'Atlantis' } },
        ],
      },
      { text: ['It is ', 'warm.'] },
    ]);
    const app = await startApp(model, { tools: [weather] });
    const page = app.open('one');
    const image = `data:image/png;base64,${pngBase64(10, 10)}`;
    await page.sendMessage({
      text: 'Weather?',
      files: [{ type: 'file', mediaType: 'image/png', url: image }],
    });
    expect(page.error).toBeUndefined();
    expect(page.status).toBe('ready');
    const session = await app.reprise.session({ user: 'ada', thread: 'one' });
    const stored = toUIMessages(await session.messages());
    const plain = (messages: readonly { role: string; parts: readonly object[] }[]) =>
      messages.map(({ role, parts }) => [
        role,
        parts.map((part) => JSON.parse(JSON.stringify({ state: 'done', ...part, id: undefined }))),
      ]);
    const shown = plain(page.messages);
    expect(shown[1]).toEqual(plain(stored)[1]);
    expect(JSON.stringify(stored[0]?.parts)).toContain(image);
    expect(JSON.stringify(shown)).toContain('no such city');
    expect(page.messages[1]?.metadata).toMatchObject({ turnId: expect.any(String) });
  });

  test('a page that is reloaded in the middle of an answer shows all of it', async () => {
    const open = gate();
    const model = createScriptedModel([
      { text: ['The first half, '], calls: [{ id: 'c1', name: 'wait' }] },
      { text: ['and the second.'] },
    ]);
    const wait = tool({
      name: 'wait',
      description: 'Waits',
      input: { type: 'object' },
      run: () => open.promise.then(() => 'waited'),
    });
    const app = await startApp(model, { tools: [wait] });
    const first = app.open('two');
    const sending = first.sendMessage({ text: 'Tell me.' });
    await until(() => textOf(first.messages[1]).includes('first half'));
    await first.stop(); // the tab is closed
    await sending;
    const session = await app.reprise.session({ user: 'ada', thread: 'two' });
    const stored = toUIMessages(await session.messages());
    // The running answer comes from the stream.
    const again = app.open(
      'two',
      stored.filter(({ role }) => role === 'user'),
    );
    const resumed = again.resumeStream();
    await until(() => textOf(again.messages[1]).includes('first half'));
    open.resolve();
    await resumed;
    expect(textOf(again.messages[1])).toBe('The first half, and the second.');
    expect(again.messages.map(({ role }) => role)).toEqual(['user', 'assistant']);
    const idle = app.open('two', toUIMessages(await session.messages()));
    await idle.resumeStream(); // 204: nothing runs
    expect(idle.messages.map(textOf)).toEqual(['Tell me.', 'The first half, and the second.']);
  });

  test('regenerates an answer, and keeps the old one as a branch', async () => {
    const app = await startApp(createScriptedModel(['first', 'second']));
    const page = app.open('three');
    await page.sendMessage({ text: 'Say something.' });
    await page.regenerate();
    expect(page.messages.map(textOf)).toEqual(['Say something.', 'second']);
    const session = await app.reprise.session({ user: 'ada', thread: 'three' });
    expect(toUIMessages(await session.messages()).map(({ role }) => role)).toEqual(['user', 'assistant']);
    expect(JSON.stringify((await session.history()).entries)).toContain('first');
  });

  test('a repeated message is answered once, and chats of two users with one id are apart', async () => {
    const model = createScriptedModel(['to ada', 'to bob']);
    const app = await startApp(model);
    const message = { id: 'm1', role: 'user' as const, parts: [{ type: 'text' as const, text: 'Hi' }] };
    for (const _ of [1, 2]) {
      const page = app.open('four');
      await page.sendMessage(message);
      expect(textOf(page.messages.at(-1))).toBe('to ada');
    }
    const bob = app.open('four', [], 'bob');
    await bob.sendMessage(message);
    expect(textOf(bob.messages.at(-1))).toBe('to bob');
    expect(model.requests.length).toBe(2);
  });

  test('a failed turn and a caller without rights are errors of the page', async () => {
    const app = await startApp(createScriptedModel([new Error('the provider is down')]));
    const page = app.open('five');
    await page.sendMessage({ text: 'Hi' });
    expect([page.status, page.error?.message]).toEqual([
      'error',
      expect.stringContaining('the provider is down'),
    ]);
    const stranger = app.open('five', [], '');
    await stranger.sendMessage({ text: 'Hi' });
    expect([stranger.status, stranger.error?.message]).toEqual([
      'error',
      expect.stringContaining('UNAUTHORIZED'),
    ]);
  });
});

test('messages have the types of the AI SDK', () => {
  expectTypeOf<UiMessage>().toExtend<UIMessage>();
});

test.each([
  ['no JSON', 'POST', '', '{', 400],
  ['no id', 'POST', '', '{"messages":[]}', 400],
  ['broken messages', 'POST', '', '{"id":"a","messages":[{"role":"user"}]}', 400],
  ['an empty message', 'POST', '', '{"id":"a","messages":[{"role":"user","parts":[]}]}', 400],
  ['a method of nothing', 'PUT', '/a', '{}', 405],
])('a request with %s is refused', async (_, method, path, body, status) => {
  await using reprise = await openReprise({ store: 'memory' });
  const handler = createChatHandler({ reprise, session: () => reprise.session({}) as never });
  expect((await handler(new Request(`http://localhost/api/chat${path}`, { method, body }))).status).toBe(
    status,
  );
});

test('DELETE stops the running answer, and the page keeps what it showed', async () => {
  const model = createScriptedModel([{ text: ['half '], calls: [{ name: 'wait' }] }]);
  const wait = tool({
    name: 'wait',
    description: 'Waits',
    input: { type: 'object' },
    run: () => new Promise<never>(() => {}),
  });
  const app = await startApp(model, { tools: [wait] });
  const page = app.open('six');
  const sending = page.sendMessage({ text: 'Hi' });
  await until(() => textOf(page.messages[1]) === 'half ');
  const session = () => app.reprise.session({ user: 'ada', thread: 'six' });
  const handler = createChatHandler({ reprise: app.reprise, session });
  const response = await handler(new Request('http://localhost/api/chat/six', { method: 'DELETE' }));
  expect(response.status).toBe(200);
  await sending;
  expect(textOf(page.messages[1])).toBe('half ');
  expect(
    (await (await session()).history()).entries.map(({ entry }) => JSON.stringify(entry)).join(),
  ).toContain('ABORTED');
});
