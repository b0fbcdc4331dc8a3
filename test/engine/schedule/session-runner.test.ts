import { expect, test } from 'vitest';
import type { EngineContext } from '../../../src/engine/engine-context.ts';
import { SessionRunner } from '../../../src/engine/schedule/session-runner.ts';

test('a runner that is woken after its queue was held is not busy, so closing it ends', async () => {
  // A held runner reads nothing, so it needs no store. A full engine would spin without end here if this failed.
  const runner = new SessionRunner({ options: {} } as unknown as EngineContext, 'held');
  runner.hold();
  await runner.wake();
  expect(runner.isBusy).toBe(false);
});
