import { EventEmitter } from 'node:events';
import type { ThreadOptions } from '../../src/store/sqlite/threads/protocol.ts';
import type { ThreadWork } from '../../src/store/sqlite/threads/thread-talk.ts';

/**
 * Stands in for `node:worker_threads` where a simulation asks a store a million short questions: the storage thread's
 * own code runs in the thread that asks, so that no question waits for another thread to wake up. Messages are copied
 * as between threads, and arrive later, as there.
 */
class Port extends EventEmitter {
  other: EventEmitter | undefined;

  postMessage(message: unknown): void {
    const copy = copyOf(message);
    queueMicrotask(() => this.other?.emit('message', copy));
  }

  close(): void {
    queueMicrotask(() => this.other?.emit('exit'));
  }
}

/** As `structuredClone` for what is plain, at a tenth of its cost. */
function copyOf(value: unknown): unknown {
  if (typeof value !== 'object' || value === null) return value;
  if (Array.isArray(value)) return value.map(copyOf);
  if (Object.getPrototypeOf(value) !== Object.prototype) return structuredClone(value);
  const copy: Record<string, unknown> = {};
  for (const key of Object.keys(value)) copy[key] = copyOf((value as Record<string, unknown>)[key]);
  return copy;
}

/** This is no thread. */
export const parentPort = null;
export const workerData = undefined;
export const threadId = 0;

export class Worker extends Port {
  constructor(_file: URL | string, options: { readonly workerData: ThreadOptions }) {
    super();
    const inside = new Port();
    inside.other = this;
    this.other = inside;
    void begin(inside as never, structuredClone(options.workerData));
  }

  ref(): void {}
  unref(): void {}

  async terminate(): Promise<number> {
    this.other = undefined;
    this.emit('exit');
    return 0;
  }
}

/** Asked for when it is needed: it asks for this module itself. */
async function begin(...[port, options]: Parameters<ThreadWork>): Promise<void> {
  const { serve } = await import('../../src/store/sqlite/threads/thread-talk.ts');
  const { storageWork } = await import('../../src/store/sqlite/threads/storage-work.ts');
  serve(port, options, storageWork);
}
