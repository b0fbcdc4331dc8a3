import { describe, expect, test } from 'vitest';
import { openStore } from '../../../src/config/open.ts';
import type { ProfileName } from '../../../src/engine/agents/profiles.ts';
import type { TurnEvent } from '../../../src/engine/events.ts';
import { entriesOf } from '../../../src/engine/intake/inbound.ts';
import { Reprise } from '../../../src/engine/reprise.ts';
import { RepriseError, type Store } from '../../../src/index.ts';
import type { ScriptedModel, ScriptedStep } from '../../../src/models/scripted/scripted-model.ts';
import { openMemoryStore } from '../../../src/store/memory/open.ts';
import { KEY, scripted } from '../../support/engine/engine.ts';
import { HandClock } from '../../support/engine/hand-clock.ts';
import { messagesOf, tempHome } from '../../support/engine/profile-home.ts';
import { fullStore } from '../../support/store/full-store.ts';

interface Scene {
  readonly clock: HandClock;
  readonly model: ScriptedModel;
  readonly reprise: Reprise;
  readonly events: TurnEvent[];
  readonly result: Promise<unknown>;
  readonly inboxId: string;
}

/**
 * A message sent to a disk without room, and a follower of it. With `sooner` it interrupts one that was accepted
 * before it and has not begun: one turn answers both, and the newer leads it.
 */
async function sayTo(
  store: Store,
  steps: readonly ScriptedStep[],
  profile?: ProfileName,
  sooner?: string,
): Promise<Scene> {
  const clock = new HandClock();
  const model = scripted(steps);
  const reprise = new Reprise({
    store,
    model,
    clock,
    // Time goes by faster than the machine works.
    stuckAfterMs: Number.MAX_SAFE_INTEGER,
    compaction: { background: false },
    ...(profile !== undefined && { profile }),
    ...(sooner !== undefined && { session: { queue: { mode: 'interrupt' } } }),
  });
  const session = await reprise.session(KEY);
  if (sooner !== undefined) {
    const inbound = { sessionKey: KEY, sessionId: session.id, source: 'test' };
    const queue = { mode: 'interrupt', debounceMs: 0, at: clock.now().getTime() };
    await store.inbox.receive({ ...inbound, body: { text: sooner, queue } });
  }
  const stream = session.send('keep this', { queueMode: 'session' });
  const events: TurnEvent[] = [];
  const reading = (async () => {
    for await (const event of stream) events.push(event);
  })();
  const result = Promise.allSettled([stream.result, reading]).then(([end]) => end);
  const { inboxId } = await stream.accepted;
  return { clock, model, reprise, events, result, inboxId };
}

/** Time passes until so many attempts were refused. */
async function untilRefused({ clock, events }: Scene, times: number): Promise<void> {
  const look = (): number => {
    if (delays(events).length < times) clock.advance(1000);
    return delays(events).length;
  };
  await expect.poll(look, { interval: 2 }).toBeGreaterThanOrEqual(times);
}

async function untilEnded({ clock, reprise, inboxId }: Pick<Scene, 'clock' | 'reprise' | 'inboxId'>) {
  const look = async (): Promise<string> => {
    clock.advance(1000);
    return (await reprise.inbox(inboxId)).status;
  };
  await expect.poll(look, { interval: 2 }).not.toMatch(/accepted|running/);
  return await reprise.inbox(inboxId);
}

async function said({ reprise }: Pick<Scene, 'reprise'>): Promise<string[]> {
  return (await messagesOf(await reprise.session(KEY))).map(({ role, text }) => `${role}: ${text}`);
}

const ends = (events: readonly TurnEvent[]): string[] =>
  events.flatMap(({ type }) => (type === 'done' || type === 'error' ? [type] : []));
const delays = (events: readonly TurnEvent[]): number[] =>
  events.flatMap((event) => (event.type === 'retry' ? [event.delayMs] : []));

describe('an accepted message that does not fit on the disk', () => {
  test('T04 waits for it however often it is refused, less and less often, and is stored and answered once', async () => {
    const full = fullStore(await openMemoryStore({}), 7);
    const at = await sayTo(full.store, ['there is room']);
    await using _ = at.reprise;
    expect(await untilEnded(at)).toMatchObject({ status: 'done' });
    expect(await said(at)).toEqual(['user: keep this', 'assistant: there is room']);
    expect(await at.result).toMatchObject({ value: { text: 'there is room' } });
    // A follower sees the wait and one end (I-28).
    expect(delays(at.events)).toEqual([1000, 2000, 4000, 8000, 16_000, 30_000, 30_000]);
    expect(ends(at.events)).toEqual(['done']);
    expect(at.model.requests).toHaveLength(1);
  });

  test('is answered by the process that is there when there is room', async () => {
    await using home = await tempHome('sqlite');
    const open = (): Promise<Store> => openStore({ kind: 'sqlite', home: home.path, durability: 'os' });
    const before = await sayTo(fullStore(await open(), Number.POSITIVE_INFINITY).store, []);
    await untilRefused(before, 5);
    await before.reprise[Symbol.asyncDispose]();
    const { inboxId } = before;
    const clock = new HandClock();
    const model = scripted(['there is room']);
    await using reprise = new Reprise({
      store: await open(),
      model,
      clock,
      compaction: { background: false },
    });
    expect(await untilEnded({ clock, reprise, inboxId })).toMatchObject({ status: 'done' });
    expect(await said({ reprise })).toEqual(['user: keep this', 'assistant: there is room']);
  });

  test.each<[string, ProfileName | undefined, boolean]>([
    ['said at once', undefined, true],
    ['written with its answer', 'zeroclaw', false],
  ])('%s, is no crash loop after one crash, however often it was refused', async (_name, profile, isSaid) => {
    await using home = await tempHome('sqlite');
    const open = (): Promise<Store> => openStore({ kind: 'sqlite', home: home.path, durability: 'os' });
    const full = fullStore(await open(), Number.POSITIVE_INFINITY);
    const before = await sayTo(full.store, Array(9).fill('no room'), profile);
    await untilRefused(before, 3);
    await before.reprise[Symbol.asyncDispose]();
    const { inboxId } = before;
    {
      // There is room, and the process dies before the answer is stored.
      await using store = await open();
      const { sessionId } = await store.inbox.get(inboxId);
      await using lease = await store.lease(sessionId);
      const { epoch } = lease;
      const item = await store.inbox.take(sessionId, { epoch, orphans: true });
      if (isSaid && item !== null) await store.append(sessionId, entriesOf(item), { key: inboxId, epoch });
    }
    const clock = new HandClock();
    await using reprise = new Reprise({
      store: await open(),
      model: scripted(['there is room']),
      clock,
      compaction: { background: false },
      ...(profile !== undefined && { profile }),
    });
    expect(await untilEnded({ clock, reprise, inboxId })).toMatchObject({ status: 'done' });
    expect(await said({ reprise })).toEqual(['user: keep this', 'assistant: there is room']);
  });

  test('that is stopped meanwhile has ended, and blocks no caller', async () => {
    const full = fullStore(await openMemoryStore({}), 6);
    const at = await sayTo(full.store, ['hello']);
    await using _ = at.reprise;
    await untilRefused(at, 6);
    const session = await at.reprise.session(KEY);
    await session.stop();
    expect(await at.reprise.inbox(at.inboxId)).toMatchObject({ status: 'cancelled' });
    // Without a second going by: the next try of the first would have been half a minute away.
    await expect(session.send('are you there?').result).resolves.toMatchObject({ text: 'hello' });
    expect(await said(at)).toEqual(['user: are you there?', 'assistant: hello']);
  });
});

describe('a turn that is written at its end, when the disk is full', () => {
  const profile = 'zeroclaw';

  test('keeps its answer, which is written unchanged when there is room: the model is called once', async () => {
    const full = fullStore(await openMemoryStore({}), 5);
    const at = await sayTo(full.store, ['worth keeping'], profile);
    await using _ = at.reprise;
    expect(await untilEnded(at)).toMatchObject({ status: 'done', reply: { text: 'worth keeping' } });
    expect(full.refused).toBe(5);
    expect(await said(at)).toEqual(['user: keep this', 'assistant: worth keeping']);
    expect(await at.result).toMatchObject({ value: { text: 'worth keeping' } });
    expect(ends(at.events)).toEqual(['done']);
    at.model.assertDone();
  });

  test('keeps the answer to several, whichever of them is tried next, and waits longer each time', async () => {
    const full = fullStore(await openMemoryStore({}), 3);
    const at = await sayTo(full.store, ['to both'], profile, 'this first');
    await using _ = at.reprise;
    expect(await untilEnded(at)).toMatchObject({ status: 'done', reply: { text: 'to both' } });
    expect(delays(at.events)).toEqual([1000, 2000, 4000]);
    expect(await said(at)).toEqual(['user: this first', 'user: keep this', 'assistant: to both']);
    expect(await at.result).toMatchObject({ value: { text: 'to both' } });
    expect(ends(at.events)).toEqual(['done']);
    at.model.assertDone();
    expect(await full.store.inbox.pending((await at.reprise.session(KEY)).id)).toEqual([]);
  });

  test('is answered again if one of its messages was stopped meanwhile, without that one', async () => {
    const full = fullStore(await openMemoryStore({}), 1);
    const at = await sayTo(full.store, ['to both', 'to the first'], profile, 'this first');
    await using _ = at.reprise;
    await expect.poll(() => delays(at.events)).toHaveLength(1);
    const { id } = await at.reprise.session(KEY);
    const [{ inboxId } = at] = await full.store.inbox.pending(id);
    await full.store.inbox.settle(at.inboxId, 'cancelled');
    expect(await untilEnded({ ...at, inboxId })).toMatchObject({ reply: { text: 'to the first' } });
    expect(await said(at)).toEqual(['user: this first', 'assistant: to the first']);
    at.model.assertDone();
  });

  test('counts none of its messages as crashed', async () => {
    const full = fullStore(await openMemoryStore({}), Number.POSITIVE_INFINITY);
    const at = await sayTo(full.store, ['to both'], profile, 'this first');
    await using _ = at.reprise;
    await untilRefused(at, 3);
    const { id } = await at.reprise.session(KEY);
    const attempts = async (): Promise<number[]> =>
      (await full.store.inbox.pending(id)).map((item) => item.attempts);
    // Another try may be under way.
    await expect.poll(attempts).toEqual([0, 0]);
  });

  test('is given up if other processes crashed during it since, as their crashes count', async () => {
    const full = fullStore(await openMemoryStore({}), 1);
    const down = new RepriseError('MODEL_FAILED', 'the model is down');
    const at = await sayTo(full.store, [down], profile);
    await using _ = at.reprise;
    // No time goes by: there is no second try yet.
    await expect.poll(() => delays(at.events)).toHaveLength(1);
    await at.reprise.idle();
    const { id } = await at.reprise.session(KEY);
    for (let crash = 0; crash < 3; crash++) {
      await using lease = await full.store.lease(id);
      expect(await full.store.inbox.take(id, { epoch: lease.epoch, orphans: true })).not.toBeNull();
    }
    expect(await untilEnded(at)).toMatchObject({ status: 'failed' });
    expect(await at.result).toMatchObject({ reason: { details: { reason: 'crash-loop' } } });
    at.model.assertDone();
  });

  test('is answered again if the session has changed meanwhile', async () => {
    const full = fullStore(await openMemoryStore({}), 1);
    const at = await sayTo(full.store, ['to what was', 'to what is'], profile);
    await using _ = at.reprise;
    await untilRefused(at, 1);
    const session = await at.reprise.session(KEY);
    await full.store.append(session.id, [{ type: 'session_info', name: 'another' }]);
    expect(await untilEnded(at)).toMatchObject({ status: 'done', reply: { text: 'to what is' } });
    expect(await said(at)).toEqual(['user: keep this', 'assistant: to what is']);
    at.model.assertDone();
  });

  test('leaves its message open, and a failure is no end: it is stored and answered when there is room', async () => {
    const full = fullStore(await openMemoryStore({}), 5);
    const down = new RepriseError('MODEL_FAILED', 'the model is down');
    const at = await sayTo(full.store, [down, down, down, down, down, 'there is room'], profile);
    await using _ = at.reprise;
    expect(await untilEnded(at)).toMatchObject({ status: 'done' });
    expect(full.refused).toBe(5);
    expect(await said(at)).toEqual(['user: keep this', 'assistant: there is room']);
    expect(await at.result).toMatchObject({ value: { text: 'there is room' } });
    expect(ends(at.events)).toEqual(['done']);
    at.model.assertDone();
  });
});
