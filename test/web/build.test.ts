import { spawn } from 'node:child_process';
import { once } from 'node:events';
import {
  existsSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  rmSync,
  statSync,
  writeFileSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { expect, test } from 'vitest';
import { replaceFolder } from '../../scripts/build-web.ts';

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

test('servers that build the page at the same time leave a complete one, and none of them fails', async () => {
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

test('an existing page stays in place while other processes add theirs', () => {
  const folder = mkdtempSync(join(tmpdir(), 'reprise-page-'));
  try {
    const target = join(folder, 'web');
    const isThere = (): boolean => existsSync(join(target, 'index.html'));
    for (const name of ['first', 'second']) {
      mkdirSync(join(folder, name));
      writeFileSync(join(folder, name, 'index.html'), name);
    }
    replaceFolder(target, join(folder, 'first'), isThere);
    const { ino } = statSync(target);
    replaceFolder(target, join(folder, 'second'), isThere);
    expect(statSync(target).ino).toBe(ino);
    expect(readFileSync(join(target, 'index.html'), 'utf8')).toBe('first');
    // Another build puts its own in its place.
    replaceFolder(target, join(folder, 'second'));
    expect(readFileSync(join(target, 'index.html'), 'utf8')).toBe('second');
    expect(readdirSync(folder)).toEqual(['web']);
  } finally {
    rmSync(folder, { recursive: true });
  }
});
