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
import { join } from 'node:path';
import { pathToFileURL } from 'node:url';
import { build, type Plugin } from 'vite';
import { bundleCommand } from '../../scripts/bundle.ts';
import { BUNDLED, PACKAGE } from './bundled-command.ts';

const PROGRAMS: Readonly<Record<string, string>> = {
  thread: 'src/store/control/thread.ts',
  'search-thread': 'src/store/control/search-thread.ts',
  driver: 'src/testing/driver.ts',
};
/** Who starts them, and where it would stand if it were built as well. */
const STARTERS: Readonly<Record<string, string>> = {
  '/src/store/control/thread-client.ts': 'thread-client.js',
  '/src/testing/crash/driver-process.ts': 'crash/driver-process.js',
};
/** By which they find what they start. */
const WHERE = 'import.meta.url';
/** What all of it is made of. */
const SOURCES = ['src/**/*.ts', 'bin/*.cjs', 'scripts/bundle.ts', 'package.json', 'package-lock.json'];
const STATE = `${BUNDLED}/sources`;

/**
 * Tests start thousands of storage threads, drivers and commands. Each loads a hundred modules, which takes longer than
 * what it does; from one file it takes half. Built from the sources the tests are about, whenever those have changed.
 */
export async function bundledPrograms(): Promise<Plugin> {
  mkdirSync(BUNDLED, { recursive: true });
  const state = stateOfSources();
  if (readIfThere(STATE) !== state) {
    await Promise.all(Object.entries(PROGRAMS).map(([name, source]) => bundle(name, source)));
    await bundlePackage();
    putInPlace(STATE, state);
  }
  return {
    name: 'bundled-programs',
    enforce: 'pre',
    transform(code, id) {
      const starter = Object.keys(STARTERS).find((file) => id.endsWith(file));
      if (starter === undefined) return;
      if (!code.includes(WHERE)) throw new Error(`${starter} finds what it starts in another way now`);
      return code.replaceAll(WHERE, JSON.stringify(pathToFileURL(`${BUNDLED}/${STARTERS[starter]}`).href));
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

async function bundle(name: string, source: string): Promise<void> {
  const built = await build({
    configFile: false,
    logLevel: 'error',
    build: {
      ssr: source,
      write: false,
      target: 'esnext',
      minify: false,
      rolldownOptions: { output: { codeSplitting: false } },
    },
  });
  const [chunk, ...more] = 'output' in built ? built.output : [];
  if (chunk === undefined || more.length > 0) throw new Error(`${source} is not one file`);
  putInPlace(`${BUNDLED}/${name}.js`, chunk.code);
}

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
