// @module-tag long
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, expect, test } from 'vitest';
import { openStore } from '../../src/config/open.ts';
import { type Ran, reprise } from '../support/processes/command-line.ts';
import { classicHome, claw0Home, openClawHome } from '../support/store/source-homes.ts';

let folder = '';
beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), 'reprise-import-resume-'));
});
afterEach(() => rmSync(folder, { recursive: true, force: true }));

const home = (): string => join(folder, 'home');
const run = (args: readonly string[], input = ''): Ran => reprise([...args, '--home', home()], { input });

/** The sessions that have a text. */
async function sessionsWith(text: string): Promise<string[]> {
  await using store = await openStore({ kind: 'jsonl', home: home() });
  return [...new Set((await store.search({ text })).hits.map(({ id }) => id))];
}

test.each([
  ['claw0 classic', classicHome, 'workspace/.sessions/transcripts', '20aa22bb44cc'],
  ['claw0', claw0Home, 'workspace', 'c0-aa'],
  ['OpenClaw', openClawHome, 'agents', 'oc-main'],
] as const)(
  'after one import command, plain reprise and -c resume the newest session of %s',
  { timeout: 180_000 },
  async (_, write, level, newest) => {
    const source = write(join(folder, 'source'));
    const imported = run(['import', join(source, level), '--yes']);
    expect(imported.stderr).toMatch(/\d sessions?( and .*)? imported/);
    expect(imported.status).toBe(0);

    const chat = run([], 'wombat');
    expect(chat.stderr).toContain('Restored: 1 previous turn');
    const once = run(['-c', '-p', 'quokka']);
    expect([chat.status, once.status]).toEqual([0, 0]);
    expect(await sessionsWith('wombat')).toEqual([newest]);
    expect(await sessionsWith('quokka')).toEqual([newest]);

    expect(run(['import', source, '--yes']).stderr).toContain('nothing new to import');
  },
);

test('/switch finds a session by the key that claw0 classic gave it, also when another key starts with it', {
  timeout: 180_000,
}, async () => {
  run(['import', classicHome(join(folder, 'source')), '--yes']);
  // Of three chats in the terminal the newest has the key of the owner, and this is the oldest.
  const chat = run([], '/switch main:cli:user\nnumbat\n/switch main:cli:user_10\naxolotl');
  expect(chat.status).toBe(0);
  expect(await sessionsWith('numbat')).toEqual(['00aa22bb44cc']);
  expect(await sessionsWith('axolotl')).toEqual(['10aa22bb44cc']);
});

test('prune names sessions that were just imported and leaves them alone', { timeout: 180_000 }, async () => {
  run(['import', openClawHome(join(folder, 'source')), '--yes']);
  const { stdout, stderr, status } = run(['prune', '--ttl', '1d', '--yes']);
  expect(status).toBe(0);
  expect(stdout).toContain('to the trash: 0, deleted permanently: 0, archived: 0');
  expect(stderr).toContain('5 sessions imported less than 30 days ago: no rule applies to them yet');
  expect(JSON.parse(run(['prune', '--ttl', '1d', '--json']).stdout)).toMatchObject({
    data: [],
    recentImports: 5,
  });
});
