import { chmod, mkdir, mkdtemp, rm, stat, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { describe, expect, onTestFinished, test } from 'vitest';
import { prepareHome } from '../../src/store/sqlite/home.ts';

async function folder(): Promise<string> {
  const made = await mkdtemp(join(tmpdir(), 'reprise-home-'));
  onTestFinished(() => rm(made, { recursive: true }));
  return made;
}

describe('a home', () => {
  test('is made with all that leads to it, for its owner alone', async () => {
    const home = join(await folder(), 'a', 'b', 'c');
    await prepareHome(home);
    expect((await stat(home)).mode & 0o777).toBe(0o700);
    await prepareHome(home);
  });

  test('that others can read is made private; a group that may write keeps it', async () => {
    for (const [before, after] of [
      [0o755, 0o700],
      [0o777, 0o770],
      [0o770, 0o770],
      [0o500, 0o500],
      [0o1777, 0o1777],
    ] as const) {
      const home = join(await folder(), 'home');
      await mkdir(home);
      await chmod(home, before);
      await prepareHome(home);
      expect((await stat(home)).mode & 0o7777, before.toString(8)).toBe(after);
    }
  });

  test('that cannot be made is refused with a next step', async () => {
    const file = join(await folder(), 'file');
    await writeFile(file, '');
    for (const home of [file, join(file, 'below')])
      await expect(prepareHome(home)).rejects.toMatchObject({
        code: 'INVALID_INPUT',
        details: { next: expect.any(String) },
      });
  });

  test.runIf(process.platform === 'linux')(
    'in a place that takes no folders is refused, not waited for',
    async () => {
      await expect(prepareHome('/proc/nowhere/home')).rejects.toMatchObject({
        code: 'STORE_READ_ONLY',
        why: { code: 'store.badHome', params: { home: '/proc/nowhere/home', reason: 'ENOENT' } },
        details: { next: expect.any(String) },
      });
    },
  );
});
