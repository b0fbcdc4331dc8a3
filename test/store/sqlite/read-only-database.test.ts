import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { describe, expect, onTestFinished, test } from 'vitest';
import { Database } from '../../../src/store/sqlite/database.ts';
import { cannotLock, free, lock } from '../../support/store/no-writing.ts';

/** A database with one table that may not be written, and a connection made since. */
function openLocked(): { readonly db: Database; readonly path: string } {
  const folder = mkdtempSync(join(tmpdir(), 'reprise-read-only-'));
  const path = join(folder, 'control.db');
  const first = new Database({ path, durability: 'os' });
  first.script('CREATE TABLE t (x)');
  first.close();
  lock(path);
  const db = new Database({ path, durability: 'os' });
  onTestFinished(() => {
    db.close();
    free(path);
    rmSync(folder, { recursive: true, force: true });
  });
  return { db, path };
}

describe.skipIf(cannotLock !== undefined)(
  `a database that may not be written${cannotLock === undefined ? '' : ` (skipped: ${cannotLock})`}`,
  () => {
    const write = (db: Database): number => db.transaction(() => db.run('INSERT INTO t VALUES (1)'));
    const refused = expect.objectContaining({ code: 'STORE_READ_ONLY', outcome: 'none' });
    /** What the background does between two requests, on whatever connection there is. */
    const look = (db: Database): unknown =>
      db.transaction(() => db.row('SELECT count(*) AS n FROM t'), { lazy: true });

    test('is read, and written with the first request after it was freed', () => {
      const { db, path } = openLocked();
      expect(() => write(db)).toThrow(refused);
      expect(db.transaction(() => db.row('SELECT count(*) AS n FROM t'))).toEqual({ n: 0 });
      free(path);
      expect(write(db)).toBe(1);
    });

    test('is read as it is now, also when a writer came and left between two looks', () => {
      const { db, path } = openLocked();
      db.close();
      for (const suffix of ['-wal', '-shm']) rmSync(path + suffix, { force: true });
      const reader = new Database({ path, durability: 'os', readOnly: true });
      expect(reader.row('SELECT count(*) AS n FROM t')).toEqual({ n: 0 });
      free(path);
      const writer = new Database({ path, durability: 'os' });
      expect(write(writer)).toBe(1);
      writer.close();
      lock(path);
      reader.tend();
      expect(reader.row('SELECT count(*) AS n FROM t')).toEqual({ n: 1 });
      reader.close();
    });

    test.each([
      ['after a refusal', (db: Database) => expect(() => write(db)).toThrow(refused)],
      ['before anybody was refused', () => undefined],
    ])('also when work of the background opened it again before: %s', (_when, ask) => {
      const { db, path } = openLocked();
      ask(db);
      expect(look(db)).toEqual({ n: 0 });
      free(path);
      expect(write(db)).toBe(1);
      lock(path);
      // This connection may continue; one that is opened now may not.
      db.reopen();
      expect(() => write(db)).toThrow(refused);
    });
  },
);
