import type { Lease } from '../../src/exports/store.ts';
import type { Event, Owner, Scheduler } from './scheduler.ts';

/** A question to the store that is under way. */
export interface Operation {
  readonly isWrite: boolean;
  /** Done alone on the real store; its answer is kept for the caller. */
  readonly perform: () => Promise<void>;
  readonly deliver: () => void;
  performed: boolean;
}

/** A lease as its runner has it. The real one stays behind, to be handed over when the runner is gone. */
export interface HeldLease {
  readonly sessionId: string;
  readonly epoch: number;
  readonly real: Lease;
  readonly controller: AbortController;
  /** Released, or handed over to others. */
  isOver: boolean;
}

/** How long others wait for a runner that says nothing, as in a real store; one that is seen to be dead they need not wait for. */
const TTL_MS = 4000;

/**
 * One life of a simulated runner process, from its start to its kill. What it asks for when it is killed may or may
 * not have been done; what it holds is held until others notice.
 */
export class Life implements Owner {
  readonly name: string;
  readonly operations: Set<Operation> = new Set();
  readonly leases: Set<HeldLease> = new Set();
  /** What this process was given and has not given back, whether or not it still has it. */
  readonly granted: Map<string, HeldLease> = new Map();
  /** Virtual time before which no further write of this process may be done: they are done in order. */
  lastWriteAt = 0;
  state: Owner['state'] = 'up';
  readonly #scheduler: Scheduler;
  #parked: Event[] = [];

  constructor(name: string, scheduler: Scheduler) {
    this.name = name;
    this.#scheduler = scheduler;
  }

  park(event: Event): void {
    this.#parked.push(event);
  }

  async kill(): Promise<void> {
    const done = await this.#performSome();
    this.state = 'dead';
    this.#scheduler.note(`${this.name} is killed, ${done} of ${this.operations.size} operations were done`);
    this.#parked = [];
    const { random } = this.#scheduler;
    // On the same machine its death is seen at once, on another it is known by its silence.
    const noticed = random.chance(0.5) ? random.integer(0, 50) : TTL_MS;
    this.#scheduler.in(noticed, undefined, () => this.#handOver());
  }

  /** Stands still. Comes back by itself, often so late that its sessions have gone to others. */
  async pause(ms: number): Promise<void> {
    const done = await this.#performSome();
    this.state = 'paused';
    this.#scheduler.note(`${this.name} is paused, ${done} of ${this.operations.size} operations were done`);
    if (ms > TTL_MS) {
      this.#scheduler.in(TTL_MS, undefined, async () => {
        if (this.state === 'paused') await this.#handOver();
      });
    }
    this.#scheduler.in(ms, undefined, () => this.#resume());
  }

  #resume(): void {
    if (this.state !== 'paused') return;
    this.state = 'up';
    this.#scheduler.note(`${this.name} goes on`);
    const { random } = this.#scheduler;
    // In the order they were to happen; the clock has jumped over all of them.
    for (const event of this.#parked) this.#scheduler.again(event);
    this.#parked = [];
    for (const lease of this.leases) {
      if (!lease.isOver) continue;
      // The next heartbeat reports it; until then the runner may try anything.
      this.#scheduler.in(random.skewed(1, TTL_MS / 3), this, () => {
        this.#scheduler.note(`${this.name} hears that it lost ${lease.epoch}`);
        lease.controller.abort();
      });
      this.leases.delete(lease);
    }
  }

  /** Of its writes a first part has been done, of its reads any; none was answered. */
  async #performSome(): Promise<number> {
    const { random } = this.#scheduler;
    const open = [...this.operations].filter(({ performed }) => !performed);
    const writes = open.filter(({ isWrite }) => isWrite);
    const done = writes.slice(0, random.integer(0, writes.length));
    for (const operation of done) {
      operation.performed = true;
      await operation.perform();
    }
    return done.length;
  }

  async #handOver(): Promise<void> {
    for (const lease of this.leases) {
      if (lease.isOver) continue;
      lease.isOver = true;
      await lease.real.release({ handOver: true });
      this.#scheduler.note(`${this.name} loses ${lease.epoch}`);
    }
  }
}
