import {
  mkdirSync,
  mkdtempSync,
  readdirSync,
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

const MAGIC = 'SQLite format 3\0';
const KEPT = `${MAGIC}what was said`;

function homeWith(database: string, content: string = KEPT): string {
  const home = mkdtempSync(join(root, 'home-'));
  writeFileSync(join(home, database), content);
  return home;
}

async function refuses(home: string, names: readonly string[]): Promise<void> {
  for (const name of names)
    await expect(writeFileSafely(join(home, name), 'an export', { force: true }), name).rejects.toMatchObject(
      {
        code: 'INVALID_INPUT',
        message: expect.stringContaining(home),
      },
    );
}

async function takes(home: string, names: readonly string[]): Promise<void> {
  for (const name of names) await writeFileSafely(join(home, name), 'an export', { force: true });
  const written = names.map((name) => readFileSync(join(home, name), 'utf8'));
  expect(written).toEqual(names.map(() => 'an export'));
}

describe('what a store keeps', () => {
  test('of a home with control.db is replaced by no export', async () => {
    const home = homeWith('control.db');
    await refuses(home, OWN);
    expect(readFileSync(join(home, 'control.db'), 'utf8')).toBe(KEPT);
    await takes(home, FREE);
    for (const folder of ['agents', 'agents/main/sessions'])
      await expect(prepareFolder(join(home, folder), { force: true })).rejects.toMatchObject({
        code: 'INVALID_INPUT',
      });
  });

  test('in store.db alone is that file and those beside it, and no folder', async () => {
    const home = homeWith('store.db');
    const isFile = (name: string): boolean => !name.includes('/');
    await refuses(home, [...OWN.filter(isFile), 'store.db']);
    await takes(home, [...FREE, ...OWN.filter((name) => !isFile(name))]);
    expect(readFileSync(join(home, 'store.db'), 'utf8')).toBe(KEPT);
  });

  test.each(['control.db', 'store.db'])('is not what another program keeps in %s', async (database) => {
    await takes(homeWith(database, 'of another program'), [...OWN, ...FREE, database]);
  });

  test('in transcripts whose database is lost is replaced by no export either', async () => {
    const home = join(root, 'lost');
    {
      await using store = await openStore({ kind: 'jsonl', home, durability: 'os' });
      await store.create({ id: 's', key: 'agent:main:main' });
      await store.append('s', [{ type: 'message', message: { role: 'user', content: 'hello' } }]);
    }
    for (const name of readdirSync(home)) if (/^(?:control|search)\.db/.test(name)) rmSync(join(home, name));
    await refuses(home, OWN);
    await takes(home, FREE);
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
    expect(readFileSync(join(home, 'control.db'), 'utf8')).toBe(KEPT);
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
