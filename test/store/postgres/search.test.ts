// @module-tag long
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { fileURLToPath } from 'node:url';
import pg from 'pg';
import { afterEach, expect, test } from 'vitest';
import { openStore } from '../../../src/config/open.ts';
import type { NewEntry, Store } from '../../../src/store/port/store.ts';
import type { StoreContext } from '../../../src/store/postgres/connection/transaction.ts';
import { indexSession } from '../../../src/store/postgres/search/search-blocks.ts';
import { SearchIndexer } from '../../../src/store/postgres/search/search-indexer.ts';
import { matchSearch } from '../../../src/store/search/search-match.ts';
import { searchWords } from '../../../src/store/search/search-query.ts';
import { freshDatabase } from '../../support/postgres/postgres.ts';
import { nodeOn } from '../../support/postgres/postgres-node.ts';
import { query } from '../../support/postgres/postgres-suite.ts';
import { until } from '../../support/store/store-faults.ts';

const cleanups: AsyncDisposable[] = [];
afterEach(async () => {
  for (const cleanup of cleanups.splice(0).reverse()) await cleanup[Symbol.asyncDispose]();
});

interface Scene {
  readonly url: string;
  readonly store: Store;
}

async function scene(search: 'index' | 'scan' = 'index'): Promise<Scene> {
  const database = await freshDatabase();
  cleanups.push(database);
  const store = await openStore({ kind: 'postgres', url: database.url, search });
  cleanups.push(store);
  return { url: database.url, store };
}

/** Another node, of which only the part that indexes is there. */
function indexingNode(url: string): StoreContext {
  const context = nodeOn(url);
  cleanups.push(context.connections);
  return context;
}

const user = (text: string): NewEntry => ({ type: 'message', message: { role: 'user', content: text } });

const isIndexed = async (store: Store): Promise<boolean> => {
  const { search } = await store.stats({ search: true });
  return search !== undefined && search.done === search.total;
};

/** Every hit of every page, as session and seq. */
async function findAll(store: Store, text: string): Promise<string[]> {
  const found: string[] = [];
  for (let after: string | null | undefined; after !== null; ) {
    const page = await store.search({
      text,
      limit: 7,
      budgetMs: 20_000,
      ...(after !== undefined && { after }),
    });
    expect(page.complete).toBe(true);
    found.push(...page.hits.map(({ id, seq }) => `${id}/${seq}`));
    after = page.next;
  }
  return found;
}

const SAID = [
  '明天的会议改到下午三点，请通知大家',
  '会議の資料をメールで送ってください。カタカナとひらがな',
  'const retryAfter = Number(headers.get("retry-after")) ?? 0;',
  'see src/store/postgres/search_blocks.ts:42 and MAX_RETRY_COUNT',
  'deploy done 🎉 and the cat 🐈‍⬛ sleeps 👩‍👩‍👧',
  '한국어 문장도 있어요',
  'ΣΊΣΥΦΟΣ und Straße, ПРИВЕТ мир',
  'if (a => b) { return x[0] != null; }',
  'NUL \0 inside, half \ud83d of a pair',
];
const ASKED = [
  '会议',
  '会議',
  '三点',
  '会',
  'カタ',
  'ひらが',
  'retryafter',
  '"retry-after"',
  'get("',
  'search_blocks',
  'max_retry_count',
  '.ts:42',
  '🎉',
  '🐈‍⬛',
  '👩‍👧',
  '국어',
  'σίσυφος',
  'straße',
  'привет мир',
  '=>',
  '!= null',
  'x[0]',
  'l \0 i',
  'a b',
  '会议 三点',
  'absent',
];

test('the index finds what reading everything finds, in any script, also while messages arrive', async () => {
  const { store } = await scene();
  const said = new Map<string, string>();
  const ids: string[] = [];
  for (const peer of ['a', 'b', 'c']) ids.push((await store.create({ key: `agent:main:direct:${peer}` })).id);
  const say = async (id: string, text: string): Promise<void> => {
    const { lastSeq } = await store.append(id, [user(text)]);
    said.set(`${id}/${lastSeq}`, text);
  };
  const holding = (words: readonly string[]): string[] =>
    [...said].filter(([, text]) => matchSearch(text, words) !== undefined).map(([at]) => at);
  const ask = async (meanwhile: readonly string[]): Promise<void> => {
    for (const text of ASKED) {
      const words = searchWords(text);
      const before = holding(words);
      const saying = Promise.all(meanwhile.map((more, i) => say(ids[i % 3] ?? '', more)));
      const found = await findAll(store, text);
      await saying;
      const after = new Set(holding(words));
      // All that was acknowledged before the query, each once, and nothing else.
      expect(new Set(found).size, text).toBe(found.length);
      expect(
        before.filter((at) => !found.includes(at)),
        text,
      ).toEqual([]);
      expect(
        found.filter((at) => !after.has(at)),
        text,
      ).toEqual([]);
    }
  };
  await Promise.all(SAID.map((text, i) => say(ids[i % 3] ?? '', text)));
  await until('the index to have everything', () => isIndexed(store));
  await ask([]);
  await ask(SAID.slice(0, 3));
  await until('the index to have everything', () => isIndexed(store));
  await ask([]);
});

test('no append waits for the index', async () => {
  const { store, url } = await scene();
  const { id } = await store.create({ key: 'agent:main:main' });
  const client = new pg.Client({ connectionString: url });
  await client.connect();
  try {
    // The index cannot be written now: a writer waits for this lock, in the middle of a transaction.
    await client.query('BEGIN; LOCK TABLE reprise.search_blocks IN SHARE MODE');
    for (let i = 0; i < 20; i++) await store.append(id, [user(`needle ${i}`)]);
    const waiting = async (): Promise<string | undefined> => {
      const { rows } = await query(
        url,
        "SELECT virtualtransaction AS who FROM pg_locks WHERE NOT granted AND relation = 'reprise.search_blocks'::regclass",
      );
      return rows[0]?.who;
    };
    const who = await until('the indexer to wait', waiting);
    await store.append(id, [user('needle, said while the indexer waits')]);
    expect(await waiting(), 'the same transaction waits all the while').toBe(who);
    expect((await store.get(id)).messageCount).toBe(21);
  } finally {
    await client.end();
  }
  await until('the index to have everything', () => isIndexed(store));
  expect(await findAll(store, 'needle')).toHaveLength(21);
});

test('nodes that index the same at once do no harm, even while it is rebuilt', async () => {
  const { store, url } = await scene();
  const ids: string[] = [];
  for (let i = 0; i < 4; i++) ids.push((await store.create({ key: `agent:main:direct:p${i}` })).id);
  const nodes = [indexingNode(url), indexingNode(url), indexingNode(url)];
  for (let round = 0; round < 12; round++) {
    await Promise.all([
      ...ids.map((id) => store.append(id, [user(`needle of round ${round} ${'x '.repeat(round * 40)}`)])),
      ...nodes.flatMap((node) => ids.map((id) => indexSession(node, id))),
      ...(round % 2 === 0 ? [store.reindex()] : []),
    ]);
  }
  await until('the index to have everything', () => isIndexed(store));
  expect(await findAll(store, 'needle')).toHaveLength(4 * 12);
  const { rows } = await query(
    url,
    `SELECT a.session_id FROM reprise.search_blocks a JOIN reprise.search_blocks b
     ON a.session_id = b.session_id AND a.first_seq < b.first_seq AND a.last_seq >= b.first_seq`,
  );
  expect(rows, 'blocks that overlap').toEqual([]);
});

test('a node that is killed while it indexes leaves work that another continues', async () => {
  const { store, url } = await scene('scan');
  const sessions = 24;
  for (let i = 0; i < sessions; i++) {
    const { id } = await store.create({ id: `s${i + 10}`, key: `agent:main:direct:p${i}` });
    await store.append(id, [
      user(`needle ${i} ${'lorem ipsum dolor sit amet '.repeat(1_000)}`),
      user('needle'),
    ]);
  }
  const behind = async (): Promise<number> =>
    Number((await query(url, 'SELECT count(*) AS n FROM reprise.sessions WHERE unindexed')).rows[0]?.n);
  const file = fileURLToPath(new URL('../../support/postgres/postgres-indexer.ts', import.meta.url));
  // In the middle of it another connection locks the next session, so that it waits there and does not finish.
  const busy = new pg.Client({ connectionString: url });
  cleanups.push({ [Symbol.asyncDispose]: () => busy.end() });
  await busy.connect();
  await busy.query("BEGIN; SELECT 1 FROM reprise.sessions WHERE id = 's20' FOR UPDATE");
  const child = spawn(process.execPath, [file, url], { stdio: ['pipe', 'ignore', 'inherit'] });
  await until('a node that is in the middle of it', async () => (await behind()) === sessions - 10);
  child.kill('SIGKILL');
  await once(child, 'exit');
  await busy.query('ROLLBACK');
  expect(
    (await query(url, 'SELECT 1 FROM reprise.search_claim')).rows,
    'it died with the claim',
  ).toHaveLength(1);
  await using indexer = new SearchIndexer({ context: indexingNode(url), pauseMs: 10, pollMs: 50 });
  expect(await findAll(store, 'needle'), 'whatever the index has').toHaveLength(2 * sessions);
  await until('another node to go on', async () => (await behind()) === 0);
  expect((await indexer.stats()).problem).toBeUndefined();
  expect(await findAll(store, 'needle')).toHaveLength(2 * sessions);
});

test('another node continues where one that indexed has died', async () => {
  const { store, url } = await scene();
  const { id } = await store.create({ key: 'agent:main:main' });
  await until('the index to have everything', () => isIndexed(store));
  await store[Symbol.asyncDispose]();
  // As kill -9 leaves it: claimed, and half done.
  await query(
    url,
    `INSERT INTO reprise.search_claim (holder, expires_at) VALUES ('dead', clock_timestamp() + interval '1500 ms');
     UPDATE reprise.sessions SET indexed_seq = 0; DELETE FROM reprise.search_blocks`,
  );
  const indexed = async (): Promise<number> =>
    Number((await query(url, 'SELECT indexed_seq FROM reprise.sessions')).rows[0]?.indexed_seq);
  const [dead] = (await query(url, 'SELECT expires_at FROM reprise.search_claim')).rows as [
    { expires_at: Date },
  ];
  const context = indexingNode(url);
  await using indexer = new SearchIndexer({ context, pauseMs: 10, pollMs: 50 });
  expect(indexer).toBeDefined();
  await until('the other node to go on', async () => (await indexed()) > 0);
  const [{ now }] = (await query(url, 'SELECT clock_timestamp() AS now')).rows as [{ now: Date }];
  expect(now.getTime(), `nobody indexes ${id} while it is claimed`).toBeGreaterThanOrEqual(
    dead.expires_at.getTime(),
  );
  const claims = (): Promise<unknown[]> =>
    context.connections.query('SELECT holder FROM reprise.search_claim');
  await until('it to give its claim back', async () => (await claims()).length === 0);
});

test('a conversation that grows line by line ends as few blocks', async () => {
  const { store, url } = await scene();
  const { id } = await store.create({ key: 'agent:main:main' });
  const node = indexingNode(url);
  for (let i = 0; i < 150; i++) {
    await store.append(id, [user(`line ${i}: ${'lorem ipsum dolor sit amet '.repeat(8)}`)]);
    await indexSession(node, id);
  }
  const { rows } = await query(
    url,
    'SELECT sum(chars)::int AS chars, count(*)::int AS n FROM reprise.search_blocks',
  );
  expect(rows[0]?.chars).toBeGreaterThan(30_000);
  expect(rows[0]?.n).toBeLessThanOrEqual(12);
  expect((await store.search({ text: '"line 149:"' })).hits).toHaveLength(1);
});

test('an index that has lost something is rebuilt, and what is purged leaves nothing in it', async () => {
  const { store, url } = await scene();
  const { id } = await store.create({ key: 'agent:main:main' });
  const { id: other } = await store.create({ key: 'agent:main:direct:ada' });
  for (const session of [id, other]) await store.append(session, [user('a burnt word')]);
  await until('the index to have everything', () => isIndexed(store));
  await query(url, 'DELETE FROM reprise.search_blocks');
  expect(await findAll(store, 'burnt')).toEqual([]);
  await store.reindex();
  expect(await findAll(store, 'burnt')).toHaveLength(2);
  await store.delete(id);
  await store.purge(id);
  const { rows } = await query(url, 'SELECT DISTINCT session_id FROM reprise.search_blocks');
  expect(rows).toEqual([{ session_id: other }]);
});

test('a search whose time is over says whether the index is behind', async () => {
  const { store, url } = await scene();
  const { id } = await store.create({ key: 'agent:main:main' });
  await until('the index to have everything', () => isIndexed(store));
  const text = `needle ${'lorem ipsum '.repeat(2000)}`;
  const client = new pg.Client({ connectionString: url });
  await client.connect();
  try {
    // Whether or not this node has given its own back.
    await client.query(
      `INSERT INTO reprise.search_claim (holder, expires_at) VALUES ('somebody else', clock_timestamp() + interval '1 hour')
       ON CONFLICT (one) DO UPDATE SET holder = excluded.holder, expires_at = excluded.expires_at`,
    );
    for (let i = 0; i < 60; i++) await store.append(id, [user(text)]);
    const result = await store.search({ text: 'needle', budgetMs: 0, limit: 100 });
    expect(result).toMatchObject({ complete: false, reason: 'indexing' });
    expect(result.index?.done).toBeLessThan(result.index?.total ?? 0);
    expect(result.hits.length).toBeGreaterThan(0);
    const whole = await store.search({ text: 'needle', budgetMs: 20_000, limit: 100 });
    expect([whole.hits.length, whole.complete, whole.index]).toEqual([60, true, undefined]);
    await client.query('DELETE FROM reprise.search_claim');
  } finally {
    await client.end();
  }
  await store.reindex();
  const late = await store.search({ text: 'needle', budgetMs: 0, limit: 100 });
  expect(late).toMatchObject({ complete: false, reason: 'time' });
});
