import type { Reprise } from '../../engine/reprise.ts';
import type { Need } from './ear.ts';
import { SessionLog } from './event-log.ts';
import { Relay } from './relay.ts';

export interface EventLogLimits {
  /** Of one session, in characters; what was told since the last stored entry is kept in any case. */
  readonly perSession?: number;
  /** Of all sessions where nothing runs. */
  readonly total?: number;
}

const PER_SESSION = 4 * 1024 * 1024;
const TOTAL = 64 * 1024 * 1024;
const MAX_SESSIONS = 1024;

/** The logs of the sessions that run or ran in this process, or are heard in it; the ones that were used least lately are let go. */
export class EventLogs implements Disposable {
  readonly #limits: Required<EventLogLimits>;
  readonly #logs: Map<string, SessionLog> = new Map();
  readonly #end: () => void;
  readonly #relay: Relay;
  /** One ear for each session, however many listen to it here. */
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

  /** Turns of other processes are told here as they are told there. */
  get isShared(): boolean {
    return this.#relay.isUsed;
  }

  /** There may be somebody to ask. */
  get hasPeers(): boolean {
    return this.#relay.hasPeers;
  }

  /** Asks other processes for a turn that is not here; whoever listens hears of it when it comes. */
  need(sessionId: string, need: Need): void {
    this.#relay.need(sessionId, need);
  }

  /** The log of a session, also of what other processes tell meanwhile. */
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
        // One that was let go may still be written to by whoever holds it; its size is no longer counted here.
        if (this.#logs.get(sessionId) === log) this.#size += change;
      });
    // Behind all others: the first one is the one nobody has used for longest.
    this.#logs.delete(sessionId);
    this.#logs.set(sessionId, log);
    if (known === undefined) this.#letGo(log);
    return log;
  }

  [Symbol.dispose](): void {
    this.#end();
    this.#logs.clear();
  }

  /** Of all but the one just made: whoever asked for it is about to listen to it or to tell it something. */
  #letGo(made: SessionLog): void {
    for (const [sessionId, log] of this.#logs) {
      if (this.#logs.size <= MAX_SESSIONS && this.#size <= this.#limits.total) return;
      if (log === made) continue;
      // Who listens holds this very log, also between two looks: in another one the rest would be told to nobody.
      if (log.isNeeded || this.#hearing.has(log)) continue;
      this.#logs.delete(sessionId);
      this.#size -= log.size;
    }
  }
}
