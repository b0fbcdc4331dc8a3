import { randomUUID } from 'node:crypto';
import type { Reprise } from '../../engine/reprise.ts';
import { Ear } from './ear.ts';
import type { SessionLog } from './event-log.ts';
import { type Ask, encodeMessage, MessageReader, type RelayMessage } from './relay-message.ts';

type Store = Reprise['store'];

/** Where processes ask each other: no session has this name unless somebody gives it one, and nothing comes of that. */
const NODES = 'reprise.nodes';
/** Many deltas in one message: a network charges for each. */
const BATCH_MS = 20;
const BATCH_CHARS = 12 * 1024;
const BURST = 20;
const BURST_MS = 100;
/** Longer than the longest time between two asks of whoever still listens. */
const WANTED_MS = 30_000;
const MAX_WANTED = 10_000;
const MAX_ASKS = 100;
/** Who is there has said so by then. */
const GREETING_MS = 5000;

/**
 * Tells other processes on the same store what turns tell here, where the store can, and hears them. Only what was
 * asked for is told: a process alone sends nothing. Best effort: what is lost is noticed by its numbers and asked for
 * again, and who gets no answer goes on with the stored entries (I-55).
 */
export class Relay {
  readonly isUsed: boolean;
  readonly #store: Store;
  readonly #logOf: (sessionId: string) => SessionLog | undefined;
  readonly #id: string = randomUUID();
  readonly #ears: Map<string, Ear> = new Map();
  /** Sessions somebody listens to elsewhere, and until when that holds. */
  readonly #wanted: Map<string, number> = new Map();
  /** Up to which number each was told. */
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

  /** Whether there may be somebody to ask. Once heard of, others are counted on: they say nothing when they go. */
  get hasPeers(): boolean {
    return this.isUsed && (this.#hasHeard || performance.now() - this.#startedAt < GREETING_MS);
  }

  /** A turn of this process has told something. */
  tell({ sessionId, newest }: SessionLog): void {
    if (!this.#isWanted(sessionId) || newest?.isOwn !== true) return;
    // It may have ended before anything is sent.
    if (!this.#told.has(sessionId)) this.#told.set(sessionId, newest.before);
    this.#news.add(sessionId);
    this.#sendLater();
  }

  /** What others tell goes into the log, until the signal aborts. */
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

  /** Of a session that is heard here: something is wanted that was told before. */
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
      // Behind all others: the first is the one nobody has asked for longest.
      this.#wanted.delete(sessionId);
      this.#wanted.set(sessionId, until);
      const from = this.#logOf(sessionId)?.answerFrom(ask);
      if (from === undefined) continue;
      // One answer for all who ask: everybody hears it, and drops what it has.
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

  /** One after the other: a store that is slow is not asked for more at once, and what comes meanwhile waits in the logs. */
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
      // A long answer must not push itself out of what a store lets wait.
      if (++count % BURST === 0) await new Promise((resolve) => setTimeout(resolve, BURST_MS).unref());
    }
  }

  async #publish(sessionId: string, message: RelayMessage): Promise<void> {
    for (const json of encodeMessage(this.#id, message))
      await this.#store.publish(sessionId, json).catch(() => undefined); // as if it had been lost on the way
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
      // The store closes: everything else is told by the entries and the rows.
    }
  }
}
