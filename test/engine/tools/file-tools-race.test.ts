import { mkdirSync, mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { Worker } from 'node:worker_threads';
import { expect, test } from 'vitest';
import { createFileTools } from '../../../src/engine/tools/file-tools.ts';
import type { JsonObject } from '../../../src/transcript/json.ts';

/** Swaps a folder for a link to another folder and back, as fast as it can, until it is stopped. */
const SWAPPER = `
const { renameSync, rmSync, symlinkSync } = require('node:fs');
const { workerData: { folder, outside, stop } } = require('node:worker_threads');
while (Atomics.load(stop, 0) === 0) {
  renameSync(folder, folder + '-aside');
  // A tool may have created the folder again in between; rmSync removes a link, not its target.
  try { symlinkSync(outside, folder); } catch {}
  for (;;) {
    try { rmSync(folder, { recursive: true, force: true }); renameSync(folder + '-aside', folder); break; } catch {}
  }
}`;

const TRIES = 200;

const CONTEXT = {
  session: { id: 's', key: 'agent:main:main', agentId: 'main' },
  progress: () => undefined,
  toolCallId: 'c',
  signal: new AbortController().signal,
  aside: <T>(work: () => Promise<T>): Promise<T> => work(),
};

test.runIf(process.platform === 'linux')(
  'I-30 a folder that is swapped for a link meanwhile leads no file tool outside',
  async () => {
    const root = mkdtempSync(join(tmpdir(), 'reprise-swap-'));
    const [workspace, outside] = [join(root, 'workspace'), join(root, 'outside')];
    for (const folder of [join(workspace, 'sub'), outside]) {
      mkdirSync(folder, { recursive: true });
      writeFileSync(join(folder, 'a.txt'), folder === outside ? 'outside' : 'inside');
    }
    writeFileSync(join(outside, 'only-outside.txt'), 'outside');
    const stop = new Int32Array(new SharedArrayBuffer(4));
    const swapper = new Worker(SWAPPER, {
      eval: true,
      workerData: { folder: join(workspace, 'sub'), outside, stop },
    });
    const ended = new Promise((resolve) => swapper.once('exit', resolve));
    const tools = new Map(createFileTools(workspace).map((tool) => [tool.name, tool]));
    const use = (name: string, input: JsonObject): Promise<unknown> =>
      Promise.resolve(tools.get(name)?.run(input, CONTEXT)).catch(() => 'refused');
    const seen = { outside: 0, inside: 0, refused: 0 };
    const count = (answer: unknown): void => {
      if (String(answer).includes('outside')) seen.outside++;
      else if (answer === 'refused') seen.refused++;
      else seen.inside++;
    };
    try {
      for (let i = 0; i < TRIES; i++) {
        count(await use('read_file', { path: 'sub/a.txt' }));
        count(await use('list_directory', { path: 'sub' }));
        await use('write_file', { path: `sub/new-${i % 20}.txt`, content: 'written' });
        await use('write_file', { path: `sub/deep-${i % 20}/x.txt`, content: 'written' });
        await use('edit_file', { path: 'sub/a.txt', old_string: 'outside', new_string: 'changed' });
      }
    } finally {
      Atomics.store(stop, 0, 1);
      await ended;
    }
    expect(seen.outside).toBe(0);
    expect(readdirSync(outside).sort()).toEqual(['a.txt', 'only-outside.txt']);
    expect(readFileSync(join(outside, 'a.txt'), 'utf8')).toBe('outside');
    // The attack took place, and the tools worked meanwhile.
    expect(Math.min(seen.inside, seen.refused)).toBeGreaterThan(0);
    rmSync(root, { recursive: true });
  },
);
