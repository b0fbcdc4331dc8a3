import { mkdtemp, rm, stat, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { describe, expect, onTestFinished, test } from 'vitest';
import { prepareHome } from '../../src/store/control/home.ts';

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
        message: 'cannot use /proc/nowhere/home: ENOENT',
        details: { next: expect.any(String) },
      });
    },
  );
});
