import { mkdtempSync, readdirSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect, onTestFinished, test } from 'vitest';
import { Database } from '../../../src/store/sqlite/database.ts';

test('a database that was closed is not opened again by what comes too late', () => {
  const folder = mkdtempSync(join(tmpdir(), 'reprise-closed-'));
  onTestFinished(() => rmSync(folder, { recursive: true }));
  const db = new Database({ path: join(folder, 'control.db'), durability: 'os' });
  db.script('CREATE TABLE t (x)');
  db.reopen();
  expect(db.tend()).toBe(true);
  db.close();
  const closed = expect.objectContaining({ code: 'STORE_FAILED', outcome: 'none' });
  expect(() => db.transaction(() => db.run('INSERT INTO t VALUES (1)'), { lazy: true })).toThrow(closed);
  expect(() => db.rows('SELECT * FROM t')).toThrow(closed);
  expect(db.tend()).toBe(false);
  expect(readdirSync(folder)).toEqual(['control.db']);
});
