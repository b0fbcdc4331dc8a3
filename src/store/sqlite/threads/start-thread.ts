import type { EventEmitter } from 'node:events';
import { existsSync } from 'node:fs';
import { createRequire } from 'node:module';
import { join } from 'node:path';
import { pathToFileURL } from 'node:url';
import { Worker, type WorkerOptions } from 'node:worker_threads';
import { RepriseError } from '../../../errors.ts';
import type { ThreadOptions } from './protocol.ts';

export type ThreadFile = 'thread' | 'search-thread';

/** What is used of a worker thread. */
export type StorageThread = EventEmitter & Pick<Worker, 'postMessage' | 'ref' | 'unref' | 'terminate'>;

type StartThread = (file: ThreadFile, options: ThreadOptions) => StorageThread;

let start: StartThread = (file, workerData) => {
  // Flags of the process are not the thread's.
  const options: WorkerOptions = { workerData, execArgv: [] };
  // Not `new Worker(...)`: Turbopack makes a module of every file such a call might mean, and none of them starts.
  return Reflect.construct(Worker, [threadUrl(file), options]);
};

export function startThread(file: ThreadFile, options: ThreadOptions): StorageThread {
  return start(file, options);
}

/** For programs that open thousands of stores and keep their threads: our tests. */
export function startThreadsBy(starter: StartThread): void {
  start = starter;
}

/**
 * A checkout runs the TypeScript file. In the package each thread is one file that imports nothing but Node, so a bundler
 * may copy it. One that copies nothing leaves it in the installed package, where it is found as well.
 */
function threadUrl(file: ThreadFile): URL {
  const beside = urlBeside(file);
  if (beside?.href.endsWith('.ts') === true) return beside;
  if (beside !== undefined && beside.protocol === 'file:' && existsSync(beside)) return beside;
  const installed = urlInPackage(file);
  if (installed !== undefined) return installed;
  throw new RepriseError('STORE_FAILED', `the file ${file}.cjs of the storage threads is missing`, {
    outcome: 'none',
    details: {
      next: 'Leave the package reprise out of the bundle, or copy thread.cjs and search-thread.cjs from its folder dist/src/store/sqlite/threads to the folder of the bundle.',
    },
  });
}

/** Literals, because bundlers look for exactly this form. Some have no `import.meta.url`: undefined. */
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
      // Not installed where this looks.
    }
  }
  return undefined;
}
