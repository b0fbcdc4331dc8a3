import { isObject } from '../../../transcript/json.ts';
import { Sleepers } from '../../shared/sleepers.ts';
import type { Connections } from './connections.ts';
import { Listener } from './listener.ts';
import type { News } from './transaction.ts';

const CHANNEL = 'reprise_news';
/** At most 20 times a second, however much happens. */
const PAUSE_MS = 50;
/** Payloads have at most 8000 bytes; more sessions than this are told as "anything". */
const MAX_IDS = 50;
/** With notifications the look by the clock is for what they may have lost; without, it is all there is. */
const POLL_MS = 1_000;
const POLL_ALONE_MS = 200;

interface Message {
  /** The engine that says it, which has woken its own. */
  readonly e: string;
  /** Sessions with new lines; null: any may have. */
  readonly s: readonly string[] | null;
  /** Whether an inbox changed, and whether running deltas are there. */
  readonly i: boolean;
  readonly l: boolean;
}

export interface WakesOptions {
  readonly connections: Connections;
  readonly engineId: string;
}

/**
 * Who sleeps until something happens, here or on another node. Notifications go out after the commit, outside of it,
 * together and with ids only: within transactions they would make all commits of the database wait for each other.
 * They are never relied on: everybody looks again by the clock, and whenever the connection is there again.
 */
export class Wakes {
  /** Who watches lines, by session. */
  readonly sessions: Sleepers = new Sleepers();
  /** Who watches inboxes, all under one name. */
  readonly inboxes: Sleepers = new Sleepers();
  /** Who listens for running deltas, all under one name. */
  readonly lives: Sleepers = new Sleepers();
  readonly #connections: Connections;
  readonly #engineId: string;
  readonly #listener: Listener;
  #poll: NodeJS.Timeout | undefined;
  #isPolling = false;
  /** What the last look by the clock found, of sessions that are watched. */
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

  /** Somebody is going to sleep: from now on there is a reason to listen. */
  begin(): void {
    const { notify } = this.#connections.settings;
    if (notify) this.#listener.start();
    this.#poll ??= setInterval(() => void this.#look(), notify ? POLL_MS : POLL_ALONE_MS).unref();
  }

  /** After a commit of this store. */
  tell({ sessions, inboxes }: News): void {
    this.sessions.wake([...sessions]);
    if (inboxes.size > 0) this.inboxes.wake(null);
    for (const id of sessions) this.#pending.sessions.add(id);
    if (inboxes.size > 0) this.#pending.inbox = true;
    this.#saySoon();
  }

  /** Running deltas of this store can be read. */
  tellLive(): void {
    this.#pending.live = true;
    this.#saySoon();
  }

  /** Somebody who watches the session could not read: the next look by the clock wakes him, whatever it finds. */
  lookAgain(id: string): void {
    this.#seqs.delete(id);
  }

  async close(): Promise<void> {
    clearInterval(this.#poll);
    clearTimeout(this.#timer);
    // What was committed a moment ago is still told; nobody waits longer than for one statement.
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
      // An accelerator: whoever waits for it looks by the clock.
    }
  }

  #hear(payload: string): void {
    const message = parseMessage(payload);
    if (message?.e === this.#engineId) return;
    // Not one of ours, or of a newer version: anything may have happened.
    this.sessions.wake(message === undefined ? null : message.s);
    if (message?.i !== false) this.inboxes.wake(null);
    if (message?.l !== false) this.lives.wake(null);
  }

  /** One question for all who watch lines; the others have one of their own. */
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
      // The server is away; the next look may find it.
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
    // Anybody may notify; said by undefined.
    return undefined;
  }
}
