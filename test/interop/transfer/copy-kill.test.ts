// @module-tag long
import { spawnSync } from 'node:child_process';
import { mkdtempSync, realpathSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { openStore } from '../../../src/config/open.ts';
import { writeBackup } from '../../../src/interop/transfer/write-backup.ts';
import { sameStores } from '../../../testing/store-suite/copy/transfer-kit.ts';
import { bundledProgram } from '../../support/processes/bundled-program.ts';
import { runBeside } from '../../support/processes/command-line.ts';
import { operate } from '../../support/store/random-store.ts';

const root = realpathSync(mkdtempSync(join(tmpdir(), 'reprise-copy-kill-')));
afterAll(() => rmSync(root, { recursive: true, force: true }));
const script = bundledProgram('copy-driver');
const source = join(root, 'source');
const backup = join(root, 'backup.jsonl');

beforeAll(async () => {
  await using store = await openStore({ kind: 'sqlite', home: source, durability: 'os' });
  for (let n = 0; n < 70; n++) await operate(store, n, n);
  const { id } = await store.create({ key: 'agent:main:long' });
  for (let n = 0; n < 12; n++)
    await store.append(id, [
      { type: 'message', message: { role: 'user', content: String(n).repeat(250_000) } },
    ]);
  await writeBackup(store, backup);
});

function driver(...args: string[]): { readonly signal: string | null; readonly stderr: string } {
  const { signal, stderr } = spawnSync(process.execPath, [script, ...args], { encoding: 'utf8' });
  return { signal, stderr };
}

const MOMENTS = [
  ['within', '1'],
  ['after', '1'],
  ['within', '1'],
  ['finish', '0'],
] as const;

describe.each(['migrate', 'restore'] as const)('a %s', (what) => {
  test('that is killed resumes where it stopped, and is exact at the end', async () => {
    const target = join(root, what);
    // Again and again into the same target: each run continues what the ones before have left.
    for (const [moment, at] of MOMENTS) {
      const { signal, stderr } = driver(what, what === 'migrate' ? source : backup, target, moment, at);
      expect([signal, stderr], `${moment} ${at}`).toEqual(['SIGKILL', '']);
    }
    {
      await using half = await openStore({ kind: 'jsonl', home: target });
      expect((await half.transfer.state()).run).toMatchObject({ finished: false });
      await expect(half.create({ key: 'agent:main:main' })).rejects.toMatchObject({
        code: 'STORE_READ_ONLY',
      });
    }
    const args =
      what === 'migrate'
        ? ['migrate', '--from', `sqlite:${source}`, '--to', `jsonl:${target}`, '--json']
        : ['backup', 'restore', backup, '--to', `jsonl:${target}`, '--json'];
    const { status, stdout, stderr } = await runBeside(args);
    expect(stderr).toBe('');
    expect(status).toBe(0);
    expect(JSON.parse(stdout)).toMatchObject({ status: 'done', differences: [], damage: [] });
    await using left = await openStore({ kind: 'sqlite', home: source });
    await using right = await openStore({ kind: 'jsonl', home: target });
    await sameStores(left, right);
    expect((await right.verify()).status).toBe('clean');
  });
});
