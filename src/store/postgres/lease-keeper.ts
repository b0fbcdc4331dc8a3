import type { ControlLease } from '../control/control-lease.ts';
import type { Sql } from './connections.ts';
import type { NodeHolder } from './holder.ts';

interface Kept {
  readonly lease: ControlLease;
  /** When the server was asked the last time it said yes, on our own clock. */
  provenAt: number;
  due: number;
}

const RENEW = `UPDATE reprise.leases AS l SET expires_at = clock_timestamp() + l.ttl_ms * interval '1 millisecond'
  FROM unnest($1::text[], $2::bigint[]) AS u (id, epoch)
  WHERE l.session_id = u.id AND l.epoch = u.epoch AND l.holder = $3 RETURNING l.session_id, l.epoch`;

/**
 * Keeps the leases of this store alive, all that are due in one statement. One that is no longer ours is lost, and so is
 * one of which nobody could say for its whole time: by then somebody else may have it.
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

  get leases(): readonly ControlLease[] {
    return [...this.#kept.values()].map(({ lease }) => lease);
  }

  keep(lease: ControlLease, provenAt: number): void {
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

  #schedule(): void {
    clearTimeout(this.#timer);
    if (this.#kept.size === 0 || this.#isBeating) return;
    const due = Math.min(...[...this.#kept.values()].map((kept) => kept.due));
    this.#timer = setTimeout(() => void this.#beat(), Math.max(0, due - performance.now())).unref();
  }

  async #beat(): Promise<void> {
    this.#isBeating = true;
    const askedAt = performance.now();
    const due = [...this.#kept.values()].filter((kept) => kept.due <= askedAt);
    try {
      const rows = await this.#sql.query<{ session_id: string; epoch: number }>(RENEW, [
        due.map(({ lease }) => lease.sessionId),
        due.map(({ lease }) => lease.epoch),
        this.#holder,
      ]);
      const ours = new Set(rows.map(({ session_id, epoch }) => nameOf({ sessionId: session_id, epoch })));
      for (const kept of due) {
        kept.provenAt = askedAt;
        kept.due = askedAt + kept.lease.ttlMs / 3;
        if (!ours.has(nameOf(kept.lease))) this.#lose(kept);
      }
    } catch {
      // The server is away. Tried again soon, until the time of the lease is over.
      const now = performance.now();
      for (const kept of due) {
        kept.due = now + kept.lease.ttlMs / 10;
        if (now - kept.provenAt >= kept.lease.ttlMs) this.#lose(kept);
      }
    } finally {
      this.#isBeating = false;
      this.#schedule();
    }
  }

  /** Released meanwhile, it is nobody's loss. */
  #lose({ lease }: Kept): void {
    if (this.#kept.delete(nameOf(lease))) lease.lose();
  }
}

function nameOf({ sessionId, epoch }: { readonly sessionId: string; readonly epoch: number }): string {
  return `${sessionId}:${epoch}`;
}
