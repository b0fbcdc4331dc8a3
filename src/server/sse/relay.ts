import { randomUUID } from 'node:crypto';
import type { Reprise } from '../../engine/reprise.ts';
import { Ear } from './ear.ts';
import type { SessionLog } from './event-log.ts';
import { type Ask, encodeMessage, MessageReader, type RelayMessage } from './relay-message.ts';

type Store = Reprise['store'];

/**
 * The pseudo session on which processes exchange requests. A real session with this name would only cause ignored
 * messages.
 */
const NODES = 'reprise.nodes';
/** Deltas are batched, because every notification has a cost. */
const BATCH_MS = 20;
const BATCH_CHARS = 12 * 1024;
const BURST = 20;
const BURST_MS = 100;
/** Longer than the longest interval between two requests of an active subscriber. */
const WANTED_MS = 30_000;
const MAX_WANTED = 10_000;
const MAX_ASKS = 100;
/** Other processes have answered `hello` within this time. */
const GREETING_MS = 5000;

/**
 * Exchanges turn events with other processes on the same store, if the store supports notifications. It sends only what
 * another process has requested, so a single process sends nothing. Delivery is best effort: gaps show in the event
 * numbers and are requested again, and without an answer a client gets the stored entries (I-55).
 */
export class Relay {
  readonly isUsed: boolean;
  readonly #store: Store;
  readonly #logOf: (sessionId: string) => SessionLog | undefined;
  readonly #id: string = randomUUID();
  readonly #ears: Map<string, Ear> = new Map();
  /** Sessions that other processes follow, with the time their subscription expires. */
  readonly #wanted: Map<string, number> = new Map();
  /** The last event number that was sent, by session. */
  readonly #told: Map<string, number> = new Map();
  readonly #news: Set<string> = new Set();
  readonly #asks: Map<string, Ask> = new Map();
  #timer: NodeJS.Timeout | undefined;
  #isSending = false;
  readonly #startedAt: number = performance.now();
  #hasHeard = false;

  constructor(store: Store, logOf: (sessionId: string) => SessionLog | undefined) {
    this.#store = store;
    this.#logOf = logOf;
    this.isUsed = store.supports.live === 'all';
    if (!this.isUsed) return;
    void this.#listen(NODES, new AbortController().signal, (message) => this.#asked(message));
    void this.#publish(NODES, { kind: 'hello' });
  }

  /**
   * Whether other processes may exist. Once one was heard it is assumed to exist, because processes send nothing when
   * they end.
   */
  get hasPeers(): boolean {
    return this.isUsed && (this.#hasHeard || performance.now() - this.#startedAt < GREETING_MS);
  }

  /** Schedules sending of new events from a turn in this process. */
  tell({ sessionId, newest }: SessionLog): void {
    if (!this.#isWanted(sessionId) || newest?.isOwn !== true) return;
    // The turn may end before anything is sent.
    if (!this.#told.has(sessionId)) this.#told.set(sessionId, newest.before);
    this.#news.add(sessionId);
    this.#sendLater();
  }

  /** Adds events from other processes to the log until the signal aborts. */
  hear(log: SessionLog, signal: AbortSignal): void {
    if (!this.isUsed) return;
    const { sessionId } = log;
    const ear = new Ear(log, (ask) => {
      const { have: _, ...needs } = this.#asks.get(sessionId) ?? {};
      this.#asks.set(sessionId, { ...needs, ...ask });
      this.#sendLater();
    });
    this.#ears.set(sessionId, ear);
    void this.#listen(sessionId, signal, (message) => {
      if (message.kind === 'told') ear.take(message.part);
    }).finally(() => {
      ear[Symbol.dispose]();
      if (this.#ears.get(sessionId) === ear) this.#ears.delete(sessionId);
    });
    ear.ask();
  }

  /** Requests earlier events of a session that is followed here. */
  need(sessionId: string, need: Pick<Ask, 'at' | 'message'>): void {
    this.#ears.get(sessionId)?.ask(need);
  }

  #asked(message: RelayMessage): void {
    if (message.kind === 'hello') {
      void this.#publish(NODES, { kind: 'here' });
      for (const ear of this.#ears.values()) ear.ask();
    }
    if (message.kind !== 'ask') return;
    const until = performance.now() + WANTED_MS;
    for (const ask of message.asks) {
      const { sessionId } = ask;
      // Move to the end, so that the first one is the session not requested for the longest time.
      this.#wanted.delete(sessionId);
      this.#wanted.set(sessionId, until);
      const from = this.#logOf(sessionId)?.answerFrom(ask);
      if (from === undefined) continue;
      // One answer for all processes; each drops what it already has.
      const told = this.#news.has(sessionId) ? this.#told.get(sessionId) : undefined;
      this.#told.set(sessionId, Math.min(from, told ?? from));
      this.#news.add(sessionId);
    }
    for (const [oldest] of this.#wanted) {
      if (this.#wanted.size <= MAX_WANTED) break;
      this.#forget(oldest);
    }
    if (this.#news.size > 0) this.#sendLater();
  }

  #isWanted(sessionId: string): boolean {
    const until = this.#wanted.get(sessionId);
    if (until === undefined) return false;
    if (until > performance.now()) return true;
    this.#forget(sessionId);
    return false;
  }

  #forget(sessionId: string): void {
    this.#wanted.delete(sessionId);
    this.#told.delete(sessionId);
  }

  #sendLater(): void {
    this.#timer ??= setTimeout(() => void this.#send(), BATCH_MS).unref();
  }

  /** One message at a time, so that a slow store is not flooded; meanwhile events stay in the logs. */
  async #send(): Promise<void> {
    this.#timer = undefined;
    if (this.#isSending) return;
    this.#isSending = true;
    const asks = [...this.#asks.values()];
    const sessionIds = [...this.#news];
    this.#asks.clear();
    this.#news.clear();
    try {
      for (let at = 0; at < asks.length; at += MAX_ASKS)
        await this.#publish(NODES, { kind: 'ask', asks: asks.slice(at, at + MAX_ASKS) });
      for (const sessionId of sessionIds) await this.#tellOf(sessionId);
    } finally {
      this.#isSending = false;
      if (this.#asks.size > 0 || this.#news.size > 0) this.#sendLater();
    }
  }

  async #tellOf(sessionId: string): Promise<void> {
    const log = this.#logOf(sessionId);
    const after = this.#told.get(sessionId);
    if (log === undefined || after === undefined) return;
    this.#told.set(sessionId, log.last);
    let count = 0;
    for (const part of log.parts(after, BATCH_CHARS)) {
      await this.#publish(sessionId, { kind: 'told', part });
      // Pause, so that a long answer does not overflow the store's notification queue.
      if (++count % BURST === 0) await new Promise((resolve) => setTimeout(resolve, BURST_MS).unref());
    }
  }

  async #publish(sessionId: string, message: RelayMessage): Promise<void> {
    for (const json of encodeMessage(this.#id, message))
      await this.#store.publish(sessionId, json).catch(() => undefined); // treated like a lost message
  }

  async #listen(
    sessionId: string,
    signal: AbortSignal,
    take: (message: RelayMessage) => void,
  ): Promise<void> {
    const reader = new MessageReader();
    try {
      for await (const { event } of this.#store.live(sessionId, { signal })) {
        const told = reader.read(event);
        if (told === undefined || told.from === this.#id) continue;
        this.#hasHeard = true;
        take(told.message);
      }
    } catch {
      // The store is closing. Clients get the rest from the entries and inbox rows.
    }
  }
}
