import { EventEmitter } from 'node:events';
import {
  MessageChannel,
  type MessagePort,
  receiveMessageOnPort,
  Worker as Thread,
} from 'node:worker_threads';
import type { ThreadOptions } from '../../../src/store/sqlite/threads/protocol.ts';
import type { ThreadFile } from '../../../src/store/sqlite/threads/start-thread.ts';
import { BUNDLED } from '../processes/bundled-command.ts';
import type { Job } from './kept-thread-host.ts';

const HOST = `${BUNDLED}/kept-thread-host.js`;
/** Whose last store was closed. */
const idle: Thread[] = [];

/**
 * Stands in for the `Worker` of start-thread.ts: tests open thousands of stores, and to start a thread takes longer than
 * what most of them do with it. One whose store was closed, and that has closed its port as it ends by itself otherwise,
 * does the work of the next; one that dies or is terminated is gone, as there. Drivers and commands start threads of their own.
 */
export class Worker extends EventEmitter {
  readonly #thread: Thread;
  readonly #port: MessagePort;
  #isWorkOver = false;
  #isPortClosed = false;
  #isOver = false;

  constructor(file: ThreadFile, options: ThreadOptions) {
    super();
    this.#thread = idle.pop() ?? new Thread(HOST, { execArgv: [] });
    const { port1, port2 } = new MessageChannel();
    this.#port = port1;
    this.#thread.on('error', this.#onError).on('exit', this.#onExit).on('message', this.#onMessage);
    port1.on('message', (message) => this.emit('message', message));
    port1.on('close', () => {
      this.#isPortClosed = true;
      this.#keep();
    });
    this.ref();
    const job: Job = { port: port2, isSearch: file === 'search-thread', options };
    this.#thread.postMessage(job, [port2]);
  }

  postMessage(message: unknown): void {
    this.#port.postMessage(message);
  }

  ref(): void {
    this.#thread.ref();
    this.#port.ref();
  }

  unref(): void {
    this.#thread.unref();
    this.#port.unref();
  }

  terminate(): Promise<number> {
    return this.#isOver ? Promise.resolve(0) : this.#thread.terminate();
  }

  readonly #onError = (error: unknown): void => {
    this.emit('error', error);
  };

  readonly #onExit = (code: number): void => {
    this.#isOver = true;
    // Messages that it sent before its end arrive before its end.
    for (
      let said = receiveMessageOnPort(this.#port);
      said !== undefined;
      said = receiveMessageOnPort(this.#port)
    )
      this.emit('message', said.message);
    this.#port.close();
    this.emit('exit', code);
  };

  /** All it says itself. */
  readonly #onMessage = (): void => {
    this.#isWorkOver = true;
    this.#keep();
  };

  /** Two ports have no common order: nothing that was answered before the end may arrive after it. */
  #keep(): void {
    if (!this.#isWorkOver || !this.#isPortClosed) return;
    this.#isOver = true;
    this.#thread.off('error', this.#onError).off('exit', this.#onExit).off('message', this.#onMessage);
    this.#thread.unref();
    idle.push(this.#thread);
    this.emit('exit', 0);
  }
}
