import { EventEmitter } from 'node:events';
import { fileURLToPath } from 'node:url';

const THREAD = fileURLToPath(new URL('../../src/store/control/thread.ts', import.meta.url));

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

/** Read by the storage thread's code when it is loaded. */
export let parentPort: Port | null = null;
export let workerData: unknown;
let loaded = 0;

export class Worker extends Port {
  constructor(_file: URL, options: { readonly workerData: unknown }) {
    super();
    const inside = new Port();
    inside.other = this;
    this.other = inside;
    parentPort = inside;
    workerData = structuredClone(options.workerData);
    // The sources, so that they are mocked as well; each time another name, so that they are run again.
    void import(/* @vite-ignore */ `${THREAD}?thread=${++loaded}`);
  }

  ref(): void {}
  unref(): void {}

  async terminate(): Promise<number> {
    this.other = undefined;
    this.emit('exit');
    return 0;
  }
}
