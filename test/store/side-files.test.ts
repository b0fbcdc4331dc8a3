import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import { SideFiles } from '../../src/store/control/side-files.ts';
import { startDriver } from '../../src/testing/crash/driver-process.ts';
import { must, SESSION, say } from '../support/store-faults.ts';

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
