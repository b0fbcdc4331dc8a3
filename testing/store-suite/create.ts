import assert from 'node:assert/strict';
import { isSessionId } from '../../src/keys/ids.ts';
import { KEY, note, readAll, refused, session, user } from './kit.ts';
import type { StoreCase } from './store-case.ts';

const OTHER_KEY = 'agent:main:telegram:direct:bob';
const BAD_IDS = [
  '../x',
  '',
  'a/b',
  'x'.repeat(300),
  'ends.',
  '.',
  '..',
  '-a',
  '.a',
  'a\n',
  'a\u0000b',
  'a\\b',
  'CON',
  'nul.txt',
];
const BAD_KEYS = [
  '',
  'agent',
  'agent:main',
  'a:b',
  'agent:main:direct:',
  'agent:main:x%3a',
  'agent:main:%zz',
];

export const createCases: readonly StoreCase[] = [
  {
    name: 'concurrent calls for the session of a key get the same session',
    promise: 'a key has one active session',
    area: 'lifecycle',
    async run({ store }) {
      const asked = Array.from({ length: 5 }, () => store.create({ key: KEY, activate: true }));
      const ids = new Set((await Promise.all(asked)).map(({ id }) => id));
      assert.equal(ids.size, 1);
      const [id = ''] = ids;
      assert.equal((await store.active(KEY))?.id, id);
      assert.equal((await store.list({ status: 'any' })).sessions.length, 1);
      await store.delete(id);
      const next = await store.create({ key: KEY, activate: true });
      assert.notEqual(next.id, id);
      assert.equal(next.active, true);
    },
  },
  {
    name: 'a new session starts with its header at seq 1, and the first append is seq 2',
    promise: 'I-3: the lines of a session are numbered from 1 without a gap',
    area: 'lifecycle',
    async run({ store }) {
      const record = await store.create({ id: 'first', key: KEY, cwd: '/somewhere' });
      assert.equal(record.id, 'first');
      assert.equal(record.sessionKey, KEY);
      assert.equal(record.agentId, 'main');
      assert.equal(record.status, 'open');
      assert.equal(record.lastSeq, 1);
      assert.equal(record.leaf, null);
      assert.equal(record.messageCount, 0);
      const [header, ...rest] = await readAll(store, 'first');
      assert.deepEqual(rest, []);
      assert.equal(header?.seq, 1);
      const { type, version, id, agentId, key, cwd } = {
        cwd: '',
        key: '',
        agentId: '',
        version: 0,
        ...header?.entry,
      };
      assert.deepEqual(
        { type, version, id, agentId, key, cwd },
        { type: 'session', version: 3, id: 'first', agentId: 'main', key: KEY, cwd: '/somewhere' },
      );
      assert.deepEqual(await store.append('first', [user('hi')]), { firstSeq: 2, lastSeq: 2 });
    },
  },
  {
    name: 'creating an existing id under the same key returns the existing session',
    promise: 'P2: a create may be retried without harm',
    area: 'lifecycle',
    async run({ store, reopen }) {
      await store.create({ id: 'again', key: KEY });
      await store.append('again', [user('kept')]);
      const before = await store.get('again');
      assert.deepEqual(await store.create({ id: 'again', key: KEY }), before);
      const reopened = await reopen();
      assert.deepEqual(await reopened.create({ id: 'again', key: KEY }), before);
      assert.equal((await readAll(reopened, 'again')).length, 2);
    },
  },
  {
    name: 'an existing id is refused under another key',
    promise: 'P8: a conversation is reached only by its key',
    area: 'lifecycle',
    async run({ store }) {
      const before = await store.create({ id: 'taken', key: KEY });
      await refused(store.create({ id: 'taken', key: OTHER_KEY }), 'SESSION_EXISTS');
      assert.deepEqual(await store.get('taken'), before);
    },
  },
  {
    name: 'ids that differ only in case are the same session',
    promise: 'P3: on a disk that ignores case they would overwrite each other',
    area: 'lifecycle',
    async run({ store, reopen }) {
      await store.create({ id: 'Mixed-Case', key: KEY });
      await refused(store.create({ id: 'mixed-case', key: OTHER_KEY }), 'SESSION_EXISTS');
      await refused(store.create({ id: 'MIXED-CASE', key: KEY }), 'SESSION_EXISTS');
      const reopened = await reopen();
      await refused(reopened.create({ id: 'mixed-case', key: OTHER_KEY }), 'SESSION_EXISTS');
      assert.equal((await reopened.list()).sessions.length, 1);
    },
  },
  {
    name: 'generated ids are valid and unique',
    promise: 'P3: no new session replaces an old one',
    area: 'lifecycle',
    async run({ store }) {
      const made = await Promise.all(Array.from({ length: 50 }, () => store.create({ key: KEY })));
      const ids = made.map(({ id }) => id);
      for (const id of ids) assert.ok(isSessionId(id), `${id} is a session id`);
      assert.equal(new Set(ids.map((id) => id.toLowerCase())).size, 50);
    },
  },
  {
    name: 'concurrent creates of one id create one session',
    promise: 'P2: a create may be retried without harm',
    area: 'lifecycle',
    async run({ store }) {
      const made = await Promise.all(Array.from({ length: 10 }, () => store.create({ id: 'one', key: KEY })));
      assert.deepEqual(new Set(made.map(({ lastSeq }) => lastSeq)), new Set([1]));
      assert.equal((await readAll(store, 'one')).length, 1);
      assert.equal((await store.list()).sessions.length, 1);
    },
  },
  {
    name: 'settings given at creation are in the record',
    promise: 'P9: choices are visible',
    area: 'lifecycle',
    async run({ store, reopen }) {
      const settings = { model: 'some/model', nested: { a: [1, null] } };
      const { id, leaf } = await store.create({ key: KEY, settings });
      assert.equal(leaf, null);
      assert.deepEqual((await store.get(id)).settings, settings);
      assert.deepEqual((await (await reopen()).get(id)).settings, settings);
    },
  },
  {
    name: 'an invalid id is refused and stores nothing',
    promise: 'I-12, P8: no id reaches a path unchecked',
    area: 'input',
    async run({ store }) {
      for (const id of BAD_IDS) await refused(store.create({ id, key: KEY }), 'INVALID_ID');
      for (const id of BAD_IDS) {
        await refused(store.get(id), ['INVALID_ID', 'SESSION_NOT_FOUND']);
        await refused(store.append(id, [user('x')]), ['INVALID_ID', 'SESSION_NOT_FOUND']);
        await refused(store.exportSession(id), ['INVALID_ID', 'SESSION_NOT_FOUND']);
      }
      assert.deepEqual((await store.list({ status: 'any' })).sessions, []);
    },
  },
  {
    name: 'an invalid key is refused and stores nothing',
    promise: 'I-1: one conversation, one spelling of its key',
    area: 'input',
    async run({ store }) {
      for (const key of BAD_KEYS) {
        await refused(store.create({ key }), 'INVALID_KEY');
        await refused(store.active(key), 'INVALID_KEY');
        await refused(store.inbox.receive({ sessionKey: key, source: 'cli', body: {} }), 'INVALID_KEY');
      }
      assert.deepEqual((await store.list({ status: 'any' })).sessions, []);
      assert.deepEqual(await store.inbox.pending(), []);
    },
  },
  {
    name: 'two spellings of one key are never two conversations',
    promise: 'I-1: one conversation, one spelling of its key',
    area: 'input',
    async run({ store }) {
      const long = { sessionKey: 'agent:main:cli:direct:user', source: 'cli', body: { text: 'a' } };
      const first = await store.inbox.receive(long);
      const second = await store.inbox
        .receive({ ...long, sessionKey: 'main:cli:user' })
        .catch((error: unknown) => error);
      // A store may refuse the short spelling, but must not use it for another session.
      if (second instanceof Error) await refused(Promise.reject(second), 'INVALID_KEY');
      else assert.equal((second as typeof first).sessionId, first.sessionId);
    },
  },
  {
    name: 'calls for an unknown session are refused as not found',
    promise: 'P2: a missing session is an error of its kind, not an empty answer',
    area: 'input',
    async run({ store }) {
      const id = 'nobody';
      await session(store, ['somebody']);
      const signal = AbortSignal.timeout(60_000);
      const watched = store.watch(id, { afterSeq: 0, signal })[Symbol.asyncIterator]();
      const calls: readonly (() => Promise<unknown>)[] = [
        () => store.get(id),
        () => store.append(id, [user('x')]),
        () => store.append(id, [note('x')], { key: 'k' }),
        () => store.tail(id),
        () => store.read(id),
        () => store.lease(id, { waitMs: 0 }),
        () => store.patch(id, { a: 1 }),
        () => store.delete(id),
        () => store.restore(id),
        () => store.purge(id),
        () => store.exportSession(id),
        () => store.activate(KEY, id),
        () => watched.next(),
      ];
      for (const call of calls) await refused(call(), 'SESSION_NOT_FOUND');
      assert.equal((await store.list()).sessions.length, 1);
    },
  },
];
