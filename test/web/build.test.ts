import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdtempSync, readdirSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { expect, test } from 'vitest';

const script = fileURLToPath(new URL('../../scripts/build-web.ts', import.meta.url));

/** Puts many pages in place, one after the other, as so many first starts of a server would. */
const BUILDER = `
const { mkdirSync, writeFileSync } = await import('node:fs');
const { replaceFolder } = await import(process.argv[1]);
const [, , target, name] = process.argv;
for (let i = 0; i < 200; i++) {
  const aside = target + '-' + name + '-' + i;
  mkdirSync(aside);
  for (const file of ['index.html', 'page.js']) writeFileSync(aside + '/' + file, name + i);
  replaceFolder(target, aside);
}`;

test('servers that build the page at the same time leave a whole one, and none of them fails', async () => {
  const folder = mkdtempSync(join(tmpdir(), 'reprise-page-'));
  try {
    const target = join(folder, 'web');
    const exits = ['a', 'b', 'c'].map(async (name) => {
      const args = ['--input-type=module', '-e', BUILDER, script, target, name];
      const child = spawn(process.execPath, args, { stdio: ['ignore', 'ignore', 'inherit'] });
      return (await once(child, 'exit'))[0] as number;
    });
    expect(await Promise.all(exits)).toEqual([0, 0, 0]);
    expect(readdirSync(folder)).toEqual(['web']);
    const [page, code] = ['index.html', 'page.js'].map((file) => readFileSync(join(target, file), 'utf8'));
    expect(page).toMatch(/^[abc]199$/);
    expect(code).toBe(page);
  } finally {
    rmSync(folder, { recursive: true });
  }
});
