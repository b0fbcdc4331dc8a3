import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import type { Tool } from '../../../src/engine/tools/tool.ts';
import { createScriptedModel } from '../../../src/models/scripted/scripted-model.ts';
import type { StreamEvent } from '../../../src/protocol/events.ts';
import { eventLogs } from '../../../src/server/sse/open-stream.ts';
import { scripted } from '../../support/engine/engine.ts';
import { pacedModel } from '../../support/engine/paced-model.ts';
import { openNodes } from '../../support/server/nodes.ts';
import {
  allFrames,
  frames,
  gate,
  type OpenedServer,
  type RawFrame,
  textOf,
} from '../../support/server/server.ts';

const texts = (count: number): string[] =>
  Array.from({ length: count }, (_, i) => `${i}${['\n', '🙂', '\ud800', ' ', '"'][i % 5]}`);
const isDelta = ({ event }: RawFrame): boolean => event.type === 'text_delta';
const isOfTurn = ({ event: { type } }: RawFrame): boolean =>
  type !== 'session' && type !== 'queued' && type !== 'idle';
const told = (all: readonly RawFrame[]): RawFrame[] => all.filter(isOfTurn);
const countOf = (type: StreamEvent['type'], all: readonly RawFrame[]): number =>
  all.filter(({ event }) => event.type === type).length;

function resume(at: OpenedServer, id?: string, sessionId = 's'): Promise<Response> {
  const headers = id === undefined ? {} : { 'last-event-id': id };
  return at.request(`/api/agents/main/chat/stream?sessionId=${sessionId}`, { headers });
}

async function readSome(
  response: Response | Promise<Response>,
  isEnough: (all: readonly RawFrame[]) => boolean,
): Promise<RawFrame[]> {
  const all: RawFrame[] = [];
  for await (const frame of frames(await response)) {
    all.push(frame);
    if (isEnough(all)) break;
  }
  return all;
}

/** All of it, and when it has begun to come. */
function readAll(response: Promise<Response>): [Promise<RawFrame[]>, Promise<void>] {
  const { opened, open } = gate();
  const read = readSome(response, (all) => {
    if (all.length === 1) open();
    return false;
  });
  return [read, opened];
}

describe('servers on one store', () => {
  test('send the same events with the same ids, whichever runs the turn and whenever a client comes', async () => {
    const paced = pacedModel(texts(300));
    await using at = await openNodes([paced, createScriptedModel(), createScriptedModel()]);
    const [runs, hears, late] = at.nodes as [OpenedServer, OpenedServer, OpenedServer];
    const here = await runs.chat({ message: 'go', sessionId: 's' });
    const there = resume(hears);
    paced.allow(120);
    const begun = await readSome(there, (all) => all.filter(isDelta).length === 120);
    // No event is emitted now: a client that comes in this silence asks for earlier events.
    const joined = await readSome(resume(late), (all) => all.filter(isDelta).length === 120);
    expect(told(joined)).toEqual(told(begun));
    const [rest, restBegun] = readAll(resume(hears, begun.at(-1)?.id));
    const [all, allBegun] = readAll(resume(late));
    await Promise.all([restBegun, allBegun]);
    paced.allow(200);
    const ran = told(await allFrames(here));
    expect(ran.filter(isDelta)).toHaveLength(300);
    expect([...told(begun), ...told(await rest)]).toEqual(ran);
    expect(told(await all)).toEqual(ran);
  });

  test('a client that leaves one in the middle of an answer resumes at another, also when the turn has ended', async () => {
    const words = texts(200);
    const paced = pacedModel(words);
    await using at = await openNodes([paced, createScriptedModel()]);
    const [runs, other] = at.nodes as [OpenedServer, OpenedServer];
    const first = runs.chat({ message: 'go', sessionId: 's' });
    paced.allow(100);
    const had = await readSome(first, (all) => all.filter(isDelta).length === 57);
    const next = await readSome(resume(other, had.at(-1)?.id), (all) => all.filter(isDelta).length === 43);
    expect(next.filter(isDelta)).toHaveLength(43);
    paced.allow(200);
    await runs.reprise.idle();
    const last = await allFrames(resume(other, next.at(-1)?.id));
    const all = [...had, ...next, ...last];
    expect(textOf(all.map(({ event }) => event))).toBe(words.join(''));
    expect(countOf('done', all)).toBe(1);
    expect(countOf('interrupted', all)).toBe(0);
    // The same with an id that only the one that ran it has heard of.
    const again = await allFrames(resume(other, had.at(-1)?.id));
    expect(told(again)).toEqual(told([...next, ...last]));
  });

  test('a message is accepted by any of them while another runs the session, and its stream is that of the runner', async () => {
    const { opened, open } = gate();
    const slow: Tool = {
      name: 'slow',
      description: '',
      inputSchema: { type: 'object' },
      safe: true,
      run: () => opened.then(() => 'x'.repeat(100_000)),
    };
    const steps = [{ text: 'a', calls: [{ name: 'slow' }] }, 'b', { text: ['c', 'd'] }];
    await using at = await openNodes([scripted(steps), createScriptedModel()], {
      tools: [slow],
      session: { queue: { mode: 'followup' } },
    });
    const [runs, accepts] = at.nodes as [OpenedServer, OpenedServer];
    const first = await runs.chat({ message: 'first', sessionId: 's' });
    const key = { 'idempotency-key': 'k' };
    const second = await accepts.chat({ message: 'second', sessionId: 's' }, key);
    const same = await runs.chat({ message: 'second', sessionId: 's' }, key);
    const firstElsewhere = await readSome(resume(accepts), (all) => {
      if (countOf('tool_call', all) === 1) open();
      return countOf('done', all) === 1;
    });
    expect(told(firstElsewhere)).toEqual(told(await allFrames(first)));
    expect(firstElsewhere.find(({ event }) => event.type === 'tool_result')?.event).toMatchObject({
      text: 'x'.repeat(100_000),
    });
    const heard = told(await allFrames(second));
    expect(heard).toEqual(told(await allFrames(same)));
    expect(heard.map(({ event }) => event.type)).toEqual([
      'turn_start',
      'text_delta',
      'text_delta',
      'usage',
      'done',
    ]);
  });

  test('one that gets no answer sends what is stored, and says what to keep', async () => {
    const words = texts(100);
    const paced = pacedModel(words);
    await using at = await openNodes([paced, createScriptedModel()]);
    const [runs, other] = at.nodes as [OpenedServer, OpenedServer];
    const first = runs.chat({ message: 'go', sessionId: 's' });
    paced.allow(50);
    const had = await readSome(first, (all) => all.filter(isDelta).length === 50);
    at.bus.fate = () => [];
    const last = await readSome(resume(other, had.at(-1)?.id), (all) => {
      if (countOf('interrupted', all) === 1) paced.allow(100);
      return false;
    });
    const all = [...had, ...last].map(({ event }) => event);
    expect(textOf(all)).toBe(words.join(''));
    expect(countOf('done', last)).toBe(1);
    expect(countOf('interrupted', last)).toBe(1);
  });

  test('a turn that was taken over is reported as interrupted before the one that took its place', async () => {
    const paced = pacedModel(texts(20));
    await using at = await openNodes([paced, scripted(['again'])], { run: true });
    const [dies, takes] = at.nodes as [OpenedServer, OpenedServer];
    const first = dies.chat({ message: 'go', sessionId: 's' });
    paced.allow(5);
    const had = await readSome(first, (all) => all.filter(isDelta).length === 5);
    const heard = await readSome(resume(takes), (all) => all.filter(isDelta).length === 5);
    expect(told(heard)).toEqual(told(had));
    // As if its process had been killed: the events of the next run are this server's own.
    const [inboxId = ''] = had.flatMap(({ event }) =>
      event.type === 'session' ? [event.inboxId ?? ''] : [],
    );
    const about = { sessionId: 's', inboxId, epoch: 2 };
    const next = await resume(takes, heard.at(-1)?.id);
    const logs = eventLogs(takes.reprise);
    const rest = readSome(next, (all) => {
      if (all.length === 1) {
        const start = { type: 'turn_start', turnId: 't2', model: 'm', seq: 4 } as const;
        logs.of('s').take({ ...about, event: start });
        logs.of('s').take({ ...about, event: { type: 'text_delta', text: 'again' } });
      }
      return all.some(isDelta);
    });
    expect(told(await rest).map(({ event }) => event)).toEqual([
      { type: 'interrupted', turnId: expect.any(String), text: '' },
      { type: 'turn_start', turnId: 't2', model: 'm' },
      { type: 'text_delta', text: 'again' },
    ]);
    paced.allow(20);
  });

  test('one alone on its store sends nothing but that it is there', async () => {
    await using at = await openNodes([scripted(['a', 'b'])]);
    const [only] = at.nodes as [OpenedServer];
    const before = at.bus.sent;
    expect(before).toBe(1);
    await only.reprise.session('agent:main:main').then((session) => session.send('go').result);
    expect(at.bus.sent - before).toBe(0);
  });

  test('whatever is lost, doubled or late between them, and wherever a client comes back: each event once', {
    tags: 'long',
    timeout: 180_000,
  }, async () => {
    const words = texts(300);
    const paced = pacedModel(words);
    await using at = await openNodes([paced, createScriptedModel()]);
    const [runs] = at.nodes as [OpenedServer];
    let count = 0;
    const plan = fc.record({
      seed: fc.nat(),
      loss: fc.constantFrom(0, 0.1, 0.4),
      doubles: fc.constantFrom(0, 0.3),
      lateMs: fc.constantFrom(0, 15, 60),
      breaks: fc.array(fc.record({ node: fc.nat(1), after: fc.integer({ min: 1, max: 120 }) }), {
        minLength: 1,
        maxLength: 5,
      }),
    });
    await fc.assert(
      fc.asyncProperty(plan, async ({ seed, loss, doubles, lateMs, breaks }) => {
        const sessionId = `s${++count}`;
        const random = numbers(seed);
        at.bus.fate = () => {
          if (random() < loss) return [];
          const late = Math.floor(random() * (lateMs + 1));
          return random() < doubles ? [late, Math.floor(random() * (lateMs + 1))] : [late];
        };
        const all: RawFrame[] = [];
        const first = runs.chat({ message: 'go', sessionId });
        all.push(...(await readSome(first, ({ length }) => length === 2)));
        for (const { node, after } of [...breaks, { node: 1, after: Number.POSITIVE_INFINITY }]) {
          const from = at.nodes[node] as OpenedServer;
          paced.allow(Math.min(after, 300));
          const asked = await resume(from, all.at(-1)?.id, sessionId);
          all.push(...(await readSome(asked, (some) => some.filter(isDelta).length >= after)));
          if (countOf('done', all) > 0) break;
        }
        const events = all.map(({ event }) => event);
        expect(textOf(events)).toBe(words.join(''));
        expect(countOf('done', all)).toBe(1);
        // Without `interrupted` no id was sent twice.
        const ids = told(all).map(({ id }) => id);
        if (countOf('interrupted', all) === 0) expect(new Set(ids).size).toBe(ids.length);
        if (loss === 0) expect(countOf('interrupted', all)).toBe(0);
        await runs.reprise.idle();
      }),
      { numRuns: Number(process.env['REPRISE_PROPERTY_RUNS'] ?? 10) },
    );
  });
});

/** The same numbers for the same seed, between 0 and 1. */
function numbers(seed: number): () => number {
  let state = seed >>> 0;
  return () => {
    state = (Math.imul(state, 1_664_525) + 1_013_904_223) >>> 0;
    return state / 2 ** 32;
  };
}
