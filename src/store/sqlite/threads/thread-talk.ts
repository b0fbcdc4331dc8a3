import { type MessagePort, parentPort, workerData } from 'node:worker_threads';
import { RepriseError } from '../../../errors.ts';
import { storeError } from '../store-error.ts';
import { GO, type ThreadError, type ThreadEvent, type ThreadOptions } from './protocol.ts';

/** What all storage threads do alike. */

/** Answers at its port until it is told to close, and leaves nothing behind then. Throws what keeps it from opening. */
export type ThreadWork = (port: MessagePort, options: ThreadOptions) => void;

/** All that a thread of its own is for. */
export function runAsThread(work: ThreadWork): void {
  if (parentPort === null) throw new RepriseError('INVALID_INPUT', 'this file runs as a worker thread');
  serve(parentPort, workerData as ThreadOptions, work);
}

/** Begins the work, at once or when it is told to, and says that it has begun or why it never will. */
export function serve(port: MessagePort, options: ThreadOptions, work: ThreadWork): void {
  const open = (): void => {
    try {
      work(port, options);
      port.postMessage({ event: 'ready' } satisfies ThreadEvent);
    } catch (error) {
      port.postMessage({ event: 'failed', error: describe(storeError(error)) } satisfies ThreadEvent);
    }
  };
  if (options.waits !== true) {
    open();
    return;
  }
  const wait = (message: unknown): void => {
    if (message !== GO) return;
    port.off('message', wait);
    open();
  };
  port.on('message', wait);
}

/** The thread ends when its port is closed. In Deno the port of a worker cannot be: there the thread ends itself. */
export function closePort(port: MessagePort): void {
  if (typeof port.close === 'function') port.close();
  else process.exit();
}

/** A message is handled outside any transaction, and until the gate opens no other work is done. */
export function park(answer: () => void, gate: Int32Array): void {
  answer();
  Atomics.wait(gate, 0, 0);
}

export function describe({ code, message, why, details, outcome }: RepriseError): ThreadError {
  // Details may hold anything; only JSON crosses threads.
  const plain = JSON.parse(JSON.stringify({ why, details })) as Pick<ThreadError, 'why' | 'details'>;
  return { code, message, ...plain, outcome };
}
