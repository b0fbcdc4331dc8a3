import { RepriseError, type Store } from '../../src/index.ts';
import { accept } from './accept.ts';
import { SimFleet } from './fleet.ts';
import { judge, type Sent } from './judge.ts';
import { Scheduler } from './scheduler.ts';
import { makeConversations, Traffic } from './traffic.ts';
import { World } from './world.ts';

export interface SimulationOptions {
  readonly seed: number;
  /** Empty, and for this run alone. */
  readonly store: Store;
  readonly messages: number;
  readonly peers: number;
  /** What the runners see instead of the store: to show that a broken one is found out. */
  readonly disguise?: (store: Store) => Store;
}

export interface SimulationReport {
  readonly seed: number;
  readonly findings: readonly string[];
  /** Equal for equal seeds, whatever machine and store. */
  readonly traceHash: string;
  readonly trace: readonly string[];
  readonly operations: number;
  readonly fenced: number;
  readonly events: number;
  readonly virtualMs: number;
  readonly kills: number;
  readonly pauses: number;
  readonly states: Readonly<Record<string, number>>;
}

const RUNNERS = 3;
/** A channel that hears nothing delivers again. */
const REDELIVER_MS = 8000;
/** How long faults continue after the last message. */
const AFTERMATH_MS = 8000;
/** Longer than any lease, pause, queue and crash loop together: a message that is not done now is stuck. */
const REST_MS = 300_000;
const REFUSALS: ReadonlySet<string> = new Set(['QUEUE_FULL', 'SESSION_BUSY']);

/** One history of people, runners and accidents, made of a number. */
export async function runSimulation(options: SimulationOptions): Promise<SimulationReport> {
  const { seed, store, messages, peers, disguise = (same) => same } = options;
  const scheduler = new Scheduler(seed);
  const world = new World(scheduler);
  const fleet = new SimFleet(world, disguise(store), RUNNERS);
  const { random } = scheduler;
  const traffic = new Traffic(random, { conversations: makeConversations(random, peers), commands: true });
  const { evidence } = world;
  let isQuiet = false;

  const deliver = (sent: Sent): void => {
    const { delivery } = sent;
    const runner = fleet.pick();
    const isOver = (): boolean => sent.receipts.length > 0 || sent.refused !== undefined;
    scheduler.in(REDELIVER_MS, undefined, () => (isOver() ? undefined : deliver(sent)));
    if (runner === undefined) return;
    scheduler.note(`${runner.life.name} gets ${delivery.messageId} ${delivery.text}`);
    accept(runner.engine, delivery).then(
      (receipt) => void sent.receipts.push(receipt),
      (error: unknown) => {
        if (!(error instanceof RepriseError)) throw error;
        if (REFUSALS.has(error.code)) sent.refused = error.code;
        else if (error.outcome !== 'unknown')
          evidence.findings.push(`${delivery.text} was refused: ${error}`);
      },
    );
  };

  const speak = (): void => {
    const sent: Sent = { delivery: traffic.next(), receipts: [] };
    evidence.messages.push(sent);
    deliver(sent);
    if (random.chance(0.05)) scheduler.in(random.skewed(1, 20_000), undefined, () => deliver(sent));
    if (evidence.messages.length < messages) scheduler.in(random.skewed(1, 600), undefined, speak);
    else scheduler.in(AFTERMATH_MS, undefined, () => lookForRest(scheduler.now + REST_MS));
  };
  const strike = async (): Promise<void> => {
    if (isQuiet) return;
    await fleet.strike();
    scheduler.in(random.skewed(200, 8000), undefined, strike);
  };
  let isOver = false;
  const lookForRest = async (deadline: number): Promise<void> => {
    isQuiet = true;
    const open = await store.inbox.pending();
    const isHeard = evidence.messages.every(
      ({ receipts, refused }) => receipts.length > 0 || refused !== undefined,
    );
    const isAtRest = open.length === 0 && isHeard && fleet.isWhole;
    if (!isAtRest && scheduler.now > deadline) evidence.findings.push('does not come to rest');
    // A moment longer, so that a runner that runs something that has ended can be seen to do it.
    if (isAtRest || scheduler.now > deadline) scheduler.in(5000, undefined, () => (isOver = true));
    else scheduler.in(1000, undefined, () => lookForRest(deadline));
  };

  scheduler.in(1, undefined, speak);
  scheduler.in(random.skewed(200, 8000), undefined, strike);
  while (!isOver && (await scheduler.step()));

  const verdict = await judge(store, evidence);
  return {
    seed,
    ...verdict,
    traceHash: scheduler.traceHash,
    trace: scheduler.trace,
    operations: world.operations,
    fenced: world.fenced,
    events: scheduler.events,
    virtualMs: scheduler.now,
    kills: fleet.kills,
    pauses: fleet.pauses,
  };
}
