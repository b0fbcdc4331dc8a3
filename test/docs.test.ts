import { execFileSync, spawnSync } from 'node:child_process';
import { existsSync, globSync, mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { describe, expect, test } from 'vitest';
import { brokenLinks } from '../scripts/broken-links.ts';
import { envName, SETTINGS } from '../src/config/settings.ts';
import { findCommand } from '../src/engine/commands/commands.ts';
import { Session } from '../src/engine/session.ts';
import { openStore, Reprise, type Store } from '../src/index.ts';
import * as testing from '../testing/index.ts';
import { COMMAND } from './support/processes/bundled-command.ts';
import { cliEnv } from './support/processes/cli-env.ts';

const read = (file: string): string => readFileSync(file, 'utf8');
const EXPORTED = new Set([
  ...Object.keys(testing),
  ...['src/index.ts', ...globSync('src/exports/*.ts')].flatMap((file) => typesOf(read(file))),
]);

/** Names of types leave no trace at run time; the entry points list them. */
function typesOf(source: string): string[] {
  const lists = [...source.matchAll(/export (?:type )?\{([^}]*)\}/g)].map(([, list = '']) => list);
  return lists.flatMap((list) => list.split(',').map((name) => name.trim().replace(/^type /, '')));
}

function commandExists(command: string): boolean {
  const { stdout } = spawnSync(process.execPath, [COMMAND, '--help'], { encoding: 'utf8' });
  return stdout.includes(`\n  ${command.split(' ')[1]} `);
}

/** Every text file we write ourselves. */
function ownFiles(): string[] {
  const folders = ['.ci', 'bench', 'bin', 'docs', 'examples', 'scripts', 'src', 'test', 'testing'];
  const nested = folders.flatMap((folder) =>
    readdirSync(folder, { recursive: true, withFileTypes: true })
      .filter((entry) => entry.isFile() && !entry.parentPath.includes('node_modules'))
      .map((entry) => join(entry.parentPath, entry.name)),
  );
  return [...nested, 'README.md', 'CONTRIBUTING.md', 'CHANGELOG.md', 'package.json', 'package-lock.json'];
}

/** Every file of the checkout, without what is installed or built. */
function repositoryFiles(): string[] {
  const skipped = new Set(['.git', 'node_modules', 'dist', 'coverage']);
  const walk = (folder: string): string[] =>
    readdirSync(folder, { withFileTypes: true }).flatMap((entry) => {
      if (skipped.has(entry.name)) return [];
      const path = join(folder, entry.name);
      return entry.isDirectory() ? walk(path) : [path];
    });
  return walk('.');
}

describe('docs/seeds.md', () => {
  const lines = read('docs/seeds.md').split('\n');
  const rows = lines.filter((line) => line.startsWith('| ') && !line.startsWith('| in the document'));
  const sources = readdirSync('src', { recursive: true, encoding: 'utf8' }).filter((file) =>
    file.endsWith('.ts'),
  );
  const words = new Set(sources.flatMap((file) => read(join('src', file)).match(/\w+/g) ?? []));
  const codeIn = (cell: string): string[] => [...cell.matchAll(/`([^`]+)`/g)].map(([, name = '']) => name);

  /** `agents.<id>.sandbox: session` is the setting `agents.*.sandbox`. */
  function settingExists(name: string): boolean {
    const asked = name.replaceAll(/<\w+>/g, '*').split('.');
    return SETTINGS.some(({ path }) => {
      const known = path.split('.');
      return asked.every((part, i) => i >= known.length || known[i] === '*' || known[i] === part);
    });
  }

  /** Prose names more than symbols, so only what can be recognized as a name of this project is checked. */
  function existsInProse(name: string, store: Store): boolean {
    const [, root = '', rest = ''] = /^(\w+)\.([\w.<>]+)(?:[:(].*)?$/.exec(name) ?? [];
    if (/^(?:bench|bin|docs|examples|scripts|src|test|testing|web)\//.test(name)) return existsSync(name);
    if (name.startsWith('reprise ')) return commandExists(name);
    if (/^\/[a-z]+$/.test(name)) return findCommand(name.slice(1)) !== undefined;
    if (/^REPRISE_\w+$/.test(name)) return SETTINGS.some(({ path }) => envName(path) === name);
    if (/^(?:[a-z]+[A-Z]|[A-Z]+[a-z])\w*$/.test(name)) return words.has(name);
    if (!/^(?:agents|compaction|models|reprise|session|store)$/.test(root)) return true;
    const holders = { reprise: Reprise.prototype, session: Session.prototype, store };
    const holder: unknown = holders[root as keyof typeof holders];
    return settingExists(`${root}.${rest}`) || (holder !== undefined && hasMember(holder, rest.split('.')));
  }

  function hasMember(holder: unknown, [name = '', ...rest]: readonly string[]): boolean {
    if (typeof holder !== 'object' || holder === null || !(name in holder)) return false;
    return rest.length === 0 || hasMember((holder as Record<string, unknown>)[name], rest);
  }

  function existsHere(name: string): boolean {
    if (name.startsWith('reprise ')) return commandExists(name);
    return name.includes('/') ? existsSync(name) : EXPORTED.has(name);
  }

  function unknownIn(row: string, store: Store): string[] {
    const cells = row.split(' | ');
    const isOfDocument = cells.length === 3;
    const [here = '', ...prose] = isOfDocument ? cells.slice(1) : ['', ...cells.slice(1)];
    return [
      ...codeIn(here).filter((name) => !existsHere(name)),
      ...prose.flatMap(codeIn).filter((name) => !existsInProse(name, store)),
    ];
  }

  test('has only rows whose symbols, files, tests, commands and settings exist', async () => {
    await using store = await openStore({ kind: 'memory' });
    expect(rows.length).toBeGreaterThan(100);
    for (const row of rows) expect(unknownIn(row, store), row).toEqual([]);
    const text = lines.filter((line) => !line.startsWith('|'));
    for (const name of text.flatMap(codeIn)) expect(existsInProse(name, store), name).toBe(true);
  });

  test.each([
    ['a symbol', '| x | `noSuchFunction` | y |', ['noSuchFunction']],
    ['a file', '| x | `src/engine/no-such-file.ts` | y |', ['src/engine/no-such-file.ts']],
    ['a test', '| x | `openStore` | see `test/engine/no-such.test.ts` |', ['test/engine/no-such.test.ts']],
    ['an example', '| x | | see `examples/no-such.ts` |', ['examples/no-such.ts']],
    ['a command', '| x | `reprise nonsense` | `reprise neither` |', ['reprise nonsense', 'reprise neither']],
    ['a command of the chat', '| x | | `/nonsense` |', ['/nonsense']],
    [
      'a method',
      '| x | | `store.inbox.eat(id)`, `session.sing()` |',
      ['store.inbox.eat(id)', 'session.sing()'],
    ],
    ['a setting', '| x | | `agents.<id>.sandbag: session` |', ['agents.<id>.sandbag: session']],
    ['an environment variable', '| x | | `REPRISE_NONSENSE` |', ['REPRISE_NONSENSE']],
    ['a function in the prose', '| x | | `noSuchFunction` |', ['noSuchFunction']],
    ['a setting of a profile', '| x | | | 40, or `session.nonsense` | | | |', ['session.nonsense']],
  ])('fails for a row with %s that does not exist', async (_, row, unknown) => {
    await using store = await openStore({ kind: 'memory' });
    expect(unknownIn(row, store)).toEqual(unknown);
  });

  test('promises nothing for later', () => {
    expect(read('docs/seeds.md')).not.toMatch(/not built|not yet|when they are built/);
  });
});

describe('README.md', () => {
  const readme = read('README.md');

  test('shows examples as they are in examples/', () => {
    for (const file of ['examples/chat.ts', 'examples/rebuild.ts']) expect(readme).toContain(read(file));
    expect(read('examples/chat.ts').trimEnd().split('\n').length).toBeLessThanOrEqual(10);
  });

  test('names only scripts, files and options that exist', () => {
    const { scripts } = JSON.parse(read('package.json')) as { scripts: Record<string, string> };
    for (const page of [readme, read('CONTRIBUTING.md')]) {
      for (const [, script = ''] of page.matchAll(/npm run ([\w:]+)/g))
        expect(scripts, script).toHaveProperty(script);
      for (const [, file = ''] of page.matchAll(/\]\((?!http)([^)#]+)\)/g))
        expect(existsSync(file), file).toBe(true);
    }
    const home = mkdtempSync(join(tmpdir(), 'reprise-readme-'));
    const env = cliEnv({ REPRISE_HOME: home, HOME: home });
    for (const [, line = ''] of readme.matchAll(/^npm start -- ([^#\n]+)/gm)) {
      const args = [...line.matchAll(/"([^"]*)"|(\S+)/g)].map(([, quoted, word]) => quoted ?? word ?? '');
      if (args[0] === 'serve') continue; // goes on until it is stopped
      const { status } = spawnSync(process.execPath, [COMMAND, ...args], { env, input: '' });
      expect(status, line).toBe(0);
    }
    rmSync(home, { recursive: true });
  });
});

test('every invariant names a test that exists, and what cites a number cites one that is listed', () => {
  const page = read('docs/invariants.md');
  const listed = new Set([...page.matchAll(/^\| (I-\d+)/gm)].map(([, id]) => id));
  for (const [, file = ''] of page.matchAll(/(test\/[\w./-]+\.ts)/g))
    expect(existsSync(file), file).toBe(true);
  for (const file of ownFiles()) {
    for (const [id] of read(file).matchAll(/\bI-\d+\b/g)) expect(listed, `${file} cites ${id}`).toContain(id);
  }
});

/** A promise, a scene or a hostile test; not the middle of a time, as in `T00:00`. */
const CITED = /\b(?:P[1-9]|S\d{1,2}|T\d{2}[a-f]?)\b(?!:\d)/g;

describe('docs/acceptance.md', () => {
  const rows = [...read('docs/acceptance.md').matchAll(/^\| ([PST]\d+[a-f]?) \| (.+) \| (.+) \|$/gm)].map(
    ([, id = '', what = '', proof = '']) => ({
      id,
      what,
      files: [...proof.matchAll(/`([^`]+)`/g)].map(([, file = '']) => file),
    }),
  );
  const listed = new Set(rows.map(({ id }) => id));
  const cites = (source: string): Set<string> => new Set([...source.matchAll(CITED)].map(([id]) => id));

  test('says of each id once what it means, and names files that exist and cite it', () => {
    expect(rows.length).toBeGreaterThan(70);
    expect(listed.size).toBe(rows.length);
    for (const { id, files } of rows) {
      expect(files, id).not.toEqual([]);
      for (const file of files) {
        expect(existsSync(file), `${id}: ${file}`).toBe(true);
        expect(file, id).toMatch(/^(test|testing)\//);
        expect(cites(read(file)), `${file} cites ${id}`).toContain(id);
      }
    }
  });

  test('defines every id that is cited', () => {
    const sources = ownFiles().filter((file) =>
      /^(src|testing|test|scripts|bench|docs)\/.*\.(ts|md)$/.test(file),
    );
    for (const file of sources.filter((file) => file !== 'test/docs.test.ts'))
      for (const id of cites(read(file))) expect(listed, `${file} cites ${id}`).toContain(id);
  });

  test('would notice an id it does not define, and takes no time of day for one', () => {
    expect([...cites('T87: never (P5), (T01b)')]).toEqual(['T87', 'P5', 'T01b']);
    expect(listed).not.toContain('T99');
    expect([...cites('from T00:00:00Z on')]).toEqual([]);
  });
});

test('nothing we write names a machine or a place to download from', () => {
  const files = ownFiles();
  expect(files.length).toBeGreaterThan(80);
  for (const file of files) {
    if (file !== 'test/docs.test.ts')
      expect(read(file), file).not.toMatch(/(^|[\s'"`(])\/(root|work)\/|"resolved": "http/m);
  }
});

describe('every page', () => {
  const pages = repositoryFiles().filter((file) => file.endsWith('.md'));
  const longLines = (page: string, text: string): string[] => {
    // Code blocks and tables cannot be wrapped; their lines are emptied, so that line numbers stay right.
    const prose = text.replace(/^```[\s\S]*?^```/gm, (block) => block.replace(/[^\n]/g, '')).split('\n');
    return prose.flatMap((line, at) =>
      line.length <= 120 || line.startsWith('|') ? [] : [`${page}:${at + 1} has ${line.length} characters`],
    );
  };

  test('has lines of at most 120 characters outside tables and code blocks', () => {
    expect(pages.length).toBeGreaterThan(30);
    expect(pages.flatMap((page) => longLines(page, read(page)))).toEqual([]);
  });

  test('has no marks of an unresolved merge', () => {
    for (const page of pages) expect(read(page), page).not.toMatch(/^(?:<{7}|>{7}) |^={7}$/m);
  });

  test('has links that lead to a file and a heading of the repository', () => {
    expect(brokenLinks('.', repositoryFiles())).toEqual([]);
  });

  test('names only files of the repository that exist', () => {
    const missing = pages.flatMap((page) =>
      [
        ...read(page).matchAll(
          /(?<![\w./-])(?:src|test|testing|scripts|bench|web\/src)\/[\w./-]*\w(?!\w|[\w./-]*[*<])/g,
        ),
      ]
        .filter(([file]) => !existsSync(file))
        .map(([file]) => `${page}: ${file}`),
    );
    expect(missing).toEqual([]);
  });

  test('would notice a long line and a broken link', () => {
    const long = 'word '.repeat(30).trim();
    expect(longLines('a.md', `${long}\n| ${long} |\n\`\`\`\n${long}\n\`\`\`\n${long}`)).toEqual([
      'a.md:1 has 149 characters',
      'a.md:6 has 149 characters',
    ]);
    const folder = mkdtempSync(join(tmpdir(), 'reprise-links-'));
    writeFileSync(
      join(folder, 'a.md'),
      '# Two `words`\n[1](#two-words) [2](a.md#two) [3](b.md) [4](https://example.com)\n',
    );
    expect(brokenLinks(folder, ['a.md'])).toEqual(['a.md: a.md#two', 'a.md: b.md']);
    rmSync(folder, { recursive: true });
  });
});

test('every relative link in a Markdown file of the package leads to a file of the package', () => {
  const listed = execFileSync('npm', ['pack', '--dry-run', '--json', '--silent', '--ignore-scripts'], {
    encoding: 'utf8',
    stdio: ['ignore', 'pipe', 'ignore'],
  });
  const [{ files = [] } = {}] = JSON.parse(listed.replace(/^[^[]*/, '')) as { files?: { path: string }[] }[];
  const paths = files.map(({ path }) => path);
  expect(paths).toContain('README.md');
  expect(brokenLinks('.', paths)).toEqual([]);
});
