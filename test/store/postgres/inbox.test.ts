import pg from 'pg';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { openStore } from '../../../src/config/open.ts';
import type { Inbound, InboxItem } from '../../../src/store/port/inbox.ts';
import type { Store } from '../../../src/store/port/store.ts';
import { type FreshDatabase, freshDatabase } from '../../support/postgres/postgres.ts';
import { query } from '../../support/postgres/postgres-suite.ts';
import { until } from '../../support/store/store-faults.ts';

/* Two nodes on one database: two stores with connections of their own know nothing of each other. */

let database: FreshDatabase;
let nodes: readonly [Store, Store];
let keys = 0;

beforeAll(async () => {
  database = await freshDatabase();
  const open = (): Promise<Store> => openStore({ kind: 'postgres', url: database.url });
  nodes = [await open(), await open()];
});

afterAll(async () => {
  for (const node of nodes) await node[Symbol.asyncDispose]();
  await database[Symbol.asyncDispose]();
});

/** A chat that no test has used. */
const freshKey = (): string => `agent:main:telegram:direct:p${++keys}`;

const message = (sessionKey: string, more: Partial<Inbound> = {}): Inbound => ({
  sessionKey,
  source: 'telegram',
  body: { text: 'hi' },
  ...more,
});

const times = (count: number): number[] => Array.from({ length: count }, (_, i) => i);

test('one message that reaches two nodes many times at once is accepted once', async () => {
  const log = {
    agentId: 'main',
    channelType: 'telegram',
    channelId: 'dup',
    role: 'user',
    content: 'hi',
  } as const;
  for (const round of times(10)) {
    const inbound = message(freshKey(), {
      idempotencyKey: `update-${round}`,
      log,
      reset: { reason: 'daily' },
    });
    const receipts = await Promise.all(
      times(8).map((i) => nodes[i % 2 === 0 ? 0 : 1].inbox.receive(inbound)),
    );
    expect(receipts.filter(({ fresh }) => fresh)).toHaveLength(1);
    expect(new Set(receipts.map(({ inboxId }) => inboxId)).size).toBe(1);
    const { sessions } = await nodes[0].list({ limit: 1000 });
    expect(sessions.filter(({ sessionKey }) => sessionKey === inbound.sessionKey)).toHaveLength(1);
  }
  expect((await nodes[1].convlog.read(log, { limit: 100 })).lines).toHaveLength(10);
});

test('first messages of a chat that reach two nodes at once share one session', async () => {
  for (const _ of times(10)) {
    const key = freshKey();
    const receipts = await Promise.all(
      times(6).map((i) => nodes[i % 2 === 0 ? 0 : 1].inbox.receive(message(key))),
    );
    expect(new Set(receipts.map(({ sessionId }) => sessionId)).size).toBe(1);
    expect(receipts.filter(({ created }) => created !== undefined)).toHaveLength(1);
  }
});

test('a session that two nodes find expired is reset once', async () => {
  const key = freshKey();
  let { sessionId: from } = await nodes[0].inbox.receive(message(key));
  for (const _ of times(5)) {
    const reset = { reason: 'idle', from };
    const receipts = await Promise.all(
      times(6).map((i) => nodes[i % 2 === 0 ? 0 : 1].inbox.receive(message(key, { reset }))),
    );
    const [next = ''] = new Set(receipts.map(({ sessionId }) => sessionId));
    expect(receipts.every(({ sessionId }) => sessionId === next && next !== from)).toBe(true);
    expect(receipts.filter(({ created }) => created?.replaced === from)).toHaveLength(1);
    from = next;
  }
});

test('each message is taken once, whichever of two nodes takes', async () => {
  const key = freshKey();
  const receipts = await Promise.all(
    times(40).map((i) => nodes[i % 2 === 0 ? 0 : 1].inbox.receive(message(key))),
  );
  const id = receipts[0]?.sessionId ?? '';
  // The epoch is all it takes: the lease may have been handed to a sibling of the same engine.
  const { epoch } = await nodes[0].lease(id, { waitMs: 0 });
  const takeAll = async (node: Store): Promise<InboxItem[]> => {
    const taken: InboxItem[] = [];
    for (
      let item = await node.inbox.take(id, { epoch });
      item !== null;
      item = await node.inbox.take(id, { epoch })
    )
      taken.push(item);
    return taken;
  };
  const taken = (await Promise.all([...nodes, ...nodes].map(takeAll))).flat();
  expect(taken.map(({ inboxId }) => inboxId).sort()).toEqual(receipts.map(({ inboxId }) => inboxId).sort());
  expect(taken.every(({ attempts, state }) => attempts === 1 && state === 'running')).toBe(true);
});

test('a message that is being cancelled is not taken, and no runner waits for it', async () => {
  const key = freshKey();
  const [first, second] = [
    await nodes[0].inbox.receive(message(key)),
    await nodes[0].inbox.receive(message(key)),
  ];
  const { epoch } = await nodes[0].lease(first.sessionId, { waitMs: 0 });
  const client = new pg.Client({ connectionString: database.url });
  await client.connect();
  try {
    await client.query('BEGIN');
    await client.query("UPDATE reprise.inbox SET state = 'cancelled' WHERE id = $1", [first.inboxId]);
    const taken = await nodes[0].inbox.take(first.sessionId, { epoch });
    expect(taken?.inboxId).toBe(second.inboxId);
    await client.query('COMMIT');
  } finally {
    await client.end();
  }
  expect(await nodes[1].inbox.take(first.sessionId, { epoch })).toBe(null);
  expect((await nodes[1].inbox.get(first.inboxId)).state).toBe('cancelled');
});

test('a group never has more than its number of messages, whichever nodes they come from', async () => {
  const group = { name: 'children \0 of one', max: 3 };
  const results = await Promise.allSettled(
    times(12).map((i) => nodes[i % 2 === 0 ? 0 : 1].inbox.receive(message(freshKey(), { group }))),
  );
  expect(results.filter(({ status }) => status === 'fulfilled')).toHaveLength(3);
  for (const result of results)
    if (result.status === 'rejected') expect(result.reason).toMatchObject({ code: 'LIMIT_EXCEEDED' });
  expect((await nodes[1].inbox.pending({ group: group.name })).map((item) => item.group)).toEqual(
    times(3).map(() => group.name),
  );
});

/** How often; the long form is a thousand, as the acceptance list says. */
const ROUNDS = Number(process.env['REPRISE_PUT_RELEASE_ROUNDS'] ?? 150);

test('T30c: a message put while the lease is let go is never stranded', async () => {
  const key = freshKey();
  const { sessionId: id } = await nodes[0].inbox.receive(message(key));
  let [refusals, seenFree] = [0, 0];
  const lease = await nodes[0].lease(id, { waitMs: 0 });
  for (
    let item = await nodes[0].inbox.take(id, lease);
    item !== null;
    item = await nodes[0].inbox.take(id, lease)
  )
    await nodes[0].inbox.settle(item.inboxId, 'done');
  expect(await lease.release()).toBe(null);
  // Until both ways were met, or it would be no race: which of the two is first is up to the machine.
  const isRace = (): boolean => refusals > 0 && seenFree > 0;
  for (let round = 0; round < ROUNDS || (!isRace() && round < 20 * ROUNDS); round++) {
    const [runner, sender] = round % 2 === 0 ? nodes : [nodes[1], nodes[0]];
    const held = await runner.lease(id);
    const [left, receipt] = await Promise.all([held.release(), sender.inbox.receive(message(key))]);
    // Either the sender saw a holder, who then was not let go, or it saw none and runs the message itself.
    if (receipt.held) expect(left?.inboxId).toBe(receipt.inboxId);
    else seenFree++;
    if (left !== null) refusals++;
    const last = left === null ? await sender.lease(id) : held;
    const who = left === null ? sender : runner;
    const item = await who.inbox.take(id, last);
    expect(item?.inboxId).toBe(receipt.inboxId);
    await who.inbox.settle(receipt.inboxId, 'done');
    expect(await last.release()).toBe(null);
  }
  expect(await nodes[0].inbox.pending(id)).toEqual([]);
  expect([refusals > 0, seenFree > 0]).toEqual([true, true]);
});

test('a watcher receives changes of transactions that end later than others which began after them', async () => {
  const [watching, other] = nodes;
  const { inboxId: slowItem, sessionId: slow } = await other.inbox.receive(message(freshKey()));
  const stop = new AbortController();
  const heard: string[] = [];
  const watch = (async () => {
    for await (const { sessionId } of watching.inbox.watch({ signal: stop.signal })) heard.push(sessionId);
  })();
  const client = new pg.Client({ connectionString: database.url });
  await client.connect();
  try {
    await client.query('BEGIN');
    await client.query("UPDATE reprise.inbox SET state = 'done' WHERE id = $1", [slowItem]);
    for (const _ of times(3)) {
      const { sessionId } = await other.inbox.receive(message(freshKey()));
      await until('news of a change that began later', () => heard.includes(sessionId));
    }
    heard.length = 0;
    await client.query('COMMIT');
    await until('news of the change that began first', () => heard.includes(slow));
    expect(heard.filter((id) => id !== slow)).toEqual([]);
  } finally {
    await client.end();
    stop.abort();
    await watch;
  }
});

test('a database that was copied by its contents does not report everything in it as changed', async () => {
  const { sessionId: old } = await nodes[0].inbox.receive(message(freshKey()));
  await query(database.url, "UPDATE reprise.inbox SET changed_by = '1000000000000'");
  await using copy = await openStore({ kind: 'postgres', url: database.url });
  const stop = new AbortController();
  const heard: string[] = [];
  const watch = (async () => {
    for await (const change of copy.inbox.watch({ signal: stop.signal })) heard.push(change.sessionId);
  })();
  const { sessionId } = await nodes[0].inbox.receive(message(freshKey()));
  await until('news', () => heard.includes(sessionId));
  stop.abort();
  await watch;
  expect(heard).not.toContain(old);
});

test('a message that ended loses its words after 30 days, and stays known by its key', async () => {
  const key = freshKey();
  const ids: string[] = [];
  for (const n of times(3)) {
    const inbound = message(key, { idempotencyKey: `old-${n}`, body: { text: `number ${n}` } });
    ids.push((await nodes[0].inbox.receive(inbound)).inboxId);
  }
  const [ended = '', waiting = '', young = ''] = ids;
  await nodes[0].inbox.settle(ended, 'done', { seq: 7 });
  await nodes[0].inbox.settle(young, 'done');
  const old = new Date(Date.now() - 31 * 24 * 60 * 60 * 1000).toISOString();
  await query(
    database.url,
    `UPDATE reprise.inbox SET created_at = '${old}' WHERE id IN ('${ended}', '${waiting}')`,
  );
  const { Connections } = await import('../../../src/store/postgres/connection/connections.ts');
  const { dropOldBodies } = await import('../../../src/store/postgres/old-bodies.ts');
  const { parsePostgresUrl } = await import('../../../src/store/postgres/settings.ts');
  await using connections = new Connections(parsePostgresUrl({ url: database.url }));
  expect(await dropOldBodies(connections, Date.now())).toBe(false);
  const bodies = await Promise.all(ids.map(async (id) => (await nodes[1].inbox.get(id)).body));
  expect(bodies).toEqual([{}, { text: 'number 1' }, { text: 'number 2' }]);
  const again = message(key, { idempotencyKey: 'old-0', body: { text: 'number 0' } });
  expect(await nodes[1].inbox.receive(again)).toMatchObject({ inboxId: ended, fresh: false });
});
