import type { EndReceipt } from '../../rules/turn-rule.ts';
import { DEFAULT_LEASE_TTL_MS } from '../../shared/store-lease.ts';
import type { HeldLease } from '../threads/protocol.ts';
import type { LeaseRef } from './leases.ts';
import type { WriteOutcome, Writer } from './writer.ts';

/** Sends the heartbeats of this engine's leases and reports lost ones. */
export class LeaseKeeper {
  readonly #writer: Writer;
  readonly #onLost: (lease: LeaseRef) => void;
  readonly #leases: Map<string, HeldLease & { due: number }> = new Map();

  /** After a thread death, leases are renewed at once, so a lost one is reported quickly. */
  constructor(writer: Writer, held: readonly HeldLease[], onLost: (lease: LeaseRef) => void) {
    this.#writer = writer;
    this.#onLost = onLost;
    for (const lease of held) this.#keep(lease, 0);
  }

  /** Tracks leases from the answers of the operations that grant or end one. */
  note(op: string, args: unknown, outcome: WriteOutcome): void {
    if (!outcome.ok) return;
    if (op === 'acquire' || op === 'begin') {
      const { id, lease, ...asked } = args as { id: string; ttlMs?: number; lease?: { ttlMs?: number } };
      const ttlMs = asked.ttlMs ?? lease?.ttlMs ?? DEFAULT_LEASE_TTL_MS;
      const { epoch } = outcome.value as { epoch?: number };
      if (epoch === undefined || this.#leases.has(name({ id, epoch }))) return;
      this.#keep({ id, epoch, ttlMs }, performance.now() + ttlMs / 3);
    } else if (op === 'release' && outcome.value === null) this.#leases.delete(name(args as LeaseRef));
    else if (op === 'end' && (outcome.value as EndReceipt).released)
      this.#leases.delete(name(args as LeaseRef));
  }

  beat(): void {
    const now = performance.now();
    for (const lease of this.#leases.values()) {
      if (now < lease.due) continue;
      lease.due = now + lease.ttlMs / 3;
      const { id, epoch } = lease;
      this.#writer.submit({
        op: 'beat',
        args: { id, epoch },
        done: (outcome) => {
          if (!outcome.ok || outcome.value === true) return;
          this.#leases.delete(name(lease));
          this.#onLost({ id, epoch });
        },
      });
    }
  }

  #keep(lease: HeldLease, due: number): void {
    this.#leases.set(name(lease), { ...lease, due });
  }
}

function name({ id, epoch }: LeaseRef): string {
  return `${id}:${epoch}`;
}
