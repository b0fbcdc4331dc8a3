import { existsSync, readFileSync } from 'node:fs';
import { mkdtemp, readdir, rm, stat, symlink, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, afterEach, beforeAll, expect, test, vi } from 'vitest';
import { loadTokenFile } from '../../../src/server/security/token-file.ts';

/** Stands for a disk that knows no second name of a file; the rest is the real one. */
const disk = vi.hoisted(() => ({ linkError: '' }));
vi.mock('node:fs/promises', async (original) => {
  const real = await original<typeof import('node:fs/promises')>();
  const link: typeof real.link = async (...names) => {
    if (disk.linkError === '') return real.link(...names);
    throw Object.assign(new Error(disk.linkError), { code: disk.linkError });
  };
  return { ...real, link };
});

let folder = '';
beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), 'token-'));
});
afterEach(() => {
  disk.linkError = '';
});
afterAll(() => rm(folder, { recursive: true }));

test('servers that start at once on a new home agree on its token, and leave nothing else there', async () => {
  for (let round = 0; round < 3; round++) {
    const home = join(folder, `home-${round}`);
    const file = join(home, 'server-token');
    const seen = new Set<string>();
    const look = setInterval(() => {
      if (existsSync(file)) seen.add(readFileSync(file, 'utf8').trim());
    }, 0);
    const tokens = await Promise.all(Array.from({ length: 8 }, () => loadTokenFile(file, { make: true })));
    clearInterval(look);
    expect(new Set(tokens).size).toBe(1);
    // A reader at any moment sees all of it.
    for (const token of seen) expect(token).toBe(tokens[0]);
    expect(await readdir(home)).toEqual(['server-token']);
    expect((await stat(file)).mode & 0o777).toBe(0o600);
  }
});

test('no token is written through a link that another user left in its place', async () => {
  const file = join(folder, 'linked-token');
  const target = join(folder, 'elsewhere');
  await symlink(target, file);
  await expect(loadTokenFile(file, { make: true })).rejects.toMatchObject({ code: 'CONFIG_INVALID' });
  await expect(stat(target)).rejects.toMatchObject({ code: 'ENOENT' });
});

test.each(['EPERM', 'EACCES', 'ENOTSUP'])(
  'they agree on a disk without links too (%s)',
  async (linkError) => {
    disk.linkError = linkError;
    const home = join(folder, `no-links-${linkError}`);
    const file = join(home, 'server-token');
    const tokens = await Promise.all(Array.from({ length: 8 }, () => loadTokenFile(file, { make: true })));
    expect(new Set(tokens).size).toBe(1);
    expect(readFileSync(file, 'utf8').trim()).toBe(tokens[0]);
    expect(await readdir(home)).toEqual(['server-token']);
    expect((await stat(file)).mode & 0o777).toBe(0o600);
  },
);

test('a place that takes no token is named, also where not even a folder can be', async () => {
  const taken = join(folder, 'a-file');
  await writeFile(taken, 'not a folder');
  await expect(loadTokenFile(join(taken, 'x'), { make: true })).rejects.toMatchObject({
    code: 'CONFIG_INVALID',
    details: { file: join(taken, 'x') },
  });
});
