import { expect, test } from 'vitest';
import { SessionLane } from '../../src/engine/session-lane.ts';
import type { Lease, Store } from '../../src/store/store.ts';

test('a lane is at rest only when its lease is really given back', async () => {
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
  // Whoever forgot it now would not hear that a message came meanwhile.
  expect([lane.isHeld, lane.isAtRest]).toEqual([false, false]);
  answer.resolve({});
  await done;
  expect([woken, lane.isHeld, lane.isAtRest]).toEqual([1, true, false]);
});
