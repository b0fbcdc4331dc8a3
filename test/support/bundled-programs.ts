import { mkdirSync, renameSync, writeFileSync } from 'node:fs';
import { pathToFileURL } from 'node:url';
import { build, type Plugin } from 'vite';

/** Always the same names: what Vitest keeps of a transformed module from one run to the next must stay true. */
const FOLDER = 'node_modules/.cache/reprise';
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

/**
 * Tests start thousands of storage threads and drivers. Each loads a hundred modules, which takes longer than the thread
 * itself; from one file it takes half. Built anew with every run, from the sources the tests are about.
 */
export async function bundledPrograms(): Promise<Plugin> {
  mkdirSync(FOLDER, { recursive: true });
  await Promise.all(Object.entries(PROGRAMS).map(([name, source]) => bundle(name, source)));
  return {
    name: 'bundled-programs',
    enforce: 'pre',
    transform(code, id) {
      const starter = Object.keys(STARTERS).find((file) => id.endsWith(file));
      if (starter === undefined) return;
      if (!code.includes(WHERE)) throw new Error(`${starter} finds what it starts in another way now`);
      return code.replaceAll(WHERE, JSON.stringify(pathToFileURL(`${FOLDER}/${STARTERS[starter]}`).href));
    },
  };
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
  // Whole or not at all: another run may be starting it.
  const file = `${FOLDER}/${name}.js`;
  writeFileSync(`${file}.${process.pid}`, chunk.code);
  renameSync(`${file}.${process.pid}`, file);
}
