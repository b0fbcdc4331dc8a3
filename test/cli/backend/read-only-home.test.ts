import { mkdtempSync, readdirSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { describe, expect, onTestFinished, test } from 'vitest';
import { openStore } from '../../../src/config/open.ts';
import { reprise } from '../../support/processes/command-line.ts';
import { cannotLock, free, lock } from '../../support/store/no-writing.ts';

/** Each command is a separate process, and machines can be busy. */
const timeout = 180_000;
const KINDS = { jsonl: 'control.db', sqlite: 'store.db' } as const;

/** A home with one session, of which the folder, the database, or as on a mount both cannot be written. */
async function lockedHome(kind: keyof typeof KINDS, what: 'folder' | 'database' | 'both'): Promise<string> {
  const home = mkdtempSync(join(tmpdir(), 'reprise-read-only-'));
  {
    await using store = await openStore({ kind, home });
    await store.create({ id: 's1', key: 'agent:main:main' });
    await store.append('s1', [{ type: 'message', message: { role: 'user', content: 'plan the garden' } }]);
  }
  for (const name of readdirSync(home)) if (name.startsWith('search.')) rmSync(join(home, name));
  const database = join(home, KINDS[kind]);
  const locked = [...(what === 'folder' ? [] : [database]), ...(what === 'database' ? [] : [home])];
  for (const path of locked) lock(path);
  onTestFinished(() => {
    for (const path of locked.toReversed()) free(path);
    rmSync(home, { recursive: true, force: true });
  });
  return home;
}

describe.skipIf(cannotLock !== undefined)(
  `a home that cannot be written${cannotLock === undefined ? '' : ` (skipped: ${cannotLock})`}`,
  () => {
    test.each([
      ['jsonl', 'folder'],
      ['jsonl', 'database'],
      ['sqlite', 'both'],
    ] as const)(
      'is read unchanged, by a store of kind %s (%s), and refuses every write',
      async (kind, what) => {
        const home = await lockedHome(kind, what);
        const before = readdirSync(home);
        await using store = await openStore({ kind, home, readOnly: true });
        expect((await store.list()).sessions).toMatchObject([{ id: 's1', messageCount: 1 }]);
        expect((await store.search({ text: 'garden' })).hits).toMatchObject([{ id: 's1' }]);
        expect(await store.verify()).toMatchObject({ status: 'clean' });
        expect((await store.read('s1')).entries).toHaveLength(2);
        await expect(store.append('s1', [{ type: 'custom', customType: 'x' }])).rejects.toMatchObject({
          code: 'STORE_READ_ONLY',
          details: { next: expect.stringContaining(`Make ${home} writable`) },
        });
        expect(readdirSync(home)).toEqual(before);
      },
    );

    test('is listed and shown with a line that says so; a write fails with the next step', {
      timeout,
    }, async () => {
      const home = await lockedHome('jsonl', 'both');
      const at = ['--home', home];
      const note = `read-only: no permission to write ${home}\n`;
      const reads = [['ls', '--json'], ['show', 's1'], ['verify']];
      for (const args of reads) {
        const { status, stdout, stderr } = reprise([...args, ...at]);
        expect([args[0], status, stderr]).toEqual([args[0], 0, expect.stringContaining(note)]);
        expect(stdout).toMatch(/garden|clean|s1/);
      }
      const { status, stderr } = reprise(['rm', 's1', '--yes', ...at]);
      expect(status).toBe(1);
      expect(stderr).toContain('(STORE_READ_ONLY)');
      expect(stderr).toContain(`Make ${home} writable (mount, owner, mode, chattr), then try again.`);
    });
  },
);
