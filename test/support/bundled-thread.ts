import { rmSync } from 'node:fs';
import { pathToFileURL } from 'node:url';
import { build, type Plugin } from 'vite';

const CLIENT = '/src/store/control/thread-client.ts';
const THREAD = 'src/store/control/thread.ts';
const START = 'new URL(file, import.meta.url)';

/**
 * Tests start thousands of storage threads. Each loads sixty modules, which takes longer than the thread itself; from
 * one file it takes half. Built anew with every run, from the sources the tests are about.
 */
export async function bundledThread(): Promise<Plugin> {
  const folder = `node_modules/.cache/reprise/thread-${process.pid}`;
  process.on('exit', () => rmSync(folder, { recursive: true, force: true }));
  await build({
    configFile: false,
    logLevel: 'error',
    build: { ssr: THREAD, outDir: folder, target: 'esnext', minify: false, sourcemap: 'inline' },
  });
  const thread = pathToFileURL(`${folder}/thread.js`).href;
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
