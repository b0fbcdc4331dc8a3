import { isObject } from '../../../transcript/json.ts';
import { Sleepers } from '../../shared/sleepers.ts';
import type { Connections } from './connections.ts';
import { Listener } from './listener.ts';
import type { News } from './transaction.ts';

const CHANNEL = 'reprise_news';
/** Limits notifications to 20 per second. */
const PAUSE_MS = 50;
/** A payload has at most 8,000 bytes; with more sessions than this it says "any session". */
const MAX_IDS = 50;
/** With notifications, the poll only covers lost ones; without them, it is the only signal. */
const POLL_MS = 1_000;
const POLL_ALONE_MS = 200;

interface Message {
  /** The engine that sends the message; it has already woken its own callers. */
  readonly e: string;
  /** Sessions with new lines; null: any session. */
  readonly s: readonly string[] | null;
  /** `i`: an inbox changed. `l`: live events can be read. */
  readonly i: boolean;
  readonly l: boolean;
}

export interface WakesOptions {
  readonly connections: Connections;
  readonly engineId: string;
}

/**
 * Wakes callers that wait for changes on this or another node. Notifications are sent after the commit, in one
 * statement and with ids only: inside transactions they would make all commits of the database wait for each other.
 * They are never relied on: every caller also polls, and checks again after a reconnect.
 */
export class Wakes {
  /** Callers that wait for new lines, by session. */
  readonly sessions: Sleepers = new Sleepers();
  /** Callers that wait for inbox changes, under a single name. */
  readonly inboxes: Sleepers = new Sleepers();
  /** Callers that wait for live events, under a single name. */
  readonly lives: Sleepers = new Sleepers();
  readonly #connections: Connections;
  readonly #engineId: string;
  readonly #listener: Listener;
  #poll: NodeJS.Timeout | undefined;
  #isPolling = false;
  /** The seqs that the last poll found for watched sessions. */
  #seqs: Map<string, number> = new Map();
  #pending: { sessions: Set<string>; inbox: boolean; live: boolean } = nothing();
  #timer: NodeJS.Timeout | undefined;
  #saidAt = 0;

  constructor({ connections, engineId }: WakesOptions) {
    this.#connections = connections;
    this.#engineId = engineId;
    this.#listener = new Listener({
      connections,
      channel: CHANNEL,
      onMessage: (payload) => this.#hear(payload),
      onConnected: () => this.#wakeAll(),
    });
  }

  /** Called before a caller waits: starts listening and polling. */
  begin(): void {
    const { notify } = this.#connections.settings;
    if (notify) this.#listener.start();
    this.#poll ??= setInterval(() => void this.#look(), notify ? POLL_MS : POLL_ALONE_MS).unref();
  }

  /** Called after a commit of this store. */
  tell({ sessions, inboxes }: News): void {
    this.sessions.wake([...sessions]);
    if (inboxes.size > 0) this.inboxes.wake(null);
    for (const id of sessions) this.#pending.sessions.add(id);
    if (inboxes.size > 0) this.#pending.inbox = true;
    this.#saySoon();
  }

  /** Called when live events of this store can be read. */
  tellLive(): void {
    this.#pending.live = true;
    this.#saySoon();
  }

  /** A watcher could not read its session; the next poll wakes it in any case. */
  lookAgain(id: string): void {
    this.#seqs.delete(id);
  }

  async close(): Promise<void> {
    clearInterval(this.#poll);
    clearTimeout(this.#timer);
    // Send pending notifications; that delays the close by one statement at most.
    if (this.#timer !== undefined) await this.#say();
    await this.#listener.close();
    this.#wakeAll();
  }

  #saySoon(): void {
    if (!this.#connections.settings.notify || this.#timer !== undefined) return;
    const pause = Math.max(0, this.#saidAt + PAUSE_MS - performance.now());
    this.#timer = setTimeout(() => void this.#say(), pause).unref();
  }

  async #say(): Promise<void> {
    const { sessions, inbox, live } = this.#pending;
    this.#pending = nothing();
    this.#timer = undefined;
    this.#saidAt = performance.now();
    const s = sessions.size > MAX_IDS ? null : [...sessions];
    const message: Message = { e: this.#engineId, s, i: inbox, l: live };
    try {
      await this.#connections.query('SELECT pg_notify($1, $2)', [CHANNEL, JSON.stringify(message)]);
    } catch {
      // Only an optimization: waiting callers poll.
    }
  }

  #hear(payload: string): void {
    const message = parseMessage(payload);
    if (message?.e === this.#engineId) return;
    // Not our format, or of a newer version: assume that anything may have changed.
    this.sessions.wake(message === undefined ? null : message.s);
    if (message?.i !== false) this.inboxes.wake(null);
    if (message?.l !== false) this.lives.wake(null);
  }

  /** One query for all callers that wait for lines; the others run their own. */
  async #look(): Promise<void> {
    this.inboxes.wake(null);
    this.lives.wake(null);
    const { ids } = this.sessions;
    if (ids.size === 0 || this.#isPolling) return;
    this.#isPolling = true;
    try {
      const rows = await this.#connections.query<{ id: string; seq: number }>(
        'SELECT id, seq FROM reprise.sessions WHERE id = ANY($1)',
        [[...ids]],
      );
      const seqs = new Map(rows.map(({ id, seq }) => [id, seq]));
      this.sessions.wake([...ids].filter((id) => seqs.get(id) !== this.#seqs.get(id) || !seqs.has(id)));
      this.#seqs = seqs;
    } catch {
      // The server is not reachable; the next poll retries.
    } finally {
      this.#isPolling = false;
    }
  }

  #wakeAll(): void {
    for (const sleepers of [this.sessions, this.inboxes, this.lives]) sleepers.wake(null);
  }
}

function nothing(): { sessions: Set<string>; inbox: boolean; live: boolean } {
  return { sessions: new Set(), inbox: false, live: false };
}

function parseMessage(payload: string): Message | undefined {
  try {
    const message: unknown = JSON.parse(payload);
    if (!isObject(message)) return undefined;
    const { e, s, i, l } = message;
    const isKnown = typeof e === 'string' && (s === null || Array.isArray(s));
    return isKnown ? { e, s: s as string[] | null, i: i === true, l: l === true } : undefined;
  } catch {
    // Any client may send notifications; `undefined` means "not our format".
    return undefined;
  }
}
