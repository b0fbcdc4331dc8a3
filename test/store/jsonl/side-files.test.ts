import { mkdtempSync, renameSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import { openIndex, openStore } from '../../../src/config/open.ts';
import { SideFiles } from '../../../src/store/jsonl/side-files.ts';
import { startDriver } from '../../../testing/crash/driver-process.ts';
import { must, SESSION, say } from '../../support/store/store-faults.ts';

let home: string;
beforeEach(() => {
  home = mkdtempSync(join(tmpdir(), 'reprise-side-files-'));
});
afterEach(() => rmSync(home, { recursive: true, force: true }));

const path = (): string => join(home, 'store.db');

function connect(): DatabaseSync {
  const db = new DatabaseSync(path());
  try {
    db.prepare('SELECT count(*) FROM sqlite_schema').get();
    return db;
  } catch (error) {
    db.close();
    throw error;
  }
}

const LINES = 'SELECT sum(last_seq - first_seq + 1) AS lines FROM journal';

describe('side files of a store that others have open', () => {
  test.each([[['-shm']], [['-wal']], [['-wal', '-shm']]])(
    '%s removed in the moment of opening: the two end up on the same files',
    async (suffixes) => {
      await using driver = await startDriver({ store: 'sqlite', home });
      await must(driver, SESSION);
      let tries = 0;
      const db = new SideFiles(path(), { readOnly: false, isFirst: false }).open(() => {
        tries++;
        // Too late for the look before, and what SQLite makes now is all its own.
        if (tries === 1) for (const suffix of suffixes) rmSync(path() + suffix);
        return connect();
      }, 20_000);
      expect(tries).toBeGreaterThan(1);
      expect(await driver.send({ op: 'append', id: 's', ...say('a') })).toMatchObject({
        code: 'STORE_MOVED',
      });
      await must(driver, { op: 'append', id: 's', ...say('b') });
      expect(db.prepare(LINES).get()).toEqual({ lines: 2 });
      db.close();
      expect(await driver.stop()).toMatchObject({ code: 0 });
    },
  );

  test('a reader makes none of them and says why it cannot read', () => {
    connect().exec('PRAGMA journal_mode=WAL');
    for (const suffix of ['-wal', '-shm']) rmSync(path() + suffix, { force: true });
    const open = (): unknown => new SideFiles(path(), { readOnly: true, isFirst: false }).open(connect, 20);
    expect(open).toThrow(expect.objectContaining({ code: 'STORE_MOVED', outcome: 'none' }));
  });
});

describe.each(['jsonl', 'sqlite'] as const)('a %s database that is not in WAL mode', (kind) => {
  const database = (): string => join(home, kind === 'jsonl' ? 'control.db' : 'store.db');

  beforeEach(async () => {
    await using store = await openStore({ kind, home, durability: 'os' });
    await store.create({ id: 's', key: 'agent:main:main' });
  });

  function leaveWal(): void {
    const db = new DatabaseSync(database());
    db.exec('PRAGMA journal_mode=DELETE');
    db.close();
  }

  test('opens for writing, as a copy made by VACUUM INTO', async () => {
    const db = new DatabaseSync(database());
    db.prepare('VACUUM INTO ?').run(`${database()}.copy`);
    db.close();
    renameSync(`${database()}.copy`, database());
    await using store = await openStore({ kind, home });
    expect((await store.list()).sessions).toMatchObject([{ id: 's' }]);
    await store.append('s', [{ type: 'message', message: { role: 'user', content: 'hello' } }]);
  });

  test('opens for reading, for a list without a store, and for writing', async () => {
    leaveWal();
    {
      await using store = await openStore({ kind, home, readOnly: true });
      expect((await store.list()).sessions).toMatchObject([{ id: 's' }]);
    }
    leaveWal();
    {
      using index = await openIndex({ kind, home });
      expect(index?.list({})?.sessions).toMatchObject([{ id: 's' }]);
    }
    leaveWal();
    await using store = await openStore({ kind, home });
    await store.append('s', [{ type: 'message', message: { role: 'user', content: 'hello' } }]);
  });
});
