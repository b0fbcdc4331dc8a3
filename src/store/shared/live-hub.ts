import { failure } from '../../messages/failure.ts';
import { quotedValue } from '../../messages/quoted.ts';
import { assertStorable, isObject, type JsonObject } from '../../transcript/json.ts';
import { LIVE_EVENT_BYTES, type LiveEvent } from '../port/store.ts';

/** Limits of the queue of one slow listener; beyond them the oldest events are dropped. */
const MAX_WAITING_EVENTS = 1024;
const MAX_WAITING_CHARS = 1024 * 1024;

/** Hubs by database path, so that all stores of this process on one home share one hub. */
const hubs = new Map<string, LiveHub>();

/**
 * Passes live events (such as deltas of an answer) to the listeners in this process. Nothing is stored, and a
 * publisher never waits for a listener.
 */
export class LiveHub {
  readonly #listeners: Map<string, Set<Listener>> = new Map();
  readonly #path: string;
  #stores = 0;

  private constructor(path: string) {
    this.#path = path;
  }

  /** The hub of a database. A database in memory always gets a new hub, because no other store can open it. */
  static of(path: string): LiveHub {
    const hub = hubs.get(path) ?? new LiveHub(path);
    if (path !== ':memory:') hubs.set(path, hub);
    hub.#stores++;
    return hub;
  }

  leave(): void {
    if (--this.#stores === 0) hubs.delete(this.#path);
  }

  /** @returns the emitted event as JSON. */
  publish(id: string, event: JsonObject): string {
    if (!isObject(event))
      throw failure('INVALID_INPUT', 'value.wrong', {
        field: 'event',
        value: quotedValue(event),
        expected: [{ is: 'object', names: [] }],
      });
    assertStorable(event);
    // Pass text, so that a listener or the publisher cannot change the object for others.
    const text = JSON.stringify(event);
    if (Buffer.byteLength(text) > LIVE_EVENT_BYTES) {
      throw failure(
        'LIMIT_EXCEEDED',
        'event.tooLarge',
        { maxBytes: LIVE_EVENT_BYTES },
        { details: { limit: 'event', max: LIVE_EVENT_BYTES } },
      );
    }
    this.tell(id, text);
    return text;
  }

  /**
   * Emits an event that another store published and checked. `missed` is the number of events lost immediately before
   * it.
   */
  tell(id: string, text: string, missed = 0): void {
    for (const listener of this.#listeners.get(id) ?? []) listener.hear(text, missed);
  }

  /** Sessions that have listeners. */
  get sessions(): readonly string[] {
    return [...this.#listeners.keys()];
  }

  /** Starts listening now, even if the caller starts its loop later. */
  listen(id: string, signal: AbortSignal): AsyncIterableIterator<LiveEvent> {
    const listeners = this.#listeners.get(id) ?? new Set();
    const listener = new Listener(signal, () => {
      listeners.delete(listener);
      if (listeners.size === 0 && this.#listeners.get(id) === listeners) this.#listeners.delete(id);
    });
    if (listener.isOver) return listener;
    this.#listeners.set(id, listeners.add(listener));
    return listener;
  }
}

interface Heard {
  readonly text: string;
  readonly missed: number;
}

class Listener implements AsyncIterableIterator<LiveEvent> {
  readonly #signal: AbortSignal;
  readonly #onEnd: () => void;
  #waiting: Heard[] = [];
  #chars = 0;
  #missed = 0;
  #wake: () => void = () => {};
  isOver = false;

  constructor(signal: AbortSignal, onEnd: () => void) {
    this.#signal = signal;
    this.#onEnd = onEnd;
    if (signal.aborted) this.isOver = true;
    else signal.addEventListener('abort', this.#end, { once: true });
  }

  hear(text: string, missed: number): void {
    this.#waiting.push({ text, missed });
    this.#chars += text.length;
    while (this.#waiting.length > MAX_WAITING_EVENTS || this.#chars > MAX_WAITING_CHARS) {
      const lost = this.#waiting.shift();
      this.#chars -= lost?.text.length ?? 0;
      this.#missed += 1 + (lost?.missed ?? 0);
    }
    this.#wakeUp();
  }

  async next(): Promise<IteratorResult<LiveEvent>> {
    while (!this.isOver) {
      const heard = this.#waiting.shift();
      if (heard !== undefined) {
        this.#chars -= heard.text.length;
        const missed = this.#missed + heard.missed;
        this.#missed = 0;
        return { done: false, value: { event: JSON.parse(heard.text) as JsonObject, missed } };
      }
      await new Promise<void>((resolve) => {
        const earlier = this.#wake;
        this.#wake = () => {
          earlier();
          resolve();
        };
      });
    }
    return { done: true, value: undefined };
  }

  async return(): Promise<IteratorResult<LiveEvent>> {
    this.#end();
    return { done: true, value: undefined };
  }

  [Symbol.asyncIterator](): this {
    return this;
  }

  readonly #end = (): void => {
    this.isOver = true;
    this.#signal.removeEventListener('abort', this.#end);
    this.#waiting = [];
    this.#onEnd();
    this.#wakeUp();
  };

  #wakeUp(): void {
    const wake = this.#wake;
    this.#wake = () => {};
    wake();
  }
}
