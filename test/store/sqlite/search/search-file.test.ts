import { mkdtempSync, readFileSync, rmSync, statSync, truncateSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, test } from 'vitest';
import { openStore } from '../../../../src/config/open.ts';
import type { NewEntry } from '../../../../src/store/port/store.ts';
import { SearchFile } from '../../../../src/store/sqlite/search/search-file.ts';
import type { PlainSearchable } from '../../../support/plain-store/plain-search.ts';
import { takenIn } from '../../../support/store/sealed-home.ts';
import {
  expectSame,
  isIndexed,
  makeSearchedHome,
  openSearcher,
  QUERIES,
  readEverything,
  removeHome,
  type Searcher,
} from '../../../support/store/searched-home.ts';

/** One for each way the index is asked. */
const SOME = QUERIES.filter(({ text }) => ['"red foxes"', '会议', 'message'].includes(text));
const say = (content: string): NewEntry => ({ type: 'message', message: { role: 'user', content } });

let home = '';
let all: PlainSearchable[] = [];
const file = (): string => join(home, 'search.db');

beforeAll(async () => {
  home = makeSearchedHome({ sessions: 6, messages: 60 });
  await using store = await openStore({ home, durability: 'os' });
  await takenIn(store);
  all = await readEverything(store);
});
afterAll(() => removeHome(home));

describe('an index', () => {
  let searcher: Searcher;
  beforeEach(() => {
    searcher = openSearcher(home);
  });
  afterEach(() => searcher.close());

  test('I-66 answers as reading everything does, before, while and after it is made', async () => {
    searcher.file.discard();
    await expectSame(searcher, all);
    expect(searcher.index()).toBe(true);
    await expectSame(searcher, all);
    expect(statSync(file()).mode & 0o777).toBe(0o600);
  });

  test('gives the pages that reading everything gives', async () => {
    searcher.index();
    for (const text of ['foxes', '会议', 'message'])
      for (let after: string | undefined, i = 0; i < 4; i++) {
        const query = { text, limit: 9, ...(after !== undefined && { after }) };
        await expectSame(searcher, all, [query]);
        after = (await searcher.search(query)).next ?? undefined;
      }
  });

  const changes: readonly (readonly [string, () => void])[] = [
    ['removed', () => rmSync(file())],
    ['empty', () => truncateSync(file(), 0)],
    ['cut short', () => truncateSync(file(), 8192)],
    ['no database', () => writeFileSync(file(), 'what is this? '.repeat(1000))],
    ['damaged in the middle', () => damage(file())],
    ['of an older version', () => sql("UPDATE meta SET value = '0' WHERE name = 'version'")],
    ['of another home', () => sql("UPDATE meta SET value = 'elsewhere' WHERE name = 'origin'")],
    ['without a table', () => sql('DROP TABLE docs')],
  ];
  test.each(changes)('that was found to be %s is rebuilt, and nothing is missed', async (_name, change) => {
    expect(searcher.index()).toBe(true);
    searcher.close();
    change();
    searcher = openSearcher(home);
    await expectSame(searcher, all, SOME);
    expect(searcher.index()).toBe(true);
    await expectSame(searcher, all);
  });

  test.each([
    ['all files', ['', '-wal', '-shm']],
    ['the log', ['-wal']],
    ['what processes share', ['-shm']],
  ])('that is removed under whoever uses it is made anew: %s', async (_name, suffixes) => {
    expect(searcher.index()).toBe(true);
    for (const suffix of suffixes) rmSync(file() + suffix);
    await expectSame(searcher, all, SOME);
    expect(searcher.index()).toBe(true);
    await expectSame(searcher, all);
  });

  test.each([
    { failure: 'locked', errcode: 5 },
    { failure: 'failing', errcode: 10 },
  ])('I-66 that is $failure for a moment keeps nothing from being found', async ({ errcode }) => {
    searcher.index();
    const { file: index } = searcher;
    const rows = index.rows.bind(index);
    index.rows = <T>(
      text: string,
      ...values: Parameters<typeof rows> extends [string, ...infer V] ? V : []
    ): T[] => {
      if (!text.includes('MATCH')) return rows<T>(text, ...values);
      throw Object.assign(new Error('not now'), { errcode });
    };
    await expectSame(searcher, all, SOME);
  });

  test('of a newer version is left alone, and everything is read', async () => {
    searcher.index();
    searcher.close();
    sql("UPDATE meta SET value = '99' WHERE name = 'version'");
    searcher = openSearcher(home);
    await expectSame(searcher, all, SOME);
    expect(searcher.file.problem).toContain('version 99');
    expect(searcher.index()).toBe(false);
    sql("UPDATE meta SET value = '1' WHERE name = 'version'");
  });

  test('that two bring forward at once has every line once', async () => {
    const other = openSearcher(home);
    searcher.file.discard();
    expect(searcher.index()).toBe(true);
    expect(other.index()).toBe(true);
    await expectSame(other, all);
    const docs = searcher.file.use(() => searcher.file.row<{ n: number }>('SELECT count(*) AS n FROM docs'));
    expect(docs?.n).toBe(all.length * 60);
    other.close();
  });
});

test('what is sent, deleted and purged meanwhile is found, hidden and removed', async () => {
  await using store = await openStore({ home, durability: 'os' });
  await store.search({ text: 'x' });
  const { id } = await store.create({ key: 'agent:main:direct:snow' });
  await store.append(id, [say('snow ☃☄★ and 雪崩啊 only here')]);
  await expectSame(store, await readEverything(store), [{ text: '☃☄' }, { text: '雪崩' }]);
  await isIndexed(store);
  expect(isInFile('☃☄★')).toBe(true);
  expect((await store.search({ text: '☃☄★', budgetMs: 600_000 })).hits).toHaveLength(1);
  await store.delete(id);
  expect((await store.search({ text: '☃☄★', budgetMs: 600_000 })).hits).toEqual([]);
  await store.purge(id);
  await expectSame(store, all);
  await expect.poll(() => isInFile('☃☄★') || isInFile('雪崩')).toBe(false);
});

test('a line with a time in the future hides no present message', async () => {
  const control = new DatabaseSync(join(home, 'control.db'));
  const [first] = control.prepare('SELECT id, recent FROM sessions LIMIT 1').all() as {
    id: string;
    recent: string;
  }[];
  const set = control.prepare('UPDATE sessions SET recent = ? WHERE id = ?');
  set.run('2999-01-01T00:00:00', first?.id ?? '');
  const searcher = openSearcher(home);
  await searcher.search({ text: 'x' });
  await using store = await openStore({ home, durability: 'os' });
  const { id } = await store.create({ key: 'agent:main:direct:future' });
  await store.append(id, [say('kept ⚘⚘⚘ now')]);
  expect((await searcher.search({ text: '⚘⚘⚘', budgetMs: 600_000 })).hits).toHaveLength(1);
  searcher.close();
  // The other tests know what the home has.
  await store.delete(id);
  await store.purge(id);
  set.run(first?.recent ?? '', first?.id ?? '');
  control.close();
});

describe('the log of an index', () => {
  let folder = '';
  let index: SearchFile;
  const path = (): string => join(folder, 'search.db');
  beforeEach(() => {
    folder = mkdtempSync(join(tmpdir(), 'reprise-search-log-'));
    index = new SearchFile(path(), () => 'here');
  });
  afterEach(() => {
    index.close();
    removeHome(folder);
  });
  const put = (name: string, value: string): void => {
    index.write(() => index.run('INSERT INTO meta VALUES (?, ?)', name, value));
  };

  test('is small again after much was written and settled', () => {
    const mib = 1024 * 1024;
    put('import', 'x'.repeat(20 * mib));
    expect(index.logBytes).toBeGreaterThan(20 * mib);
    index.settleLog();
    put('next', 'y');
    expect(index.logBytes).toBeLessThanOrEqual(16 * mib);
  });

  test('is checkpointed to its end, once the last reader of older frames has gone', () => {
    put('before', 'x');
    const reader = new DatabaseSync(path(), { readOnly: true });
    reader.exec('BEGIN');
    reader.prepare('SELECT count(*) FROM meta').get();
    put('behind', 'the ☃☄★ comes');
    const isSettled = (): boolean => readFileSync(path()).includes(Buffer.from('☃☄★'));
    index.settleLog();
    expect(isSettled()).toBe(false);
    reader.exec('COMMIT');
    index.settleLog();
    expect(isSettled()).toBe(true);
    reader.close();
  });
});

function sql(text: string): void {
  const db = new DatabaseSync(file());
  db.exec(text);
  db.close();
}

function isInFile(text: string): boolean {
  return [file(), `${file()}-wal`].some((path) => readFileSync(path).includes(Buffer.from(text)));
}

function damage(path: string): void {
  const bytes = readFileSync(path);
  for (let at = 4096 * 2; at < bytes.length; at += 4096) bytes.fill(0x5a, at, at + 600);
  writeFileSync(path, bytes);
}
