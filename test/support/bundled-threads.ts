import { mkdirSync, renameSync, writeFileSync } from 'node:fs';
import { pathToFileURL } from 'node:url';
import { build, type Plugin } from 'vite';

const CLIENT = '/src/store/control/thread-client.ts';
const THREADS = ['thread', 'search-thread'];
/** By which it finds them. */
const WHERE = 'import.meta.url';
/** Always the same names: what Vitest keeps of a transformed module from one run to the next must stay true. */
const FOLDER = 'node_modules/.cache/reprise';

/**
 * Tests start thousands of storage threads. Each loads sixty modules, which takes longer than the thread itself; from
 * one file it takes half. Built anew with every run, from the sources the tests are about.
 */
export async function bundledThreads(): Promise<Plugin> {
  mkdirSync(FOLDER, { recursive: true });
  await Promise.all(THREADS.map(bundle));
  // As if it were built as well, and stood beside them.
  const where = JSON.stringify(pathToFileURL(`${FOLDER}/thread-client.js`).href);
  return {
    name: 'bundled-threads',
    enforce: 'pre',
    transform(code, id) {
      if (!id.endsWith(CLIENT)) return;
      if (!code.includes(WHERE)) throw new Error(`${CLIENT} finds its threads in another way now`);
      return code.replaceAll(WHERE, where);
    },
  };
}

async function bundle(thread: string): Promise<void> {
  const source = `src/store/control/${thread}.ts`;
  const built = await build({
    configFile: false,
    logLevel: 'error',
    build: { ssr: source, write: false, target: 'esnext', minify: false },
  });
  const [chunk, ...more] = 'output' in built ? built.output : [];
  if (chunk === undefined || more.length > 0) throw new Error(`${source} is not one file`);
  // Whole or not at all: another run may be starting threads from it.
  const file = `${FOLDER}/${thread}.js`;
  writeFileSync(`${file}.${process.pid}`, chunk.code);
  renameSync(`${file}.${process.pid}`, file);
}
