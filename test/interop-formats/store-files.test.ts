import {
  mkdirSync,
  mkdtempSync,
  readFileSync,
  realpathSync,
  rmSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { afterAll, describe, expect, test } from 'vitest';
import { openStore } from '../../src/config/open.ts';
import { prepareFolder, writeFileSafely } from '../../src/interop/export/file-writer.ts';
import { writeBackup } from '../../src/interop/transfer/write-backup.ts';

const root = realpathSync(mkdtempSync(join(tmpdir(), 'reprise-store-files-')));
afterAll(() => rmSync(root, { recursive: true, force: true }));

const OWN = [
  'control.db',
  'store.db-wal',
  'search.db',
  'Control.DB',
  'agents/main/sessions/s.jsonl',
  'agents/main/sessions/new.jsonl',
  'agents/main/sessions/s.blobs/new/deep.md',
  'agents/main/notes.md',
  'quarantine/old.jsonl',
];
const FREE = [
  'chat.md',
  'exports/chat.md',
  'agents/main/workspace/chat.md',
  'exports/agents/x/sessions/s.jsonl',
];

function homeWith(database: string): string {
  const home = mkdtempSync(join(root, 'home-'));
  writeFileSync(join(home, database), 'what was said');
  return home;
}

describe('what a store keeps', () => {
  test.each(['control.db', 'store.db'])('of a home with %s is replaced by no export', async (database) => {
    const home = homeWith(database);
    for (const name of OWN) {
      const file = join(home, name);
      const asked = writeFileSafely(file, 'an export', { force: true });
      await expect(asked, name).rejects.toMatchObject({
        code: 'INVALID_INPUT',
        message: expect.stringContaining(home),
      });
    }
    expect(readFileSync(join(home, database), 'utf8')).toBe('what was said');
    for (const name of FREE) await writeFileSafely(join(home, name), 'an export');
    expect(FREE.map((name) => readFileSync(join(home, name), 'utf8'))).toEqual(FREE.map(() => 'an export'));
    for (const folder of ['agents', 'agents/main/sessions'])
      await expect(prepareFolder(join(home, folder), { force: true })).rejects.toMatchObject({
        code: 'INVALID_INPUT',
      });
  });

  test('is not reached by a link or a way around either', async () => {
    const home = homeWith('control.db');
    mkdirSync(join(home, 'agents', 'main', 'sessions'), { recursive: true });
    const link = join(root, 'link');
    symlinkSync(join(home, 'agents'), link);
    symlinkSync(home, join(root, 'home'));
    for (const path of [
      join(link, 'main', 'sessions', 's.jsonl'),
      join(link, 'none', 'yet', 's.jsonl'),
      join(root, 'home', 'control.db'),
      `${home}/exports/../control.db`,
    ])
      await expect(writeFileSafely(path, 'x', { force: true }), path).rejects.toMatchObject({
        code: 'INVALID_INPUT',
      });
    expect(readFileSync(join(home, 'control.db'), 'utf8')).toBe('what was said');
  });

  test('has names that are as good as any in a folder that is no home', async () => {
    const file = join(root, 'plain', 'agents', 'main', 'sessions', 's.jsonl');
    await writeFileSafely(file, 'one');
    await writeFileSafely(file, 'two', { force: true });
    await writeFileSafely(join(root, 'plain', 'search.db'), 'three');
    expect(readFileSync(file, 'utf8')).toBe('two');
  });

  test.each(['jsonl', 'sqlite'] as const)('in a %s store is there after a backup into it', async (kind) => {
    const home = join(root, kind);
    await using store = await openStore({ kind, home, durability: 'os' });
    await store.create({ id: 's', key: 'agent:main:main' });
    const file = join(home, kind === 'jsonl' ? 'control.db' : 'store.db');
    await expect(writeBackup(store, file, { force: true })).rejects.toMatchObject({
      code: 'INVALID_INPUT',
      message: `${file} is a file of the store in ${dirname(file)}`,
    });
    expect(readFileSync(file).subarray(0, 6).toString()).toBe('SQLite');
  });
});
