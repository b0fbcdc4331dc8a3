import { spawnSync } from 'node:child_process';
import { existsSync, mkdirSync, mkdtempSync, readdirSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { Client } from '@modelcontextprotocol/sdk/client/index.js';
import { StdioClientTransport } from '@modelcontextprotocol/sdk/client/stdio.js';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { openStore } from '../../src/config/open.ts';
import { COMMAND } from '../support/processes/bundled-command.ts';

let folder = '';
let home = '';
let project = '';
beforeAll(async () => {
  folder = mkdtempSync(join(tmpdir(), 'reprise-resume-'));
  home = join(folder, 'home');
  project = join(folder, 'project');
  mkdirSync(project);
  await using store = await openStore({ kind: 'jsonl', home });
  for (const [id, cwd] of [
    ['here', project],
    ['elsewhere', join(folder, 'other')],
  ] as const) {
    await store.create({ id, key: `agent:main:session:${id}`, cwd });
    const call = { type: 'toolCall', id: 'call_1', name: 'Bash', arguments: { command: 'ls' } };
    await store.append(id, [
      { type: 'message', message: { role: 'user', content: `a needle ${id}` } },
      { type: 'message', message: { role: 'assistant', content: [call] } },
      {
        type: 'message',
        message: { role: 'toolResult', toolCallId: 'call_1', content: [{ type: 'text', text: 'a.txt' }] },
      },
    ]);
  }
}, 30_000);
afterAll(() => rmSync(folder, { recursive: true, force: true }));

function reprise(...args: readonly string[]): {
  readonly status: number | null;
  readonly stdout: string;
  readonly stderr: string;
} {
  const { FORCE_COLOR: _, CODEX_HOME: _codex, ...env } = process.env;
  const options = { encoding: 'utf8', env: { ...env, HOME: folder }, cwd: project } as const;
  return spawnSync(process.execPath, [COMMAND, ...args, '--home', home], options);
}

test('resume writes a new session of the agent where it looks for it, and never replaces a file', () => {
  const asked = reprise('resume', 'here', '--in', 'codex');
  expect(asked).toMatchObject({ status: 2, stdout: '' });
  expect(asked.stderr).toContain('--yes');
  expect(existsSync(join(folder, '.codex'))).toBe(false);
  const first = JSON.parse(reprise('resume', 'here', '--in', 'codex', '--yes', '--json').stdout) as {
    readonly id: string;
    readonly file: string;
  };
  const second = JSON.parse(reprise('resume', 'here', '--in', 'codex', '--yes', '--json').stdout) as {
    readonly id: string;
  };
  expect(second.id).not.toBe(first.id);
  const written = readdirSync(join(folder, '.codex'), { recursive: true, encoding: 'utf8' }).filter((name) =>
    name.endsWith('.jsonl'),
  );
  expect(written).toHaveLength(2);
  expect(readFileSync(first.file, 'utf8')).toContain('exec_command');
  const out = join(folder, 'out.jsonl');
  expect(reprise('resume', 'here', '--in', 'claude-code', '--out', out)).toMatchObject({
    status: 0,
    stdout: expect.stringContaining('claude --resume'),
  });
  expect(reprise('resume', 'here', '--in', 'claude-code', '--out', out).status).not.toBe(0);
  expect(reprise('export', 'here', '--format', 'pi').stdout).toContain('"name":"bash"');
  expect(reprise('resume', 'here', '--in', 'emacs')).toMatchObject({
    status: 2,
    stderr: expect.stringContaining('claude-code'),
  });
});

test('mcp serves the sessions of the folder on stdin and stdout, and all of them with --all', async () => {
  for (const [more, ids] of [
    [[], ['here']],
    [['--all'], ['elsewhere', 'here']],
  ] as const) {
    const transport = new StdioClientTransport({
      command: process.execPath,
      args: [COMMAND, 'mcp', '--home', home, ...more],
      cwd: project,
      stderr: 'pipe',
    });
    const client = new Client({ name: 'test', version: '1' });
    await client.connect(transport);
    const { content } = await client.callTool({ name: 'sessions_search', arguments: { query: 'needle' } });
    const found = [...JSON.stringify(content).matchAll(/\\"session\\":\\"(\w+)\\"/g)].map(([, id]) => id);
    expect(found.sort()).toEqual(ids);
    await client.close();
  }
});

test('mcp --install prints the command before it asks', () => {
  const { status, stdout, stderr } = reprise('mcp', '--install', 'claude', '--all');
  expect(stdout).toMatch(/^claude mcp add --scope user reprise -- .* mcp --home .* --all\n$/);
  expect(status).toBe(2);
  expect(stderr).toContain('--yes');
  expect(JSON.parse(reprise('mcp', '--install', 'opencode').stdout)).toMatchObject({
    reprise: { type: 'local' },
  });
});

test.each(['claude-code', 'codex', 'pi'])(
  'a session that came back from %s is known as one of this session',
  async (format) => {
    const file = join(folder, `11111111-2222-4333-8444-${format.length.toString().padStart(12, '0')}.jsonl`);
    expect(reprise('export', 'here', '--format', format, '--out', file).status).toBe(0);
    const { data } = JSON.parse(reprise('import', file, '--yes', '--json').stdout) as {
      readonly data: readonly { readonly id: string }[];
    };
    await using store = await openStore({ kind: 'jsonl', home });
    expect(await store.get(data[0]?.id ?? '')).toMatchObject({ parentId: 'here' });
  },
);
