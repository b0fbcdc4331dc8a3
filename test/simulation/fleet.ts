import type { Clock, TimerHandle } from '../../src/engine/clock.ts';
import type { SessionOptions } from '../../src/engine/session-options.ts';
import { Reprise, type Store } from '../../src/index.ts';
import { Life } from './life.ts';
import type { Event } from './scheduler.ts';
import { createSimModel, createSimTools, type Stage } from './sim-model.ts';
import { createSimStore } from './sim-store.ts';
import { AGENTS } from './traffic.ts';
import type { World } from './world.ts';

/** Few enough for sessions to stand in line. */
const LANES = 4;

/** A runner process: a place in the fleet with an engine in it, most of the time. */
export interface Runner {
  readonly life: Life;
  readonly engine: Reprise;
}

/** Runner processes on one store, which are killed, paused and started again. */
export class SimFleet {
  readonly #world: World;
  readonly #store: Store;
  readonly #session: SessionOptions;
  readonly #slots: (Runner | undefined)[];
  #lives = 0;
  kills = 0;
  pauses = 0;

  constructor(world: World, store: Store, size: number) {
    this.#world = world;
    this.#store = store;
    const { random } = world.scheduler;
    this.#session = {
      queue: {
        cap: random.pick([3, 20, 20]),
        drop: random.pick(['old', 'new', 'summarize', 'summarize']),
        debounceMs: random.pick([0, 500, 500]),
      },
    };
    this.#slots = Array.from({ length: size }, (_, at) => this.#start(at));
  }

  /** One that would take a message now; a paused one does too, without ever knowing. */
  pick(): Runner | undefined {
    const there = this.#slots.flatMap((runner) => runner ?? []);
    const [first, ...others] = there;
    return first === undefined ? undefined : this.#world.scheduler.random.pick([first, ...others]);
  }

  get isWhole(): boolean {
    return this.#slots.every((runner) => runner?.life.state === 'up');
  }

  /** A fault for one of them. A killed one starts again later, a paused one continues by itself. */
  async strike(): Promise<void> {
    const { random } = this.#world.scheduler;
    const at = random.integer(0, this.#slots.length - 1);
    const runner = this.#slots[at];
    if (runner === undefined || runner.life.state !== 'up') return;
    if (random.chance(0.4)) {
      this.pauses++;
      await runner.life.pause(random.skewed(100, 40_000));
      return;
    }
    this.kills++;
    this.#slots[at] = undefined;
    await runner.life.kill();
    this.#world.scheduler.in(random.skewed(10, 20_000), undefined, () => {
      this.#slots[at] = this.#start(at);
    });
  }

  #start(at: number): Runner {
    const world = this.#world;
    const life = new Life(`r${at}.${this.#lives++}`, world.scheduler);
    world.scheduler.note(`${life.name} starts`);
    const stage = createStage(life, world);
    const engine = new Reprise({
      store: createSimStore(this.#store, life, world),
      model: createSimModel(stage),
      tools: createSimTools(stage),
      agents: AGENTS,
      compaction: { background: false },
      // Senders of the simulated channels change queue modes.
      session: { ...this.#session, senderCommands: ['queue'] },
      clock: createClock(life, world),
      lanes: { turns: LANES },
    });
    void listen(engine, world);
    return { life, engine };
  }
}

/** Waits in virtual time, and sees to it that only a holder of a session works in it, on one thing at a time. */
function createStage(life: Life, world: World): Stage {
  const { scheduler, evidence } = world;
  return {
    random: scheduler.random,
    patience: 1500,
    sleep: (ms, signal) => world.sleep(ms, life, signal),
    onRequest(request) {
      const { sessionId, unanswered, round } = request;
      scheduler.note(
        `${life.name} asks ${world.name('s', sessionId)} ${unanswered.join(' ')} round ${round}`,
      );
      evidence.requests.push(request);
      return world.beginCall(life, sessionId);
    },
    onTool(run) {
      scheduler.note(`${life.name} runs ${run.id}`);
      world.mustHold(life, run.sessionId);
      evidence.toolRuns.push(run);
    },
  };
}

function createClock(life: Life, { scheduler }: World): Clock {
  return {
    now: () => scheduler.date,
    setTimeout: (run, ms) => scheduler.in(ms, life, run) as TimerHandle,
    clearTimeout(timer) {
      (timer as Event).isOff = true;
    },
  };
}

async function listen(engine: Reprise, { evidence }: World): Promise<void> {
  for await (const { inboxId, event } of engine.events()) {
    if (inboxId === undefined || (event.type !== 'done' && event.type !== 'error')) continue;
    evidence.ends.push({ inboxId, type: event.type });
  }
}
