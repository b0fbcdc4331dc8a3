import type { JsonObject } from '../../../transcript/json.ts';
import type { LiveEvent } from '../../port/store.ts';
import { LiveHub } from '../../shared/live-hub.ts';
import type { Connections } from './connections.ts';
import type { ServerClock } from './server-clock.ts';
import type { Wakes } from './wakes.ts';

/** Live events are collected for this long before they go to other nodes. */
const PAUSE_MS = 40;
/** Limits of the queue to the server; beyond them the oldest event is dropped, and the next one carries the count. */
const MAX_WAITING = 1024;
const MAX_WAITING_CHARS = 1024 * 1024;
/** A listener that has not read an event after this time counts as gone. */
const KEPT_SECONDS = 30;
const SWEEP_MS = 5_000;

interface Outgoing {
  readonly id: string;
  readonly text: string;
  /**
   * The latest possible time of publication on the server's clock: listeners that were there before must receive it.
   */
  readonly at: number;
  missed: number;
}

interface Incoming {
  readonly horizon: string;
  readonly now_ms: number;
  readonly session_id: string | null;
  readonly number: number;
  readonly engine: string;
  readonly event: string;
  readonly missed: number;
  readonly made_ms: number;
}

/**
 * Passes live events on: at once within this store, and to other nodes through an unlogged table, because a
 * notification holds only 8,000 bytes and an event may have eight times that. It guarantees only the order and the
 * correct number of events lost on the sending side.
 */
export class LiveRelay {
  readonly #hub: LiveHub;
  readonly #connections: Connections;
  readonly #wakes: Wakes;
  readonly #engineId: string;
  readonly #closing: AbortSignal;
  #outgoing: Outgoing[] = [];
  #chars = 0;
  #sending: Promise<void> | undefined;
  #isSending = false;
  #sweptAt = performance.now();
  #reading: Promise<void> | undefined;
  #isReading = false;
  /** All transactions before this one had ended at the last read; any other may still add an event. */
  #horizon = '0';
  /** The last event read from each engine. */
  readonly #seen: Map<string, number> = new Map();
  /** Since when each session has listeners, on the server's clock. */
  readonly #since: Map<string, number> = new Map();
  readonly #clock: ServerClock;

  constructor({ connections, wakes, engineId, closing, clock }: LiveRelayOptions) {
    this.#hub = LiveHub.of(`postgres ${engineId}`);
    this.#connections = connections;
    this.#wakes = wakes;
    this.#engineId = engineId;
    this.#closing = closing;
    this.#clock = clock;
  }

  publish(id: string, event: JsonObject): void {
    const text = this.#hub.publish(id, event);
    if (this.#connections.settings.readOnly) return;
    this.#outgoing.push({ id, text, at: this.#clock.latest, missed: 0 });
    this.#chars += text.length;
    while (this.#outgoing.length > MAX_WAITING || this.#chars > MAX_WAITING_CHARS) this.#letGo();
    if (this.#isSending) return;
    this.#isSending = true;
    this.#sending = this.#sendAll();
  }

  listen(id: string, signal: AbortSignal): AsyncIterable<LiveEvent> {
    if (!this.#hub.sessions.includes(id)) this.#since.set(id, this.#clock.earliest);
    const events = this.#hub.listen(id, signal);
    this.#wakes.begin();
    if (!this.#isReading) {
      this.#isReading = true;
      this.#reading = this.#readAll();
    }
    return events;
  }

  async close(): Promise<void> {
    this.#hub.leave();
    this.#outgoing = [];
    await Promise.all([this.#sending, this.#reading]);
  }

  /** Drops the oldest event. The next event of its session carries the count. */
  #letGo(): void {
    const lost = this.#outgoing.shift();
    if (lost === undefined) return;
    this.#chars -= lost.text.length;
    const heir = this.#outgoing.find(({ id }) => id === lost.id);
    if (heir !== undefined) heir.missed += lost.missed + 1;
  }

  /** Sends one statement at a time, so that the events of a store are committed in order. */
  async #sendAll(): Promise<void> {
    while (this.#outgoing.length > 0) {
      // A timer that keeps the process running: closing the store waits for it.
      await new Promise((resolve) => setTimeout(resolve, PAUSE_MS));
      const events = this.#outgoing;
      this.#outgoing = [];
      this.#chars = 0;
      if (events.length === 0 || this.#closing.aborted) break;
      try {
        await this.#connections.query(
          `INSERT INTO reprise.live_events (session_id, engine, event, missed, made_at)
           SELECT u.id, $2, u.event, u.missed, to_timestamp(u.at / 1000)
           FROM unnest($1::text[], $3::text[], $4::bigint[], $5::float8[])
             WITH ORDINALITY AS u (id, event, missed, at, place)
           ORDER BY u.place`,
          [
            events.map(({ id }) => id),
            this.#engineId,
            events.map(({ text }) => text),
            events.map(({ missed }) => missed),
            events.map(({ at }) => at),
          ],
        );
        this.#wakes.tellLive();
        await this.#sweep();
      } catch {
        // Best effort: live events are useless a moment later.
      }
    }
    // Synchronously after the check for waiting events, so that a later event starts sending again.
    this.#isSending = false;
  }

  async #sweep(): Promise<void> {
    if (performance.now() - this.#sweptAt < SWEEP_MS) return;
    this.#sweptAt = performance.now();
    await this.#connections.query(
      `DELETE FROM reprise.live_events WHERE made_at < clock_timestamp() - interval '${KEPT_SECONDS} seconds'`,
    );
  }

  /** Reads while there are listeners. */
  async #readAll(): Promise<void> {
    while (this.#hub.sessions.length > 0 && !this.#closing.aborted) {
      // Subscribe before reading, so that a commit in between wakes the loop.
      using sleep = this.#wakes.lives.sleep('', this.#closing);
      try {
        await this.#read();
      } catch {
        // The server is not reachable; the poll wakes the loop again.
      }
      await sleep.woken;
    }
    // Synchronously after the check for listeners, so that a later listener starts reading again.
    this.#isReading = false;
  }

  /** Forgets sessions that have no listeners any more. */
  #forget(): void {
    const listened = new Set(this.#hub.sessions);
    for (const id of this.#since.keys()) if (!listened.has(id)) this.#since.delete(id);
    for (const key of this.#seen.keys())
      if (!listened.has(key.slice(key.indexOf(' ') + 1))) this.#seen.delete(key);
  }

  /**
   * Event numbers are assigned before transactions commit, so the highest number seen does not cover those below it.
   * Therefore all transactions that had not ended at the last read are read again, and only the new events of each
   * engine are emitted.
   */
  async #read(): Promise<void> {
    const listened = this.#hub.sessions;
    const askedAt = Date.now();
    const rows = await this.#connections.query<Incoming>(
      `SELECT h.horizon, h.now_ms, e.session_id, e.number, e.engine, e.event, e.missed,
         (extract(epoch FROM e.made_at) * 1000)::float8 AS made_ms
       FROM (SELECT pg_snapshot_xmin(pg_current_snapshot())::text AS horizon,
           (extract(epoch FROM clock_timestamp()) * 1000)::float8 AS now_ms) AS h
       LEFT JOIN reprise.live_events AS e
         ON e.session_id = ANY($1) AND e.made_by >= $2::xid8 AND e.engine <> $3
       ORDER BY e.number`,
      [listened, this.#horizon, this.#engineId],
    );
    const answeredAt = Date.now();
    const [first] = rows;
    if (first === undefined) return;
    for (const { session_id, number, engine, event, missed, made_ms } of rows) {
      const isNews = session_id !== null && number > (this.#seen.get(`${engine} ${session_id}`) ?? 0);
      if (!isNews) continue;
      this.#seen.set(`${engine} ${session_id}`, number);
      if (made_ms >= (this.#since.get(session_id) ?? 0)) this.#hub.tell(session_id, event, missed);
    }
    this.#horizon = first.horizon;
    this.#clock.learn(first.now_ms, askedAt, answeredAt);
    if (this.#seen.size + this.#since.size > MAX_WAITING) this.#forget();
  }
}

export interface LiveRelayOptions {
  readonly connections: Connections;
  readonly wakes: Wakes;
  readonly engineId: string;
  /** Aborts when the store closes. */
  readonly closing: AbortSignal;
  readonly clock: ServerClock;
}
