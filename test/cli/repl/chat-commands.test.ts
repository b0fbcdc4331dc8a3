import { spawnSync } from 'node:child_process';
import { mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import { openStore } from '../../../src/config/open.ts';
import type { SessionRecord } from '../../../src/index.ts';
import { pngBase64 } from '../../support/engine/images.ts';
import { COMMAND } from '../../support/processes/bundled-command.ts';
import { cliEnv } from '../../support/processes/cli-env.ts';

const KEY = 'agent:main:main';
let home = '';
beforeEach(() => {
  home = mkdtempSync(join(tmpdir(), 'reprise-commands-'));
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
    cwd: home,
    encoding: 'utf8',
    env,
    input: `${lines.join('\n')}\n`,
  });
}

async function sessions(): Promise<readonly SessionRecord[]> {
  await using store = await openStore({ kind: 'jsonl', home });
  return (await store.list({ status: 'any' })).sessions;
}

async function called(label: string): Promise<SessionRecord | undefined> {
  return (await sessions()).find((session) => session.label === label);
}

/** Everything that was written for people and other tools. */
function transcripts(): string {
  const folder = join(home, 'agents/main/sessions');
  const files = readdirSync(folder).filter((name) => name.endsWith('.jsonl'));
  return files.map((name) => readFileSync(join(folder, name), 'utf8')).join('');
}

describe('commands in the chat', () => {
  test('S5 /new labels sessions, /switch finds one by the start of its label and continues there', async () => {
    const { stdout, stderr, status } = chat([
      '/new my-project',
      'my name is Ada',
      '/new experiments',
      'what is my name?',
      '/switch my-p',
      'what is my name?',
    ]);
    expect(status).toBe(0);
    expect(stdout.match(/your name is Ada/g)).toHaveLength(1);
    expect(stderr).toContain('Started a new session, "my-project"');
    expect(stderr).toMatch(/Now in "my-project": 2 messages/);
    expect(await called('my-project')).toMatchObject({ messageCount: 4, sessionKey: KEY, active: true });
    expect(await called('experiments')).toMatchObject({ messageCount: 2, active: false });
    // The next start resumes where this one stopped.
    expect(chat(['what is my name?']).stdout).toContain('your name is Ada');
  });

  test('S5 an ambiguous name lists the matching sessions and switches to none', async () => {
    const { stderr } = chat(['/new my-project', '/new my-plan', '/switch my-p', 'where am I?']);
    expect(stderr).toContain('"my-p" matches 2 sessions. (AMBIGUOUS_REF)\n');
    const [project, plan] = [await called('my-project'), await called('my-plan')];
    expect(stderr).toContain(`${project?.id}  my-project`);
    expect(stderr).toContain(`${plan?.id}  my-plan`);
    expect(plan).toMatchObject({ messageCount: 2, active: true });
  });

  test('S5 /delete of the current session asks; only a yes does it, and the chat continues in another', async () => {
    const lines = ['/new doomed', 'hello', '/delete', 'n', '/delete', '', '/delete', 'y', 'still there?'];
    const { stdout, stderr, status } = chat(lines);
    expect(status).toBe(0);
    expect(stderr.match(/Move the current session "doomed" .* to the trash\? \[y\/N\]/g)).toHaveLength(3);
    expect(stderr.match(/Nothing was deleted\./g)).toHaveLength(2);
    expect(stdout).toContain('You said: "still there?"');
    expect(await called('doomed')).toMatchObject({ status: 'deleted', messageCount: 2 });
    // Input that ends at the question is no yes.
    expect(chat(['/rename kept', '/delete']).stderr).toContain('Nothing was deleted.');
    expect(await called('kept')).toMatchObject({ status: 'open' });
  });

  test('S5 an unknown command is reported with a suggestion, and no model is called', async () => {
    // This model fails when it is called, so a call could not go unseen.
    const { stdout, stderr, status } = chat(
      ['/contxt', '/usr/bin/env', '/NONSENSE now'],
      '--model',
      'offline:error',
    );
    expect(status).toBe(0);
    expect(stdout).toBe('');
    expect(stderr).toContain('There is no command /contxt.\nDid you mean /context?');
    expect(stderr).toContain('There is no command /usr/bin/env.');
    expect(stderr).not.toContain('on purpose');
    expect((await sessions()).map(({ messageCount }) => messageCount)).toEqual([0]);
  });

  test('S5 commands are never in the transcript', async () => {
    const commands = [
      '/new log',
      '/sessions',
      '/history',
      '/tree',
      '/context',
      '/compact',
      '/status',
      '/help',
    ];
    const more = [
      '/explain',
      '/queue collect',
      '/model',
      '/pin last',
      '/unpin all',
      '/search x',
      '/nonsense',
    ];
    const { status } = chat([
      'hello',
      ...commands,
      'again',
      ...more,
      '/switch hello',
      '/undo',
      '/redo',
      '/quit',
    ]);
    expect(status).toBe(0);
    const stored = transcripts();
    expect(stored).toContain('hello');
    expect(stored).not.toMatch(/"\/(?!\d)/);
    expect((await sessions()).map(({ messageCount }) => messageCount)).toEqual([2, 2]);
  });

  test('/sessions marks the current one; answers are data, words about them are not', () => {
    const { stdout } = chat(['/new one', '/new two', '/switch one', '/sessions', '/history', '/status']);
    expect(stdout).toMatch(/^ +\d\* just now +one +0 messages/m);
    expect(stdout).toMatch(/^ +\d {2}just now +two +0 messages/m);
    expect(stdout).toContain('No messages yet.');
    expect(stdout).toContain('Queue: steer');
    expect(stdout).not.toContain('Now in');
  });

  test('/retry and /edit get a new answer; the answers before stay as branches', () => {
    const { stdout } = chat([
      'my name is Ada',
      'what is my name?',
      '/retry',
      '/edit who am I, my name?',
      '/tree',
    ]);
    expect(stdout.match(/your name is Ada/g)?.length).toBeGreaterThanOrEqual(2);
    expect(stdout).toMatch(
      /^\* #1 my name is Ada \(1 message\)\n├─ {2}\[\w+\] what is my name\? \(1 message\)\n├─ {2}\[\w+\] what is my name\? \(1 message\)\n└─\* #3 who am I/m,
    );
  });

  test('/model is stored with the session; an unknown one changes nothing', async () => {
    const { stderr } = chat(['/model nonsense', '/model offline:error', 'hello']);
    expect(stderr).toContain('(MODEL_UNKNOWN)');
    expect(stderr).toContain('Model: offline:error, chosen for this session');
    expect(stderr).toContain('on purpose');
    const next = chat(['hello', '/model default', 'hello']);
    expect(next.stderr).toContain('This session uses the model offline:error.');
    expect(next.stderr.match(/on purpose/g)).toHaveLength(1);
    expect(next.stdout).toContain('You said: "hello"');
  });

  test('/export creates a file and never replaces one', async () => {
    const { stderr } = chat(['hello', '/export mine.jsonl', '/export mine.jsonl']);
    expect(stderr).toContain('Written to mine.jsonl as v3.');
    expect(stderr).toContain('mine.jsonl already exists');
    expect(stderr).toContain('Name another file: /export <file>');
    expect(readFileSync(join(home, 'mine.jsonl'), 'utf8')).toBe(transcripts());
  });

  test('/export --redact masks secrets in the file and nowhere else', async () => {
    const secret = ['ghp', 'a1B2c3D4e5F6'.repeat(3)].join('_');
    const { stderr } = chat([`my key is ${secret}`, '/export --redact masked.jsonl']);
    expect(stderr).toContain('Written to masked.jsonl as v3.');
    expect(readFileSync(join(home, 'masked.jsonl'), 'utf8')).not.toContain(secret);
    expect(transcripts()).toContain(secret);
  });

  test('/export writes the format that the file name selects, with the images that were sent', async () => {
    const data = pngBase64(7, 7, 100_000);
    {
      await using store = await openStore({ kind: 'jsonl', home });
      await store.create({ id: 's', key: KEY });
      const content = [{ type: 'image', data, mimeType: 'image/png' }];
      await store.append('s', [{ type: 'message', message: { role: 'user', content } }]);
    }
    const { stderr } = chat(['/switch s', '/export all.jsonl', '/export notes.md', '/export page.HTML']);
    const written = (name: string): string => readFileSync(join(home, name), 'utf8');
    expect(written('all.jsonl').includes(data)).toBe(true);
    expect(written('notes.md')).toMatch(/^# /);
    expect(written('page.HTML')).toMatch(/^<!doctype html>/i);
    expect(stderr).toContain('Written to notes.md as markdown.');
    const [blob = ''] = readdirSync(join(home, 'agents/main/sessions/s.blobs'));
    rmSync(join(home, 'agents/main/sessions/s.blobs', blob));
    expect(chat(['/switch s', '/export rest.jsonl']).stderr).toContain(
      'note: 1 large part of s is missing or damaged; only the beginning of it is written',
    );
  });

  test('/repair continues with what can be read of a damaged session, which is kept', async () => {
    chat(['my name is Ada', 'the house is green', 'the cat is old']);
    const [damaged] = await sessions();
    const file = join(home, `agents/main/sessions/${damaged?.id}.jsonl`);
    const bytes = readFileSync(file, 'latin1').replace('house is green', 'house is GREEN');
    writeFileSync(file, bytes, 'latin1');
    const { stdout, stderr } = chat(['/repair', 'what is my name?', '/history 20']);
    expect(stderr).toMatch(
      new RegExp(`readable entries of ${damaged?.id} \\(damaged at byte \\d+\\) to the new session`),
    );
    expect(stdout).toContain('your name is Ada');
    expect(stdout).not.toContain('house is GREEN');
    expect(readFileSync(file, 'latin1')).toBe(bytes);
  });

  test('control characters of other senders do not reach the terminal', () => {
    const { stdout, stderr } = chat([
      '\u001b]0;owned\u0007hello',
      '/history',
      '/sessions',
      '/rename \u001b[31mred',
    ]);
    expect(`${stdout}${stderr}`).not.toContain('\u001b]0');
    expect(`${stdout}${stderr}`).not.toContain('\u001b[31m');
  });
});
