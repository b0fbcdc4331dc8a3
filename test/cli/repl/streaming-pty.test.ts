import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import { widthOf } from '../../../src/cli/terminal/width.ts';
import { COMMAND } from '../../support/processes/bundled-command.ts';
import { cliEnv } from '../../support/processes/cli-env.ts';
import { openMarkdownProvider } from '../../support/processes/markdown-provider.ts';
import { hasTerminals, Terminal } from '../../support/processes/terminal.ts';

let home = '';
beforeEach(() => {
  home = mkdtempSync(join(tmpdir(), 'reprise-streaming-'));
});
afterEach(() => rmSync(home, { recursive: true, force: true }));

const CTRL_C = '\u0003';
const CTRL_D = '\u0004';
const TEXT = `# Plan
Use **bold words** and \`code\` in a line that is long enough to be wrapped at forty columns, 你好世界 👩‍👩‍👧.
- one
- two

\`\`\`ts
const answer = 42;
\`\`\`
| a | b |
|---|--:|
| x | 1 |
The end.`;

interface Look {
  readonly columns?: number;
  readonly env?: NodeJS.ProcessEnv;
}

function reprise(url: string, { columns = 80, env = {} }: Look = {}, ...args: readonly string[]): Terminal {
  mkdirSync(join(home, 'config', 'reprise'), { recursive: true });
  const models = { 'openai-compatible': { baseURL: url, apiKey: 'k' } };
  writeFileSync(join(home, 'config', 'reprise', 'config.json'), JSON.stringify({ models }));
  const look = env['NO_COLOR'] === undefined ? { FORCE_COLOR: '1' } : {};
  const all = cliEnv({
    REPRISE_HOME: home,
    TERM: 'xterm',
    XDG_CONFIG_HOME: join(home, 'config'),
    ...look,
    ...env,
  });
  return new Terminal([process.execPath, COMMAND, '--model', 'openai-compatible:m', ...args], {
    ...{ env: all, columns, cwd: home },
  });
}

describe.skipIf(!hasTerminals())('an answer at a terminal', () => {
  test.each([40, 80, 120])('is rendered while it streams, at %i columns', async (columns) => {
    await using provider = await openMarkdownProvider({ text: TEXT });
    await using terminal = reprise(provider.url, { columns });
    await terminal.prompt();
    terminal.type('go\r');
    await terminal.until(/waiting for .*Ctrl-C to stop/);
    provider.send(30);
    await terminal.until(/^Use bold/m);
    // What is typed is shown below the answer and is in none of its lines.
    terminal.type('next question');
    await terminal.until(/^> next question$/m);
    provider.send();
    await terminal.until(/context 0\.\d%\n> next question$/);
    const shown = terminal.seen.slice(terminal.seen.indexOf('> go'));
    expect(shown).toContain('\nPlan\n');
    expect(shown.replace(/\s+/g, ' ')).toContain('Use bold words and code in a line that is long enough');
    expect(shown).toContain('• one\n• two\n');
    expect(shown).toContain('\nconst answer = 42;\n');
    expect(shown).toMatch(/\na +│ +b\n─+┼─+\nx +│ +1\nThe end\.\n/);
    expect(shown).not.toMatch(/\*\*|```|[⠋⠙⠹⠸⠼⠴⠦⠧⠇⠏]|next question[\s\S]*The end/);
    for (const line of shown.split('\n')) expect(widthOf(line)).toBeLessThanOrEqual(columns);
    terminal.type(`${CTRL_C}${CTRL_D}`);
    expect(await terminal.exit).toBe(0);
  });

  test('has the colors of a light terminal, or none', async () => {
    for (const [env, wanted] of [
      [{ COLORFGBG: '0;15', FORCE_COLOR: '1' }, '\u001b[34mcode\u001b[39m'],
      [{ FORCE_COLOR: '1' }, '\u001b[36mcode\u001b[39m'],
      [{ NO_COLOR: '1' }, '`code`'],
    ] as const) {
      await using provider = await openMarkdownProvider({ text: 'Some `code` here.', size: 5 });
      await using terminal = reprise(provider.url, { env }, '--new');
      await terminal.prompt();
      terminal.type('go\r');
      provider.send();
      await terminal.until(/here\./);
      expect(terminal.raw).toContain(wanted);
      await terminal.prompt();
      terminal.type(CTRL_D);
      expect(await terminal.exit).toBe(0);
    }
  });

  test('survives another width in the middle of a line and of a table', async () => {
    await using provider = await openMarkdownProvider({ text: TEXT });
    await using terminal = reprise(provider.url, { columns: 100 });
    await terminal.prompt();
    terminal.type('go\r');
    provider.send(60);
    await terminal.until(/bold words/);
    terminal.resize(40, 20);
    provider.send(TEXT.indexOf('| x') - 60);
    await terminal.until(/const answer/);
    terminal.resize(60, 20);
    provider.send();
    await terminal.until(/context 0\.\d%/);
    await terminal.prompt();
    expect(terminal.seen).toMatch(/• one\n• two\n/);
    expect(terminal.seen).toMatch(/\nThe end\.\n/);
    expect(terminal.seen).not.toMatch(/[⠋⠙⠹⠸⠼⠴⠦⠧⠇⠏]/);
    terminal.type(CTRL_D);
    expect(await terminal.exit).toBe(0);
  });

  test.each([0, 1, 3, 9, 40, TEXT.indexOf('const') + 3, TEXT.indexOf('| x')])(
    'Ctrl-C after %i characters leaves a clean prompt',
    { tags: 'long' },
    async (count) => {
      await using provider = await openMarkdownProvider({ text: TEXT });
      await using terminal = reprise(provider.url);
      await terminal.prompt();
      terminal.type('go\r');
      await terminal.until(/waiting for/);
      provider.send(count);
      if (count > 0) await terminal.until(/answering/);
      terminal.type(CTRL_C);
      await terminal.until(/^\(stopped\)$/m);
      await terminal.prompt();
      expect(terminal.seen).toMatch(/\n\(stopped\)\n>$/);
      expect(terminal.seen).not.toMatch(/[⠋⠙⠹⠸⠼⠴⠦⠧⠇⠏]/);
      terminal.type(CTRL_D);
      expect(await terminal.exit).toBe(0);
    },
  );

  test('a busy provider is asked again after a countdown', async () => {
    await using provider = await openMarkdownProvider({ text: 'At last.', refusals: 1 });
    provider.send();
    await using terminal = reprise(provider.url);
    await terminal.prompt();
    terminal.type('go\r');
    await terminal.until(/retrying in [12] s \(attempt 1\)/);
    await terminal.until(/^At last\.$/m);
    await terminal.prompt();
    terminal.type(CTRL_D);
    expect(await terminal.exit).toBe(0);
  });

  test('the last exchange is shown when the chat is resumed, and a question may come with the command', async () => {
    await using provider = await openMarkdownProvider({ text: '# Title\nAn **answer**.', size: 4 });
    provider.send();
    {
      await using terminal = reprise(provider.url, {}, 'what is it?');
      await terminal.until(/^> what is it\?\nTitle\nAn answer\.$/m);
      await terminal.prompt();
      terminal.type(`again\r`);
      await terminal.until(/^> again\nTitle\nAn answer\.$/m);
      await terminal.prompt();
      terminal.type(CTRL_D);
      expect(await terminal.exit).toBe(0);
    }
    await using terminal = reprise(provider.url);
    await terminal.prompt();
    expect(terminal.seen).toMatch(
      /… 2 earlier messages \(\/history shows them\)\n> again\nTitle\nAn answer\.\n>$/,
    );
    terminal.type(CTRL_D);
    expect(await terminal.exit).toBe(0);
  });

  test('files that a message names are sent with it, and their paths are completed', async () => {
    writeFileSync(join(home, 'notes.md'), 'a red fox\n');
    await using provider = await openMarkdownProvider({ text: 'Seen.' });
    provider.send();
    await using terminal = reprise(provider.url);
    await terminal.prompt();
    terminal.type('read @not\t');
    await terminal.until(/^> read @notes\.md$/m);
    terminal.type('\r');
    await terminal.until(/^Seen\.$/m);
    await terminal.prompt();
    terminal.type('/history 2\r');
    await terminal.until(/read @notes\.md notes\.md ``` a red fox ```/);
    terminal.type(CTRL_D);
    expect(await terminal.exit).toBe(0);
  });
});
