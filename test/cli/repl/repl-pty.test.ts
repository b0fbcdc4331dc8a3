import { mkdirSync, mkdtempSync, readFileSync, rmSync, statSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import { openStore } from '../../../src/config/open.ts';
import type { SessionRecord } from '../../../src/index.ts';
import { COMMAND } from '../../support/processes/bundled-command.ts';
import { cliEnv } from '../../support/processes/cli-env.ts';
import { hasTerminals, Terminal } from '../../support/processes/terminal.ts';

let home = '';
beforeEach(() => {
  home = mkdtempSync(join(tmpdir(), 'reprise-pty-'));
});
afterEach(() => rmSync(home, { recursive: true, force: true }));

const ENTER = '\r';
const ALT_ENTER = '\u001b\r';
const CTRL_C = '\u0003';
const CTRL_D = '\u0004';
const CTRL_R = '\u0012';
const CTRL_G = '\u0007';
const BACKSPACE = '\u007f';
const ESCAPE = '\u001b';
const UP = '\u001b[A';
const LEFT = '\u001b[D';
const TAB = '\t';
const SIGTERM = 15;
const paste = (text: string): string => `\u001b[200~${text}\u001b[201~`;
/** The slow model says it back word by word, for some seconds. */
const LONG = `say this: ${Array.from({ length: 120 }, (_, i) => `word${i}`).join(' ')}`;
/** The same for a minute, so that a stop is in time on a busy machine too. No longer than a terminal holds unread. */
const ENDLESS = `say this: word0 word1 ${'a '.repeat(1300)}end`;

function reprise(...args: readonly string[]): Terminal {
  const command = [process.execPath, COMMAND, ...args];
  return new Terminal(command, { env: cliEnv({ REPRISE_HOME: home, TERM: 'xterm' }), cwd: home });
}

interface Stored {
  readonly role: string;
  readonly text: string;
}

async function sessions(): Promise<readonly SessionRecord[]> {
  await using store = await openStore({ kind: 'jsonl', home });
  return (await store.list({ status: 'any' })).sessions;
}

async function stored(): Promise<Stored[]> {
  await using store = await openStore({ kind: 'jsonl', home });
  const [last] = (await store.list()).sessions;
  const { entries } = await store.read(last?.id ?? '', { limit: 1000 });
  return entries.flatMap(({ entry }) => {
    const { message } = entry as { message?: { role: string; content: unknown } };
    if (message === undefined) return [];
    const { role, content } = message;
    const parts = Array.isArray(content) ? (content as { text?: string }[]) : [{ text: String(content) }];
    return [{ role, text: parts.map(({ text = '' }) => text).join('') }];
  });
}

async function said(): Promise<string[]> {
  return (await stored()).flatMap(({ role, text }) => (role === 'user' ? [text] : []));
}

/** Types a line and waits until the prompt is back. */
async function line(terminal: Terminal, text: string): Promise<void> {
  const before = terminal.raw.length;
  terminal.type(`${text}${ENTER}`);
  await terminal.until(() => terminal.raw.slice(before).includes('\r\n'));
  await terminal.prompt();
}

/** Rows end where the terminal does, and spaces there cannot be seen. */
function unwrapped({ seen }: { readonly seen: string }): string {
  return seen.replace(/\s+/g, '');
}

/** What is seen, or nothing while an answer streams. */
function idle({ seen }: { readonly seen: string }): string {
  return /[⠋⠙⠹⠸⠼⠴⠦⠧⠇⠏]/.test(seen) ? '' : seen;
}

async function leave(terminal: Terminal): Promise<void> {
  terminal.type(CTRL_D);
  expect(await terminal.exit).toBe(0);
}

describe.skipIf(!hasTerminals())('the chat at a terminal', () => {
  test('shows three lines, the answer as it arrives and one line about the turn', async () => {
    await using terminal = reprise();
    await terminal.prompt();
    expect(terminal.seen).toContain('Messages are stored in');
    expect(terminal.seen).toContain('ANTHROPIC_API_KEY');
    expect(terminal.seen).toContain('Try: my name is Ada.');
    await line(terminal, 'hello there');
    expect(terminal.seen).toMatch(/^> hello there\nYou said: "hello there"$/m);
    expect(terminal.seen).toMatch(/^offline · Tokens: \d+ in, \d+ out · context 0\.\d%$/m);
    await leave(terminal);
    expect(await said()).toEqual(['hello there']);
  });

  test('a pasted text is one message, whatever it contains; one too long for the screen is folded', async () => {
    await using terminal = reprise();
    await terminal.prompt();
    terminal.type(`look: ${paste('one\r\ttwo\u001b[31m\rthree')}`);
    await terminal.until(/look: one␤ +two␤three/);
    await line(terminal, ' end');
    const many = Array.from({ length: 200 }, (_, i) => `line ${i}`);
    terminal.type(`${paste(`${many.join('\r')}\r`)}`);
    await terminal.until(/> \[paste 1: 200 lines\]/);
    await line(terminal, ' and this');
    await leave(terminal);
    expect(await said()).toEqual(['look: one\n\ttwo\nthree end', `${many.join('\n')}\n and this`]);
  });

  test('control characters that are typed or pasted do not reach the terminal', async () => {
    await using terminal = reprise();
    await terminal.prompt();
    terminal.type(`a\u009b31mb \u202ec ${paste('\u009b2Jd\u001b]0;title\u0007 \u2066e\u202e')}`);
    await terminal.until(/^> a31mb c 2Jd0;title e$/m);
    await line(terminal, ' end');
    expect(terminal.raw).not.toMatch(/[\u0080-\u009f\u202e\u2066]|\u001b\]0/);
    await leave(terminal);
    expect(await said()).toEqual(['a31mb \u202ec 2Jd0;title \u2066e\u202e end']);
  });

  test('a backslash at the end and Alt-Enter continue on the next line', async () => {
    await using terminal = reprise();
    await terminal.prompt();
    terminal.type(`first\\${ENTER}second${ALT_ENTER}third ac${LEFT}${LEFT}${ALT_ENTER}`);
    await terminal.until(/^> first\\\n… second\n… third ␤ac$/m);
    await line(terminal, '');
    await line(terminal, 'even \\\\');
    await leave(terminal);
    expect(await said()).toEqual(['first\nsecond\nthird \nac', 'even \\\\']);
  });

  test('typed messages are found again in the next run, by the arrows and by search, and only by their owner', async () => {
    {
      await using terminal = reprise();
      await terminal.prompt();
      await line(terminal, 'the red fox');
      await line(terminal, `two${ALT_ENTER}lines`);
      await line(terminal, '/status');
      await leave(terminal);
    }
    const file = join(home, 'repl-history');
    expect(statSync(file).mode & 0o777).toBe(0o600);
    expect(readFileSync(file, 'utf8')).toBe('"the red fox"\n"two␤lines"\n"/status"\n');
    await using terminal = reprise();
    await terminal.prompt();
    terminal.type(UP + UP);
    await terminal.until(/^> two␤lines$/m);
    terminal.type(`${CTRL_C}red${CTRL_R}`);
    await terminal.until(/^search "red": the red fox$/m);
    terminal.type(CTRL_G);
    await terminal.until(/^> red$/m);
    // As in a shell: first the key, then the words, letter by letter.
    terminal.type(`${CTRL_C}${CTRL_R}linex`);
    await terminal.until(/^search "linex": two␤lines$/m);
    terminal.type(`${BACKSPACE.repeat(5)}e`);
    await terminal.until(/^search "e": two␤lines$/m);
    terminal.type(CTRL_R);
    await terminal.until(/^search "e": the red fox$/m);
    await line(terminal, '');
    await leave(terminal);
    expect(await said()).toEqual(['the red fox', 'two\nlines', 'the red fox']);
  });

  test('Tab completes commands, and sessions where a session is expected', async () => {
    await using terminal = reprise();
    await terminal.prompt();
    await line(terminal, '/new my-project');
    await line(terminal, '/new other');
    terminal.type(`/swi${TAB}`);
    await terminal.until(/^> \/switch$/m);
    terminal.type(`MY${TAB}`);
    await terminal.until(/^> \/switch my-project$/m);
    await line(terminal, '');
    expect(terminal.seen).toContain('Now in "my-project"');
    terminal.type(`/re${TAB}`);
    terminal.type(TAB);
    await terminal.until(/\/redo +\/rename +\/repair/);
    terminal.type(CTRL_C);
    await leave(terminal);
  });

  test('Ctrl-C stops the answer and keeps what arrived; at an empty prompt it exits when pressed twice', async () => {
    await using terminal = reprise('--model', 'offline:slow');
    await terminal.prompt();
    terminal.type(`${paste(ENDLESS)}${ENTER}`);
    await terminal.until(/You said: "say this: word0 word1/);
    terminal.type(CTRL_C);
    await terminal.until(/^\(stopped\)$/m);
    await terminal.prompt();
    expect(terminal.seen).not.toContain('end"');
    await line(terminal, '/context');
    expect(terminal.seen).toContain('Context usage');
    const thrown = 'away,'.repeat(30);
    terminal.type(thrown);
    await terminal.until(() => unwrapped(terminal).endsWith(`>${thrown}`));
    terminal.type(CTRL_C);
    await terminal.prompt();
    expect(unwrapped(terminal)).toMatch(/>(?:away,){30}>$/);
    terminal.type(CTRL_C);
    await terminal.until(/^\(Press Ctrl-C again to exit\.\)$/m);
    await terminal.prompt();
    // Any other key means that the person stays.
    await line(terminal, '/status');
    terminal.type(`${CTRL_C}${CTRL_C}`);
    expect(await terminal.exit).toBe(0);
    expect(terminal.seen.match(/again to exit/g)).toHaveLength(2);
    const [question, answer, ...others] = await stored();
    expect(question?.text).toBe(ENDLESS);
    expect(answer?.text).toMatch(/^You said: "say this: word0/);
    expect(others).toEqual([]);
  });

  test('Ctrl-C stops the answer and returns queued messages to the input line', async () => {
    await using terminal = reprise('--model', 'offline:slow');
    await terminal.prompt();
    terminal.type(`${paste(ENDLESS)}${ENTER}`);
    await terminal.until(/You said: "say this: word0/);
    terminal.type(`my name is Ada${ENTER}what is my name?${ENTER}`);
    await terminal.until(/queued: what is my name\?/);
    terminal.type(CTRL_C);
    await terminal.until(/^\(stopped\)\n> my name is Ada␤what is my name\?$/m);
    await line(terminal, ' end');
    expect(terminal.seen).toMatch(/"my name is Ada/);
    await leave(terminal);
    expect(await said()).toEqual([ENDLESS, 'my name is Ada\nwhat is my name? end']);
  });

  test('the up key withdraws the newest queued message', async () => {
    await using terminal = reprise('--model', 'offline:slow');
    await terminal.prompt();
    await line(terminal, '/queue followup');
    terminal.type(`${LONG}${ENTER}`);
    await terminal.until(/You said: "say this: word0/);
    terminal.type(`my name is Ada${ENTER}wrong${ENTER}`);
    await terminal.until(/queued: my name is Ada\n +queued: wrong/);
    terminal.type(UP);
    await terminal.until(/queued: my name is Ada\n> wrong/);
    terminal.type(`${BACKSPACE.repeat(5)}what is my name?${ENTER}`);
    await terminal.until(/^> what is my name\?\n.*your name is Ada/m);
    await terminal.prompt();
    await leave(terminal);
    expect(await said()).toEqual([LONG, 'my name is Ada', 'what is my name?']);
  });

  test('queued messages survive leaving the chat and are answered when it is resumed', {
    timeout: 60_000,
  }, async () => {
    {
      await using terminal = reprise('--model', 'offline:slow');
      await terminal.prompt();
      terminal.type(`${paste(ENDLESS)}${ENTER}`);
      await terminal.until(/You said: "say this: word0/);
      terminal.type(`my name is Ada${ENTER}/status${ENTER}`);
      await terminal.until(/queued: my name is Ada/);
      terminal.signal(SIGTERM);
      expect(await terminal.exit).toBe(0);
      expect(terminal.seen).toMatch(/^\(not sent: \/status\)$/m);
      expect(terminal.seen).toMatch(/^1 queued message is kept and runs when you resume this session\.$/m);
    }
    expect(await said()).toEqual([ENDLESS]);
    await using terminal = reprise();
    await terminal.until(/^> my name is Ada\nYou said: "my name is Ada"/m);
    await terminal.prompt();
    await leave(terminal);
    expect(await said()).toEqual([ENDLESS, 'my name is Ada']);
  });

  test('Esc stops the answer too', async () => {
    await using terminal = reprise('--model', 'offline:slow');
    await terminal.prompt();
    terminal.type(`${paste(ENDLESS)}${ENTER}`);
    await terminal.until(/You said: "say this: word0/);
    terminal.type(ESCAPE);
    await terminal.until(/^\(stopped\)$/m);
    await terminal.prompt();
    await leave(terminal);
  });

  test('Ctrl-C twice exits, whatever runs, and restores the terminal', async () => {
    const run = `"${process.execPath}" "${COMMAND}" --model offline:slow`;
    await using terminal = new Terminal(['sh', '-c', `${run}; echo "code $?"; stty -a`], {
      env: cliEnv({ REPRISE_HOME: home, TERM: 'xterm' }),
      cwd: home,
    });
    await terminal.prompt();
    terminal.type(`${paste(ENDLESS)}${ENTER}`);
    await terminal.until(/You said: "say this: word0/);
    terminal.type(CTRL_C + CTRL_C);
    await terminal.until(/^code 0$/m);
    expect(await terminal.exit).toBe(0);
    expect(terminal.seen).toMatch(/ icanon /);
    expect(terminal.seen).toMatch(/ echo /);
    expect(terminal.raw.lastIndexOf('\u001b[?2004l')).toBeGreaterThan(
      terminal.raw.lastIndexOf('\u001b[?2004h'),
    );
  });

  test('text typed while an answer streams does not mix with its words, and is sent', async () => {
    await using terminal = reprise('--model', 'offline:slow');
    await terminal.prompt();
    terminal.type(`${LONG}${ENTER}`);
    await terminal.until(/You said: "say this: word0/);
    terminal.type(`my name is Ada${ENTER}/status${ENTER}half a line`);
    await terminal.until(() => idle(terminal).endsWith('\n> half a line'));
    expect(unwrapped(terminal)).toContain(unwrapped({ seen: `You said: "${LONG}"` }));
    expect(unwrapped(terminal)).toContain('ofthisrequest.Icanrepeatwhatwassaidinit,rememberwhatyoustate');
    expect(terminal.seen).toMatch(/^> my name is Ada$/m);
    expect(terminal.seen).toContain('You said: "my name is Ada"');
    // Commands wait until everything is answered.
    expect(terminal.seen.indexOf('> /status')).toBeGreaterThan(
      terminal.seen.indexOf('"my name is Ada" I can'),
    );
    terminal.type(CTRL_C);
    await leave(terminal);
    expect(await said()).toEqual([LONG, 'my name is Ada']);
  });

  test('with the queue mode interrupt a message typed meanwhile ends the answer and is answered', async () => {
    await using terminal = reprise('--model', 'offline:slow');
    await terminal.prompt();
    await line(terminal, '/queue interrupt');
    terminal.type(`${paste(ENDLESS)}${ENTER}`);
    await terminal.until(/You said: "say this: word0/);
    terminal.type(`never mind${ENTER}`);
    await terminal.until(/You said: "never mind"/);
    await terminal.prompt();
    expect(terminal.seen).toMatch(/^\(interrupted\)$/m);
    expect(terminal.seen).not.toContain('end"');
    await leave(terminal);
    expect(await said()).toEqual([ENDLESS, 'never mind']);
  });

  test('SIGTERM stops the answer, keeps what arrived and restores the terminal', async () => {
    await using terminal = reprise('--model', 'offline:slow');
    await terminal.prompt();
    terminal.type(`${paste(ENDLESS)}${ENTER}`);
    await terminal.until(/You said: "say this: word0/);
    terminal.signal(SIGTERM);
    expect(await terminal.exit).toBe(0);
    // Nothing turns the mode for pasted text on again, and the line below the answer is erased.
    expect(terminal.raw).toMatch(/\u001b\[\?2004l(?![\s\S]*\u001b\[\?2004h)/);
    expect(terminal.raw).toMatch(/\u001b\[J[^\u001b]*$/);
    expect((await stored()).map(({ text }) => text.slice(0, 18))).toEqual([
      'say this: word0 wo',
      'You said: "say thi',
    ]);
  });

  test('/stop typed while an answer streams stops it', async () => {
    await using terminal = reprise('--model', 'offline:slow');
    await terminal.prompt();
    terminal.type(`${paste(ENDLESS)}${ENTER}`);
    await terminal.until(/You said: "say this: word0/);
    terminal.type(`/stop${ENTER}`);
    await terminal.until(/^\(stopped\)$/m);
    await terminal.prompt();
    expect(terminal.seen).not.toContain('end"');
    await leave(terminal);
  });

  test('a resize breaks neither an answer nor a line that is being typed', async () => {
    await using terminal = reprise('--model', 'offline:slow');
    await terminal.prompt();
    terminal.type(`${LONG}${ENTER}`);
    await terminal.until(/You said: "say this: word0/);
    terminal.type('x'.repeat(70));
    terminal.resize(40, 20);
    await terminal.until(() => /^> x{38}\nx{32}$/m.test(idle(terminal)));
    expect(unwrapped(terminal)).toContain(unwrapped({ seen: `You said: "${LONG}" I am Reprise's` }));
    expect(unwrapped(terminal)).toMatch(/context0\.\d%>x{70}$/);
    terminal.resize(100, 30);
    terminal.type(' end');
    await terminal.until(/x end$/m);
    await line(terminal, '');
    await leave(terminal);
    expect(await said()).toEqual([LONG, `${'x'.repeat(70)} end`]);
  });

  test('tool calls are one line each', async () => {
    mkdirSync(join(home, 'config', 'reprise'), { recursive: true });
    const settings = { agents: { main: { fileTools: true } } };
    writeFileSync(join(home, 'config', 'reprise', 'config.json'), JSON.stringify(settings));
    await using terminal = new Terminal([process.execPath, COMMAND], {
      env: cliEnv({ REPRISE_HOME: home, TERM: 'xterm', XDG_CONFIG_HOME: join(home, 'config') }),
      cwd: home,
    });
    await terminal.prompt();
    await line(terminal, 'write "a red fox" to the file notes.txt');
    await line(terminal, 'read the file notes.txt');
    await line(terminal, 'read the file nowhere.txt');
    expect(terminal.seen).toMatch(/^read_file\(path=notes\.txt\) ok, \d+ ms$/m);
    expect(terminal.seen).toMatch(/^read_file\(path=nowhere\.txt\) error: .+, \d+ ms$/m);
    expect(terminal.seen).not.toMatch(/^… /m);
    await leave(terminal);
  });

  test('S5 sessions are labeled, switched by the start of a name, and deleted after a yes', async () => {
    await using terminal = reprise();
    await terminal.prompt();
    await line(terminal, '/new my-project');
    await line(terminal, 'my name is Ada');
    await line(terminal, '/new my-plan');
    await line(terminal, '/switch my-p');
    expect(terminal.seen).toContain('"my-p" matches 2 sessions. (AMBIGUOUS_REF)');
    await line(terminal, '/switch my-pr');
    await line(terminal, 'what is my name?');
    expect(terminal.seen).toContain('your name is Ada');
    await line(terminal, '/sessions');
    expect(terminal.seen).toMatch(/^ +\d\* just now +my-project +4 messages +[\da-f-]{13}$/m);
    await line(terminal, '/contxt');
    expect(terminal.seen).toContain('There is no command /contxt.\nDid you mean /context?');
    terminal.type(`/delete${ENTER}`);
    await terminal.until(/to the trash\? \[y\/N\]$/m);
    terminal.type(CTRL_C);
    await terminal.until(/Nothing was deleted\./);
    await terminal.prompt();
    terminal.type(`/delete${ENTER}`);
    await terminal.until(() => terminal.seen.split('[y/N]').length === 3);
    terminal.type(`y${ENTER}`);
    await terminal.until(/Moved "my-project"/);
    await terminal.prompt();
    terminal.type(UP);
    await terminal.until(() => terminal.seen.endsWith('\n> /delete')); // the answer is not remembered
    terminal.type(CTRL_C);
    await leave(terminal);
    const [gone] = (await sessions()).filter(({ label }) => label === 'my-project');
    expect(gone).toMatchObject({ status: 'deleted', messageCount: 4 });
  });
});
