import { RepriseError } from '../../errors.ts';
import { failure } from '../../messages/failure.ts';
import type { InboxItem } from '../../store/port/inbox.ts';
import type { TimerHandle } from '../clock.ts';
import type { EngineContext } from '../engine-context.ts';
import { storedError } from '../turn/turn-outcome.ts';
import { SessionRunner } from './session-runner.ts';

export interface RunnersOptions {
  readonly context: EngineContext;
  /** Whether this process runs sessions to which it has sent nothing itself. */
  readonly runs: boolean;
  /** With every sweep, and what waits or runs anywhere. */
  readonly onSweep: (open: readonly InboxItem[]) => Promise<void>;
}

const SWEEP_MS = 1000;
/** A command that has run for this long has lost its process. */
const COMMAND_MS = 60_000;

/** Everything that runs in this process: one runner for each session it has to do with. */
export class Runners {
  readonly #options: RunnersOptions;
  readonly #runners: Map<string, SessionRunner> = new Map();
  /** How many have a session in their hands: its runner stays, for there must not be two. */
  readonly #holders: Map<string, number> = new Map();
  readonly #lost: FinalizationRegistry<string> = new FinalizationRegistry((id) => this.letGo(id));
  #sweep: TimerHandle | undefined;

  constructor(options: RunnersOptions) {
    this.#options = options;
  }

  start(): void {
    void this.#heed();
    if (!this.#options.runs) return;
    this.#sweepLater();
    void this.takeUp();
  }

  /** How many sessions have a runner here. */
  get size(): number {
    return this.#runners.size;
  }

  /** For callers that call `letGo` after use; for others the runner stays as long as this engine. */
  hold(sessionId: string): SessionRunner {
    this.#holders.set(sessionId, (this.#holders.get(sessionId) ?? 0) + 1);
    return this.#runner(sessionId);
  }

  /** What `hold` gave is not used any more. */
  letGo(sessionId: string): void {
    const left = (this.#holders.get(sessionId) ?? 1) - 1;
    if (left > 0) this.#holders.set(sessionId, left);
    else this.#holders.delete(sessionId);
    this.#forget(sessionId);
  }

  /**
   * Calls `letGo` when the object that holds the runner is unreachable: a server hands out an object for every request,
   * and sees more sessions than it can keep in memory. If sessions run only for their holders, a runner stays after its
   * first use: garbage collection must not decide what runs.
   */
  letGoWith(holder: object, sessionId: string): void {
    if (this.#options.runs) this.#lost.register(holder, sessionId);
  }

  has(sessionId: string): boolean {
    return this.#runners.has(sessionId);
  }

  /** Where this process runs conversations at all. */
  wake(sessionId: string): void {
    if (this.#options.runs) this.run(sessionId);
  }

  run(sessionId: string): void {
    if (this.#options.context.closing.signal.aborted) return;
    const leave = (): void => this.#forget(sessionId);
    // What goes wrong is a state of the row, and what is left undone waits for the next look at it.
    this.#runner(sessionId).wake().then(leave, leave);
  }

  /** Resolves when all accepted work this process knows of is done. */
  async idle(): Promise<void> {
    await this.takeUp();
    // Turns give work to other sessions: to children, and these to their parents.
    for (let busy = this.#busy(); busy.length > 0; busy = this.#busy())
      for (const runner of busy) await runner.idle();
  }

  /** Starts no further turn; those that run may end. */
  holdQueue(): void {
    for (const runner of this.#runners.values()) runner.hold();
  }

  /** Waits for running turns and, unless the queue is held, for messages that this process has queued after them. */
  async close(): Promise<void> {
    if (this.#sweep !== undefined) this.#options.context.options.clock.clearTimeout(this.#sweep);
    for (const runner of this.#runners.values()) runner.close();
    for (const runner of this.#runners.values()) await runner.idle();
  }

  /** Accepted messages without a runner: of a process that died, or accepted by one that does not run sessions. */
  async takeUp(): Promise<void> {
    const { context, onSweep } = this.#options;
    if (context.closing.signal.aborted) return;
    try {
      const open = await context.store.inbox.pending();
      await onSweep(open);
      const now = context.options.clock.now().getTime();
      for (const item of open)
        if (item.class === 'command' && now - Date.parse(item.createdAt) > COMMAND_MS)
          await this.#giveUp(item);
      for (const id of new Set(open.map(({ sessionId }) => sessionId))) this.wake(id);
      // Those that were still at work when they were let go.
      for (const id of this.#runners.keys()) this.#forget(id);
    } catch (error) {
      // A store that is busy or closing is asked again by the next sweep.
      if (!(error instanceof RepriseError)) throw error;
    }
  }

  async #giveUp({ inboxId }: InboxItem): Promise<void> {
    const { code, message, why } = storedError(failure('ABORTED', 'command.interrupted'));
    const detail = { code, message, why, reason: 'interrupted' };
    await this.#options.context.store.inbox.settle(inboxId, 'interrupted', detail);
  }

  #runner(sessionId: string): SessionRunner {
    let runner = this.#runners.get(sessionId);
    if (runner === undefined) {
      runner = new SessionRunner(this.#options.context, sessionId);
      this.#runners.set(sessionId, runner);
    }
    return runner;
  }

  #forget(sessionId: string): void {
    const isUsed = this.#holders.has(sessionId) || this.#runners.get(sessionId)?.isIdle !== true;
    if (!isUsed) this.#runners.delete(sessionId);
  }

  #busy(): SessionRunner[] {
    return [...this.#runners.values()].filter(({ isBusy }) => isBusy);
  }

  /** Until this engine closes: a change in any inbox concerns its runner, and callers that wait for a message. */
  async #heed(): Promise<void> {
    const { closed, inboxSignal, store } = this.#options.context;
    inboxSignal.isLive = true;
    try {
      for await (const change of store.inbox.watch({ signal: closed.signal })) {
        inboxSignal.notify(change);
        // Only if this process has the session; others are run by the process that accepted the message, or by the sweep.
        const heeded = this.#runners.get(change.sessionId)?.heed(change);
        heeded?.catch(() => undefined); // the next boundary looks again
      }
    } catch (error) {
      // The store closed before this engine did: from now on, only polling sees changes.
      if (!(error instanceof RepriseError)) throw error;
    } finally {
      inboxSignal.isLive = false;
    }
  }

  #sweepLater(): void {
    const { context } = this.#options;
    this.#sweep = context.options.clock.setTimeout(() => {
      void this.takeUp();
      if (!context.closing.signal.aborted) this.#sweepLater();
    }, SWEEP_MS);
    this.#sweep.unref?.();
  }
}
