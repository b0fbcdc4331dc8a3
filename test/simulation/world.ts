import type { AppendOptions, InboxReceipt, InboxState } from '../../src/exports/store.ts';
import { RepriseError } from '../../src/index.ts';
import type { TurnPlan } from '../../src/store/port/turns.ts';
import { Changes } from './changes.ts';
import type { Evidence } from './judge.ts';
import type { HeldLease, Life } from './life.ts';
import type { Owner, Scheduler } from './scheduler.ts';

/** Everything the parts of one simulation share, and what they saw. */
export class World {
  readonly scheduler: Scheduler;
  readonly changes: Changes;
  readonly evidence: Evidence = { messages: [], requests: [], toolRuns: [], ends: [], findings: [] };
  /** Calls of the store that were done. */
  operations = 0;
  /** Those that were refused because their runner's time was over. */
  fenced = 0;
  readonly #calls: Map<string, Set<{ readonly life: Life; readonly lease: HeldLease | undefined }>> =
    new Map();
  readonly #names: Map<string, string> = new Map();
  readonly #acceptedAt: Map<string, string> = new Map();
  readonly #sessionOf: Map<string, string> = new Map();

  constructor(scheduler: Scheduler) {
    this.scheduler = scheduler;
    this.changes = new Changes(scheduler);
  }

  /** Most calls of a store are quick, some wait for a disk or a lock. */
  latency(): number {
    const { random } = this.scheduler;
    return random.chance(0.02) ? random.skewed(20, 2000) : random.integer(0, 8);
  }

  /** For a runner: never ends when it dies, ends early with ABORTED when the signal says so. */
  sleep(ms: number, owner: Owner, signal?: AbortSignal): Promise<void> {
    return new Promise((resolve, reject) => {
      if (signal?.aborted === true) return reject(stopped());
      const onAbort = (): void => {
        event.isOff = true;
        reject(stopped());
      };
      const event = this.scheduler.in(ms, owner, () => {
        signal?.removeEventListener('abort', onAbort);
        resolve();
      });
      signal?.addEventListener('abort', onAbort, { once: true });
    });
  }

  /** Ids are random; in a trace they are numbered as they appear. */
  name(kind: string, id: string): string {
    let name = this.#names.get(id);
    if (name === undefined) {
      name = `${kind}${this.#names.size}`;
      this.#names.set(id, name);
    }
    return name;
  }

  describe(value: unknown): string {
    if (typeof value !== 'object' || value === null) return value === null ? ' nothing' : '';
    const { inboxId, sessionId, state, epoch, lastSeq, length } = value as Record<string, unknown>;
    let said = '';
    if (typeof sessionId === 'string') said += ` ${this.name('s', sessionId)}`;
    if (typeof inboxId === 'string') said += ` ${this.name('i', inboxId)}`;
    for (const more of [state, epoch, lastSeq, length]) if (more !== undefined) said += ` ${String(more)}`;
    return said;
  }

  /** A store has its own clock; ages of messages are given in the time of the simulation. */
  dated<T>(value: T): T {
    if (Array.isArray(value)) return value.map((item) => this.dated(item)) as T;
    if (typeof value !== 'object' || value === null || !('createdAt' in value)) return value;
    const createdAt = this.#acceptedAt.get((value as { inboxId?: string }).inboxId ?? '');
    return createdAt === undefined ? value : { ...value, createdAt };
  }

  /** Notifies watchers of the inbox, as a store does after a commit. */
  saw(label: string, args: readonly unknown[], value: unknown): void {
    if (label === 'inbox.receive') {
      const { inboxId, sessionId, dropped } = value as InboxReceipt;
      this.#sessionOf.set(inboxId, sessionId);
      if (!this.#acceptedAt.has(inboxId)) this.#acceptedAt.set(inboxId, this.scheduler.date.toISOString());
      this.changes.tell({ sessionId, inboxId, state: 'accepted' });
      for (const id of dropped) this.changes.tell({ sessionId, inboxId: id, state: 'dropped' });
    } else if (label === 'inbox.settle') {
      const [inboxId, state] = args as [string, InboxState];
      const sessionId = this.#sessionOf.get(inboxId);
      if (sessionId !== undefined) this.changes.tell({ sessionId, inboxId, state });
    } else if (label === 'begin') {
      const [sessionId, { lead, inputs }] = args as [string, TurnPlan];
      if ('openRows' in (value as object)) return;
      for (const { inboxId } of inputs)
        if (inboxId !== lead) this.changes.tell({ sessionId, inboxId, state: 'merged' });
    } else if (label === 'append' || label === 'end') {
      const { settle = [] } = (args[2] ?? {}) as AppendOptions;
      for (const { inboxId, state } of settle)
        this.changes.tell({ sessionId: String(args[0]), inboxId, state });
    }
  }

  /** A caller of a model or a tool holds the session, or held it until another runner took it over. */
  mustHold(life: Life, sessionId: string): HeldLease | undefined {
    const held = life.granted.get(sessionId);
    if (held === undefined) this.evidence.findings.push(`${life.name} works in a session it does not hold`);
    return held;
  }

  /** No two turns of a session overlap, but that of one who does not know yet that his is over. */
  beginCall(life: Life, sessionId: string): () => void {
    const call = { life, lease: this.mustHold(life, sessionId) };
    const open = this.#calls.get(sessionId) ?? new Set();
    this.#calls.set(sessionId, open);
    for (const other of open) {
      if (other.life !== life && (other.life.state === 'dead' || other.lease?.isOver === true)) continue;
      if (other.life !== life && call.lease?.isOver === true) continue;
      this.evidence.findings.push(`${life.name} and ${other.life.name} ask for the same session at once`);
    }
    open.add(call);
    return () => open.delete(call);
  }
}

function stopped(): RepriseError {
  return new RepriseError('ABORTED', 'stopped');
}
