import { expect, test } from 'vitest';
import { SessionLane } from '../../../src/engine/schedule/session-lane.ts';
import type { Lease, Store } from '../../../src/store/port/store.ts';

test('a lane is at rest only when its lease is really released', async () => {
  const answer = Promise.withResolvers<object | null>();
  const { signal } = new AbortController();
  const lease = { epoch: 1, signal, release: () => answer.promise } as unknown as Lease;
  let woken = 0;
  const lane = new SessionLane({
    store: { lease: async () => lease } as unknown as Store,
    sessionId: 's',
    onWaiting: () => woken++,
  });
  const { promise: isReleasing, resolve } = Promise.withResolvers<void>();
  const done = lane.run(async () => setImmediate(resolve));
  await isReleasing;
  // A caller that forgot it now would miss a message that arrives meanwhile.
  expect([lane.isHeld, lane.isAtRest]).toEqual([false, false]);
  answer.resolve({});
  await done;
  expect([woken, lane.isHeld, lane.isAtRest]).toEqual([1, true, false]);
});

test('a lease that was kept is released in order: the next caller continues with it', async () => {
  const { signal } = new AbortController();
  const answers = [{}, {}, null];
  const { promise: isAsked, resolve: asked } = Promise.withResolvers<void>();
  const { promise: isAllowed, resolve: allow } = Promise.withResolvers<void>();
  let grants = 0;
  const release = async (): Promise<object | null> => {
    const [answer = null] = answers.splice(0, 1);
    if (answers.length === 1) {
      asked();
      await isAllowed;
    }
    return answer;
  };
  const grant = async (): Promise<Lease> => ({ epoch: ++grants, signal, release }) as unknown as Lease;
  const store = { lease: grant } as unknown as Store;
  const lane = new SessionLane({ store, sessionId: 's', onWaiting: () => undefined });
  await lane.run(async () => undefined); // kept: a message waits
  const given = lane.giveBack(); // refused: another one has come
  await isAsked;
  const epoch = lane.run(async (lease) => lease.epoch);
  allow();
  await given;
  expect(await epoch).toBe(1);
  expect([grants, lane.isAtRest]).toEqual([1, true]);
});
