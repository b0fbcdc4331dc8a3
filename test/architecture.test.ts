import { existsSync, readdirSync, readFileSync } from 'node:fs';
import { dirname, join, relative, resolve } from 'node:path';
import { describe, expect, test } from 'vitest';

/** What every store is made of. */
const STORE_PARTS = ['store/port', 'store/rules', 'store/search', 'store/copy', 'store/shared'];

/**
 * The rooms of src/ and their doors. This table is the law; docs/architecture.md explains it.
 * A folder may always import itself, `errors` and `messages`. `models` means the port, `models/*` the backends.
 */
const DOORS: Readonly<Record<string, readonly string[]>> = {
  messages: [],
  keys: [],
  transcript: [],
  context: ['transcript'],
  compaction: ['transcript', 'context'],
  'store/port': ['transcript', 'keys'],
  'store/shared': ['store/port', 'store/rules', 'transcript', 'keys'],
  'store/rules': ['store/port', 'store/shared', 'transcript', 'context', 'keys'],
  'store/search': ['store/port', 'store/rules', 'transcript', 'keys'],
  'store/copy': ['store/port', 'store/rules', 'transcript', 'context', 'keys'],
  'store/sqlite': [...STORE_PARTS, 'store/jsonl', 'transcript', 'keys'],
  'store/jsonl': [...STORE_PARTS, 'store/sqlite', 'transcript', 'keys'],
  'store/memory': [...STORE_PARTS, 'store/sqlite', 'transcript', 'keys'],
  'store/postgres': [...STORE_PARTS, 'transcript', 'keys'],
  models: ['transcript'],
  'models/*': ['models', 'transcript', 'context'],
  engine: [
    'keys',
    'transcript',
    'context',
    'compaction',
    'store/port',
    'store/copy',
    'store/search',
    'models',
  ],
  protocol: ['transcript', 'keys', 'engine'],
  mcp: ['engine', 'transcript', 'store/port', 'store/copy', 'store/search'],
  server: ['engine', 'protocol', 'keys', 'mcp'],
  client: ['protocol'],
  'ai-sdk': ['engine', 'protocol', 'server'],
  interop: ['transcript', 'keys', 'store/port', 'store/copy'],
  config: ['keys', 'transcript', 'engine', 'store/port', 'store/copy', 'store/*', 'models', 'models/*'],
  cli: [
    'config',
    'engine',
    'server',
    'client',
    'protocol',
    'interop',
    'mcp',
    'keys',
    'transcript',
    'store/port',
    'store/copy',
  ],
  testing: ['store/port', 'store/copy', 'models', 'transcript', 'keys', 'context'],
  index: [
    'keys',
    'transcript',
    'context',
    'compaction',
    'engine',
    'store/port',
    'store/copy',
    'models',
    'config',
  ],
  exports: [
    'keys',
    'transcript',
    'context',
    'compaction',
    'engine',
    'store/port',
    'store/copy',
    'models',
    'config',
  ],
  errors: [],
};

/** Files that may do what their room may not. */
const EXTRA_DOORS: Readonly<Record<string, readonly string[]>> = {
  // The demo plays written conversations.
  'cli/commands/demo/demo.ts': ['models/scripted'],
  'cli/commands/demo/demo-script.ts': ['models/scripted'],
  'testing/driver.ts': ['config'],
  // The scripted model is a backend like the others, and what users test with.
  'testing/index.ts': ['models/scripted'],
};

/** Databases, and the rooms that know them. */
const DATABASES: Readonly<Record<string, readonly string[]>> = {
  // Interop reads and writes the databases of ZeroClaw.
  'node:sqlite': ['store/sqlite', 'store/jsonl', 'interop'],
  pg: ['store/postgres'],
};

/** Rooms that depend on nothing but their arguments: no I/O, no clock, no randomness. */
const PURE_ROOMS: ReadonlySet<string> = new Set(['messages', 'keys', 'transcript', 'context']);
const PURE_NODE_IMPORT = /^import \{ crc32 \} from 'node:zlib';$/m;
/** Settings come from one file. The other one sees how npm started the process, to print commands that work. */
const MAY_READ_ENVIRONMENT = new Set(['config/load.ts', 'cli/started-as.ts', 'cli/terminal/terminal-env.ts']);
const IMPURE = /\bDate\.now\(|\bnew Date\(\)|\bMath\.random\(|\bprocess\.|\bperformance\.|\bcrypto\./;
const IMPORT = /(?:\bfrom\s+|\bimport\s*\(\s*|\bimport\s+)['"]([^'"]+)['"]/g;

type Sources = ReadonlyMap<string, string>;

/** The room of a file: its folder, one level deeper for backends, or its own name at the top. */
function roomOf(file: string): string {
  const [first = '', second = ''] = file.split('/');
  if (!file.includes('/')) return first.replace(/\.ts$/, '');
  return (first === 'store' || first === 'models') && !second.endsWith('.ts') ? `${first}/${second}` : first;
}

function mayEnter(file: string, target: string): boolean {
  const room = roomOf(file);
  if (target === room || target === 'errors' || target === 'messages') return true;
  const [group] = room.split('/');
  const doors = [...(DOORS[room] ?? DOORS[`${group}/*`] ?? []), ...(EXTRA_DOORS[file] ?? [])];
  return doors.some(
    (door) => door === target || (door.endsWith('/*') && target.startsWith(door.slice(0, -1))),
  );
}

function violations(sources: Sources): string[] {
  const found: string[] = [];
  for (const [file, source] of sources) {
    const room = roomOf(file);
    const [group] = room.split('/');
    if (DOORS[room] === undefined && DOORS[`${group}/*`] === undefined) found.push(`${file}: no such room`);
    for (const [, specifier = ''] of source.matchAll(IMPORT)) {
      if (specifier.startsWith('.')) {
        const target = inSources(resolve(pathOf(dirname(file)), specifier));
        if (target === undefined) found.push(`${file}: leaves src/ for ${specifier}`);
        else if (!mayEnter(file, roomOf(target)))
          found.push(`${file}: ${room} may not import ${roomOf(target)}`);
      } else if (PURE_ROOMS.has(room) && !(specifier === 'node:zlib' && PURE_NODE_IMPORT.test(source))) {
        found.push(`${file}: a pure room imports ${specifier}`);
      }
      if (DATABASES[specifier]?.includes(room) === false)
        found.push(`${file}: ${room} may not know ${specifier}`);
    }
    if (PURE_ROOMS.has(room) && IMPURE.test(source))
      found.push(`${file}: a pure room reads its surroundings`);
    if (/process\.env\b/.test(source) && !MAY_READ_ENVIRONMENT.has(file))
      found.push(`${file}: reads the environment`);
    if (/^export \*/m.test(source)) found.push(`${file}: export * hides what is public`);
    const lines = source.split('\n').length;
    if (lines > 600) found.push(`${file}: ${lines} lines`);
    else if (lines > 400 && !source.startsWith('/*')) found.push(`${file}: ${lines} lines and no word why`);
  }
  return found;
}

/** Files of src/ are named without it; testing/ lies beside it. */
const pathOf = (file: string): string => (/^testing(?:\/|$)/.test(file) ? file : join('src', file));

function inSources(path: string): string | undefined {
  const file = relative('.', path);
  return file.startsWith('testing/') ? file : file.startsWith('src/') ? file.slice(4) : undefined;
}

function readSources(folder = 'src'): Sources {
  const files = readdirSync(folder, { recursive: true, encoding: 'utf8' }).filter((file) =>
    /\.tsx?$/.test(file),
  );
  return new Map(files.map((file) => [file, readFileSync(join(folder, file), 'utf8')]));
}

const PAGE_PACKAGES =
  /^(?:reprise\/client|reprise\/messages|preact(?:\/hooks)?|@preact\/signals|marked|highlight\.js\/lib\/.+)$/;
/** Every way from a text to markup or script that a page has. */
const MARKUP = /innerHTML|outerHTML|insertAdjacentHTML|document\.write|srcdoc|new Function|\beval\(/;

/** The page sees the client and nothing else of the package, and makes nodes only (I-70). */
function pageViolations(sources: Sources): string[] {
  return [...sources].flatMap(([file, source]) => {
    const imports = [...source.matchAll(IMPORT)].map(([, specifier = '']) => specifier);
    const foreign = imports.filter((specifier) =>
      specifier.startsWith('.')
        ? relative('web/src', resolve('web/src', dirname(file), specifier)).startsWith('..')
        : !PAGE_PACKAGES.test(specifier),
    );
    const found = foreign.map((specifier) => `${file}: the page may not import ${specifier}`);
    // A comment may say that it is not done.
    const code = source.replace(/\/\*[\s\S]*?\*\//g, '');
    return MARKUP.test(code) ? [...found, `${file}: makes markup of a text`] : found;
  });
}

describe('the house', () => {
  test('keeps its doors', () => {
    const tests = [...readSources('testing')].map(([file, text]) => [`testing/${file}`, text] as const);
    const sources = new Map([...readSources(), ...tests]);
    expect(sources.size).toBeGreaterThan(20);
    expect(violations(sources)).toEqual([]);
  });

  test.each([
    ['keys/a.ts', "import { x } from '../transcript/entry.ts';", 'keys may not import transcript'],
    ['transcript/a.ts', "import { readFileSync } from 'node:fs';", 'a pure room imports node:fs'],
    ['transcript/a.ts', "import { gzipSync } from 'node:zlib';", 'a pure room imports node:zlib'],
    ['transcript/a.ts', 'export const now = (): number => Date.now();', 'a pure room reads its surroundings'],
    ['transcript/deep/a.ts', "export { x } from '../../keys/ids.ts';", 'transcript may not import keys'],
    [
      'store/sqlite/a.ts',
      "import type { X } from '../postgres/b.ts';",
      'store/sqlite may not import store/postgres',
    ],
    [
      'store/postgres/a.ts',
      "import { x } from '../sqlite/database.ts';",
      'store/postgres may not import store/sqlite',
    ],
    [
      'store/rules/a.ts',
      "import type { X } from '../sqlite/database.ts';",
      'store/rules may not import store/sqlite',
    ],
    [
      'store/rules/a.ts',
      "import { DatabaseSync } from 'node:sqlite';",
      'store/rules may not know node:sqlite',
    ],
    ['store/rules/a.ts', "import type pg from 'pg';", 'store/rules may not know pg'],
    ['store/sqlite/a.ts', "import type pg from 'pg';", 'store/sqlite may not know pg'],
    ['engine/a.ts', "const x = await import('../store/jsonl/b.ts');", 'engine may not import store/jsonl'],
    ['server/a.ts', "import '../config/open.ts';", 'server may not import config'],
    ['testing/a.ts', "import { openStore } from '../src/config/open.ts';", 'testing may not import config'],
    ['cli/a.ts', "import '../../test/support/entries.ts';", 'leaves src/'],
    ['cli/a.ts', 'const { HOME } = process.env;', 'reads the environment'],
    ['index.ts', "export * from './errors.ts';", 'export *'],
    ['utils/a.ts', '', 'no such room'],
    ['cli/a.ts', '\n'.repeat(700), '701 lines'],
  ])('a planted violation in %s is seen: %s', (file, source, complaint) => {
    expect(violations(new Map([[file, source]])).join('\n')).toContain(complaint);
  });

  test.each([
    ['store/jsonl/a.ts', "import { x } from '../sqlite/worker.ts';"],
    ['store/sqlite/a.ts', "import { x } from '../rules/facts.ts';"],
    ['store/postgres/a.ts', "import { x } from '../rules/facts.ts';"],
    ['config/open.ts', "import { x } from '../store/jsonl/open.ts';"],
    ['testing/driver.ts', "import { openStore } from '../src/config/open.ts';"],
    ['testing/index.ts', "export { x } from '../src/models/scripted/scripted-model.ts';"],
    ['engine/turn.ts', "import type { Store } from '../store/port/store.ts';"],
  ])('what the table allows is allowed: %s', (file, source) => {
    expect(violations(new Map([[file, source]]))).toEqual([]);
  });

  test('the page keeps to the client and to nodes', () => {
    const sources = readSources('web/src');
    expect(sources.size).toBeGreaterThan(20);
    expect(pageViolations(sources)).toEqual([]);
    const planted = {
      'a.ts': "import '../../src/engine/turn.ts';",
      'b.ts': "import 'zod';",
      'c.ts': 'x.innerHTML = y',
    };
    expect(pageViolations(new Map(Object.entries(planted)))).toHaveLength(3);
  });

  test('docs/architecture.md is one page that names every folder of src', () => {
    const page = readFileSync('docs/architecture.md', 'utf8');
    const lines = page.trimEnd().split('\n');
    expect(lines.length).toBeLessThanOrEqual(100);
    expect(lines.filter((line) => line.length > 120 && !line.startsWith('|'))).toEqual([]);
    expect([...page.matchAll(/\]\(/g)].length).toBeLessThanOrEqual(15);
    const folders = readdirSync('src', { withFileTypes: true }).filter((entry) => entry.isDirectory());
    for (const { name } of folders) expect(page).toContain(`${name}/`);
    for (const [file = ''] of page.matchAll(/\b(?:src|testing|web|test)\/[\w./-]+/g))
      expect(existsSync(file), file).toBe(true);
  });
});

describe('folders', () => {
  const FILES_PER_FOLDER = 25;
  /** Long enough to say what goes in, what comes out and what the folder must never do. */
  const README_LINES = { min: 5, max: 20 };
  /** Explains how to record, step by step. */
  const GUIDES = new Set(['test/golden', 'test/clients/pi']);
  /** Data that tests read, not code. */
  const DATA = /^test\/(?:fixtures\/[^/]+|golden\/recorded)\//;
  /** Folders of test/ that test many folders of src/ together, and helpers. */
  const ACROSS =
    /^test\/(?:browser|browser-newer|clients|crash|days|fixtures|golden|simulation|support)(?:\/|$)/;
  /** Folders of test/ with a topic that src/ has no folder for. */
  const TOPICS = new Set(['test/engine/profiles', 'test/store/postgres/nodes', 'test/store/postgres/server']);

  const folders = new Map<string, string[]>();
  for (const root of ['src', 'web/src', 'testing', 'test'])
    for (const entry of readdirSync(root, { recursive: true, withFileTypes: true })) {
      const folder = entry.parentPath;
      if (!entry.isFile() || folder.includes('node_modules') || DATA.test(folder)) continue;
      folders.set(folder, [...(folders.get(folder) ?? []), entry.name]);
    }

  test('hold at most 25 files', () => {
    expect(folders.size).toBeGreaterThan(80);
    const tooLarge = [...folders].filter(([, files]) => files.length > FILES_PER_FOLDER);
    expect(tooLarge.map(([folder, files]) => `${folder}: ${files.length}`)).toEqual([]);
  });

  test('start with a short README', () => {
    const missing = [...folders].filter(([, files]) => !files.includes('README.md'));
    expect(missing.map(([folder]) => folder)).toEqual([]);
    for (const folder of folders.keys()) {
      if (GUIDES.has(folder)) continue;
      const lines = readFileSync(join(folder, 'README.md'), 'utf8').trimEnd().split('\n').length;
      expect(lines, folder).toBeGreaterThanOrEqual(README_LINES.min);
      expect(lines, folder).toBeLessThanOrEqual(README_LINES.max);
    }
  });

  test('of test/ mirror src/, web/src/ and testing/', () => {
    const sourceOf = (folder: string): string =>
      folder
        .replace(/\/support$/, '')
        .replace(/^test\/(?:web$|web\/)/, 'web/src/')
        .replace(/^test\/testing$/, 'testing')
        .replace(/^test(?=\/|$)/, 'src');
    const stray = [...folders.keys()].filter(
      (folder) =>
        folder.startsWith('test/') &&
        !ACROSS.test(folder) &&
        !TOPICS.has(folder) &&
        !existsSync(sourceOf(folder)),
    );
    expect(stray).toEqual([]);
  });
});
