import { setTimeout as sleep } from 'node:timers/promises';
import type { OpenStoreOptions } from '../../../src/config/open.ts';
import { openStore } from '../../../src/config/open.ts';
import type { Store } from '../../../src/store/port/store.ts';
import {
  type Answer,
  type DriverExit,
  type DriverOptions,
  type DriverProcess,
  startDriver,
} from '../../../testing/crash/driver-process.ts';
import { createRandom, type Random } from '../../../testing/crash/random.ts';
import {
  type Evidence,
  judge,
  type Receipt,
  type SeenRequest,
  type Sent,
  type ToolRun,
} from '../../simulation/judge.ts';
import { makeConversations, Traffic } from '../../simulation/traffic.ts';
import { notes } from '../engine/turn-judge.ts';
import { bundledProgram } from './bundled-program.ts';

const script = bundledProgram('conversation-driver');
const REST_MS = 60_000;

/** The store of a run, and a folder for what its processes write down. */
export type ConversationPlace = Pick<DriverOptions, 'store' | 'home' | 'url'>;

export interface ConversationRun {
  readonly seed: number;
  readonly messages: number;
  readonly kills: number;
  readonly conversations: number;
}

export interface ConversationVerdict {
  readonly findings: readonly string[];
  readonly kills: number;
}

/** Engines in processes of their own on one store. One that is killed is replaced by one that waits already. */
export class ConversationFleet implements AsyncDisposable {
  readonly #fleet: DriverProcess[];
  readonly #env: Readonly<Record<string, string>>;
  #spare: Promise<DriverProcess>;
  #place: ConversationPlace | undefined;

  private constructor(
    fleet: DriverProcess[],
    spare: Promise<DriverProcess>,
    env: Readonly<Record<string, string>>,
  ) {
    this.#fleet = fleet;
    this.#spare = spare;
    this.#env = env;
  }

  /** With a folder for compiled code: what one process has compiled, those that take the place of dead ones need not. */
  static async start(
    size: number,
    { compiled }: { readonly compiled?: string } = {},
  ): Promise<ConversationFleet> {
    const env: Record<string, string> = compiled === undefined ? {} : { NODE_COMPILE_CACHE: compiled };
    const start = (): Promise<DriverProcess> => startIdle(env);
    // It is written by a process that ends in good order.
    if (compiled !== undefined) await (await start()).stop();
    const fleet = await Promise.all(Array.from({ length: size }, start));
    return new ConversationFleet(fleet, start(), env);
  }

  /** People talk on this place while processes die; then all is judged. The same seed asks for the same. */
  async run(place: ConversationPlace, run: ConversationRun): Promise<ConversationVerdict> {
    const { seed, messages: count, kills: wanted, conversations } = run;
    this.#place = place;
    await Promise.all(this.#fleet.map((driver) => must(driver, { op: 'open', ...place })));
    const random = createRandom(seed);
    const traffic = new Traffic(random, {
      conversations: makeConversations(random, conversations),
      commands: false,
    });
    const messages: Sent[] = Array.from({ length: count }, () => ({
      delivery: traffic.next(),
      receipts: [],
    }));
    const isDue = new Set(Array.from({ length: wanted }, () => random.integer(1, count - 1)));
    const waiting: Promise<void>[] = [];
    let kills = 0;
    for (const [i, sent] of messages.entries()) {
      waiting.push(this.#deliver(sent, random));
      if (random.chance(0.1)) waiting.push(this.#deliver(sent, random));
      await sleep(random.skewed(1, 60)); // people do not all speak at once
      if (!isDue.has(i)) continue;
      await this.#kill(random.integer(0, this.#fleet.length - 1));
      kills++;
    }
    await Promise.all(waiting);
    await this.#rest();
    await Promise.all(this.#fleet.map((driver) => must(driver, { op: 'close' })));
    await using store = await openStore(storeOf(place));
    const { findings } = await judge(store, evidenceOf(place.home, messages));
    return { findings: [...findings, ...(await judgeFailures(store, messages))], kills };
  }

  /** How all of them ended. */
  async stop(): Promise<DriverExit[]> {
    return Promise.all([...this.#fleet, await this.#spare].map((driver) => driver.stop()));
  }

  async [Symbol.asyncDispose](): Promise<void> {
    for (const driver of this.#fleet) await driver[Symbol.asyncDispose]();
    await this.#spare.then(
      (driver) => driver[Symbol.asyncDispose](),
      () => undefined, // never started
    );
  }

  async #kill(at: number): Promise<void> {
    this.#fleet[at]?.kill();
    await this.#fleet[at]?.exited;
    const next = await this.#spare;
    this.#spare = startIdle(this.#env);
    await must(next, { op: 'open', ...this.#place });
    this.#fleet[at] = next;
  }

  /** Until a process reports that it has it. One that dies with it in hand has reported nothing. */
  async #deliver(sent: Sent, random: Random): Promise<void> {
    for (;;) {
      const driver = this.#fleet[random.integer(0, this.#fleet.length - 1)];
      const answer = await driver?.send({ op: 'receive', delivery: sent.delivery });
      if (answer?.ok === true) {
        sent.receipts.push(answer as Answer & Receipt);
        return;
      }
      if (answer?.code === 'QUEUE_FULL') {
        sent.refused = answer.code;
        return;
      }
      if (answer?.outcome !== 'unknown') throw new Error(`refused: ${JSON.stringify(answer)}`);
      await sleep(20); // until there is another process to ask
    }
  }

  async #rest(): Promise<void> {
    const deadline = performance.now() + REST_MS;
    for (;;) {
      const answer = await this.#fleet[0]?.send({ op: 'pending' });
      if (answer?.['open'] === 0) return;
      if (performance.now() > deadline) throw new Error(`${String(answer?.['open'])} messages have no end`);
      await sleep(50);
    }
  }
}

function startIdle(env: Readonly<Record<string, string>>): Promise<DriverProcess> {
  return startDriver({ store: 'none', home: '', script, env });
}

function storeOf({ store, home, url }: ConversationPlace): OpenStoreOptions {
  const kind = store as NonNullable<OpenStoreOptions['kind']>;
  return url === undefined ? { kind, home, durability: 'os' } : { kind, url };
}

async function must(driver: DriverProcess, command: { readonly op: string }): Promise<void> {
  const answer = await driver.send(command);
  if (!answer.ok) throw new Error(`${command.op}: ${JSON.stringify(answer)}`);
}

/** The model fails sometimes, and nothing else may: a process that ran a session was alone with it. */
async function judgeFailures(store: Store, messages: readonly Sent[]): Promise<string[]> {
  const wrong: string[] = [];
  for (const { delivery, receipts } of messages) {
    if (receipts[0] === undefined) continue;
    const { state, detail } = await store.inbox.get(receipts[0].inboxId);
    if (state === 'failed' && detail?.['code'] !== 'MODEL_FAILED')
      wrong.push(`${delivery.name} failed: ${JSON.stringify(detail)}`);
  }
  return wrong;
}

/** What the processes wrote down. Each model call of a process that lived on ended before another one began. */
function evidenceOf(home: string, messages: Sent[]): Evidence {
  const lines = notes<{ pid: number; call: number; request?: SeenRequest; over?: true }>(home, 'requests');
  const open = new Map<string, string>();
  const sessionOf = new Map<string, string>();
  const over = new Set(lines.filter((line) => line.over).map(({ pid, call }) => `${pid}:${call}`));
  const findings: string[] = [];
  for (const { pid, call, request } of lines) {
    const name = `${pid}:${call}`;
    if (request === undefined) {
      if (open.get(sessionOf.get(name) ?? '') === name) open.delete(sessionOf.get(name) ?? '');
      continue;
    }
    const { sessionId } = request;
    const other = open.get(sessionId);
    if (other !== undefined && over.has(other))
      findings.push(`${name} and ${other} ask for ${sessionId} at once`);
    open.set(sessionId, name);
    sessionOf.set(name, sessionId);
  }
  return {
    messages,
    requests: lines.flatMap(({ request }) => request ?? []),
    toolRuns: notes<ToolRun>(home, 'tools'),
    ends: notes(home, 'ends'),
    findings,
  };
}
