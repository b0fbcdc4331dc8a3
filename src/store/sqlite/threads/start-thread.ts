import type { EventEmitter } from 'node:events';
import { existsSync } from 'node:fs';
import { createRequire } from 'node:module';
import { join } from 'node:path';
import { pathToFileURL } from 'node:url';
import { Worker, type WorkerOptions } from 'node:worker_threads';
import { failure } from '../../../messages/failure.ts';
import type { ThreadOptions } from './protocol.ts';

export type ThreadFile = 'thread' | 'search-thread';

/** The part of `Worker` that is used. */
export type StorageThread = EventEmitter & Pick<Worker, 'postMessage' | 'ref' | 'unref' | 'terminate'>;

type StartThread = (file: ThreadFile, options: ThreadOptions) => StorageThread;

let start: StartThread = (file, workerData) => {
  // Do not pass the flags of the process to the thread.
  const options: WorkerOptions = { workerData, execArgv: [] };
  // Not `new Worker(...)`: Turbopack bundles every file that such a call might mean, and none of the results starts.
  return Reflect.construct(Worker, [threadUrl(file), options]);
};

export function startThread(file: ThreadFile, options: ThreadOptions): StorageThread {
  return start(file, options);
}

/** Replaces the starter. For our tests, which open thousands of stores and reuse their threads. */
export function startThreadsBy(starter: StartThread): void {
  start = starter;
}

/**
 * Finds the file of a thread. A checkout runs the TypeScript file. In the package, each thread is one file that
 * imports only Node modules, so a bundler may copy it. If the bundler does not copy it, the file of the installed
 * package is used.
 */
function threadUrl(file: ThreadFile): URL {
  const beside = urlBeside(file);
  if (beside?.href.endsWith('.ts') === true) return beside;
  if (beside !== undefined && beside.protocol === 'file:' && existsSync(beside)) return beside;
  const installed = urlInPackage(file);
  if (installed !== undefined) return installed;
  throw failure('STORE_FAILED', 'store.noThreadFile', { file }, { outcome: 'none' });
}

/**
 * Literal URLs, because bundlers look for exactly this form. @returns `undefined` if the bundler provides no
 * `import.meta.url`.
 */
function urlBeside(file: ThreadFile): URL | undefined {
  try {
    const url =
      file === 'thread'
        ? new URL('./thread.cjs', import.meta.url)
        : new URL('./search-thread.cjs', import.meta.url);
    return import.meta.url.endsWith('.ts') ? new URL(url.href.replace(/\.cjs$/, '.ts')) : url;
  } catch {
    return undefined;
  }
}

function urlInPackage(file: ThreadFile): URL | undefined {
  const main = process.argv[1];
  for (const from of [...(main === undefined ? [] : [main]), join(process.cwd(), 'package.json')]) {
    try {
      return pathToFileURL(createRequire(from).resolve(`reprise/threads/${file}`));
    } catch {
      // Not installed there.
    }
  }
  return undefined;
}
