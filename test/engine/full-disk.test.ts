import { describe, expect, test } from 'vitest';
import { openStore } from '../../src/config/open.ts';
import type { TurnEvent } from '../../src/engine/events.ts';
import type { ProfileName } from '../../src/engine/profiles.ts';
import { Reprise } from '../../src/engine/reprise.ts';
import { RepriseError, type Store } from '../../src/index.ts';
import type { ScriptedModel, ScriptedStep } from '../../src/models/scripted/scripted-model.ts';
import { openMemoryStore } from '../../src/store/memory/open.ts';
import { KEY, scripted } from '../support/engine.ts';
import { fullStore } from '../support/full-store.ts';
import { HandClock } from '../support/hand-clock.ts';
import { messagesOf, tempHome } from '../support/profile-home.ts';

interface Scene {
  readonly clock: HandClock;
  readonly model: ScriptedModel;
  readonly reprise: Reprise;
  readonly events: TurnEvent[];
  readonly result: Promise<unknown>;
  readonly inboxId: string;
}

/** A message said to a disk without room, and somebody who follows it. */
async function sayTo(store: Store, steps: readonly ScriptedStep[], profile?: ProfileName): Promise<Scene> {
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
  });
  const session = await reprise.session(KEY);
  const stream = session.send('keep this');
  const events: TurnEvent[] = [];
  const reading = (async () => {
    for await (const event of stream) events.push(event);
  })();
  const result = Promise.allSettled([stream.result, reading]).then(([end]) => end);
  const { inboxId } = await stream.accepted;
  return { clock, model, reprise, events, result, inboxId };
}

/** Time goes on until so many tries were refused. */
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

describe('an accepted message for whose words there is no room', () => {
  test('T04 waits for it however often it is refused, less and less often, and is said and answered once', async () => {
    const full = fullStore(await openMemoryStore({}), 7);
    const at = await sayTo(full.store, ['there is room']);
    await using _ = at.reprise;
    expect(await untilEnded(at)).toMatchObject({ status: 'done' });
    expect(await said(at)).toEqual(['user: keep this', 'assistant: there is room']);
    expect(await at.result).toMatchObject({ value: { text: 'there is room' } });
    // Whoever follows it hears of the wait, and of one end (I-28).
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

  test('that is stopped meanwhile is over, and keeps nobody waiting', async () => {
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

describe('a turn that is written at its end, and for which there is no room then', () => {
  const profile = 'zeroclaw';

  test.each<[string, ScriptedStep]>([
    ['an answer', 'lost'],
    ['a failure', new RepriseError('MODEL_FAILED', 'the model is down')],
  ])(
    'leaves its message open, and %s is no end: it is said and answered when there is room',
    async (_name, lost) => {
      const full = fullStore(await openMemoryStore({}), 5);
      const at = await sayTo(full.store, [lost, lost, lost, lost, lost, 'there is room'], profile);
      await using _ = at.reprise;
      expect(await untilEnded(at)).toMatchObject({ status: 'done' });
      expect(full.refused).toBe(5);
      expect(await said(at)).toEqual(['user: keep this', 'assistant: there is room']);
      expect(await at.result).toMatchObject({ value: { text: 'there is room' } });
      expect(ends(at.events)).toEqual(['done']);
      at.model.assertDone();
    },
  );
});
