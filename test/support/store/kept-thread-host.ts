import { type MessagePort, parentPort } from 'node:worker_threads';
import { searchWork } from '../../../src/store/sqlite/search/search-work.ts';
import type { ThreadOptions } from '../../../src/store/sqlite/threads/protocol.ts';
import { storageWork } from '../../../src/store/sqlite/threads/storage-work.ts';
import { serve } from '../../../src/store/sqlite/threads/thread-talk.ts';

/** What kept-worker.ts starts: does the work of one storage thread after the other, each at its own port. */
export interface Job {
  readonly port: MessagePort;
  readonly isSearch: boolean;
  readonly options: ThreadOptions;
}

parentPort?.on('message', ({ port, isSearch, options }: Job) => {
  port.on('close', () => parentPort?.postMessage('over'));
  serve(port, options, isSearch ? searchWork : storageWork);
});
