import assert from 'node:assert/strict';
import type { Store } from '../../src/store/port/store.ts';
import type { BegunTurn, ChangedRows, SeenRow, TurnPlan } from '../../src/store/port/turns.ts';
import { assistant, bodyOf, KEY, leafMove, readEntries, refused, session, user } from './kit.ts';
import type { StoreCase } from './store-case.ts';

/** Begin and end of a turn: each is one transaction. */
export const turnCases: readonly StoreCase[] = [
  {
    name: 'a turn begins with its lease, its messages and their words in one step',
    promise: 'I-27: a message is in the history before the model is called',
    area: 'turns',
    async run({ store, reopen }) {
      const id = await session(store, ['before']);
      const [one, two, three] = await put(store, id, 3);
      const plan = planOf(await seen(store, id), [one, two]);
      const turn = begun(await store.turns.begin(id, plan));
      assert.equal(turn.epoch, turn.lease?.epoch);
      assert.deepEqual([turn.lead.inboxId, turn.lead.state, turn.lead.attempts], [one, 'running', 1]);
      assert.deepEqual(turn.lead.body, { n: 1 });
      assert.deepEqual(turn.receipts, [
        { firstSeq: 3, lastSeq: 3 },
        { firstSeq: 4, lastSeq: 4 },
      ]);
      assert.deepEqual(turn.record, await store.get(id));
      assert.equal(turn.record.lastSeq, 4);
      assert.deepEqual(await states(store, id), [
        [one, 'running'],
        [three, 'accepted'],
      ]);
      const { state, detail } = await store.inbox.get(two);
      assert.deepEqual([state, detail], ['merged', { mergedInto: one }]);
      assert.deepEqual((await readEntries(store, id)).map(bodyOf), [user('before'), user(one), user(two)]);
      await refused(store.lease(id, { waitMs: 0 }), 'LEASE_HELD');
      await refused(store.append(id, [user('x')]), 'LEASE_HELD');
      await store.append(id, [assistant('step')], { epoch: turn.epoch });
      const reopened = await reopen();
      assert.equal((await reopened.inbox.get(one)).attempts, 1);
      assert.equal((await reopened.get(id)).lastSeq, 5);
    },
  },
  {
    name: 'a turn is not begun if the open messages are not those it was chosen from',
    promise: 'I-38: every message runs once, in order',
    area: 'turns',
    async run({ store }) {
      const id = await session(store);
      const [one, two] = await put(store, id, 2);
      const before = await seen(store, id);
      const plan = planOf(before, [one]);
      const wrong: readonly (readonly SeenRow[])[] = [
        [],
        before.slice(0, 1),
        before.toReversed(),
        before.map((row) => ({ ...row, state: 'running' })),
      ];
      for (const openRows of wrong) {
        const answer = await store.turns.begin(id, { ...plan, openRows });
        assert.ok('openRows' in answer, 'refused with the rows as they are');
        assert.deepEqual(answer.openRows, await store.inbox.pending(id));
      }
      await store.inbox.settle(two, 'cancelled');
      const answer = await store.turns.begin(id, plan);
      assert.deepEqual('openRows' in answer && answer.openRows.map(({ inboxId }) => inboxId), [one]);
      assert.equal((await store.get(id)).lastSeq, 1, 'nothing was written');
      assert.deepEqual(await store.leases(), [], 'no lease was granted');
      assert.equal((await store.inbox.get(one)).attempts, 0);
      // Commands run beside the queue.
      const command = { sessionKey: KEY, sessionId: id, source: 's', body: {}, class: 'command' } as const;
      await store.inbox.receive(command);
      begun(await store.turns.begin(id, planOf([{ inboxId: one, state: 'accepted' }], [one])));
    },
  },
  {
    name: 'a refused beginning leaves no lease, no running message and no words',
    promise: 'P2: a refused write leaves nothing',
    area: 'turns',
    async run({ store }) {
      const id = await session(store);
      const [one] = await put(store, id, 1);
      const plan = planOf(await seen(store, id), [one]);
      const bad = [{ inboxId: one, entries: [user('a'), { type: 7 as never }] }];
      await refused(store.turns.begin(id, { ...plan, inputs: bad }), 'INVALID_INPUT');
      // Found out only when the words are written.
      const nowhere = [{ inboxId: one, entries: [user('a'), leafMove('ffffffff')] }];
      await refused(store.turns.begin(id, { ...plan, inputs: nowhere }), ['INVALID_INPUT', 'NOT_FOUND']);
      await refused(store.turns.begin(id, { ...plan, lease: { epoch: 7 } }), 'FENCED');
      await refused(store.turns.begin('nobody', plan), 'SESSION_NOT_FOUND');
      assert.deepEqual(await store.leases(), []);
      assert.deepEqual(await states(store, id), [[one, 'accepted']]);
      assert.equal((await store.get(id)).lastSeq, 1);
      await using lease = await store.lease(id, { waitMs: 0 });
      await refused(store.turns.begin(id, plan), 'LEASE_HELD');
      const turn = begun(await store.turns.begin(id, { ...plan, lease: { epoch: lease.epoch } }));
      assert.deepEqual([turn.lease, turn.epoch], [undefined, lease.epoch]);
    },
  },
  {
    name: 'a beginning whose answer was lost is asked for again and is the same',
    promise: 'P2: a repeated request happens once',
    area: 'turns',
    async run({ store }) {
      const id = await session(store);
      const [one] = await put(store, id, 1);
      const plan = planOf(await seen(store, id), [one]);
      const first = begun(await store.turns.begin(id, plan));
      const again = begun(await store.turns.begin(id, plan));
      assert.deepEqual([again.epoch, again.receipts, again.lead], [first.epoch, first.receipts, first.lead]);
      assert.equal(again.lead.attempts, 1);
      assert.equal((await store.get(id)).lastSeq, 2);
      const other = await store.turns.begin(id, { ...plan, turnId: 'another' });
      assert.ok('openRows' in other, 'another turn sees that the message runs');
    },
  },
  {
    name: 'a message whose runner died begins again, and counts another attempt',
    promise: 'P6: accepted input runs, even after its runner died',
    area: 'turns',
    async run({ store }) {
      const id = await session(store);
      const [one] = await put(store, id, 1);
      const first = begun(await store.turns.begin(id, planOf(await seen(store, id), [one])));
      await first.lease?.release({ handOver: true });
      const rows = await seen(store, id);
      assert.deepEqual(rows, [{ inboxId: one, state: 'running' }]);
      const plan = { ...planOf(rows, [one]), turnId: 'second', inputs: [] };
      const second = begun(await store.turns.begin(id, plan));
      assert.ok(second.epoch > first.epoch);
      assert.deepEqual([second.lead.attempts, second.receipts], [2, []]);
      const words = [{ inboxId: one, entries: [user(one)] }];
      const again = { ...plan, turnId: 'third', inputs: words, lease: { epoch: second.epoch } };
      const third = begun(await store.turns.begin(id, again));
      assert.deepEqual(third.receipts, [{ firstSeq: 2, lastSeq: 2 }], 'its words are there once');
      assert.equal((await store.get(id)).lastSeq, 2);
    },
  },
  {
    name: 'a turn ends with its answer, its row and its lease in one step',
    promise: 'I-33: what an append does to messages is one transaction',
    area: 'turns',
    async run({ store, reopen }) {
      const id = await session(store);
      const [one] = await put(store, id, 1);
      const { epoch } = begun(await store.turns.begin(id, planOf(await seen(store, id), [one])));
      const settle = [{ inboxId: one, state: 'done', detail: { text: 'yes' } }] as const;
      const end = await store.turns.end({ sessionId: id, epoch }, [assistant('yes')], {
        settle,
        release: true,
      });
      assert.deepEqual(end, { firstSeq: 3, lastSeq: 3, rows: settle, released: true });
      assert.deepEqual(await store.leases(), []);
      assert.deepEqual(await states(store, id), []);
      await refused(store.append(id, [user('late')], { epoch }), 'FENCED');
      const lease = await store.lease(id, { waitMs: 0 });
      assert.ok(lease.epoch > epoch);
      assert.deepEqual((await (await reopen()).inbox.get(one)).detail, { text: 'yes' });
    },
  },
  {
    name: 'the end of a turn keeps the lease while a message waits, and the end that a row already has',
    promise: 'I-65: no message is left without a runner',
    area: 'turns',
    async run({ store }) {
      const id = await session(store);
      const [one, two] = await put(store, id, 2);
      const { epoch, lease } = begun(await store.turns.begin(id, planOf(await seen(store, id), [one])));
      await store.inbox.settle(one, 'cancelled', { reason: 'stopped' });
      const turn = { sessionId: id, epoch };
      const settle = [{ inboxId: one, state: 'done', detail: { text: 'yes' } }] as const;
      const end = await store.turns.end(turn, [assistant('yes')], { settle, release: true });
      const rows = [{ inboxId: one, state: 'cancelled', detail: { reason: 'stopped' } }];
      assert.deepEqual([end.rows, end.released], [rows, false]);
      await refused(store.lease(id, { waitMs: 0 }), 'LEASE_HELD');
      const plan = { ...planOf(await seen(store, id), [two]), lease: { epoch } };
      begun(await store.turns.begin(id, plan));
      const last = { settle: [{ inboxId: two, state: 'failed' }], release: false } as const;
      assert.equal((await store.turns.end(turn, [assistant('no')], last)).released, false);
      await refused(store.lease(id, { waitMs: 0 }), 'LEASE_HELD');
      assert.equal(await lease?.release(), null);
      await refused(store.turns.end(turn, [assistant('late')], last), 'FENCED');
      assert.equal((await store.get(id)).messageCount, 4);
    },
  },
];

const TURN = 'turn-1';

async function put(store: Store, sessionId: string, count: number): Promise<[string, string, string]> {
  const ids: string[] = [];
  for (let n = 1; n <= count; n++) {
    const receipt = await store.inbox.receive({ sessionKey: KEY, sessionId, source: 's', body: { n } });
    ids.push(receipt.inboxId);
  }
  return ids as [string, string, string];
}

/** Its first message leads, and the others are answered with it. */
function planOf(openRows: readonly SeenRow[], inboxIds: readonly string[]): TurnPlan {
  const inputs = inboxIds.map((inboxId) => ({ inboxId, entries: [user(inboxId)] }));
  return { turnId: TURN, openRows, lead: inboxIds[0] ?? '', inputs, lease: {} };
}

function begun(answer: BegunTurn | ChangedRows): BegunTurn {
  assert.ok(!('openRows' in answer), 'the rows are as they were seen');
  return answer;
}

async function seen(store: Store, id: string): Promise<SeenRow[]> {
  return (await store.inbox.pending(id)).map(({ inboxId, state }) => ({ inboxId, state }));
}

async function states(store: Store, id: string): Promise<unknown> {
  return (await seen(store, id)).map(({ inboxId, state }) => [inboxId, state]);
}
