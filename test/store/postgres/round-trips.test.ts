import { expect, test } from 'vitest';
import { openStore } from '../../../src/config/open.ts';
import type { TurnPlan } from '../../../src/store/port/turns.ts';
import { type StoreContext, transaction } from '../../../src/store/postgres/connection/transaction.ts';
import { receive } from '../../../src/store/postgres/write/inbox.ts';
import { beginTurn } from '../../../src/store/postgres/write/turns.ts';
import { uuidv7 } from '../../../src/store/shared/uuid.ts';
import { freshDatabase } from '../../support/postgres/postgres.ts';
import { nodeOn } from '../../support/postgres/postgres-node.ts';

/** How often work has waited for an answer before it asked for more. */
async function roundTrips(node: StoreContext, work: () => Promise<unknown>): Promise<number> {
  const { connections } = node;
  const take = connections.take.bind(connections);
  let trips = 0;
  let isAnswered = true;
  connections.take = async () => {
    const client = await take();
    return new Proxy(client, {
      get(target, name) {
        const member: unknown = Reflect.get(target, name, target);
        if (typeof member !== 'function') return member;
        if (name !== 'query') return member.bind(target);
        return (...args: unknown[]): unknown => {
          if (isAnswered) trips++;
          isAnswered = false;
          const answer = member.apply(target, args) as Promise<unknown>;
          const note = (): void => {
            isAnswered = true;
          };
          answer.then(note, note);
          return answer;
        };
      },
    });
  };
  try {
    await work();
    return trips;
  } finally {
    connections.take = take;
  }
}

test('a message is accepted in two round trips, also when its session is held and its queue has a cap', async () => {
  await using database = await freshDatabase();
  await using store = await openStore({ kind: 'postgres', url: database.url });
  const node = nodeOn(database.url);
  await using _ = node.connections;
  node.connections.opened();
  const send = (n: number): Promise<unknown> =>
    transaction(node, (tx) =>
      receive(tx, {
        sessionKey: 'agent:main:main',
        source: 'case',
        idempotencyKey: `m${n}`,
        body: { text: `${n}` },
        queue: { cap: 20, drop: 'old' },
        inboxId: uuidv7(),
        newSessionId: uuidv7(),
      }),
    );
  await send(1);
  const [{ sessionId = '' } = {}] = await store.inbox.pending();
  await using lease = await store.lease(sessionId);
  expect(await roundTrips(node, () => send(2))).toBe(2);
  const pending = await store.inbox.pending(sessionId);
  expect(pending.map(({ body }) => body['text'])).toEqual(['1', '2']);
  await lease.release({ handOver: true });
});

test('a turn begins in two round trips: what is compared and written, and the commit', async () => {
  await using database = await freshDatabase();
  await using store = await openStore({ kind: 'postgres', url: database.url });
  const node = nodeOn(database.url);
  await using _ = node.connections;
  node.connections.opened();
  const sessionKey = 'agent:main:main';
  const { sessionId, inboxId } = await store.inbox.receive({ sessionKey, source: 's', body: { text: 'hi' } });
  const entries = [{ type: 'message', message: { role: 'user', content: 'hi' } }];
  const plan: TurnPlan = {
    turnId: 't',
    openRows: [{ inboxId, state: 'accepted' }],
    lead: inboxId,
    inputs: [{ inboxId, entries }],
    lease: {},
  };
  expect(
    await roundTrips(node, () => transaction(node, (tx) => beginTurn(tx, { ...plan, id: sessionId }))),
  ).toBe(2);
  expect(await store.get(sessionId)).toMatchObject({ messageCount: 1, active: true });
  expect((await store.inbox.get(inboxId)).state).toBe('running');
});
