import assert from 'node:assert/strict';
import type { ListQuery, SessionRecord, Store } from '../../../src/store/port/store.ts';
import { assistant, beforeAndAfter, KEY, note, range, refused, session, until, user } from '../kit.ts';
import type { StoreCase } from '../store-case.ts';

const BOB = 'agent:main:telegram:direct:bob';

export const listCases: readonly StoreCase[] = [
  {
    name: 'the pages of a list contain every session once',
    promise: 'P9: everything is visible',
    area: 'list',
    async run({ store }) {
      const ids: string[] = [];
      for (const i of range(1, 25)) ids.push(await session(store, [`text ${i}`]));
      for (const limit of [1, 7, 24, 25, 100]) {
        const listed = await listAll(store, { limit });
        assert.deepEqual(listed.map(({ id }) => id).sort(), [...ids].sort(), `pages of ${limit}`);
        assertNewestFirst(listed);
      }
      const seven = await listAll(store, { limit: 7 });
      assert.deepEqual(
        seven,
        await listAll(store, { limit: 100 }),
        'the order does not depend on the page size',
      );
    },
  },
  {
    name: 'sessions created at the same moment are all listed',
    promise: 'P9: everything is visible',
    area: 'list',
    async run({ store }) {
      const made = await Promise.all(range(1, 25).map(() => store.create({ key: KEY })));
      const listed = await listAll(store, { limit: 4 });
      assert.deepEqual(listed.map(({ id }) => id).sort(), made.map(({ id }) => id).sort());
    },
  },
  {
    name: 'the most recently used session comes first',
    promise: 'P9: recent items come first',
    area: 'list',
    async run({ store, reopen }) {
      const [one, two, three] = [
        await session(store, ['1']),
        await session(store, ['2']),
        await session(store, ['3']),
      ];
      for (const id of [three, one, two]) await touch(store, id);
      const order = [two, one, three];
      assert.deepEqual(
        (await store.list()).sessions.map(({ id }) => id),
        order,
      );
      assert.deepEqual(
        (await (await reopen()).list()).sessions.map(({ id }) => id),
        order,
      );
    },
  },
  {
    name: 'an empty store lists nothing, and an invalid cursor is refused',
    promise: 'P2: a list never ends early without reporting it',
    area: 'list',
    async run({ store }) {
      assert.deepEqual(await store.list(), { sessions: [], cursor: null });
      await session(store);
      await refused(store.list({ cursor: 'not a cursor' }), 'INVALID_INPUT');
      assert.equal((await store.list({ limit: 10 })).cursor, null);
    },
  },
  {
    name: 'a list can be filtered by agent, kind, channel and parent',
    promise: 'P9: users find what they look for',
    area: 'list',
    async run({ store }) {
      const main = await session(store, [], KEY);
      const other = await session(store, [], 'agent:other:main');
      const bob = await session(store, [], BOB);
      const group = await session(store, [], 'agent:main:telegram:group:42');
      const slack = await session(store, [], 'agent:main:slack:channel:C1');
      const { id: child } = await store.create({ key: 'agent:main:subagent:x', parentId: main });
      assert.equal((await store.get(child)).parentId, main);
      const expected: readonly (readonly [ListQuery, readonly string[]])[] = [
        [{ agentId: 'other' }, [other]],
        [{ agentId: 'main' }, [main, bob, group, slack, child]],
        [{ kind: 'main' }, [main, other]],
        [{ kind: 'direct' }, [bob]],
        [{ kind: 'group' }, [group]],
        [{ kind: 'subagent' }, [child]],
        [{ channel: 'telegram' }, [bob, group]],
        [{ channel: 'slack' }, [slack]],
        [{ channel: 'telegram', kind: 'direct', agentId: 'main' }, [bob]],
        [{ parentId: main }, [child]],
        [{ parentId: bob }, []],
        [{ agentId: 'nobody' }, []],
      ];
      for (const [query, ids] of expected) await assertLists(store, query, ids);
    },
  },
  {
    name: 'a list can be filtered by words of the title, ignoring case',
    promise: 'P9: users find what they look for',
    area: 'list',
    async run({ store }) {
      const trip = await session(store, ['Plan a trip to Kraków']);
      const tax = await session(store, ['taxes: 50%_done']);
      await session(store, ['taxes: 50 percent done']);
      await assertLists(store, { text: 'TRIP' }, [trip]);
      await assertLists(store, { text: 'to krak' }, [trip]);
      // Beyond ASCII the case counts, on every machine.
      const day = await session(store, ['ÓSMY dzień']);
      await assertLists(store, { text: 'Ósmy' }, [day]);
      await assertLists(store, { text: 'ósmy' }, []);
      // Not a pattern: the syntax of query languages is plain text here.
      await assertLists(store, { text: '50%_d' }, [tax]);
      await assertLists(store, { text: "'; DROP" }, []);
    },
  },
  {
    name: 'a list can be filtered by status and excludes deleted sessions by default',
    promise: 'P9: deleted sessions can be listed',
    area: 'list',
    async run({ store }) {
      const [kept, gone] = [await session(store), await session(store)];
      await store.delete(gone);
      await assertLists(store, {}, [kept]);
      await assertLists(store, { status: 'open' }, [kept]);
      await assertLists(store, { status: 'deleted' }, [gone]);
      await assertLists(store, { status: 'any' }, [kept, gone]);
    },
  },
  {
    name: 'a record counts messages and turns',
    promise: 'P9: a list shows what is in a session',
    area: 'list',
    async run({ store, reopen }) {
      const id = await session(store);
      const result = { role: 'toolResult', toolCallId: 'c', toolName: 't', content: [], isError: false };
      await store.append(id, [user('q'), assistant('a'), { type: 'message', message: result }]);
      await store.append(id, [user('q2')]);
      await store.append(id, [note('n'), { type: 'usage', input: 1 }]);
      await store.append(id, [{ type: 'custom_message', customType: 'x', content: 'c', display: true }]);
      const record = await store.get(id);
      assert.equal(record.messageCount, 3);
      assert.equal(record.turnCount, 2);
      assert.ok(Number.isSafeInteger(record.tokenEstimate) && record.tokenEstimate >= 0);
      assert.equal(record.lastSeq, 8);
      assert.deepEqual((await store.list()).sessions, [record], 'a list shows the same record');
      assert.deepEqual(await (await reopen()).get(id), record);
    },
  },
  {
    name: 'a session is titled by its first user text, cut at 60 characters',
    promise: 'P9: a list shows what is in a session',
    area: 'list',
    async run({ store, reopen }) {
      const long = `${'😀'.repeat(59)}é字x`;
      const id = await session(store);
      await store.append(id, [assistant('a greeting is not a title')]);
      await store.append(id, [user(long)]);
      await store.append(id, [user('not this one')]);
      const blocks = await session(store);
      const content = [{ type: 'text', text: 'in a block' }];
      await store.append(blocks, [{ type: 'message', message: { role: 'user', content } }]);
      for await (const open of beforeAndAfter({ store, reopen })) {
        assert.equal((await open.get(id)).title, `${'😀'.repeat(59)}é`);
        assert.equal((await open.get(blocks)).title, 'in a block');
      }
    },
  },
  {
    name: 'the time of last activity moves with messages, the time of creation does not',
    promise: 'P9: a list shows times',
    area: 'list',
    async run({ store }) {
      const id = await session(store, ['a']);
      const before = await store.get(id);
      assert.equal(new Date(before.createdAt).toISOString(), before.createdAt);
      assert.ok(before.lastAt >= before.createdAt);
      await touch(store, id);
      const after = await store.get(id);
      assert.ok(after.lastAt > before.lastAt);
      assert.equal(after.createdAt, before.createdAt);
    },
  },
  {
    name: 'a session whose last entry is a copy is as old as the original, until something new is stored in it',
    promise: 'P9: a list shows times',
    area: 'list',
    async run({ store, reopen }) {
      const createdAt = '2020-02-01T00:00:00.000Z';
      const copied = await store.create({ key: KEY, createdAt });
      const fresh = await session(store, ['new']);
      await store.append(copied.id, [
        { ...user('first'), copiedAt: '2020-02-01T00:00:00.000Z' },
        { ...assistant('last'), copiedAt: '2020-02-03T02:00:00+02:00' },
      ]);
      const notATime = await session(store, ['x']);
      await store.append(notATime, [{ ...user('y'), copiedAt: 'yesterday' }]);
      await refused(store.create({ key: KEY, createdAt: '2020' }), 'INVALID_INPUT');
      let reopened = store;
      for await (const open of beforeAndAfter({ store, reopen })) {
        reopened = open;
        const record = await open.get(copied.id);
        assert.equal(record.createdAt, createdAt);
        assert.equal(record.lastAt, '2020-02-03T00:00:00.000Z');
        assert.ok((await open.get(notATime)).lastAt > '2020-02-03T00:00:00.000Z');
        const listed = (await open.list()).sessions.map(({ id }) => id);
        assert.equal(listed.indexOf(copied.id), listed.length - 1);
        assert.ok(listed.indexOf(fresh) < listed.indexOf(copied.id));
      }
      await touch(reopened, copied.id);
      assert.equal((await reopened.list({ limit: 1 })).sessions[0]?.id, copied.id);
    },
  },
];

async function listAll(store: Store, query: ListQuery): Promise<SessionRecord[]> {
  const all: SessionRecord[] = [];
  for (let cursor: string | null = '', pages = 0; cursor !== null; pages++) {
    assert.ok(pages < 100, 'a list has an end');
    const page = await store.list(cursor === '' ? query : { ...query, cursor });
    assert.ok(page.sessions.length <= (query.limit ?? 1000), 'a page is no longer than asked for');
    all.push(...page.sessions);
    cursor = page.cursor;
  }
  return all;
}

async function assertLists(store: Store, query: ListQuery, ids: readonly string[]): Promise<void> {
  const listed = await listAll(store, { ...query, limit: 2 });
  assert.deepEqual(listed.map(({ id }) => id).sort(), [...ids].sort(), JSON.stringify(query));
  assertNewestFirst(listed);
}

function assertNewestFirst(listed: readonly SessionRecord[]): void {
  for (const [i, record] of listed.entries()) {
    assert.ok(record.lastAt <= (listed[i - 1]?.lastAt ?? record.lastAt), 'newest first');
  }
}

/** Adds messages until the session is newer than all others, because clocks are coarse. */
async function touch(store: Store, id: string): Promise<void> {
  const { sessions } = await store.list();
  const latest = sessions.map(({ lastAt }) => lastAt).reduce((a, b) => (a > b ? a : b));
  await until(async () => {
    await store.append(id, [user('again')]);
    return (await store.get(id)).lastAt > latest;
  }, 'the clock to move on');
}
