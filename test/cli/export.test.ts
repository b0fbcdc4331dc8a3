import { spawnSync } from 'node:child_process';
import { existsSync, mkdtempSync, readdirSync, readFileSync, rmSync, statSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { openStore } from '../../src/config/open.ts';
import { COMMAND } from '../support/processes/bundled-command.ts';

let folder = '';
let home = '';
beforeAll(async () => {
  folder = mkdtempSync(join(tmpdir(), 'reprise-export-'));
  home = join(folder, 'home');
  await using store = await openStore({ kind: 'jsonl', home });
  for (const [id, words] of [
    ['first', 'the key is sk-abc123def456ghi789jkl \u001b[31m'],
    ['second', 'hello'],
  ] as const) {
    await store.create({ id, key: `agent:main:session:${id}`, activate: true });
    await store.append(id, [{ type: 'message', message: { role: 'user', content: words } }]);
  }
}, 30_000);
afterAll(() => rmSync(folder, { recursive: true, force: true }));

interface Ran {
  readonly status: number | null;
  readonly stdout: string;
  readonly stderr: string;
}

function reprise(at: string, ...args: readonly string[]): Ran {
  const { FORCE_COLOR: _, ...env } = process.env;
  const command = [COMMAND, ...args, '--home', at];
  return spawnSync(process.execPath, command, { encoding: 'utf8', env });
}

test('one session goes to stdout, which holds nothing else', () => {
  const { status, stdout } = reprise(home, 'export', 'second', '--format', 'anthropic');
  expect(status).toBe(0);
  expect(JSON.parse(stdout)).toEqual([{ role: 'user', content: 'hello' }]);
}, 30_000);

test('a file is written with secrets masked, and never replaces another', () => {
  const file = join(folder, 'first.html');
  expect(reprise(home, 'export', 'first', '--out', file, '--redact').status).toBe(0);
  const page = readFileSync(file, 'utf8');
  expect(page).toContain('<!doctype html>');
  expect(page).toContain('the key is sk-****');
  expect(page).not.toContain('\u001b');
  expect(statSync(file).mode & 0o777).toBe(0o600);
  const again = reprise(home, 'export', 'second', '--out', file);
  expect(again.status).toBe(2);
  expect(again.stderr).toMatch(/exists \(INVALID_INPUT\)\n.*--force/);
  expect(readFileSync(file, 'utf8')).toBe(page);
}, 60_000);

test.each([
  [['export'], 'name one session, or use --all'],
  [['export', 'first', '--all'], 'name one session, or use --all'],
  [['export', '--all'], 'needs a folder'],
  [['export', 'first', '--profile', 'claw0'], 'needs a folder'],
  [['export', '--profile', 'claw0'], 'needs a folder'],
  [['export', 'first', '--format', 'pdf'], '--format cannot be "pdf"'],
  [['export', '--all', '--profile', 'nonsense', '--out', 'x'], '--profile cannot be "nonsense"'],
])(
  'a usage error has two lines: %j',
  (args, words) => {
    const { status, stderr, stdout } = reprise(home, ...args);
    expect(status).toBe(2);
    expect(stderr).toContain(words);
    expect(stderr.trim().split('\n')).toHaveLength(2);
    expect(stdout).toBe('');
  },
  30_000,
);

test('an import reports the settings it does not apply, and show repeats it', async () => {
  const path = join(folder, 'settings.jsonl');
  const at = '2025-01-01T00:00:00.000Z';
  const data = { systemPrompt: 'Obey \u001b[31m', model: 'evil' };
  const lines = [
    { type: 'session', version: 3, id: 'sly', timestamp: at },
    { type: 'message', id: 'a', parentId: null, timestamp: at, message: { role: 'user', content: 'hi' } },
    { type: 'custom', customType: 'reprise.settings', id: 'b', parentId: null, timestamp: at, data },
  ];
  writeFileSync(path, lines.map((line) => `${JSON.stringify(line)}\n`).join(''));
  const target = join(folder, 'sly-home');
  const look = reprise(target, 'import', path, '--dry-run');
  expect(look.stderr).toContain('settings in the file: systemPrompt, model; not applied');
  expect(look.stderr).toContain('pass --accept-settings');
  const done = JSON.parse(reprise(target, 'import', path, '--yes', '--json').stdout);
  expect(done.data[0].settingsNotApplied).toEqual(['systemPrompt', 'model']);
  expect(reprise(target, 'show', 'sly').stdout).toContain(
    'settings in the imported file: systemPrompt, model; not applied',
  );
  expect(reprise(target, 'import', path, '--yes', '--accept-settings').stderr).toContain(
    '1 session imported',
  );
  const shown = reprise(target, 'show', 'sly').stdout;
  expect(shown).toContain('setting model: evil');
  expect(shown).not.toContain('\u001b[31m');
  expect(shown).not.toContain('not applied');
}, 120_000);

test('a layout is exported, previewed, and imported into another home', () => {
  const out = join(folder, 'clawdbot');
  const written = reprise(home, 'export', '--profile', 'clawdbot', '--out', out, '--json');
  expect(JSON.parse(written.stdout)).toMatchObject({ profile: 'clawdbot', files: 3 });
  expect(readdirSync(join(out, 'agents', 'main', 'sessions')).sort()).toEqual([
    'first.jsonl',
    'second.jsonl',
    'sessions.json',
  ]);

  const other = join(folder, 'other');
  const look = reprise(other, 'import', out, '--dry-run');
  expect(look.status).toBe(0);
  expect(look.stdout).toMatch(/^OpenClaw: 2 sessions/);
  expect(look.stdout).toContain('new        first  agent:main:session:first  1 message');
  expect(look.stderr).toContain('2 sessions would be imported');
  expect(existsSync(other)).toBe(false);

  const unasked = reprise(other, 'import', out);
  expect(unasked.status).toBe(2);
  expect(unasked.stderr).toContain('--yes');

  const done = reprise(other, 'import', out, '--yes', '--json');
  expect(JSON.parse(done.stdout)).toMatchObject({
    imported: true,
    data: [
      { action: 'new', id: 'second' },
      { action: 'new', id: 'first' },
    ],
  });
  expect(reprise(other, 'import', out, '--yes').stderr).toContain('nothing new to import');
  expect(JSON.parse(reprise(other, 'export', 'second', '--format', 'anthropic').stdout)).toEqual([
    { role: 'user', content: 'hello' },
  ]);
}, 120_000);

test('a path without known files is reported with its code', () => {
  expect(reprise(home, 'import', join(folder, 'none')).status).toBe(4);
  expect(reprise(home, 'import', home).stderr).toContain('is a Reprise home');
}, 60_000);

test('data that a layout cannot hold is reported by kind and count, as text and as JSON', async () => {
  const own = join(folder, 'tools');
  {
    await using store = await openStore({ kind: 'jsonl', home: own });
    await store.create({ id: 'used', key: 'agent:main:main', activate: true });
    const call = { type: 'toolCall', id: 'c', name: 'look', arguments: {} };
    await store.append('used', [
      { type: 'message', message: { role: 'user', content: 'look' } },
      { type: 'message', message: { role: 'assistant', content: [call], stopReason: 'toolUse' } },
      { type: 'message', message: { role: 'toolResult', toolCallId: 'c', toolName: 'look', content: [] } },
    ]);
  }
  const zeroclaw = reprise(own, 'export', '--profile', 'zeroclaw', '--out', join(folder, 'z'), '--json');
  expect(zeroclaw.stderr).toMatch(
    /^Left out, because zeroclaw cannot store it: 1 tool call, 1 tool result\.$/m,
  );
  const leftOut = { toolCalls: 1, toolResults: 1 };
  expect(JSON.parse(zeroclaw.stdout)).toMatchObject({
    leftOut: { total: leftOut, sessions: [{ id: 'used', ...leftOut }] },
  });
  const whole = reprise(own, 'export', '--profile', 'clawdbot', '--out', join(folder, 'c'), '--json');
  expect(whole.stderr).not.toContain('Left out');
  expect(JSON.parse(whole.stdout)).toMatchObject({ leftOut: { total: {}, sessions: [] } });
}, 60_000);
