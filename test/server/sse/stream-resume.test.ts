import { describe, expect, test } from 'vitest';
import type { Tool } from '../../../src/engine/tools/tool.ts';
import { createScriptedModel } from '../../../src/models/scripted/scripted-model.ts';
import type { StreamEvent } from '../../../src/protocol/events.ts';
import { EventLogs } from '../../../src/server/sse/event-logs.ts';
import { openMemoryStore } from '../../../src/store/memory/open.ts';
import { scripted } from '../../support/engine/engine.ts';
import { pacedModel } from '../../support/engine/paced-model.ts';
import {
  allEvents,
  allFrames,
  frames,
  gate,
  type OpenedServer,
  openServer,
  type RawFrame,
  textOf,
} from '../../support/server/server.ts';

const HOSTILE = [
  'a\n',
  'b\r\n',
  '\r',
  'data: x\n\n',
  'id: 9\n',
  'event: y',
  ':',
  '\0',
  '\ud800',
  '\u2028',
  '\ufeff',
  '🙂',
  '\u0085',
  '&',
];

function deltas(count: number): string[] {
  return Array.from({ length: count }, (_, i) => `${i}${HOSTILE[i % HOSTILE.length]}`);
}

function resume(at: OpenedServer, sessionId: string, id?: string): Promise<Response> {
  const headers = id === undefined ? {} : { 'last-event-id': id };
  return at.request(`/api/agents/main/chat/stream?sessionId=${sessionId}`, { headers });
}

/** Reads until the client would be killed. */
async function readSome(
  response: Response,
  isEnough: (told: readonly RawFrame[]) => boolean,
): Promise<RawFrame[]> {
  const told: RawFrame[] = [];
  for await (const frame of frames(response)) {
    told.push(frame);
    if (isEnough(told)) break;
  }
  return told;
}

/** The last id of a stream is the position after every event the client received. */
function expectForward(told: readonly RawFrame[]): void {
  const places = told.map(({ id }) => (id ?? '').split('.').map(Number));
  const sorted = [...places].sort(
    ([seq = 0, n = 0], [otherSeq = 0, otherN = 0]) => seq - otherSeq || n - otherN,
  );
  expect(places).toEqual(sorted);
}

const isDelta = ({ event }: RawFrame): boolean => event.type === 'text_delta';

describe('a stream that broke off', () => {
  test('S6 2,000 deltas, the client killed at every 100th: the text is exact, with one done', async () => {
    const texts = deltas(2000);
    const paced = pacedModel(texts);
    await using at = await openServer(paced);
    const told = await readSome(await at.chat({ message: 'go', sessionId: 's' }), (all) =>
      all.some(({ event }) => event.type === 'turn_start'),
    );
    for (let killed = 0; killed < 40; killed++) {
      paced.allow(100);
      const more = await readSome(
        await resume(at, 's', told.at(-1)?.id),
        (all) => all.filter(isDelta).length >= 100,
      );
      told.push(...more);
      if (more.some(({ event }) => event.type === 'done')) break;
    }
    const events = told.map(({ event }) => event);
    expect(textOf(events)).toBe(texts.join(''));
    expect(events.filter(({ type }) => type === 'text_delta')).toHaveLength(2000);
    expect(events.filter(({ type }) => type === 'done')).toHaveLength(1);
    expect(events.filter(({ type }) => type === 'interrupted')).toEqual([]);
    const done = events.find((event) => event.type === 'done');
    expect(done?.text).toBe(texts.join(''));
  });

  test('gives what followed an id and then idle, when the turn has ended meanwhile', async () => {
    const texts = deltas(300);
    await using at = await openServer(scripted([{ text: texts }]));
    const told = await allFrames(at.chat({ message: 'go', sessionId: 's' }));
    for (const place of [1, 2, 57, 300, 301]) {
      const again = await allFrames(resume(at, 's', told[place]?.id));
      expect(again.map(({ event }) => event.type).at(-1)).toBe('idle');
      expectForward(again);
      // As an EventSource does by itself: it resumes after the last id it received.
      const next = await allEvents(resume(at, 's', again.at(-1)?.id));
      expect(next.map(({ type }) => type)).toEqual(['session', 'idle']);
      const rest = again.slice(1, -1);
      const both = [...told.slice(0, place + 1), ...rest].map(({ event }) => event);
      expect(textOf(both)).toBe(texts.join(''));
      expect(both.filter(({ type }) => type === 'done')).toHaveLength(1);
      expect(both.filter(({ type }) => type === 'interrupted')).toEqual([]);
    }
    const none = await allEvents(resume(at, 's', told.at(-1)?.id));
    expect(none.map(({ type }) => type)).toEqual(['session', 'idle']);
    expect((await allEvents(resume(at, 's'))).map(({ type }) => type)).toEqual(['session', 'idle']);
  });

  test('old deltas are joined, and still nothing is sent twice or left out', async () => {
    const texts = deltas(5000);
    const paced = pacedModel(texts);
    await using at = await openServer(paced);
    const first = await at.chat({ message: 'go', sessionId: 's' });
    paced.allow(5000);
    const told = await allFrames(first);
    const ids = told.filter(isDelta).map(({ id }) => id);
    expect(ids).toHaveLength(5000);
    for (const place of [0, 1, 99, 511, 512, 513, 1023, 2500, 4999]) {
      const rest = await allFrames(resume(at, 's', ids[place]));
      expect(textOf(rest.map(({ event }) => event))).toBe(texts.slice(place + 1).join(''));
    }
    const middle = (await allFrames(resume(at, 's', ids[0]))).filter(isDelta);
    expect(middle.length).toBeLessThan(2000);
    // A client that disconnects after several that came as one resumes after the last of them.
    const [several] = middle as [RawFrame];
    const after = await allFrames(resume(at, 's', several.id));
    const had = `${texts[0]}${textOf([several.event])}`;
    expect(had + textOf(after.map(({ event }) => event))).toBe(texts.join(''));
  });

  test('is made of the stored entries when the running events are gone', async () => {
    const echo: Tool = {
      name: 'echo',
      description: '',
      inputSchema: { type: 'object' },
      safe: true,
      run: async () => 'said',
    };
    const steps = [
      { thinking: { text: 'hm' }, text: ['a', 'b'], calls: [{ name: 'echo' }, { name: 'echo' }] },
      { text: ['c', 'd'] },
    ];
    await using at = await openServer(scripted(steps), { tools: [echo] });
    const told = await allFrames(at.chat({ message: 'go', sessionId: 's' }));
    // Another engine on the same store has none of it: as after a restart.
    await using other = await openServer(createScriptedModel(), { store: shared(at), run: false });
    const replayed = await allFrames(resume(other, 's', '2.0'));
    const types = replayed.map(({ event }) => event.type);
    expect(types).toEqual([
      'session',
      'thinking_delta',
      'text_delta',
      'usage',
      'tool_call',
      'tool_call',
      'tool_result',
      'tool_result',
      'text_delta',
      'usage',
      'done',
      'idle',
    ]);
    expect(replayed.at(-2)?.event).toMatchObject({ text: 'cd' });
    expectForward(replayed);
    for (const [i, { id }] of replayed.entries()) {
      if (i === 0 || i === replayed.length - 1) continue;
      const rest = await allFrames(resume(other, 's', id));
      expect(rest.slice(1)).toEqual(replayed.slice(i + 1));
    }
    // An id of the running turn: what was kept takes the place of what the client had, and the rest follows.
    for (const { id, event } of told.slice(2)) {
      if (event.type === 'done') continue;
      const again = await allFrames(resume(other, 's', id));
      const rest = again.map((frame) => frame.event);
      expect(rest[1]).toMatchObject({ type: 'interrupted' });
      expect(textOf(rest)).toBe('abcd');
      expect(rest.filter(({ type }) => type === 'done')).toHaveLength(1);
      // Its first id is of the run that is gone.
      expectForward(again.slice(1));
      const next = await allEvents(resume(other, 's', again.at(-1)?.id));
      expect(next.map(({ type }) => type)).toEqual(['session', 'idle']);
    }
    const over = await allEvents(resume(other, 's', told.at(-1)?.id));
    expect(over.map(({ type }) => type)).toEqual(['session', 'idle']);
  });

  test('a message in another engine is reported by its stored entries and its end', async () => {
    const { opened, open } = gate();
    const slow: Tool = {
      name: 'slow',
      description: '',
      inputSchema: { type: 'object' },
      safe: true,
      run: () => opened.then(() => 'said'),
    };
    await using runs = await openServer(scripted([{ text: 'a', calls: [{ name: 'slow' }] }, 'b']), {
      tools: [slow],
    });
    await using hears = await openServer(createScriptedModel(), { store: shared(runs), run: false });
    const key = { 'idempotency-key': 'k' };
    const here = await runs.chat({ message: 'go', sessionId: 's' }, key);
    const heard: StreamEvent[] = [];
    for await (const { event } of frames(await hears.chat({ message: 'go', sessionId: 's' }, key))) {
      heard.push(event);
      if (event.type === 'tool_call') open();
    }
    expect(heard.map(({ type }) => type)).toEqual([
      'session',
      'text_delta',
      'usage',
      'tool_call',
      'tool_result',
      'text_delta',
      'usage',
      'done',
    ]);
    expect(heard.at(-1)).toEqual((await allEvents(here)).at(-1));
  });

  test('a message in another engine is streamed delta by delta if the store passes them on', async () => {
    // One is too long to be passed on in one message.
    const texts = deltas(300).map((text, i) => (i === 200 ? 'x'.repeat(40_000) : text));
    const paced = pacedModel(texts);
    const session = { queue: { mode: 'followup' } } as const;
    await using runs = await openServer(paced, { store: await farReaching(), session });
    await using hears = await openServer(createScriptedModel(), { store: shared(runs), session, run: false });
    const first = await runs.chat({ message: 'first', sessionId: 's' });
    // Queued after it, so that the other engine listens before its turn starts.
    const key = { 'idempotency-key': 'go' };
    const send = (at: OpenedServer): Promise<Response> => at.chat({ message: 'go', sessionId: 's' }, key);
    const [breaks, stays] = [await send(hears), await send(hears)];
    const here = await send(runs);
    const told = await readSome(breaks, (all) => {
      if (all.length === 1) paced.allow(400);
      return all.filter(isDelta).length === 100;
    });
    paced.allow(200);
    await allFrames(first);
    const all = await allFrames(here);
    const events = (some: readonly RawFrame[]): StreamEvent[] =>
      some.filter(isDelta).map(({ event }) => event);
    expect(events(told)).toEqual(events(all).slice(0, 100));
    const far = await allEvents(stays);
    expect(far.filter(({ type }) => type === 'interrupted')).toEqual([]);
    expect(textOf(far)).toBe(texts.join(''));
    expect(far.filter(({ type }) => type === 'done')).toEqual([all.at(-1)?.event]);
  });

  test('a log that has become too long forgets what is stored, and a slow client resumes from there', async () => {
    const big = 'x'.repeat(3000);
    const tool: Tool = {
      name: 'big',
      description: '',
      inputSchema: { type: 'object' },
      safe: true,
      run: async () => big,
    };
    const steps = Array.from({ length: 10 }, (_, i) => ({
      text: [`a${i}`, `b${i}`],
      calls: [{ name: 'big' }],
    }));
    await using at = await openServer(scripted([...steps, 'end']), { tools: [tool] });
    const logs = new EventLogs(at.reprise, { perSession: 8000 });
    const told = await allFrames(at.chat({ message: 'go', sessionId: 's' }));
    expect(logs.of('s').size).toBeLessThan(16_000);
    const [, , early] = told;
    const [seq = 0, n = 0] = (early?.id ?? '').split('.').map(Number);
    expect(logs.of('s').turnAt({ seq, n })).toBeUndefined();
    logs[Symbol.dispose]();
  });
});

/** As a store would be that passes events on to every process. */
async function farReaching(): Promise<OpenedServer['reprise']['store']> {
  const store = await openMemoryStore({});
  return new Proxy(store, {
    get: (_, name) => {
      if (name === 'supports') return { ...store.supports, live: 'all' };
      const value: unknown = Reflect.get(store, name, store);
      return typeof value === 'function' ? value.bind(store) : value;
    },
  });
}

/** The same store for a second engine, which does not close it. */
function shared({ reprise }: OpenedServer): OpenedServer['reprise']['store'] {
  return new Proxy(reprise.store, {
    get: (store, name) => {
      if (name === Symbol.asyncDispose) return async () => undefined;
      const value: unknown = Reflect.get(store, name, store);
      return typeof value === 'function' ? value.bind(store) : value;
    },
  });
}
