import { type ChildProcessWithoutNullStreams, spawn, spawnSync } from 'node:child_process';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import { openStore } from '../../../src/config/open.ts';
import { COMMAND } from '../../support/processes/bundled-command.ts';
import { cliEnv } from '../../support/processes/cli-env.ts';

let home = '';
beforeEach(() => {
  home = mkdtempSync(join(tmpdir(), 'reprise-chat-'));
});
afterEach(() => rmSync(home, { recursive: true, force: true }));

const env = cliEnv();

interface Said {
  readonly status: number | null;
  readonly stdout: string;
  readonly stderr: string;
}

function chat(lines: readonly string[], ...args: readonly string[]): Said {
  return spawnSync(process.execPath, [COMMAND, 'chat', '--home', home, ...args], {
    encoding: 'utf8',
    env,
    input: lines.join('\n'),
  });
}

async function userTexts(): Promise<unknown[]> {
  await using store = await openStore({ kind: 'jsonl', home });
  const found = await store.active('agent:main:main');
  const { entries } = await store.read(found?.id ?? '', { limit: 1000 });
  return entries.flatMap(({ entry }) => {
    const { message } = entry as { message?: { role: string; content: unknown } };
    return message?.role === 'user' ? [message.content] : [];
  });
}

describe('the chat', () => {
  test('without a command prints where data lives, which model answers and what to try, and ends with its input', () => {
    const { status, stdout, stderr } = spawnSync(process.execPath, [COMMAND], {
      encoding: 'utf8',
      env: { ...env, REPRISE_HOME: home },
      input: 'hello there',
    });
    expect(status).toBe(0);
    const [where, who, what] = stderr.split('\n');
    expect(where).toContain(home);
    expect(who).toContain('offline');
    expect(what).toContain('my name is Ada');
    expect(stdout).toContain('You said: "hello there"');
  });

  test('resumes where another process stopped', () => {
    expect(chat(['my name is Ada']).status).toBe(0);
    const { stdout, stderr } = chat(['what is my name?']);
    expect(stderr).toContain('Restored: 1 previous turn of');
    expect(stdout).toContain('your name is Ada');
  });

  test('/context shows a bar and the parts of the context', () => {
    const { stdout } = chat(['hello', '/context']);
    expect(stdout).toMatch(/^Context usage: ~\d[\d,]* \/ 200,000 tokens$/m);
    expect(stdout).toMatch(/^\[-{30}\] 0\.0%$/m);
    expect(stdout).toMatch(/^ {2}reserved for the answer +8,192 +4\.1%$/m);
  });

  test('/undo undoes the last turn, /redo redoes it, and neither goes too far', () => {
    const { stdout, stderr } = chat([
      'my name is Ada',
      '/undo',
      'what is my name?',
      '/undo',
      '/redo',
      '/undo',
      '/undo',
      '/redo',
    ]);
    expect(stdout).not.toContain('your name is Ada');
    const told = stderr.split('\n').filter((line) => /last turn|Nothing/.test(line));
    expect(told).toEqual([
      'Undid the last turn.',
      'Undid the last turn.',
      'Redid the last turn.',
      'Undid the last turn.',
      'Nothing to undo.',
      'Redid the last turn.',
    ]);
  });

  test('/compact summarizes, or reports that there is nothing to compact', () => {
    expect(chat(['hello', '/compact']).stderr).toContain('Nothing to compact yet');
    const filler = 'because of the weather in the north '.repeat(400);
    const lines = Array.from({ length: 12 }, (_, i) => `note ${i}: ${filler}`);
    const { stderr } = chat([...lines, '/compact the weather', '/undo']);
    expect(stderr).toMatch(/Compacted: ~[\d,]+ -> ~[\d,]+ tokens\./);
    expect(stderr).toContain('Undid the last compaction.');
  });

  test('an unknown command is reported, never sent; two slashes start a message with one', async () => {
    const { stdout, stderr, status } = chat([
      '/nonsense please',
      '',
      '//tmp is a folder',
      '/quit',
      'never said',
    ]);
    expect(status).toBe(0);
    expect(stderr).toContain('There is no command /nonsense.');
    expect(stdout).toContain('You said: "/tmp is a folder"');
    expect(await userTexts()).toEqual(['/tmp is a folder']);
  });

  test('a failed turn is reported and the next one runs; a wrong model is an error before anything is created', () => {
    const { stderr, status } = chat(['one', 'two'], '--model', 'offline:error');
    expect(stderr.match(/breaks off on purpose/g)).toHaveLength(2);
    expect(status).toBe(0);
    const wrong = chat(['one'], '--model', 'nonsense');
    expect(wrong.status).toBe(1);
    expect(wrong.stderr).toContain('MODEL_UNKNOWN');
  });

  test('Ctrl-C stops a running answer and keeps what arrived, and the chat continues', async () => {
    const { child, exit, seen } = slowChat();
    child.stdin.write(LONG);
    await seen.until(/You said/, 'stdout');
    child.kill('SIGINT');
    await seen.until(/\(stopped\)/, 'stderr');
    child.stdin.write('/context\n');
    await seen.until(/Context usage/, 'stdout');
    child.stdin.end();
    expect(await exit).toBe(0);
    expect(await userTexts()).toHaveLength(1);
  });

  test('a second Ctrl-C exits, whether the answer has stopped by then or not', async () => {
    const { child, exit, seen } = slowChat();
    child.stdin.write(LONG);
    await seen.until(/You said/, 'stdout');
    child.kill('SIGINT');
    await seen.until(/\(stopped\)/, 'stderr');
    child.kill('SIGINT');
    expect(await exit).toBe(0);
    expect(await userTexts()).toHaveLength(1);
  });
});

/** The slow model repeats it word by word, for minutes, so that a stop is in time on a busy machine too. */
const LONG = `say this: ${'and on '.repeat(2000)}\n`;

function slowChat(): {
  child: ChildProcessWithoutNullStreams;
  exit: Promise<number | null>;
  seen: ReturnType<typeof collect>;
} {
  const args = [COMMAND, 'chat', '--home', home, '--model', 'offline:slow'];
  const child = spawn(process.execPath, args, { env });
  const exit = new Promise<number | null>((resolve) => child.on('exit', resolve));
  return { child, exit, seen: collect(child) };
}

function collect(child: ChildProcessWithoutNullStreams): {
  until: (what: RegExp, where: 'stdout' | 'stderr') => Promise<void>;
} {
  const text = { stdout: '', stderr: '' };
  const waiting = new Set<() => void>();
  for (const where of ['stdout', 'stderr'] as const)
    child[where].on('data', (chunk) => {
      text[where] += String(chunk);
      for (const look of waiting) look();
    });
  child.on('exit', () => {
    for (const look of waiting) look();
  });
  const until = (what: RegExp, where: 'stdout' | 'stderr'): Promise<void> =>
    new Promise((resolve, reject) => {
      const look = (): void => {
        if (what.test(text[where])) resolve();
        else if (child.exitCode !== null) reject(new Error(`ended before ${what}: ${JSON.stringify(text)}`));
        else return;
        waiting.delete(look);
      };
      waiting.add(look);
      look();
    });
  return { until };
}
