import { randomUUID } from 'node:crypto';
import type { SessionEvent } from '../../engine/events.ts';
import type { Reprise } from '../../engine/reprise.ts';
import type { SessionLog } from './event-log.ts';

type Store = Reprise['store'];

interface Batch {
  readonly from: string;
  /** Counts the batches of a session until its turn ends, so that a lost one is noticed. */
  readonly number: number;
  readonly events: readonly {
    readonly inboxIds: readonly string[];
    readonly epoch?: number;
    readonly event: SessionEvent['event'];
  }[];
}

interface Waiting {
  number: number;
  events: { inboxIds: string[]; epoch?: number; event: SessionEvent['event'] }[];
  chars: number;
}

/** Many deltas in one message: a network charges for each. */
const BATCH_MS = 20;
const BATCH_CHARS = 16 * 1024;
const EVENT_CHARS = 32 * 1024;

/**
 * Tells other processes on the same store what turns tell here, where the store can, and hears them. Best effort: who
 * missed a part goes on with the stored entries.
 */
export class Relay {
  readonly #store: Store;
  readonly #id: string = randomUUID();
  readonly #waiting: Map<string, Waiting> = new Map();
  #timer: NodeJS.Timeout | undefined;

  constructor(store: Store) {
    this.#store = store;
  }

  get isUsed(): boolean {
    return this.#store.supports.live === 'all';
  }

  tell({ sessionId, inboxId, epoch, event }: SessionEvent): void {
    if (!this.isUsed || inboxId === undefined || epoch === undefined) return;
    const waiting = this.#waiting.get(sessionId) ?? { number: 0, events: [], chars: 0 };
    this.#waiting.set(sessionId, waiting);
    const last = waiting.events.at(-1);
    // One event for several messages is one object.
    if (last?.event === event) last.inboxIds.push(inboxId);
    else {
      const chars = JSON.stringify(event).length;
      // Too long to be passed on: who listens notices the gap, and reads it where it is stored.
      if (chars > EVENT_CHARS) waiting.number++;
      else {
        if (waiting.chars + chars > BATCH_CHARS) this.#send(sessionId, waiting);
        waiting.events.push({ inboxIds: [inboxId], epoch, event });
        waiting.chars += chars;
      }
    }
    this.#timer ??= setTimeout(() => this.#sendAll(), BATCH_MS).unref();
  }

  /** What others tell goes into the log, until the signal aborts. */
  async hear(log: SessionLog, signal: AbortSignal): Promise<void> {
    if (!this.isUsed) return;
    const numbers = new Map<string, number>();
    try {
      for await (const { event: told, missed } of this.#store.live(log.sessionId, { signal })) {
        const { from, number, events } = told as unknown as Batch;
        if (from === this.#id || !Array.isArray(events)) continue;
        const before = numbers.get(from);
        numbers.set(from, number);
        const isNext = number === 1 || before === undefined || number === before + 1;
        if (missed > 0 || !isNext) log.loseTurn();
        for (const { inboxIds, event, ...rest } of events)
          for (const inboxId of inboxIds) log.take({ sessionId: log.sessionId, inboxId, event, ...rest });
      }
    } catch {
      // The store closes: everything else is told by the entries and the rows.
    }
  }

  #sendAll(): void {
    this.#timer = undefined;
    for (const [sessionId, waiting] of this.#waiting) {
      const isOver = waiting.events.some(({ event: { type } }) => type === 'done' || type === 'error');
      this.#send(sessionId, waiting);
      if (isOver) this.#waiting.delete(sessionId);
    }
  }

  #send(sessionId: string, waiting: Waiting): void {
    if (waiting.events.length === 0) return;
    const batch: Batch = { from: this.#id, number: ++waiting.number, events: waiting.events };
    waiting.events = [];
    waiting.chars = 0;
    const json = JSON.parse(JSON.stringify(batch)) as Parameters<Store['publish']>[1];
    void this.#store.publish(sessionId, json).catch(() => undefined); // nobody relies on it
  }
}
