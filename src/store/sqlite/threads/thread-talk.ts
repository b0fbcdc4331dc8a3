import { type MessagePort, parentPort, workerData } from 'node:worker_threads';
import type { RepriseError } from '../../../errors.ts';
import { failure } from '../../../messages/failure.ts';
import { storeError } from '../store-error.ts';
import { GO, type ThreadError, type ThreadEvent, type ThreadOptions } from './protocol.ts';

/** What all storage threads have in common. */

/** Serves its port until it is closed. Throws if it cannot open. */
export type ThreadWork = (port: MessagePort, options: ThreadOptions) => void;

/** The main program of a worker thread file. */
export function runAsThread(work: ThreadWork): void {
  if (parentPort === null) throw failure('INVALID_INPUT', 'store.notAThread');
  serve(parentPort, workerData as ThreadOptions, work);
}

/** Starts the work, at once or after `GO`, and reports that it is ready or why it failed. */
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

/** Ends the thread by closing its port. In Deno a worker's port cannot be closed, so the thread exits. */
export function closePort(port: MessagePort): void {
  if (typeof port.close === 'function') port.close();
  else process.exit();
}

/** Pauses the thread. It handles messages outside transactions, and does nothing until the gate opens. */
export function park(answer: () => void, gate: Int32Array): void {
  answer();
  Atomics.wait(gate, 0, 0);
}

export function describe({ code, message, why, details, outcome }: RepriseError): ThreadError {
  // Details may contain any value; only JSON crosses threads.
  const plain = JSON.parse(JSON.stringify({ why, details })) as Pick<ThreadError, 'why' | 'details'>;
  return { code, message, ...plain, outcome };
}
