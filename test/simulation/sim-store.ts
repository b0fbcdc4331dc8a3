import type { Inbox, Lease, LeaseOptions } from '../../src/exports/store.ts';
import type { Store } from '../../src/index.ts';
import type { Turns } from '../../src/store/port/turns.ts';
import type { HeldLease, Life, Operation } from './life.ts';
import type { World } from './world.ts';

const READS: ReadonlySet<string> = new Set(
  'get active list tail read blob leases search verify stats exportSession inbox.get inbox.pending inbox.known convlog.read convlog.list'.split(
    ' ',
  ),
);

/**
 * The store as one runner sees it. Every call waits until the scheduler lets it happen, alone, on the one real store;
 * what a runner asks for after its death is never done, and answers that come while it is paused reach it later.
 */
export function createSimStore(real: Store, life: Life, world: World): Store {
  const calls = (target: object, prefix: string, own: Readonly<Record<string, unknown>>): object =>
    new Proxy(target, {
      get(_, name) {
        if (typeof name === 'symbol') return own[name.description ?? ''];
        if (name in own) return own[name];
        const member: unknown = Reflect.get(target, name);
        if (typeof member !== 'function') return member;
        const label = `${prefix}${name}`;
        return (...args: unknown[]) =>
          ask(life, world, { label, args }, () => Reflect.apply(member, target, args) as Promise<unknown>);
      },
    });
  const inbox = calls(real.inbox, 'inbox.', {
    watch: ({ signal }: { readonly signal: AbortSignal }) => world.changes.listen(life, signal),
  }) as Inbox;
  return calls(real, '', {
    inbox,
    convlog: calls(real.convlog, 'convlog.', {}),
    turns: turns(real, life, world),
    lease: (id: string, options?: LeaseOptions) => lease(real, life, world, { id, options }),
    publish: async () => undefined,
    'Symbol.asyncDispose': async () => undefined,
  }) as Store;
}

interface Question {
  readonly label: string;
  readonly args?: readonly unknown[];
}

function ask<T>(
  life: Life,
  world: World,
  { label, args = [] }: Question,
  work: () => Promise<T>,
): Promise<T> {
  const { scheduler } = world;
  const { promise, resolve, reject } = Promise.withResolvers<T>();
  if (life.state === 'dead') return promise;
  let deliver: () => void = () => undefined;
  const operation: Operation = {
    isWrite: !READS.has(label),
    performed: false,
    async perform() {
      world.operations++;
      try {
        const value = world.dated(await work());
        world.saw(label, args, value);
        scheduler.note(`${life.name} ${label}${world.describe(value)}`);
        deliver = () => resolve(value);
      } catch (error) {
        const { code = String(error) } = error as { readonly code?: string };
        if (code === 'FENCED') world.fenced++;
        scheduler.note(`${life.name} ${label} ${code}`);
        deliver = () => reject(error);
      }
    },
    deliver: () => deliver(),
  };
  life.operations.add(operation);
  const latency = world.latency();
  let time = scheduler.now + latency;
  if (operation.isWrite) {
    time = Math.max(time, life.lastWriteAt);
    life.lastWriteAt = time;
  }
  scheduler.in(time - scheduler.now, life, async () => {
    if (!operation.performed) {
      operation.performed = true;
      await operation.perform();
    }
    life.operations.delete(operation);
    operation.deliver();
  });
  return promise;
}

async function lease(
  real: Store,
  life: Life,
  world: World,
  { id, options }: { readonly id: string; readonly options: LeaseOptions | undefined },
): Promise<Lease> {
  const deadline = world.scheduler.now + (options?.waitMs ?? 10_000);
  for (;;) {
    try {
      const held = await ask(life, world, { label: 'lease' }, async () => {
        // Waiting is ours to do, in virtual time.
        const granted = await real.lease(id, { ...options, waitMs: 0 });
        return holdLease(granted, life);
      });
      return leaseOf(held, life, world);
    } catch (error) {
      const isHeld = (error as { code?: string }).code === 'LEASE_HELD';
      if (!isHeld || world.scheduler.now >= deadline) throw error;
      await world.sleep(50, life);
    }
  }
}

function holdLease(real: Lease, life: Life): HeldLease {
  const { sessionId, epoch } = real;
  const held = { sessionId, epoch, real, controller: new AbortController(), isOver: false };
  life.leases.add(held);
  life.granted.set(sessionId, held);
  return held;
}

function dropLease(held: HeldLease, life: Life): void {
  held.isOver = true;
  life.leases.delete(held);
  if (life.granted.get(held.sessionId) === held) life.granted.delete(held.sessionId);
}

/** A turn that begins may be granted a lease, and one that ends may release it. */
function turns(real: Store, life: Life, world: World): Turns {
  return {
    begin: async (id, plan) => {
      const begun = await ask(life, world, { label: 'begin', args: [id, plan] }, async () => {
        const answer = await real.turns.begin(id, plan);
        if ('openRows' in answer || answer.lease === undefined) return answer;
        return { ...answer, held: holdLease(answer.lease, life) };
      });
      if (!('held' in begun)) return begun;
      const { held, ...turn } = begun;
      return { ...turn, lease: leaseOf(held, life, world) };
    },
    end: (turn, entries, options) =>
      ask(
        life,
        world,
        { label: 'end', args: [turn.sessionId, entries, { ...options, epoch: turn.epoch }] },
        async () => {
          const answer = await real.turns.end(turn, entries, options);
          const held = life.granted.get(turn.sessionId);
          if (answer.released && held?.epoch === turn.epoch) dropLease(held, life);
          return answer;
        },
      ),
  };
}

function leaseOf(held: HeldLease, life: Life, world: World): Lease {
  const release: Lease['release'] = (options) =>
    ask(life, world, { label: 'release' }, async () => {
      const waiting = held.isOver ? null : await held.real.release(options);
      if (waiting !== null) return waiting;
      dropLease(held, life);
      return null;
    });
  return {
    sessionId: held.sessionId,
    epoch: held.epoch,
    signal: held.controller.signal,
    renew: () => ask(life, world, { label: 'renew' }, () => held.real.renew()),
    release,
    async [Symbol.asyncDispose]() {
      await release();
    },
  };
}
