// @module-tag long
import { spawnSync } from 'node:child_process';
import { globSync, mkdirSync, mkdtempSync, readFileSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join, resolve } from 'node:path';
import { afterAll, expect, test } from 'vitest';
import { COMMAND } from './support/processes/bundled-command.ts';
import { cliEnv } from './support/processes/cli-env.ts';
import { ServeProcess } from './support/server/serve-process.ts';

interface Block {
  readonly page: string;
  readonly line: number;
  readonly language: string;
  /** Why the block is not run, as the page says. */
  readonly reason: string | undefined;
  readonly code: string;
}

const PAGES = [
  'README.md',
  'CONTRIBUTING.md',
  ...globSync('docs/*.md'),
  ...globSync('docs/guides/*.md'),
].sort();
/** Languages whose blocks another test runs word by word. */
const RUN_ELSEWHERE = new Set(['nginx', 'caddy']);
const FENCE = /^```(\S*)(?: not run: (.+))?\n([\s\S]*?)^```$/gm;

function blocksOf(page: string): readonly Block[] {
  const text = readFileSync(page, 'utf8');
  return [...text.matchAll(FENCE)].map((match) => {
    const [, language = '', reason, code = ''] = match;
    return { page, line: text.slice(0, match.index).split('\n').length, language, reason, code };
  });
}

const ALL = PAGES.flatMap(blocksOf).filter(({ language }) => language !== '' && !RUN_ELSEWHERE.has(language));
const root = mkdtempSync(join(tmpdir(), 'reprise-docs-'));
// What the reader would have installed.
symlinkSync(resolve('node_modules'), join(root, 'node_modules'));
afterAll(() => rmSync(root, { recursive: true, force: true }));

/** A folder with `reprise` on the PATH and a home of its own, as the reader of a page has it. */
function readerOf(page: string): { readonly cwd: string; readonly env: NodeJS.ProcessEnv } {
  const cwd = mkdtempSync(join(root, 'page-'));
  const bin = join(cwd, '.bin');
  mkdirSync(bin);
  const start = `#!/bin/sh\nexec "${process.execPath}" "${COMMAND}" "$@"\n`;
  // The README speaks of a clone, where npm and npx start the command.
  const skip = (words: number): string => start.replace('exec', `shift ${words}\nexec`);
  for (const [name, script] of [
    ['reprise', start],
    ['npm', skip(2)],
    ['npx', skip(1)],
  ] as const)
    writeFileSync(join(bin, name), script, { mode: 0o755 });
  return {
    cwd,
    env: cliEnv({ HOME: cwd, REPRISE_HOME: join(cwd, 'home'), PATH: `${bin}:${process.env['PATH']}`, page }),
  };
}

/** Its examples are requests to a running server. */
const HTTP_PAGE = 'docs/http.md';
const shellPages = PAGES.filter(
  (page) => page !== HTTP_PAGE && ALL.some((each) => each.page === page && isRun(each, 'sh')),
);

function isRun({ language, reason }: Block, expected: string): boolean {
  return language === expected && reason === undefined;
}

test.each(shellPages)('the commands of %s work in the order of the page', { timeout: 180_000 }, (page) => {
  const reader = readerOf(page);
  for (const { line, code } of ALL.filter((each) => each.page === page && isRun(each, 'sh'))) {
    const { status, stdout, stderr } = spawnSync('bash', ['-e', '-o', 'pipefail', '-c', code], {
      ...reader,
      encoding: 'utf8',
      input: '',
    });
    expect(status, `${page}:${line}\n${stdout}\n${stderr}`).toBe(0);
  }
});

test('the requests of docs/http.md work in the order of the page', { timeout: 180_000 }, async () => {
  const { cwd, env } = readerOf(HTTP_PAGE);
  const home = join(cwd, '.reprise');
  // The examples read the token file of the home, so the server must create one.
  await using server = await ServeProcess.start({
    home,
    args: ['--model', 'offline'],
    env: { REPRISE_TOKEN: undefined },
  });
  const blocks = ALL.filter((each) => each.page === HTTP_PAGE && isRun(each, 'sh'));
  // One script: later blocks use variables of earlier ones.
  const script = blocks.map(({ line, code }) => `echo "line ${line}" >&2\n${code}`).join('\n');
  const { status, stdout, stderr } = spawnSync(
    'bash',
    ['-e', '-o', 'pipefail', '-c', script.replaceAll('http://127.0.0.1:4747', server.url)],
    { cwd, env, encoding: 'utf8', input: '' },
  );
  expect(status, `${stdout}\n${stderr}`).toBe(0);
  expect(stdout).toContain('"type":"done"');
  expect(stdout).toContain('"title":"Tomatoes"');
});

const programs = ALL.filter((each) => isRun(each, 'ts'));
test.each(programs.map((block) => [block.page, block.line, block] as const))(
  'the program in %s, line %d, runs',
  { timeout: 180_000 },
  (page, line, { code }) => {
    const file = join(
      root,
      `program-${programs.findIndex((each) => each.page === page && each.line === line)}.ts`,
    );
    writeFileSync(file, code);
    const doors = new URL('../scripts/own-doors.ts', import.meta.url).href;
    const { status, stdout, stderr } = spawnSync(
      process.execPath,
      [
        '--import',
        doors,
        file,
        page === 'README.md' && code.includes('readTranscript')
          ? resolve('examples/transcripts/claw0.jsonl')
          : join(root, `data-${line}`),
      ],
      { cwd: root, env: cliEnv(), encoding: 'utf8' },
    );
    expect(status, `${page}:${line}\n${stdout}\n${stderr}`).toBe(0);
  },
);

test('every JSON block parses', () => {
  for (const { page, line, code } of ALL.filter((each) => isRun(each, 'json')))
    expect(() => JSON.parse(code), `${page}:${line}`).not.toThrow();
});

test('every other block says why it is not run', () => {
  const known = new Set(['sh', 'ts', 'json']);
  const silent = ALL.filter(({ language, reason }) => !known.has(language) && reason === undefined);
  expect(silent.map(({ page, line }) => `${page}:${line}`)).toEqual([]);
  // The list of blocks that no test runs. A new one needs a reason on the page and a row here.
  const marked = ALL.filter(({ reason }) => reason !== undefined);
  const byPage = Object.groupBy(marked, ({ page }) => page);
  expect(
    Object.fromEntries(Object.entries(byPage).map(([page, blocks = []]) => [page, blocks.length])),
  ).toMatchInlineSnapshot(`
    {
      "CONTRIBUTING.md": 1,
      "README.md": 2,
      "docs/backup.md": 2,
      "docs/cli.md": 34,
      "docs/config.md": 1,
      "docs/deploy.md": 3,
      "docs/guides/agents-search.md": 3,
      "docs/guides/from-claw0-classic.md": 1,
      "docs/guides/from-claw0.md": 1,
      "docs/guides/from-openclaw.md": 1,
      "docs/guides/from-zeroclaw.md": 1,
      "docs/guides/from-zyhive.md": 1,
      "docs/guides/import.md": 2,
      "docs/guides/web-ui.md": 1,
      "docs/http.md": 1,
      "docs/interop.md": 1,
      "docs/stores.md": 1,
    }
  `);
});
