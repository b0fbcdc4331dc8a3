import type { Reprise } from '../../engine/reprise.ts';
import { SessionLog } from './event-log.ts';

export interface EventLogLimits {
  /** Of one session, in characters; what was told since the last stored entry is kept in any case. */
  readonly perSession?: number;
  /** Of all sessions where nothing runs. */
  readonly total?: number;
}

const PER_SESSION = 4 * 1024 * 1024;
const TOTAL = 64 * 1024 * 1024;
const MAX_SESSIONS = 1024;

/** The logs of the sessions that run or ran in this process; the ones that were used least lately are let go. */
export class EventLogs implements Disposable {
  readonly #limits: Required<EventLogLimits>;
  readonly #logs: Map<string, SessionLog> = new Map();
  readonly #end: () => void;
  #size = 0;

  constructor(reprise: Pick<Reprise, 'tap'>, limits: EventLogLimits = {}) {
    this.#limits = { perSession: PER_SESSION, total: TOTAL, ...limits };
    this.#end = reprise.tap((event) =>
      (this.#logs.get(event.sessionId) ?? this.of(event.sessionId)).take(event),
    );
  }

  of(sessionId: string): SessionLog {
    const known = this.#logs.get(sessionId);
    const log =
      known ??
      new SessionLog(sessionId, this.#limits.perSession, (change) => {
        this.#size += change;
      });
    // Behind all others: the first one is the one nobody has used for longest.
    this.#logs.delete(sessionId);
    this.#logs.set(sessionId, log);
    if (known === undefined) this.#letGo();
    return log;
  }

  [Symbol.dispose](): void {
    this.#end();
    this.#logs.clear();
  }

  #letGo(): void {
    for (const [sessionId, log] of this.#logs) {
      if (this.#logs.size <= MAX_SESSIONS && this.#size <= this.#limits.total) return;
      if (log.isOpen || log.isWatched) continue;
      this.#logs.delete(sessionId);
      this.#size -= log.size;
    }
  }
}
