import { setTimeout as delay } from 'node:timers/promises';
import type pg from 'pg';
import type { Connections } from './connections.ts';

const FIRST_PAUSE_MS = 100;
const LONGEST_PAUSE_MS = 2_000;

export interface ListenerOptions {
  readonly connections: Connections;
  readonly channel: string;
  readonly onMessage: (payload: string) => void;
  /** From now on everything is heard; what was said before may have been missed. */
  readonly onConnected: () => void;
}

/** Hears what other nodes say, on a connection of its own that is made anew for as long as it takes. */
export class Listener {
  readonly #options: ListenerOptions;
  readonly #stop: AbortController = new AbortController();
  #client: pg.Client | undefined;
  #running: Promise<void> | undefined;

  constructor(options: ListenerOptions) {
    this.#options = options;
  }

  /** The first time somebody has to be woken. */
  start(): void {
    this.#running ??= this.#listen();
  }

  async close(): Promise<void> {
    this.#stop.abort();
    // A connection that is just being made sees the signal when it is there.
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
        // The server is away. Whoever watches looks by the clock until it is back.
      }
      await delay(pause, undefined, { signal, ref: false }).catch(() => undefined);
    }
  }

  /** Until the connection ends. */
  async #hear(onSuccess: () => void): Promise<void> {
    const { connections, channel, onMessage, onConnected } = this.#options;
    const client = await connections.connect();
    const ended = new Promise<void>((resolve) => client.once('end', resolve));
    this.#client = client;
    try {
      if (this.#stop.signal.aborted) return;
      // Listening is no reason for a process to go on.
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
