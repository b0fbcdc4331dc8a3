import crypto from 'node:crypto';
import { syncBuiltinESMExports } from 'node:module';
import type { SendAgainOptions } from '../../src/exports/engine.ts';
import type { StoreKind } from '../../src/exports/store.ts';
import {
  type InboundMessage,
  type Model,
  type OpenRepriseOptions,
  openReprise,
  openStore,
  type Received,
  type Reprise,
  type SendOptions,
  type Session,
  type SessionEvent,
  type Store,
  type TurnEvent,
  type TurnStream,
  type UserInput,
} from '../../src/index.ts';
import { createScriptedModel, type ScriptedModel, type ScriptedStep } from '../../testing/index.ts';
import { HandClock } from '../support/engine/hand-clock.ts';

/** All that a scenario needs to open the same kind of store again. */
export interface Place {
  readonly kind: StoreKind;
  readonly home?: string;
  readonly url?: string;
}

export type EngineOptions = Omit<OpenRepriseOptions, 'store' | 'model' | 'clock'>;

export interface WorldOptions extends EngineOptions {
  readonly contextWindow?: number;
  /** The model reports these failures before each answer, as a model does that retries by itself. */
  readonly providerFailures?: readonly string[];
  /** After this piece of text the model stays silent. */
  readonly pauseAfterText?: string;
}

/** A message whose stream a scenario follows to its end. */
export interface Sent {
  readonly inboxId: string;
  readonly events: readonly TurnEvent[];
  /** Resolves when the stream has reported that the message waits behind others. */
  readonly queued: Promise<void>;
  /** Resolves when the stream has ended, whether or not the turn ended well. */
  readonly over: Promise<void>;
}

const MAIN = 'agent:main:main';
const START = '2026-01-02T03:04:05.000Z';

/**
 * One engine on one store with a scripted model and a clock that only the scenario moves. It records what a user of
 * the library can see: events, streams, requests and sessions.
 */
export class World {
  readonly clock: HandClock = new HandClock();
  readonly model: ScriptedModel;
  readonly tapped: SessionEvent[] = [];
  readonly streams: Sent[] = [];
  /** Ids of sessions and messages in the order in which the scenario met them. */
  readonly sessionIds: string[] = [];
  readonly inboxIds: string[] = [];
  readonly #place: Place;
  readonly #engineModel: Model;
  readonly #waiters: Set<() => void> = new Set();
  #options: EngineOptions;
  #base: Store | undefined;
  #mortal: Mortal | undefined;
  #reprise: Reprise | undefined;

  constructor(
    place: Place,
    { contextWindow = 200_000, providerFailures = [], pauseAfterText, ...options }: WorldOptions = {},
  ) {
    this.#place = place;
    this.#options = options;
    this.model = createScriptedModel([], { contextWindow });
    this.#engineModel = unsteady(this.model, providerFailures, pauseAfterText);
  }

  get reprise(): Reprise {
    if (this.#reprise === undefined) throw new Error('the engine is not open');
    return this.#reprise;
  }

  async open(options: EngineOptions = this.#options): Promise<void> {
    this.#options = options;
    // A store in memory outlives the engine that was dropped; the others are read from their files again.
    const durability = this.#place.kind === 'postgres' ? {} : { durability: 'os' as const };
    this.#base ??= await openStore({ ...this.#place, ...durability, now: START });
    this.#mortal = new Mortal(this.#base);
    this.#reprise = await openReprise({
      compaction: { background: false },
      ...options,
      session: { ...options.session, queue: { debounceMs: 0, ...options.session?.queue } },
      store: this.#mortal.store,
      model: this.#engineModel,
      clock: this.clock,
    });
    this.#reprise.tap((event) => {
      this.tapped.push(event);
      for (const wake of this.#waiters) wake();
    });
  }

  /** Drops the engine as a killed process does: what it does from now on reaches no store, and it closes nothing. */
  async crash(): Promise<void> {
    await this.#mortal?.die();
    this.#reprise = undefined;
    if (this.#place.kind === 'memory') return;
    await this.#base?.[Symbol.asyncDispose]();
    this.#base = undefined;
  }

  async close(): Promise<void> {
    if (this.#reprise !== undefined) await this.#reprise[Symbol.asyncDispose]();
    else await this.#base?.[Symbol.asyncDispose]();
    this.#reprise = undefined;
    this.#base = undefined;
  }

  async session(key: string = MAIN): Promise<Session> {
    return this.meet(await this.reprise.session(key));
  }

  meet<T extends { readonly id: string }>(session: T): T {
    if (!this.sessionIds.includes(session.id)) this.sessionIds.push(session.id);
    return session;
  }

  /** Sends a message and resolves when it is accepted. */
  async send(session: Session, input: string | UserInput, options: SendOptions = {}): Promise<Sent> {
    return this.#follow(session.send(input, options));
  }

  async sendAgain(session: Session, options: SendAgainOptions = {}): Promise<Sent> {
    return this.#follow(session.sendAgain(options));
  }

  async resume(session: Session, inboxId: string): Promise<Sent> {
    return this.#follow(session.resume(inboxId));
  }

  /** Sends a message and waits for the end of its turn. */
  async say(session: Session, input: string | UserInput, options: SendOptions = {}): Promise<Sent> {
    const sent = await this.send(session, input, options);
    await sent.over;
    return sent;
  }

  async receive(message: InboundMessage): Promise<Received> {
    const received = await this.reprise.receive(message);
    this.inboxIds.push(received.inboxId);
    this.meet({ id: received.sessionId });
    return received;
  }

  /**
   * Waits for the end of a message that no turn answers, which its stream finds by looking at the inbox from time to
   * time: the clock has to move for that.
   */
  async overByClock({ over }: Sent): Promise<void> {
    let isOver = false;
    const ended = over.finally(() => {
      isOver = true;
    });
    await this.reprise.idle();
    while (!isOver) {
      this.clock.advance(1000);
      await new Promise((resolve) => setImmediate(resolve));
    }
    await ended;
  }

  /** Resolves when an event has been emitted that matches, also one of the past. */
  async event(matches: (event: TurnEvent) => boolean): Promise<void> {
    const { promise, resolve } = Promise.withResolvers<void>();
    const look = (): void => {
      if (this.tapped.some(({ event }) => matches(event))) resolve();
    };
    this.#waiters.add(look);
    look();
    await promise;
    this.#waiters.delete(look);
  }

  async #follow(stream: TurnStream): Promise<Sent> {
    stream.result.catch(() => undefined); // The events say how it ended.
    const { inboxId } = await stream.accepted;
    this.inboxIds.push(inboxId);
    const events: TurnEvent[] = [];
    const queued = Promise.withResolvers<void>();
    const over = (async () => {
      for await (const event of stream) {
        events.push(event);
        if (event.type === 'queued') queued.resolve();
      }
    })();
    over.catch(() => undefined); // Not waited for after a crash.
    const sent = { inboxId, events, queued: queued.promise, over };
    this.streams.push(sent);
    return sent;
  }
}

/**
 * Makes the random ids of this thread predictable, and answers with how to make them random again. Where the model sees
 * an id, its characters decide how many tokens the engine counts.
 */
export function fixIds(): () => void {
  const { randomUUID } = crypto;
  let count = 0;
  crypto.randomUUID = () => `10000000-0000-4000-8000-${String(++count).padStart(12, '0')}`;
  syncBuiltinESMExports();
  return () => {
    crypto.randomUUID = randomUUID;
    syncBuiltinESMExports();
  };
}

/** A step of the script that waits until the scenario lets it answer. */
export function held(answer: ScriptedStep): { step: ScriptedStep; started: Promise<void>; release(): void } {
  const started = Promise.withResolvers<void>();
  const released = Promise.withResolvers<void>();
  const step: ScriptedStep = async () => {
    started.resolve();
    await released.promise;
    return answer;
  };
  return { step, started: started.promise, release: released.resolve };
}

/** A model that retries by itself before it answers, and may fall silent in the middle of an answer. */
function unsteady(
  model: ScriptedModel,
  failures: readonly string[],
  pauseAfterText: string | undefined,
): Model {
  return {
    ...model,
    async *stream(request, options) {
      for (const [i, reason] of failures.entries())
        yield { type: 'retry', attempt: i + 1, delayMs: 1000, code: 'MODEL_RATE_LIMITED', reason };
      for await (const event of model.stream(request, options)) {
        yield event;
        if (event.type === 'text_delta' && event.text === pauseAfterText) await new Promise(() => undefined);
      }
    },
  };
}

interface HeldLease {
  release(options: { readonly handOver: boolean }): Promise<unknown>;
}

/** A store that can stop answering, as the store of a killed process does. Its leases become free. */
class Mortal {
  readonly store: Store;
  readonly #leases: Set<HeldLease> = new Set();
  #isDead = false;

  constructor(store: Store) {
    this.store = this.#wrap(store);
  }

  async die(): Promise<void> {
    this.#isDead = true;
    for (const lease of this.#leases) await lease.release({ handOver: true });
  }

  #wrap<T extends object>(target: T): T {
    return new Proxy(target, {
      get: (_, name) => {
        const value: unknown = Reflect.get(target, name, target);
        if (isMethod(value)) return (...args: unknown[]) => this.#call(target, value, args);
        return hasMethods(value) ? this.#wrap(value) : value;
      },
    });
  }

  #call(target: object, method: (...args: unknown[]) => unknown, args: unknown[]): unknown {
    if (this.#isDead) return new Promise(() => undefined);
    const result: unknown = method.apply(target, args);
    if (!(result instanceof Promise)) return result;
    return result.then((value: unknown) => {
      if (this.#isDead) return new Promise(() => undefined);
      const granted = isObject(value) && 'lease' in value ? value.lease : value;
      if (isLease(granted)) this.#leases.add(granted);
      return value;
    });
  }
}

function isMethod(value: unknown): value is (...args: unknown[]) => unknown {
  return typeof value === 'function';
}

/** The parts of a store, such as its inbox, are objects of a class. */
function hasMethods(value: unknown): value is object {
  if (typeof value !== 'object' || value === null || Array.isArray(value)) return false;
  const prototype: unknown = Object.getPrototypeOf(value);
  const isPlain = prototype === Object.prototype || prototype === null;
  return !isPlain || Object.values(value).some((each) => typeof each === 'function');
}

function isObject(value: unknown): value is object {
  return typeof value === 'object' && value !== null;
}

function isLease(value: unknown): value is HeldLease {
  return typeof value === 'object' && value !== null && 'epoch' in value && 'release' in value;
}
