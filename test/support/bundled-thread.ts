import { mkdirSync, renameSync, writeFileSync } from 'node:fs';
import { dirname } from 'node:path';
import { pathToFileURL } from 'node:url';
import { build, type Plugin } from 'vite';

const CLIENT = '/src/store/control/thread-client.ts';
const THREAD = 'src/store/control/thread.ts';
const START = 'new URL(file, import.meta.url)';
/** Always the same name: what Vitest keeps of a transformed module from one run to the next must stay true. */
const BUNDLE = 'node_modules/.cache/reprise/thread.js';

/**
 * Tests start thousands of storage threads. Each loads sixty modules, which takes longer than the thread itself; from
 * one file it takes half. Built anew with every run, from the sources the tests are about.
 */
export async function bundledThread(): Promise<Plugin> {
  const built = await build({
    configFile: false,
    logLevel: 'error',
    build: { ssr: THREAD, write: false, target: 'esnext', minify: false },
  });
  const [chunk, ...more] = 'output' in built ? built.output : [];
  if (chunk === undefined || more.length > 0) throw new Error(`${THREAD} is not one file`);
  mkdirSync(dirname(BUNDLE), { recursive: true });
  // Whole or not at all: another run may be starting threads from it.
  writeFileSync(`${BUNDLE}.${process.pid}`, chunk.code);
  renameSync(`${BUNDLE}.${process.pid}`, BUNDLE);
  const thread = pathToFileURL(BUNDLE).href;
  return {
    name: 'bundled-thread',
    enforce: 'pre',
    transform(code, id) {
      if (!id.endsWith(CLIENT)) return;
      if (!code.includes(START)) throw new Error(`${CLIENT} starts its thread in another way now`);
      return code.replace(START, `new URL(${JSON.stringify(thread)})`);
    },
  };
}
