import { readFileSync, rmSync, statSync, truncateSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, test } from 'vitest';
import { openStore } from '../../src/config/open.ts';
import type { NewEntry, Store } from '../../src/store/store.ts';
import { takenIn } from '../support/sealed-home.ts';
import { expectSame, isIndexed, makeSearchedHome, QUERIES, removeHome } from '../support/searched-home.ts';

const say = (content: string): NewEntry => ({ type: 'message', message: { role: 'user', content } });

/** One for each way the index is asked. */
const SOME = QUERIES.filter(({ text }) => ['"red foxes"', '会议', 'message'].includes(text));

let home = '';
let store: Store;
const file = (): string => join(home, 'search.db');
const open = async (): Promise<void> => {
  store = await openStore({ home, durability: 'os' });
};
const close = async (): Promise<void> => store[Symbol.asyncDispose]();

beforeAll(async () => {
  home = makeSearchedHome({ sessions: 6, messages: 50 });
  await open();
  await takenIn(store);
  await close();
}, 60_000);
afterAll(() => removeHome(home));
beforeEach(open);
afterEach(close);

test('I-66 the index answers as reading everything does, before, while and after it is made', async () => {
  await expectSame(store);
  await isIndexed(store);
  await expectSame(store);
  expect(statSync(file()).mode & 0o777).toBe(0o600);
});

test('pages of hits of the index are those of reading everything', async () => {
  await isIndexed(store);
  for (const text of ['foxes', '会议', 'message'])
    for (let after: string | undefined, i = 0; i < 4; i++) {
      const query = { text, limit: 9, ...(after !== undefined && { after }) };
      await expectSame(store, [query]);
      after = (await store.search(query)).next ?? undefined;
    }
}, 60_000);

describe('an index that is gone, damaged or of another kind is made anew, and nobody notices but by its progress', () => {
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
  test.each(changes)(
    '%s',
    async (_name, change) => {
      await store.search({ text: 'x' });
      await isIndexed(store);
      await close();
      change();
      await open();
      await expectSame(store, SOME);
      await isIndexed(store);
      await expectSame(store);
    },
    60_000,
  );

  test.each([
    ['all files', ['', '-wal', '-shm']],
    ['the log', ['-wal']],
    ['what processes share', ['-shm']],
  ])(
    'removed under a store that uses it: %s',
    async (_name, suffixes) => {
      await store.search({ text: 'x' });
      await isIndexed(store);
      for (const suffix of suffixes) rmSync(file() + suffix);
      await expectSame(store, SOME);
      await isIndexed(store);
      await expectSame(store);
    },
    60_000,
  );
});

test('an index of a newer version is left alone, and everything is read', async () => {
  await store.search({ text: 'x' });
  await isIndexed(store);
  await close();
  sql("UPDATE meta SET value = '99' WHERE name = 'version'");
  await open();
  await expectSame(store, SOME);
  const { search } = await store.stats({ search: true });
  expect(search?.problem).toContain('version 99');
  sql("UPDATE meta SET value = '1' WHERE name = 'version'");
});

test('what is said, deleted and purged meanwhile is found, hidden and taken out', async () => {
  await store.search({ text: 'x' });
  await isIndexed(store);
  const { id } = await store.create({ key: 'agent:main:direct:snow' });
  await store.append(id, [say('snow ☃☄★ and 雪崩啊 only here')]);
  await expectSame(store, [{ text: '☃☄' }, { text: '雪崩' }]);
  await isIndexed(store);
  expect(isInFile('☃☄★')).toBe(true);
  await store.delete(id);
  await expectSame(store, [{ text: '☃☄' }]);
  await store.restore(id);
  expect((await store.search({ text: '☃☄★' })).hits).toHaveLength(1);
  await store.delete(id);
  await store.purge(id);
  await expectSame(store);
  await expect.poll(() => isInFile('☃☄★') || isInFile('雪崩'), { timeout: 30_000 }).toBe(false);
}, 60_000);

test('two stores on one home share the index: either brings it forward when the other is gone', async () => {
  const other = await openStore({ home, durability: 'os' });
  await store.reindex();
  await expectSame(other);
  await other[Symbol.asyncDispose]();
  await store.append('s1', [say('a word after the other was gone: zebra')]);
  await isIndexed(store);
  await expectSame(store, [{ text: 'zebra' }]);
}, 60_000);

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
