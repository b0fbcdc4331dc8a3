import { mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, expect, test } from 'vitest';
import { openReprise } from '../../../src/index.ts';
import { ask, call, replying } from '../../support/engine/family.ts';

let workspace = '';
beforeEach(() => {
  workspace = mkdtempSync(join(tmpdir(), 'reprise-agents-'));
});
afterEach(() => rmSync(workspace, { recursive: true, force: true }));

const ALICE = 'agent:main:web:direct:alice';
const BOB = 'agent:main:web:direct:bob';

/** `!tool {input}` calls a file tool. */
const model = () =>
  replying(({ text, isResult }) => {
    const [, name = '', input = '{}'] = /^!(\w+) (.*)$/.exec(text) ?? [];
    return isResult || name === '' ? text : { calls: [call(name, JSON.parse(input) as object)] };
  });

test.each([
  ['session', false],
  ['off', true],
] as const)(
  'with the sandbox %s one person’s files can be read by another: %s',
  async (sandbox, isShared) => {
    await using reprise = await openReprise({
      store: 'memory',
      model: model(),
      agents: { defaults: { sandbox }, main: { workspace } },
    });
    await ask(reprise, '!write_file {"path": "diary.txt", "content": "dear diary"}', ALICE);
    const { id } = await reprise.session(ALICE);
    const own = await ask(reprise, '!read_file {"path": "diary.txt"}', ALICE);
    expect(own).toContain('dear diary');
    const answers = [];
    for (const path of [
      'diary.txt',
      `../${id}/diary.txt`,
      `sessions/${id}/diary.txt`,
      join(workspace, 'diary.txt'),
    ])
      answers.push(await ask(reprise, `!read_file ${JSON.stringify({ path })}`, BOB));
    expect(answers.join().includes('dear diary')).toBe(isShared);
    const folder = isShared ? workspace : join(workspace, 'sessions', id);
    expect(readFileSync(join(folder, 'diary.txt'), 'utf8')).toBe('dear diary');
  },
);
