import type { StoreLease } from '../../shared/store-lease.ts';
import type { Sql } from '../connection/connections.ts';
import type { NodeHolder } from './holder.ts';

interface Kept {
  readonly lease: StoreLease;
  /** When the last successful heartbeat was sent, by our monotonic clock. */
  provenAt: number;
  due: number;
}

const RENEW = `UPDATE reprise.leases AS l SET expires_at = clock_timestamp() + l.ttl_ms * interval '1 millisecond'
  FROM unnest($1::text[], $2::bigint[]) AS u (id, epoch)
  WHERE l.session_id = u.id AND l.epoch = u.epoch AND l.holder = $3 RETURNING l.session_id, l.epoch`;

/**
 * Share of the TTL after which a holder without a successful heartbeat gives up, before the server could grant the
 * lease to another node.
 */
const LAST_MOMENT = 0.9;

/**
 * Keeps the leases of this store alive; all that are due share one statement. A lease is lost if the server says so,
 * and also if no heartbeat succeeded during its TTL, for whatever reason: by then another node may have it.
 */
export class LeaseKeeper {
  readonly #sql: Sql;
  readonly #holder: string;
  readonly #kept: Map<string, Kept> = new Map();
  #timer: NodeJS.Timeout | undefined;
  #isBeating = false;

  constructor(sql: Sql, self: NodeHolder) {
    this.#sql = sql;
    this.#holder = JSON.stringify(self);
  }

  get leases(): readonly StoreLease[] {
    return [...this.#kept.values()].map(({ lease }) => lease);
  }

  keep(lease: StoreLease, provenAt: number): void {
    this.#kept.set(nameOf(lease), { lease, provenAt, due: provenAt + lease.ttlMs / 3 });
    this.#schedule();
  }

  forget(lease: { readonly sessionId: string; readonly epoch: number }): void {
    this.#kept.delete(nameOf(lease));
  }

  close(): void {
    clearTimeout(this.#timer);
    this.#kept.clear();
  }

  /** A heartbeat without an answer delays neither the next one nor the end of a lease. */
  #schedule(): void {
    clearTimeout(this.#timer);
    if (this.#kept.size === 0) return;
    const next = [...this.#kept.values()].map((kept) =>
      this.#isBeating ? endOf(kept) : Math.min(kept.due, endOf(kept)),
    );
    const inMs = Math.max(0, Math.min(...next) - performance.now());
    this.#timer = setTimeout(() => this.#tick(), inMs).unref();
  }

  #tick(): void {
    const now = performance.now();
    for (const kept of this.#kept.values()) if (endOf(kept) <= now) this.#lose(kept);
    const due = [...this.#kept.values()].filter((kept) => kept.due <= now);
    if (due.length > 0 && !this.#isBeating) void this.#beat(due, now);
    this.#schedule();
  }

  async #beat(due: readonly Kept[], askedAt: number): Promise<void> {
    this.#isBeating = true;
    const patience = Math.min(...due.map(({ lease }) => lease.ttlMs)) / 3;
    try {
      const rows = await within(
        patience,
        this.#sql.query<{ session_id: string; epoch: number }>(RENEW, [
          due.map(({ lease }) => lease.sessionId),
          due.map(({ lease }) => lease.epoch),
          this.#holder,
        ]),
      );
      const ours = new Set(rows.map(({ session_id, epoch }) => nameOf({ sessionId: session_id, epoch })));
      for (const kept of due) {
        kept.provenAt = askedAt;
        kept.due = askedAt + kept.lease.ttlMs / 3;
        if (!ours.has(nameOf(kept.lease))) this.#lose(kept);
      }
    } catch {
      // The server is not reachable. Retry soon, until the lease expires.
      const now = performance.now();
      for (const kept of due) kept.due = now + kept.lease.ttlMs / 10;
    } finally {
      this.#isBeating = false;
      this.#schedule();
    }
  }

  /** A lease that was released meanwhile is not lost. */
  #lose({ lease }: Kept): void {
    if (this.#kept.delete(nameOf(lease))) lease.lose();
  }
}

/**
 * The server counts from the arrival of the heartbeat, which is later than its sending, so its lease ends after ours.
 */
function endOf({ provenAt, lease }: Kept): number {
  return provenAt + lease.ttlMs * LAST_MOMENT;
}

async function within<T>(ms: number, work: Promise<T>): Promise<T> {
  const { promise, reject } = Promise.withResolvers<never>();
  const timer = setTimeout(() => reject(new Error('no answer in time')), ms).unref();
  try {
    return await Promise.race([work, promise]);
  } finally {
    clearTimeout(timer);
    work.catch(() => undefined); // The caller no longer waits for it.
  }
}

function nameOf({ sessionId, epoch }: { readonly sessionId: string; readonly epoch: number }): string {
  return `${sessionId}:${epoch}`;
}
