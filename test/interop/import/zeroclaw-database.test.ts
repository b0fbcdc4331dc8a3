import { copyFileSync, readFileSync, truncateSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import { describe, expect, test } from 'vitest';
import { openStore } from '../../../src/config/open.ts';
import { openSource } from '../../../src/interop/import/detect.ts';
import { entriesOf, freshFolder, freshStore, importFrom } from '../../support/store/interop-home.ts';

const TABLE =
  'CREATE TABLE session_messages (id INTEGER PRIMARY KEY, session_id TEXT, role TEXT, content TEXT, created_at TEXT, meta_json TEXT)';

function openDatabase(path: string, mode: 'WAL' | 'DELETE'): DatabaseSync {
  const database = new DatabaseSync(path);
  // A small cache makes a long transaction write into the file before it is committed.
  database.exec(`PRAGMA journal_mode = ${mode}; PRAGMA cache_size = 1; ${TABLE}`);
  return database;
}

function say(database: DatabaseSync, content: string): void {
  database
    .prepare('INSERT INTO session_messages (session_id, role, content, created_at) VALUES (?, ?, ?, ?)')
    .run('s', 'user', content, '2026-01-01T00:00:00Z');
}

/** The messages of the only session, and what the report says about the source. */
async function imported(path: string): Promise<{ texts: unknown[]; problems: readonly string[] }> {
  const store = await freshStore();
  const { sessions, problems } = await importFrom(store, path);
  const [plan] = sessions;
  const texts = (await entriesOf(store, plan?.id ?? '')).flatMap(({ type, message }) =>
    type === 'message' ? [(message as { content: unknown }).content] : [],
  );
  return { texts, problems };
}

const OPEN =
  /^.+sessions\.db is open in another program or was not closed; .+ is missing\. Import it again later/;

describe('a database that its program has open', () => {
  test('in WAL mode: every committed message is imported, also those that are only in the log', async () => {
    const path = join(freshFolder(), 'sessions.db');
    using database = openDatabase(path, 'WAL');
    say(database, 'committed');
    database.exec('BEGIN IMMEDIATE');
    say(database, 'not yet');
    expect(await imported(path)).toEqual({ texts: ['committed'], problems: [expect.stringMatching(OPEN)] });
    database.exec('COMMIT');
    expect((await imported(path)).texts).toEqual(['committed', 'not yet']);
  });

  test('locked in the middle of a transaction: the state before it is imported', async () => {
    const path = join(freshFolder(), 'sessions.db');
    using database = openDatabase(path, 'DELETE');
    say(database, 'committed');
    const before = readFileSync(path);
    database.exec('BEGIN EXCLUSIVE');
    database.exec("UPDATE session_messages SET content = 'changed'");
    for (let i = 0; i < 400; i++) say(database, `not yet ${'x'.repeat(1000)}`);
    expect(readFileSync(path).equals(before)).toBe(false);
    expect(await imported(path)).toEqual({ texts: ['committed'], problems: [expect.stringMatching(OPEN)] });
    database.exec('ROLLBACK');
    expect(await imported(path)).toEqual({ texts: ['committed'], problems: [] });
  });
});

describe('a database that cannot be imported is refused with its path, what is wrong and what to do', () => {
  const whole = (): string => {
    const path = join(freshFolder(), 'sessions.db');
    using database = openDatabase(path, 'DELETE');
    for (let i = 0; i < 50; i++) say(database, 'x'.repeat(1000));
    return path;
  };

  test('one that is cut off', async () => {
    const path = whole();
    const { length } = readFileSync(path);
    for (const size of [8192, 60]) {
      const cut = join(freshFolder(), 'cut.db');
      copyFileSync(path, cut);
      truncateSync(cut, size);
      await expect(openSource(cut)).rejects.toMatchObject({
        code: 'INVALID_INPUT',
        why: { params: { path: cut, bytes: size, expected: size < 100 ? 100 : length } },
        details: { next: expect.stringContaining('copy it again') },
      });
    }
  });

  test('one with a damaged page', async () => {
    const path = whole();
    const bytes = readFileSync(path);
    writeFileSync(path, bytes.fill(0xff, 4096, 8192));
    await expect(openSource(path)).rejects.toMatchObject({
      code: 'INVALID_INPUT',
      message: expect.stringContaining(`the SQLite database ${path} is damaged (`),
    });
  });

  test.each([
    [
      'of a program that is not known',
      'CREATE TABLE urls (a); CREATE TABLE visits (a)',
      'is not a database of a known tool: its tables are "urls", "visits"',
    ],
    ['without tables', '', 'is not a database of a known tool: it has no tables'],
    [
      'with a table of the same name',
      'CREATE TABLE session_messages (a, content)',
      'is not a ZeroClaw database: its table session_messages has no column id, session_id, role',
    ],
  ])('one %s, named by itself or by its folder', async (_, sql, reason) => {
    const folder = freshFolder();
    const path = join(folder, 'History.sqlite');
    const database = new DatabaseSync(path);
    database.exec(`PRAGMA user_version = 1; ${sql}`);
    database.close();
    for (const named of [path, folder])
      await expect(openSource(named)).rejects.toMatchObject({
        code: 'INVALID_INPUT',
        message: `${path} ${reason}`,
        details: {
          next: expect.stringMatching(
            /Databases that can be imported: .*ZeroClaw \(table session_messages\)/,
          ),
        },
      });
  });

  test('one of a home of Reprise', async () => {
    const home = freshFolder();
    {
      await using store = await openStore({ kind: 'jsonl', home });
      await store.create({ id: 'a', key: 'agent:main:main' });
    }
    await expect(openSource(join(home, 'control.db'))).rejects.toMatchObject({
      message: `${home} is a Reprise home, not the data of another tool`,
      details: { next: expect.stringContaining('reprise export --all') },
    });
  });
});
