import { RepriseError } from '../../../errors.ts';
import { leaseHeld } from '../../rules/refusals.ts';
import type { Sql } from '../connection/connections.ts';
import type { NodeHolder } from './holder.ts';
import { seenLease } from './leases.ts';

const MAX_KNOWN = 10_000;

/**
 * Every node tries each second to lease all sessions with messages (the sweep), and most are held by another node. A
 * node that was refused first reads the lease: that locks nothing, waits for nothing and needs no transaction. Only
 * if the session looks free does it try again under the lock.
 */
export class LeaseRefusals {
  readonly #sql: Sql;
  readonly #self: NodeHolder;
  readonly #refused: Set<string> = new Set();

  constructor(sql: Sql, self: NodeHolder) {
    this.#sql = sql;
    this.#self = self;
  }

  /** Throws the known refusal without trying the lease. */
  async look(sessionId: string): Promise<void> {
    if (!this.#refused.has(sessionId)) return;
    const held = await seenLease(this.#sql, this.#self, sessionId);
    if (held !== undefined) throw leaseHeld(sessionId, held);
    this.#refused.delete(sessionId);
  }

  /** Remembers whether the attempt was refused. */
  async note<T>(sessionId: string, asked: Promise<T>): Promise<T> {
    try {
      return await asked;
    } catch (error) {
      if (error instanceof RepriseError && error.code === 'LEASE_HELD') {
        if (this.#refused.size >= MAX_KNOWN) this.#refused.clear();
        this.#refused.add(sessionId);
      }
      throw error;
    }
  }
}
