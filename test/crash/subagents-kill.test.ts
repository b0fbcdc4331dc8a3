// @module-tag long
import { mkdtempSync, readdirSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, expect, test } from 'vitest';
import { openStore } from '../../src/config/open.ts';
import { type DriverProcess, startDriver } from '../../testing/crash/driver-process.ts';
import { resultsIn } from '../support/engine/family.ts';
import { bundledProgram } from '../support/processes/bundled-program.ts';

const script = bundledProgram('turn-driver');
const session = 'agent:main:main';

let home = '';
beforeEach(() => {
  home = mkdtempSync(join(tmpdir(), 'reprise-children-'));
});
afterEach(() => rmSync(home, { recursive: true, force: true }));

const start = (): Promise<DriverProcess> => startDriver({ store: 'jsonl', home, script });
const mayDie = (point: string): void => writeFileSync(join(home, `die-${point}`), '');

function mayLive(): void {
  for (const name of readdirSync(home)) if (name.startsWith('die-')) rmSync(join(home, name));
}

/** What the parent received, and whether the child is in the trash, once a process has had its time. */
async function settle(): Promise<{ results: string[]; isDeleted: boolean }> {
  {
    await using driver = await start();
    expect(await driver.send({ op: 'idle' })).toMatchObject({ ok: true });
  }
  await using store = await openStore({ kind: 'jsonl', home });
  const { sessions } = await store.list({ kind: 'subagent', status: 'any' });
  return { results: await resultsIn(store), isDeleted: sessions[0]?.status === 'deleted' };
}

test.each([
  ['in the model', 'in-model', 'deadly1', 1, 'done. Its task was: deadly1', 'answer 0 to deadly1'],
  ['in a tool', 'in-unsafe', 'm1 | unsafe', 1, 'interrupted. Its task was', 'the tool was not run again'],
  ['again and again', 'in-model', 'deadly2', 3, 'failed. Its task was', 'given up after 3 attempts'],
])(
  'S10 a child whose process is killed %s is reported to its parent once',
  async (_where, point, task, deaths, head, says) => {
    mayDie(point);
    {
      await using first = await start();
      expect(await first.send({ op: 'spawn', session, text: task })).toMatchObject({ status: 'accepted' });
      expect(await first.exited).toMatchObject({ signal: 'SIGKILL' });
    }
    for (let i = 1; i < deaths; i++) {
      await using again = await start().catch(() => undefined);
      if (again !== undefined) expect(await again.exited).toMatchObject({ signal: 'SIGKILL' });
    }
    mayLive();
    const { results, isDeleted } = await settle();
    expect(results).toEqual([expect.stringContaining(head)]);
    expect(results[0]).toContain(says);
    expect(isDeleted).toBe(true);
    expect((await settle()).results).toHaveLength(1);
  },
);
