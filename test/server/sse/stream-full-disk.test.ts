import { expect, test } from 'vitest';
import type { ProfileName } from '../../../src/engine/agents/profiles.ts';
import { openMemoryStore } from '../../../src/store/memory/open.ts';
import { scripted } from '../../support/engine/engine.ts';
import { HandClock } from '../../support/engine/hand-clock.ts';
import { allEvents, openServer, textOf } from '../../support/server/server.ts';
import { fullStore } from '../../support/store/full-store.ts';

test.each<[string, ProfileName]>([
  ['before its turn', 'native'],
  ['at its end', 'zeroclaw'],
])(
  'a message that waits for room on the disk %s keeps its stream, which ends once, with the answer the model was asked for once',
  async (_name, profile) => {
    const clock = new HandClock();
    const model = scripted(['hello']);
    const full = fullStore(await openMemoryStore({}), 5);
    // Time goes by faster than the machine works.
    const stuckAfterMs = Number.MAX_SAFE_INTEGER;
    await using at = await openServer(model, { store: full.store, clock, profile, stuckAfterMs });
    let told: Awaited<ReturnType<typeof allEvents>> | undefined;
    const hearing = allEvents(at.chat({ message: 'hi' })).then((events) => {
      told = events;
    });
    const look = (): boolean => {
      clock.advance(1000);
      return told !== undefined;
    };
    await expect.poll(look, { interval: 2 }).toBe(true);
    await hearing;
    const events = told ?? [];
    expect(full.refused).toBe(5);
    expect(events.filter(({ type }) => type === 'done' || type === 'error')).toMatchObject([
      { type: 'done', text: 'hello' },
    ]);
    expect(textOf(events)).toBe('hello');
    // Of a second request the script would complain, and so it would of none.
    model.assertDone();
    const turns = async (): Promise<unknown> =>
      (await (await at.request('/metrics')).text()).match(/^reprise_turns_total.*$/gm);
    await expect.poll(turns).toEqual(['reprise_turns_total{outcome="done"} 1']);
  },
);
