import { RepriseError } from '../../../errors.ts';
import { leaseHeld } from '../../rules/refusals.ts';
import type { Sql } from '../connection/connections.ts';
import type { NodeHolder } from './holder.ts';
import { seenLease } from './leases.ts';

const MAX_KNOWN = 10_000;

/**
 * Every node asks every second for each session that has a message (the sweep), and most are held by another node all
 * the while. Whoever was refused looks before asking again: a look locks nothing, waits for nobody and needs no
 * transaction of its own. Only whoever finds the session free asks, under its lock.
 */
export class LeaseRefusals {
  readonly #sql: Sql;
  readonly #self: NodeHolder;
  readonly #refused: Set<string> = new Set();

  constructor(sql: Sql, self: NodeHolder) {
    this.#sql = sql;
    this.#self = self;
  }

  /** Throws what asking would have thrown, where that is known without asking. */
  async look(sessionId: string): Promise<void> {
    if (!this.#refused.has(sessionId)) return;
    const held = await seenLease(this.#sql, this.#self, sessionId);
    if (held !== undefined) throw leaseHeld(sessionId, held);
    this.#refused.delete(sessionId);
  }

  /** Remembers how asking ended. */
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
