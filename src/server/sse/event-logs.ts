import type { Reprise } from '../../engine/reprise.ts';
import type { Need } from './ear.ts';
import { SessionLog } from './event-log.ts';
import { Relay } from './relay.ts';

export interface EventLogLimits {
  /** Characters per session; events since the last stored entry are kept beyond this limit. */
  readonly perSession?: number;
  /** Characters of all sessions in which no turn runs. */
  readonly total?: number;
}

const PER_SESSION = 4 * 1024 * 1024;
const TOTAL = 64 * 1024 * 1024;
const MAX_SESSIONS = 1024;

/** The event logs of sessions that run, or are followed, in this process. The least recently used ones are dropped. */
export class EventLogs implements Disposable {
  readonly #limits: Required<EventLogLimits>;
  readonly #logs: Map<string, SessionLog> = new Map();
  readonly #end: () => void;
  readonly #relay: Relay;
  /** One subscription per session, for any number of clients. */
  readonly #hearing: Map<SessionLog, { count: number; over: AbortController }> = new Map();
  #size = 0;

  constructor(reprise: Pick<Reprise, 'tap' | 'store'>, limits: EventLogLimits = {}) {
    this.#limits = { perSession: PER_SESSION, total: TOTAL, ...limits };
    this.#relay = new Relay(reprise.store, (sessionId) => this.#logs.get(sessionId));
    this.#end = reprise.tap((event) => {
      const log = this.#logs.get(event.sessionId) ?? this.of(event.sessionId);
      log.take(event);
      this.#relay.tell(log);
    });
  }

  /** Events of turns in other processes arrive here. */
  get isShared(): boolean {
    return this.#relay.isUsed;
  }

  /** Other processes may share the store. */
  get hasPeers(): boolean {
    return this.#relay.hasPeers;
  }

  /** Asks other processes for the events of a turn; they arrive in the session's log. */
  need(sessionId: string, need: Need): void {
    this.#relay.need(sessionId, need);
  }

  /** The log of a session, subscribed to events from other processes until the signal aborts. */
  listen(sessionId: string, signal: AbortSignal): SessionLog {
    const log = this.of(sessionId);
    const hears = this.#hearing.get(log) ?? { count: 0, over: new AbortController() };
    if (hears.count++ === 0) this.#relay.hear(log, hears.over.signal);
    this.#hearing.set(log, hears);
    const leave = (): void => {
      if (--hears.count > 0) return;
      hears.over.abort();
      this.#hearing.delete(log);
    };
    if (signal.aborted) leave();
    else signal.addEventListener('abort', leave, { once: true });
    return log;
  }

  of(sessionId: string): SessionLog {
    const known = this.#logs.get(sessionId);
    const log: SessionLog =
      known ??
      new SessionLog(sessionId, this.#limits.perSession, (change) => {
        // A dropped log may still be written to by its users, but its size no longer counts.
        if (this.#logs.get(sessionId) === log) this.#size += change;
      });
    // Move to the end, so that the first log is the least recently used.
    this.#logs.delete(sessionId);
    this.#logs.set(sessionId, log);
    if (known === undefined) this.#letGo(log);
    return log;
  }

  [Symbol.dispose](): void {
    this.#end();
    this.#logs.clear();
  }

  /** Drops logs to stay within the limits, except the new one, which its caller is about to use. */
  #letGo(made: SessionLog): void {
    for (const [sessionId, log] of this.#logs) {
      if (this.#logs.size <= MAX_SESSIONS && this.#size <= this.#limits.total) return;
      if (log === made) continue;
      // Clients hold this log object; a new one would not receive the rest of the events.
      if (log.isNeeded || this.#hearing.has(log)) continue;
      this.#logs.delete(sessionId);
      this.#size -= log.size;
    }
  }
}
