import { spawnSync } from 'node:child_process';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { exampleTranscripts } from '../../scripts/make-examples.ts';
import { COMMAND } from '../support/processes/bundled-command.ts';

let folder = '';
beforeAll(() => {
  folder = mkdtempSync(join(tmpdir(), 'reprise-show-'));
});
afterAll(() => rmSync(folder, { recursive: true }));

interface Run {
  readonly status: number | null;
  readonly stdout: string;
  readonly stderr: string;
}

function reprise(...args: readonly string[]): Run {
  const { FORCE_COLOR: _, ...env } = process.env;
  return spawnSync(process.execPath, [COMMAND, ...args], { encoding: 'utf8', env });
}

function file(name: string, content: string | Buffer): string {
  const path = join(folder, name);
  writeFileSync(path, content);
  return path;
}

describe('reprise show', () => {
  test('prints every dialect in readable form', () => {
    for (const name of ['claw0', 'claw0-classic', 'zyhive', 'pi-v1', 'reprise']) {
      const { status, stdout, stderr } = reprise('show', `examples/transcripts/${name}.jsonl`);
      expect({ status, stderr }).toEqual({ status: 0, stderr: '' });
      expect(stdout).toMatch(
        /user {2}#1 {2}2025.*Compare config\.json.*assistant.*→ read_file \{"path":"config\.json"\}.*← \{"retries": 3\}.*They differ/s,
      );
    }
  });

  test('--json --format prints the rebuilt messages as one JSON array', () => {
    const read = (format: string): unknown[] =>
      JSON.parse(
        reprise('show', 'examples/transcripts/claw0.jsonl', '--json', '--format', format).stdout,
      ) as unknown[];
    expect(read('anthropic')).toHaveLength(4);
    expect(read('openai').map((message) => (message as { role: string }).role)).toEqual([
      'user',
      'assistant',
      'tool',
      'tool',
      'assistant',
    ]);
    expect(read('ai-sdk')).toHaveLength(4);
  });

  test('--json prints rows with ids, pages and what was compacted', () => {
    const { stdout } = reprise('show', 'examples/transcripts/reprise.jsonl', '--json', '--limit', '2');
    expect(JSON.parse(stdout)).toMatchObject({
      session: { id: '01941f29-7c00-7000-8000-000000000001', key: 'agent:main:main' },
      data: [
        { seq: 5, role: 'toolResult', text: '{"retries": 5}' },
        { seq: 6, role: 'assistant' },
      ],
      hasMore: true,
    });
  });

  test('skipped lines are reported on stderr with their position, and the rest is shown', () => {
    const { status, stdout, stderr } = reprise(
      'show',
      file('torn.jsonl', '{"type":"user","content":"hi","ts":1}\n{"type":"assis'),
    );
    expect(status).toBe(0);
    expect(stdout).toContain('hi');
    expect(stderr).toContain('1 x bad-json, first at line 2, byte 38');
  });

  test('a damaged sealed file is shown as far as it verifies, and the exit code is 6', () => {
    const bytes = Buffer.from(exampleTranscripts().get('reprise.jsonl') ?? '');
    bytes[bytes.indexOf('I will read')] = 0x69;
    const { status, stdout, stderr } = reprise('show', file('damaged.jsonl', bytes));
    expect(status).toBe(6);
    expect(stdout).toContain('They differ');
    expect(stderr).toMatch(/damaged at byte \d+.*STORE_CORRUPT/);
  });

  test('control characters of a text do not reach the terminal', () => {
    const { stdout } = reprise(
      'show',
      file('hostile.jsonl', JSON.stringify({ type: 'user', content: 'a\u001b[2Jb\u202ec\u0007', ts: 1 })),
    );
    expect(stdout).toContain('a\\x1b[2Jb\\u202ec\\x07');
  });

  test.each([
    ['a file that is not there', () => join(folder, 'nope.jsonl'), 4, 'NOT_FOUND'],
    ['a folder', () => folder, 2, 'INVALID_INPUT'],
    ['a file that is no session', () => 'package.json', 2, 'INVALID_INPUT'],
    ['an empty file', () => file('empty.jsonl', ''), 2, 'INVALID_INPUT'],
  ])('%s is one line of cause and one of next step', (_what, path, exit, code) => {
    const { status, stdout, stderr } = reprise('show', path());
    expect({ status, stdout }).toEqual({ status: exit, stdout: '' });
    const lines = stderr.trimEnd().split('\n');
    expect(lines).toHaveLength(2);
    expect(lines[0]).toContain(`(${code})`);
  });

  test('bad options are usage errors', () => {
    const sample = 'examples/transcripts/claw0.jsonl';
    for (const args of [['--format', 'xml'], ['--limit', '0'], ['--limit', 'x'], ['--nope']])
      expect(reprise('show', sample, ...args).status).toBe(2);
    expect(reprise('show', sample, '--leaf', 'nope').status).toBe(4);
    expect(reprise('shwo').stderr.trimEnd().split('\n')).toEqual([
      "reprise: unknown command 'shwo' (INVALID_INPUT)",
      'Did you mean show? Run "reprise --help" for the list of commands and options.',
    ]);
  });

  test('a reader that closes the pipe early is no error', () => {
    const run = spawnSync(
      'sh',
      ['-c', `"${process.execPath}" bin/reprise.cjs show examples/transcripts/claw0.jsonl | true`],
      { encoding: 'utf8' },
    );
    expect({ status: run.status, stderr: run.stderr }).toEqual({ status: 0, stderr: '' });
  });
});

test('--version is the version of the package, --help starts with examples', () => {
  expect(reprise('--version').stdout).toMatch(/^\d+\.\d+\.\d+\n$/);
  expect(reprise('--help').stdout).toMatch(/^Examples:/);
});

test('an older Node gets one clear line and exit 2', () => {
  const check = `Object.defineProperty(process, 'versions', { value: { node: '20.19.0' } }); require('./bin/reprise.cjs');`;
  const run = spawnSync(process.execPath, ['-e', check], { encoding: 'utf8' });
  expect(run.status).toBe(2);
  expect(run.stderr).toMatch(/^reprise needs Node\.js 24 or newer; .*\n$/);
});
