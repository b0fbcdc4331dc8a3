import { setFlagsFromString } from 'node:v8';
import { runInNewContext } from 'node:vm';
import { expect, test } from 'vitest';
import { Reprise } from '../../../src/engine/reprise.ts';
import type { Session } from '../../../src/engine/session.ts';
import { createOfflineModel } from '../../../src/models/offline/offline-model.ts';
import { openMemoryStore } from '../../../src/store/memory/open.ts';
import { pacedModel } from '../../support/engine/paced-model.ts';

setFlagsFromString('--expose-gc');
const collect = runInNewContext('gc') as () => void;

/** Clears memory until it is so. */
async function untilCollected(isSo: () => boolean): Promise<void> {
  while (!isSo()) {
    collect();
    await new Promise((resolve) => setTimeout(resolve, 20));
  }
}

const keyOf = (i: number): string => `agent:main:direct:${i}`;

test('sessions without a holder are released; one that is held is not', async () => {
  const store = await openMemoryStore({});
  await using reprise = new Reprise({ store, model: createOfflineModel() });
  const held = await reprise.session(keyOf(0));
  const touch = async (i: number): Promise<void> => {
    const session = await reprise.session(keyOf(i));
    if (i % 10 === 0) await session.send('hello').result;
    else await session.record();
  };
  for (let i = 1; i <= 200; i++) await touch(i);
  await untilCollected(() => reprise.sessionsInHand() === 1);
  expect((await held.send('still there?').result).text).toContain('still there?');
  expect(reprise.sessionsInHand()).toBe(1);
});

test('a turn ends as usual, though no caller holds its session any more, and its session is released', async () => {
  const store = await openMemoryStore({});
  const model = pacedModel(['done']);
  await using reprise = new Reprise({ store, model });
  const begin = async (): Promise<string> => {
    const session: Session = await reprise.session(keyOf(1));
    const { inboxId } = await session.send('take your time').accepted;
    return inboxId;
  };
  const inboxId = await begin();
  for (let i = 2; i <= 50; i++) await reprise.session(keyOf(i));
  await untilCollected(() => reprise.sessionsInHand() === 1);
  model.allow(1);
  expect(await reprise.ended(inboxId)).toMatchObject({ type: 'done' });
  await untilCollected(() => reprise.sessionsInHand() === 0);
});

test('if sessions run only for their holders, a garbage collection changes nothing', async () => {
  const store = await openMemoryStore({});
  await using reprise = new Reprise({ store, model: createOfflineModel(), run: false });
  for (let i = 0; i < 20; i++) await reprise.session(keyOf(i));
  for (let i = 0; i < 5; i++) {
    collect();
    await new Promise((resolve) => setImmediate(resolve));
  }
  expect(reprise.sessionsInHand()).toBe(20);
});
