import { once } from 'node:events';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { createProgram } from '../../src/cli/main.ts';
import { examplesOf } from '../../src/cli/options.ts';
import { openStore } from '../../src/config/open.ts';
import { openReprise } from '../../src/config/open-reprise.ts';
import { type Ran, reprise, start } from '../support/processes/command-line.ts';

interface Page {
  readonly data: readonly Record<string, unknown>[];
  readonly hasMore: boolean;
  readonly lastId: string | null;
  readonly [name: string]: unknown;
}

/** Each command is a separate process, and machines can be busy. */
const timeout = 180_000;

const today = (): string => new Date().toISOString().slice(0, 10);

let home = '';
let began = '';
beforeAll(async () => {
  began = today();
  home = mkdtempSync(join(tmpdir(), 'reprise-reads-'));
  await using engine = await openReprise({ home, model: 'offline' });
  const { store } = engine;
  const chat = await engine.session('agent:main:main');
  for (const text of ['my name is Ada', 'what is my name?']) await chat.send(text).result;
  await chat.patch({ label: 'who I am' });
  for (const [id, key, text] of [
    ['old-1', 'agent:main:telegram:direct:7', 'Plan the garden'],
    ['group-1', 'agent:helper:discord:group:9', 'Plan the party'],
    ['hostile', 'agent:main:session:hostile', 'a\u001b[2Jb \u202ec \u009b'],
    ['newest', 'agent:main:session:newest', 'Fix the bike'],
  ] as const) {
    await store.create({ id, key });
    await store.append(id, [{ type: 'message', message: { role: 'user', content: text } }]);
  }
  await store.patch('old-1', { archived: true });
}, timeout);
afterAll(() => rmSync(home, { recursive: true }));

const run = (...args: readonly string[]): Ran => reprise([...args, '--home', home]);
const json = (...args: readonly string[]): Page => JSON.parse(run(...args, '--json').stdout) as Page;

describe('ls', () => {
  test('leaves archived sessions out without --all, and filters by agent, channel and kind', {
    timeout,
  }, () => {
    const ids = (...args: readonly string[]): unknown[] => json('ls', ...args).data.map(({ id }) => id);
    expect(ids()).not.toContain('old-1');
    expect(ids('--all')).toContain('old-1');
    expect(ids('--all', '--channel', 'telegram')).toEqual(['old-1']);
    expect(ids('--agent', 'helper')).toEqual(['group-1']);
    expect(ids('--kind', 'group')).toEqual(['group-1']);
    expect(run('ls', '--all').stdout).toContain('Plan the garden (archived)');
  });

  test('--after lists what follows a page, until the end', { timeout }, () => {
    const all = json('ls').data.map(({ id }) => id);
    const first = json('ls', '-n', '2');
    const rest = json('ls', '--after', String(first.lastId));
    expect([...first.data, ...rest.data].map(({ id }) => id)).toEqual(all);
    expect([first.hasMore, rest.hasMore]).toEqual([true, false]);
    expect(json('ls', '--after', String(all.at(-1))).data).toEqual([]);
    expect(run('ls', '-n', '2').stderr).toContain(`--after ${first.lastId}`);
    expect(run('ls', '--after', 'nobody')).toMatchObject({
      status: 4,
      stderr: expect.stringMatching(/session "nobody" is not in this list[^\n]*\n[^\n]*lastId/),
    });
  });

  test('prints no numbers, and commands refuse them', { timeout }, () => {
    expect(run('ls').stdout).not.toMatch(/^ *\d+[* ] /m);
    expect(run('rm', '2', '--yes')).toMatchObject({
      status: 2,
      stderr: expect.stringMatching(/"2" is not a session: list numbers work only in a chat.*\n.*reprise ls/),
    });
  });

  test('sorts by messages and tokens, both ways', { timeout }, () => {
    const rows = (...args: readonly string[]): number[] =>
      json('ls', '--all', ...args).data.map((row) => Number(row['messageCount']));
    const most = rows('--sort', 'messages');
    expect(most).toEqual(most.toSorted((a, b) => b - a));
    expect(new Set(most).size).toBeGreaterThan(1);
    expect(rows('--sort', 'messages', '--reverse')).toEqual(most.toReversed());
    const byTime = json('ls').data.map(({ id }) => id);
    expect(json('ls', '-r').data.map(({ id }) => id)).toEqual(byTime.toReversed());
    expect(run('ls', '--sort', 'mood')).toMatchObject({
      status: 2,
      stderr: expect.stringContaining('Use one of time, messages, tokens.'),
    });
  });

  test('pages have hasMore and ISO times; text has relative times', { timeout }, () => {
    const { data, hasMore, lastId } = json('ls', '--limit', '2');
    expect({ hasMore, lastId }).toEqual({ hasMore: true, lastId: data[1]?.['id'] });
    expect(data[0]?.['lastAt']).toMatch(/^\d{4}-\d\d-\d\dT/);
    expect(json('ls', '--limit', '4')).toMatchObject({ hasMore: false });
    expect(run('ls').stdout).toMatch(/just now|min ago/);
  });

  test('control characters in titles do not reach the terminal', { timeout }, () => {
    const raw = run('ls', '--json').stdout;
    expect(raw).toContain('a\\u001b[2Jb \\u202ec \\u009b');
    expect(raw).not.toMatch(/[\u0080-\u009f\u202e]/);
    expect(json('ls').data.map(({ title }) => title)).toContain('a\u001b[2Jb \u202ec \u009b');
    expect(run('ls').stdout).toContain('a\\x1b[2Jb \\u202ec');
    expect(run('ls').stdout).not.toContain('\u001b');
  });

  test('colors are printed when forced, and neither into pipes nor with NO_COLOR', { timeout }, () => {
    const coloured = (env: NodeJS.ProcessEnv): boolean =>
      reprise(['ls', '--home', home], { env }).stdout.includes('\u001b[');
    expect(coloured({ FORCE_COLOR: '1' })).toBe(true);
    expect(coloured({ NO_COLOR: '1' })).toBe(false);
    expect(coloured({})).toBe(false);
  });

  test('an option before the command counts for it, and one after the command wins', { timeout }, () => {
    const empty = join(home, 'nowhere');
    expect(reprise(['--home', home, '--json', 'ls']).stdout).toContain('"hasMore": false');
    expect(reprise(['--home', empty, 'ls', '--home', home]).status).toBe(0);
    expect(reprise(['-C', home, 'ls', '--home', '.']).stdout).toContain('Fix the bike');
    expect(reprise(['-C', empty, 'ls'])).toMatchObject({ status: 4, stderr: expect.stringContaining('-C') });
  });
});

test('search finds a message with its position, and reports that nothing was found', { timeout }, () => {
  const { data, complete } = json('search', 'the', 'party');
  expect(data).toMatchObject([
    {
      ...{ id: 'group-1', seq: 2, role: 'user', name: 'Plan the party', snippet: 'Plan the party' },
      ...{
        marks: [
          [5, 8],
          [9, 14],
        ],
        position: 1,
        show: "reprise show group-1 --at '#1'",
      },
    },
  ]);
  expect(complete).toBe(true);
  const { stdout, stderr } = run('search', 'party');
  expect(stdout).toMatch(/Plan the party \(group-1, #1\) {2}user, \d.*\n +Plan the party/);
  expect(stderr).toContain("reprise show group-1 --at '#1'");
  expect(run('show', 'group-1', '--at', '#1').stdout).toMatch(/▸ #1\n\nuser {2}#1 .*\nPlan the party/);
  expect(run('show', 'group-1', '--at', '2').stdout).toMatch(/▸ #1\n\nuser .*\nPlan the party/);
  expect(run('show', 'group-1', '--at', '99')).toMatchObject({ status: 4 });
  expect(run('search', 'nobody said this')).toMatchObject({ status: 0, stdout: '' });
  expect(run('search', ' ')).toMatchObject({ status: 2 });
});

describe('tail', () => {
  test('prints the end, without entries that the engine writes for itself', { timeout }, () => {
    const { stdout, status } = run('tail', 'who I am', '-n', '2');
    expect(status).toBe(0);
    expect(stdout).toMatch(/what is my name\?[\s\S]*your name is Ada/);
    expect(stdout).not.toMatch(/my name is Ada\n|reprise\.turn/);
  });

  test('-f continues with what another process stores, line by line, until Ctrl-C', { timeout }, async () => {
    const child = start(['tail', '-f', 'newest', '--json', '-n', '1', '--home', home]);
    const ended = once(child, 'exit');
    const lines = createInterface({ input: child.stdout })[Symbol.asyncIterator]();
    const next = async (): Promise<unknown> => JSON.parse(String((await lines.next()).value));
    expect(await next()).toMatchObject({ seq: 2, role: 'user', text: 'Fix the bike' });
    await using store = await openStore({ kind: 'jsonl', home });
    for (const content of ['one', 'two']) {
      await store.append('newest', [{ type: 'message', message: { role: 'user', content } }]);
      expect(await next()).toMatchObject({ role: 'user', text: content });
    }
    child.kill('SIGINT');
    expect(await ended).toEqual([130, null]);
  });
});

test('explain prints what the model was sent, with the proof, by number or the last', { timeout }, () => {
  const { data, turnId, lastId, messages } = json('explain', 'who I am', '1');
  expect(messages).toEqual([expect.objectContaining({ position: 1, state: 'done' })]);
  expect(data).toEqual([expect.objectContaining({ model: 'offline', verified: true, messages: 1 })]);
  expect(lastId).toBe(turnId);
  expect(json('explain', 'who I am').turnId).not.toBe(turnId);
  expect(run('explain', 'who I am').stdout).toMatch(
    /^Turn .*: done, 1 request for 1 message\.\n {3}#3: inbox [\w-]+, done\n1\. offline:offline, 3 messages/,
  );
  expect(run('explain', 'who I am', '9')).toMatchObject({ status: 4 });
});

describe('stats', () => {
  test('sums calls by day, agent and model, and sizes by agent', { timeout }, () => {
    const { data, sizes } = json('stats');
    // One day, or the two that a midnight lies between.
    const days = data.filter(({ by }) => by === 'day');
    expect(days.reduce((sum, { calls }) => sum + Number(calls), 0)).toBe(2);
    for (const { name } of days) expect([began, today()]).toContain(name);
    for (const [by, name] of [
      ['agent', 'main'],
      ['model', 'offline:offline'],
    ])
      expect(data).toContainEqual(expect.objectContaining({ by, name, calls: 2 }));
    expect(sizes).toContainEqual(expect.objectContaining({ agent: 'helper', sessions: 1, messages: 1 }));
    expect(run('stats', '--by', 'model').stdout).toMatch(/^model +calls[^\n]*\noffline:offline +2 /);
    expect(data).toContainEqual(expect.objectContaining({ by: 'agent', name: 'main', turns: 2, failed: 0 }));
    expect(run('stats', '--by', 'moon')).toMatchObject({ status: 2 });
  });

  test('a fork costs nothing: the copied part was paid for once', { timeout }, () => {
    const before = json('stats', '--by', 'model').data;
    const id = run('fork', 'who I am').stdout.trim();
    expect(json('stats', '--by', 'model').data).toEqual(before);
    run('rm', id, '--yes');
  });
});

test('an unknown command names a close one; every error is one line of cause and one of next step', {
  timeout,
}, () => {
  expect(reprise(['serch']).stderr).toContain('Did you mean search?');
  for (const args of [
    ['show', 'nobody'],
    ['ls', '--limit', '0'],
    ['ls', '--store', 'paper'],
    ['purge', 'newest', '--yes'],
  ]) {
    const { status, stderr, stdout } = run(...args);
    expect(stdout).toBe('');
    expect([2, 4]).toContain(status);
    expect(stderr.trimEnd().split('\n'), stderr).toHaveLength(2);
    expect(stderr).toMatch(/^reprise: .* \([A-Z_]+\)\n/);
  }
});

test('--help fits a screen, examples first, for all commands and for each', { timeout }, () => {
  const { stdout } = reprise(['--help']);
  expect(reprise(['help'])).toMatchObject({ status: 0, stdout });
  expect(reprise(['help', 'ls'])).toMatchObject({ status: 0, stdout: reprise(['ls', '--help']).stdout });
  expect(stdout).toMatch(/^Examples:/);
  const commands = [...stdout.matchAll(/^ {2}([a-z]+) {2}/gm)]
    .map(([, name]) => name ?? '')
    .filter((name) => name !== 'reprise');
  expect(commands).toEqual(expect.arrayContaining(['ls', 'tail', 'prune', 'demo', 'completion']));
  for (const page of [
    stdout,
    ...['ls', 'show', 'prune', 'compact'].map((name) => reprise([name, '--help']).stdout),
  ]) {
    expect(page).toMatch(/^Examples:/);
    const lines = page.trimEnd().split('\n');
    expect(lines.length).toBeLessThanOrEqual(50);
    for (const line of lines) expect(line.length, line).toBeLessThanOrEqual(80);
  }
});

test('every help text starts with examples, and a usage error names that help', {
  timeout,
}, () => {
  const shown = createProgram().commands.filter((command) => !command.name().startsWith('__'));
  expect(shown.length).toBeGreaterThan(25);
  for (const command of shown) expect(examplesOf(command), command.name()).not.toEqual([]);
  for (const [args, help] of [
    [['ls', '--wat'], 'reprise ls --help'],
    [['search'], 'reprise search --help'],
    [['config', 'trust', '--now'], 'reprise config trust --help'],
    [['nonsense'], 'reprise --help'],
  ] as const) {
    const { status, stderr } = reprise(args);
    expect(status).toBe(2);
    expect(stderr).toContain(`Run "${help}" for`);
  }
});
