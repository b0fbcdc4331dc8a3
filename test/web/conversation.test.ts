import { expect, test } from 'vitest';
import { Conversation } from '../../web/src/conversation/conversation.ts';
import { toasts } from '../../web/src/shell/toasts.ts';
import { scripted } from '../support/engine/engine.ts';
import { pacedModel } from '../support/engine/paced-model.ts';
import { gate, openServer } from '../support/server/server.ts';
import { inTab, standOn } from './support/stand-on.ts';

inTab();

test('a change of a session here stays, though an older answer of the server arrives later', async () => {
  await using at = await openServer(scripted(['hello']));
  await (await at.chat({ message: 'hi', sessionId: 's' })).text();
  const [answered, late] = [gate(), gate()];
  standOn(at, async ({ searchParams }, send) => {
    const response = await send();
    if (searchParams.get('limit') !== '1') return response;
    answered.open();
    await late.opened;
    return response;
  });
  const session = new Conversation('main', 's');
  await session.open();
  const { remote, history } = session;
  history.setView((await remote.delete()).session);
  const looks = session.look();
  await answered.opened;
  history.setView((await remote.restore()).session);
  late.open();
  await looks;
  expect(history.view.value?.status).toBe('open');
  // The next look is as good as ever.
  await remote.delete();
  await session.look();
  expect(history.view.value?.status).toBe('deleted');
  session.close();
});

test('a message that was stored before its turn is announced is shown once while its answer arrives', async () => {
  const model = pacedModel(['one ', 'two']);
  await using at = await openServer(model, { session: { queue: { mode: 'followup' } } });
  const [begins, isStored] = [gate(), gate()];
  using _held = {
    // However it ends: a server is not closed while something is held back.
    [Symbol.dispose]: () => {
      for (const { open } of [begins, isStored]) open();
      model.allow(100);
    },
  };
  let said = 0;
  standOn(at, async ({ pathname }, send) => {
    if (pathname.endsWith('/sessions/s')) await isStored.opened;
    const response = await send();
    if (!pathname.endsWith('/chat') || ++said < 2) return response;
    const held = new TransformStream<Uint8Array, Uint8Array>({
      async transform(bytes, out) {
        if (new TextDecoder().decode(bytes).includes('turn_start')) await begins.opened;
        out.enqueue(bytes);
      },
    });
    return new Response(response.body?.pipeThrough(held) ?? null, response);
  });
  const session = new Conversation('main', 's', { isNew: true });
  const { pending, history, live } = session;
  const states = (): string[] => pending.value.map(({ state }) => state);
  session.send('first');
  await expect.poll(states).toEqual(['running']);
  session.send('second');
  await expect.poll(states).toEqual(['running', 'waiting']);
  model.allow(3);
  // The first is answered, the second has started, and this page does not know yet.
  await expect.poll(async () => (await at.reprise.store.get('s')).messageCount).toBe(3);
  isStored.open();
  await expect.poll(() => history.rows.value.map(({ text }) => text)).toContain('second');
  await expect.poll(states).toEqual(['waiting']);
  begins.open();
  await expect.poll(() => live.value?.parts).toEqual([{ type: 'text', text: 'one ' }]);
  const stored = history.rows.value.filter(({ role }) => role === 'user');
  expect([...stored, ...pending.value].map(({ text }) => text)).toEqual(['first', 'second']);
  model.allow(1);
  await expect.poll(states).toEqual([]);
  const all = history.rows.value.filter(({ role }) => /user|assistant/.test(role));
  expect(all.map(({ text }) => text)).toEqual(['first', 'one two', 'second', 'one two']);
  session.close();
});

test('a replacing message is shown in its place when its turn has come: messages queued before it are answered where they were sent', async () => {
  await using at = await openServer(scripted(['one', 'two']));
  await (await at.chat({ message: 'first', sessionId: 's' })).text();
  const begins = gate();
  using _held = { [Symbol.dispose]: () => begins.open() };
  standOn(at, async ({ pathname }, send) => {
    const response = await send();
    if (!pathname.endsWith('/chat')) return response;
    const frames = new TransformStream<string, string>({
      async transform(text, out) {
        for (const frame of text.split(/(?<=\n\n)/)) {
          if (frame.includes('turn_start')) await begins.opened;
          out.enqueue(frame);
        }
      },
    });
    const body = response.body?.pipeThrough(new TextDecoderStream()).pipeThrough(frames);
    return new Response(body?.pipeThrough(new TextEncoderStream()) ?? null, response);
  });
  const session = new Conversation('main', 's');
  await session.open();
  const { pending, history } = session;
  const states = (): string[] => pending.value.map(({ state }) => state);
  const shown = (): string[] =>
    history.rows.value.filter(({ role }) => /user|assistant/.test(role)).map(({ text }) => text);
  const [{ id: before = '' } = {}] = history.rows.value.filter(({ role }) => role === 'user');
  session.sendInstead({ before, text: 'in other words' });
  await expect.poll(states).toEqual(['running']);
  expect(shown()).toEqual(['first', 'one']);
  begins.open();
  await expect.poll(states).toEqual([]);
  expect(shown()).toEqual(['in other words', 'two']);
  session.close();
});

test.each([
  ['before it is told that there was no session', true],
  ['after it', false],
])('what is said in a session that is not there yet opens it, accepted %s', async (_when, isFirst) => {
  await using at = await openServer(scripted(['hello']));
  const unknown = gate();
  standOn(at, async ({ pathname, searchParams }, send) => {
    if (pathname.endsWith('/chat') && !isFirst) await unknown.opened;
    const response = await send();
    if (pathname.endsWith('/sessions/s') && response.status === 404 && searchParams.has('limit')) {
      if (isFirst) await expect.poll(() => session.pending.value[0]?.state).not.toBe('sending');
      unknown.open();
    }
    return response;
  });
  const session = new Conversation('main', 's');
  const opens = session.open();
  session.send('hi');
  await opens;
  await expect.poll(() => session.history.rows.value.map(({ text }) => text)).toContain('hello');
  expect(session.state.value).toBe('ready');
  session.close();
});

test('a stored model that is not available is reported once, with the model that answers instead', async () => {
  await using at = await openServer(scripted(['one', 'two']));
  await at.reprise.store.create({ id: 's', key: 'agent:main:session:s', settings: { model: 'mock-1' } });
  standOn(at);
  const session = new Conversation('main', 's');
  await session.open();
  for (const text of ['hi', 'and again']) {
    session.send(text);
    await expect.poll(() => session.pending.value).toEqual([]);
  }
  const shown = toasts.value.map(({ text }) => text).filter((text) => text.includes('mock-1'));
  expect(shown).toEqual([
    'The model of this session, mock-1, is not available here, so scripted answers instead. The model mock-1 is not configured.',
  ]);
  session.close();
});
