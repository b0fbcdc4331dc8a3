import { contextBudget } from '../../context/budget.ts';
import { RepriseError } from '../../errors.ts';
import type { Lease, SessionRecord } from '../../store/port/store.ts';
import { triggerTokens } from '../agents/profiles.ts';
import type { EngineContext } from '../engine-context.ts';
import type { GuardEvent } from '../events.ts';
import type { SessionFrame, SessionRunner } from '../schedule/session-runner.ts';
import { viewContext } from '../turn/turn-context.ts';
import { commitCompaction, type PreparedCompaction, prepareCompaction } from './compactor.ts';
import { compactionLimits } from './guard.ts';
import { standingOf } from './standing.ts';

/**
 * The size after a turn and the size measured here differ by less than this factor: one is estimated, the other
 * reported.
 */
const WORTH_A_LOOK = 0.7;

/** What the requests of a turn were made from. */
export interface TurnBasis {
  readonly record: SessionRecord;
  readonly frame: SessionFrame;
}

/**
 * Summarizes a fixed snapshot while the conversation continues. The result is appended between two model calls, or at
 * once when no turn runs. Messages that arrived meanwhile stay, because only the covered part is replaced.
 */
export class BackgroundCompaction {
  readonly #context: EngineContext;
  readonly #runner: SessionRunner;
  #work: Promise<void> | undefined;
  #ready: PreparedCompaction | undefined;

  constructor(context: EngineContext, runner: SessionRunner) {
    this.#context = context;
    this.#runner = runner;
  }

  get isBusy(): boolean {
    return this.#work !== undefined;
  }

  /**
   * Call it after a turn that left about this many tokens: starts when the context is nearly full and no other
   * summary is being prepared.
   */
  consider(tokens: number, basis?: TurnBasis): void {
    const { backgroundAt } = this.#context.options;
    if (backgroundAt === undefined || this.#work !== undefined || this.#ready !== undefined) return;
    this.#work = this.#prepare(backgroundAt, tokens, basis)
      .catch((error: unknown) => {
        // Ignored: no caller waits for it and nothing depends on it. The guard compacts when it must.
        if (!(error instanceof RepriseError) && !this.#context.closing.signal.aborted) throw error;
      })
      .finally(() => {
        this.#work = undefined;
      });
  }

  /** Resolves when no summary is being prepared. */
  async idle(): Promise<void> {
    await this.#work;
  }

  /** Call it between two steps of a turn, or when no turn runs. */
  async commit(lease: Lease, emit: (event: GuardEvent) => void): Promise<void> {
    const ready = this.#ready;
    this.#ready = undefined;
    if (ready === undefined) return;
    const { store } = this.#context;
    const { sessionId } = this.#runner;
    const frame = await this.#runner.frame(await store.get(sessionId));
    const event = await commitCompaction({ store, sessionId, lease }, ready, frame);
    if (event !== undefined) emit(event);
  }

  async #prepare(at: number, tokens: number, basis: TurnBasis | undefined): Promise<void> {
    const { store, hub, options, closing } = this.#context;
    const { signal } = closing;
    const { sessionId, breaker, lane } = this.#runner;
    if (basis !== undefined && this.#isFar(at, tokens, basis)) return;
    const record = await store.get(sessionId);
    const frame = await this.#runner.frame(record);
    const window = this.#context.usableWindow(frame.model, record);
    const { budget } = contextBudget(window, frame.maxOutputTokens);
    const trigger = triggerTokens(frame.profile.trigger, window);
    if (this.#isFar(at, tokens, { record, frame })) return;
    const view = await viewContext(store, sessionId, frame);
    const isDue = view.counted > trigger;
    if (!isDue && view.tokens < budget * at) return;
    const summarise = breaker.summariser(frame.model, options.summaryTimeoutMs);
    // A digest needs no model and takes no time, so there is no reason to make one early.
    if (summarise === undefined) return;
    const limits = compactionLimits(view, window, frame);
    // No caller waits for it, so it never takes a lane slot that a message waits for.
    using _slot = await options.lanes.enter('background', signal);
    const standing = await standingOf(store, sessionId);
    const asked = { reason: 'background', ...limits, summarise, standing, signal };
    const prepared = await prepareCompaction(view, asked, { store, sessionId });
    if (prepared === undefined) return;
    breaker.report(prepared.draft.method);
    if (prepared.draft.method === 'digest') return;
    this.#ready = prepared;
    if (lane.isBusy) return;
    await lane.run(async (lease) => this.commit(lease, (event) => hub.publish({ sessionId, event })), {
      waitMs: 0,
    });
  }
  /** Far from it, by what the turn itself found: the context is not made once more to find the same. */
  #isFar(at: number, tokens: number, { record, frame }: TurnBasis): boolean {
    if (frame.profile.estimator === 'chars4') return false;
    const window = this.#context.usableWindow(frame.model, record);
    const { budget } = contextBudget(window, frame.maxOutputTokens);
    const limit = Math.min(budget * at, triggerTokens(frame.profile.trigger, window));
    return tokens < limit * WORTH_A_LOOK;
  }
}
