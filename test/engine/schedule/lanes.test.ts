import { beforeEach, describe, expect, test } from 'vitest';
import { Lanes } from '../../../src/engine/schedule/lanes.ts';
import type { Tool } from '../../../src/engine/tools/tool.ts';
import { RepriseError } from '../../../src/index.ts';
import type { Model, ModelRequest } from '../../../src/models/model.ts';
import { createScriptedModel, type ScriptedModel } from '../../../src/models/scripted/scripted-model.ts';
import { gate, openChannels, telegram, until } from '../../support/engine/channels.ts';
import { scripted } from '../../support/engine/engine.ts';
import { HandClock } from '../../support/engine/hand-clock.ts';

describe('a lane', () => {
  test('admits as many as fit, and then the one that waited longest', async () => {
    const lanes = new Lanes({ turns: 2 });
    const order: number[] = [];
    const first = [await lanes.enter('turns'), await lanes.enter('turns')];
    const later = [1, 2, 3].map(async (i) => {
      using _slot = await lanes.enter('turns');
      order.push(i);
    });
    expect(lanes.stats().turns).toEqual({ running: 2, waiting: 3 });
    for (const slot of first) slot[Symbol.dispose]();
    await Promise.all(later);
    expect(order).toEqual([1, 2, 3]);
    expect(lanes.stats().turns).toEqual({ running: 0, waiting: 0 });
  });

  test('lends a slot to others while its holder waits for them', async () => {
    const lanes = new Lanes({ turns: 1 });
    using slot = await lanes.enter('turns');
    const answer = await slot.aside(async () => {
      using _other = await lanes.enter('turns');
      return 'from the other';
    });
    expect(answer).toBe('from the other');
    expect(lanes.stats().turns).toEqual({ running: 1, waiting: 0 });
  });

  test('forgets a waiter that gives up', async () => {
    const lanes = new Lanes({ turns: 1 });
    const slot = await lanes.enter('turns');
    const gone = new AbortController();
    const waiting = lanes.enter('turns', gone.signal);
    gone.abort(new Error('left'));
    await expect(waiting).rejects.toThrow('left');
    slot[Symbol.dispose]();
    slot[Symbol.dispose]();
    expect(lanes.stats().turns).toEqual({ running: 0, waiting: 0 });
  });

  test('of size zero is refused', async () => {
    expect(() => new Lanes({ turns: 0 })).toThrow(RepriseError);
  });
});

/** Answers each request by its last words, and counts how many run at once. */
function countingModel(wait: (said: string) => Promise<void>): {
  model: Model;
  most: () => number;
  order: string[];
} {
  let running = 0;
  let most = 0;
  const order: string[] = [];
  const answer = async (request: ModelRequest): Promise<string> => {
    const last = request.messages.at(-1);
    const said = JSON.stringify(last).match(/[\w-]+(?="\}\]\}$)/)?.[0] ?? '';
    order.push(said);
    most = Math.max(most, ++running);
    await wait(said);
    running--;
    return `re ${said}`;
  };
  const model = createScriptedModel(
    Array.from({ length: 200 }, () => answer),
    { contextWindow: 200_000 },
  );
  return { model, most: () => most, order };
}

describe('turns', () => {
  test('of many sessions never run more at once than allowed, and never two of one session', async () => {
    const open = gate();
    const { model, most } = countingModel(() => open.promise);
    await using at = await openChannels(model, {
      lanes: { turns: 3 },
      session: { queue: { mode: 'queue', debounceMs: 0 } },
    });
    const sent = [];
    for (let i = 0; i < 40; i++)
      sent.push(await at.reprise.receive(telegram(`m${i}`, { peer: `p${i % 8}` })));
    await until(() => most() === 3);
    open.resolve();
    await at.reprise.idle();
    expect(most()).toBe(3);
    for (const [i, { inboxId }] of sent.entries())
      expect((await at.reprise.inbox(inboxId)).reply?.text).toBe(`re m${i}`);
  });

  test('are shared fairly: one message does not wait for a hundred messages of another session', async () => {
    const open = gate();
    const { model, order } = countingModel(() => open.promise);
    await using at = await openChannels(model, {
      lanes: { turns: 1 },
      session: { queue: { mode: 'queue', debounceMs: 0, cap: 100 } },
    });
    for (let i = 0; i < 10; i++) await at.reprise.receive(telegram(`busy${i}`, { peer: 'busy' }));
    await until(() => order.length === 1);
    await at.reprise.receive(telegram('single', { peer: 'other' }));
    open.resolve();
    await at.reprise.idle();
    expect(order.indexOf('single')).toBeLessThanOrEqual(2);
    expect(order).toHaveLength(11);
  });

  test('that wait for another session let others run in their place', async () => {
    const tool: Tool = {
      name: 'wait',
      description: 'Waits until the other session has answered.',
      inputSchema: { type: 'object' },
      run: (_input, { aside }) =>
        aside(async () => {
          const { inboxId } = await at.reprise.receive(telegram('question', { peer: 'other' }));
          return (await at.reprise.follow(inboxId).result).text;
        }),
    };
    const model = scripted([{ calls: [{ name: 'wait' }] }, 'from the other', 'thanks']);
    await using at = await openChannels(model, { lanes: { turns: 1 }, tools: [tool] });
    const { inboxId } = await at.reprise.receive(telegram('ask'));
    await at.reprise.idle();
    expect((await at.reprise.inbox(inboxId)).reply?.text).toBe('thanks');
  });
});

describe('a stuck turn', () => {
  const hangs: Tool = {
    name: 'hang',
    description: 'Never ends.',
    inputSchema: { type: 'object' },
    timeoutMs: 3_600_000,
    run: () => new Promise(() => called.resolve()),
  };
  let called = gate();
  let clock = new HandClock();
  beforeEach(() => {
    called = gate();
    clock = new HandClock();
  });

  test.each([
    ['in a tool', { calls: [{ name: 'hang' }] }, () => called.promise],
    [
      'in a model that ignores its signal',
      { wait: new Promise<void>(() => undefined), text: 'never' },
      (model: ScriptedModel) => until(() => model.requests.length === 1),
    ],
  ])('%s is ended with a reason, and the session goes on', async (_where, step, isStuck) => {
    const model = scripted([step, 'here again']);
    await using at = await openChannels(model, { tools: [hangs], clock, stuckAfterMs: 600_000 });
    const { inboxId } = await at.reprise.receive(telegram('a'));
    await isStuck(model);
    clock.advance(599_999);
    expect((await at.reprise.inbox(inboxId)).status).toBe('running');
    clock.advance(1);
    await until(async () => (await at.reprise.inbox(inboxId)).status === 'failed');
    expect((await at.reprise.inbox(inboxId)).error?.message).toContain('no progress');
    const next = await at.reprise.receive(telegram('b'));
    await at.reprise.idle();
    expect((await at.reprise.inbox(next.inboxId)).reply?.text).toBe('here again');
  });

  test('is not one that keeps emitting events', async () => {
    const slow: Tool = {
      name: 'slow',
      description: 'Takes a while.',
      inputSchema: { type: 'object' },
      timeoutMs: 3_600_000,
      run: async () => {
        clock.advance(500_000);
        return 'done';
      },
    };
    const call = { calls: [{ name: 'slow' }] };
    const model = scripted([call, call, call, call, 'all done']);
    await using at = await openChannels(model, { tools: [slow], clock, stuckAfterMs: 600_000 });
    const { inboxId } = await at.reprise.receive(telegram('a'));
    await at.reprise.idle();
    expect((await at.reprise.inbox(inboxId)).reply?.text).toBe('all done');
  });
});
