import { createHash } from 'node:crypto';
import {
  copyFileSync,
  cpSync,
  globSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  renameSync,
  rmSync,
  statSync,
  writeFileSync,
} from 'node:fs';
import { join, resolve } from 'node:path';
import { pathToFileURL } from 'node:url';
import { build, type Plugin } from 'vite';
import { bundleCommand } from '../../../scripts/bundle.ts';
import { BUNDLED, PACKAGE } from './bundled-command.ts';
import { PROGRAMS } from './bundled-program.ts';

/** Each is a separate file: it shares nothing with the program that starts it. */
const THREADS: Readonly<Record<string, string>> = {
  thread: 'src/store/sqlite/threads/thread.ts',
  'search-thread': 'src/store/sqlite/threads/search-thread.ts',
};
/** By which their starters find them, and where each would stand if it were built as well. */
const WHERE = 'import.meta.url';
const builtAs = (name: string): string => JSON.stringify(pathToFileURL(`${BUNDLED}/${name}`).href);
/** Texts that are replaced in the programs that start them. */
const STARTERS: Readonly<Record<string, Readonly<Record<string, string>>>> = {
  '/testing/crash/driver-process.ts': { [WHERE]: builtAs('crash/driver-process.js') },
};
/** Finds the page by where it stands itself. */
const PAGE = resolve('src/server/pages/web-files.ts');
/** What all of it is made of. */
const SOURCES = [
  ...['src/**/*.ts', 'testing/**/*.ts', 'test/support/**/*.ts', 'test/simulation/*.ts'],
  ...['bin/*.cjs', 'scripts/bundle.ts', 'package.json', 'package-lock.json'],
];
const STATE = `${BUNDLED}/sources`;

/**
 * Tests start thousands of storage threads, drivers and commands. Each loads a hundred modules, which takes longer than
 * what it does; from one file it takes half. Built from the sources the tests are about, whenever those have changed.
 */
export async function bundledPrograms(): Promise<Plugin> {
  mkdirSync(BUNDLED, { recursive: true });
  const state = stateOfSources();
  if (readIfThere(STATE) !== state) {
    await Promise.all([
      bundle(PROGRAMS, true),
      bundle({ 'kept-thread-host': 'test/support/store/kept-thread-host.ts' }, false),
      ...Object.entries(THREADS).map(([name, source]) => bundle({ [name]: source }, false, 'cjs')),
    ]);
    putInPlace(`${BUNDLED}/package.json`, '{ "type": "module" }\n');
    await bundlePackage();
    putInPlace(STATE, state);
  }
  return {
    name: 'bundled-programs',
    enforce: 'pre',
    transform(code, id) {
      const starter = Object.keys(STARTERS).find((file) => id.endsWith(file));
      if (starter === undefined) return;
      return Object.entries(STARTERS[starter] ?? {}).reduce((text, [said, instead]) => {
        if (!text.includes(said)) throw new Error(`${starter} starts what it starts in another way now`);
        return text.replaceAll(said, instead);
      }, code);
    },
  };
}

function stateOfSources(): string {
  const hash = createHash('sha256');
  for (const file of SOURCES.flatMap((pattern) => globSync(pattern)).sort()) {
    const { mtimeMs, size } = statSync(file);
    hash.update(`${file} ${mtimeMs} ${size}\n`);
  }
  return hash.digest('hex');
}

/** Parts that are loaded when they are asked for stay files of their own, named by what is in them: few tests need PostgreSQL. */
async function bundle(
  input: Readonly<Record<string, string>>,
  codeSplitting: boolean,
  format: 'esm' | 'cjs' = 'esm',
): Promise<void> {
  const built = await build({
    configFile: false,
    logLevel: 'error',
    build: {
      ssr: true,
      write: false,
      target: 'esnext',
      minify: false,
      rolldownOptions: {
        input,
        // Beside each other: that is where a program looks for the thread it starts.
        output: {
          ...{ codeSplitting, format, chunkFileNames: '[name]-[hash].js' },
          entryFileNames: format === 'cjs' ? '[name].cjs' : '[name].js',
        },
      },
    },
    plugins: [
      {
        name: 'page-of-the-checkout',
        transform: (code, id) =>
          id === PAGE ? code.replaceAll(WHERE, JSON.stringify(pathToFileURL(PAGE).href)) : undefined,
      },
    ],
  });
  const chunks = 'output' in built ? built.output : [];
  const inOrder = [...chunks].sort((a, b) => Number(isEntry(a)) - Number(isEntry(b)));
  for (const chunk of inOrder) {
    if (chunk.type !== 'chunk') throw new Error(`${chunk.fileName} is no program`);
    // A program that loads such a part would run that program beside its own.
    const programs = chunk.imports.filter((name) =>
      chunks.some((each) => each.fileName === name && isEntry(each)),
    );
    if (programs.length > 0) throw new Error(`${chunk.fileName} has parts in ${programs.join()}`);
    putInPlace(`${BUNDLED}/${chunk.fileName}`, chunk.code);
  }
}

const isEntry = (made: object): boolean => 'isEntry' in made && made.isEntry === true;

/** The command as an installed package has it. Its parts are named by what is in them, and its first file is put in place last. */
async function bundlePackage(): Promise<void> {
  const made = mkdtempSync(`${BUNDLED}/making-`);
  await bundleCommand(made);
  const command = `${PACKAGE}/dist/command`;
  mkdirSync(command, { recursive: true });
  const first = 'main.js';
  const files = readdirSync(made).sort((a, b) => Number(a === first) - Number(b === first));
  for (const file of files) renameSync(join(made, file), join(command, file));
  rmSync(made, { recursive: true });
  cpSync('bin', `${PACKAGE}/bin`, { recursive: true });
  copyFileSync('package.json', `${PACKAGE}/package.json`);
}

/** Whole or not at all: another run may be starting it. */
function putInPlace(file: string, text: string): void {
  writeFileSync(`${file}.${process.pid}`, text);
  renameSync(`${file}.${process.pid}`, file);
}

function readIfThere(file: string): string | undefined {
  try {
    return readFileSync(file, 'utf8');
  } catch {
    return undefined; // the first run
  }
}
