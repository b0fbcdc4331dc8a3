import { setTimeout as delay } from 'node:timers/promises';
import type pg from 'pg';
import type { Connections } from './connections.ts';

const FIRST_PAUSE_MS = 100;
const LONGEST_PAUSE_MS = 2_000;

export interface ListenerOptions {
  readonly connections: Connections;
  readonly channel: string;
  readonly onMessage: (payload: string) => void;
  /** Called when the connection is ready. Earlier notifications may have been missed. */
  readonly onConnected: () => void;
}

/** Receives notifications of other nodes on its own connection, which it reopens until the store closes. */
export class Listener {
  readonly #options: ListenerOptions;
  readonly #stop: AbortController = new AbortController();
  #client: pg.Client | undefined;
  #running: Promise<void> | undefined;

  constructor(options: ListenerOptions) {
    this.#options = options;
  }

  /** Called when a caller first waits for changes. */
  start(): void {
    this.#running ??= this.#listen();
  }

  async close(): Promise<void> {
    this.#stop.abort();
    // A connection that is still being opened checks the signal when it is ready.
    await this.#client?.end().catch(() => undefined);
    await this.#running;
  }

  async #listen(): Promise<void> {
    const { signal } = this.#stop;
    for (let pause = FIRST_PAUSE_MS; !signal.aborted; pause = Math.min(2 * pause, LONGEST_PAUSE_MS)) {
      try {
        await this.#hear(() => {
          pause = FIRST_PAUSE_MS;
        });
      } catch {
        // The server is not reachable. Until it returns, waiting callers poll.
      }
      await delay(pause, undefined, { signal, ref: false }).catch(() => undefined);
    }
  }

  /** Resolves when the connection ends. */
  async #hear(onSuccess: () => void): Promise<void> {
    const { connections, channel, onMessage, onConnected } = this.#options;
    const client = await connections.connect();
    const ended = new Promise<void>((resolve) => client.once('end', resolve));
    this.#client = client;
    try {
      if (this.#stop.signal.aborted) return;
      // Listening must not keep the process running.
      (client as pg.Client & { unref(): void }).unref();
      client.on('notification', ({ payload = '' }) => onMessage(payload));
      await client.query(`LISTEN ${channel}`);
      onSuccess();
      onConnected();
      await ended;
    } finally {
      this.#client = undefined;
      await client.end().catch(() => undefined);
    }
  }
}
