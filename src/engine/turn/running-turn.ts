import type { RepriseError } from '../../errors.ts';
import { failure } from '../../messages/failure.ts';
import type { InboxItem } from '../../store/port/inbox.ts';
import { runOf } from '../agents/subagent-run.ts';
import type { Clock, TimerHandle } from '../clock.ts';
import type { TurnEvent } from '../events.ts';
import type { Hub } from '../hub.ts';
import type { Slot } from '../schedule/lanes.ts';
import { interrupter } from '../schedule/queue.ts';
import { StuckTimer } from '../schedule/stuck-timer.ts';

export interface RunningTurnOptions {
  readonly turnId: string;
  readonly hub: Hub;
  readonly clock: Clock;
  readonly stuckAfterMs: number;
  readonly slot: Slot;
  readonly epoch: number;
  /** It was begun before and did not end: whoever ran it died, or had no room to store it. */
  readonly isRetry: boolean;
  /** Aborts when the session is another runner's. */
  readonly lost: AbortSignal;
}

/** A turn while it runs: the messages it answers, who hears of it, and what may end it before its time. */
export class RunningTurn implements Disposable {
  readonly turnId: string;
  readonly lead: InboxItem;
  readonly signal: AbortSignal;
  readonly #options: RunningTurnOptions;
  readonly #members: InboxItem[];
  readonly #taken: InboxItem[];
  readonly #controller: AbortController = new AbortController();
  readonly #stuck: StuckTimer;
  #deadline: TimerHandle | undefined;
  #begun: TurnEvent | undefined;
  #isWritten = false;
  #isStopped = false;

  constructor(lead: InboxItem, options: RunningTurnOptions) {
    this.turnId = options.turnId;
    this.lead = lead;
    this.#options = options;
    this.#members = [lead];
    this.#taken = [lead];
    this.signal = AbortSignal.any([this.#controller.signal, options.lost]);
    this.#stuck = new StuckTimer({
      clock: options.clock,
      afterMs: options.stuckAfterMs,
      onStuck: (reason) => this.abort(reason),
    });
    const { timeoutAt } = runOf(lead) ?? {};
    if (timeoutAt !== undefined) this.#endAt(timeoutAt);
  }

  /** Everybody whose message is answered by this turn hears all of it from where theirs joined. */
  emit(event: TurnEvent): void {
    this.#stuck.progress();
    if (event.type === 'turn_start') this.#begun = event;
    for (const { inboxId } of this.#members) this.#tell(inboxId, event);
  }

  /** Something happened that nobody is told. */
  progress(): void {
    this.#stuck.progress();
  }

  /** A message that is answered by this turn from now on, and where its words are stored, if they are yet. */
  add(item: InboxItem, seq?: number): void {
    this.#members.push(item);
    this.#stuck.progress();
    if (this.#begun === undefined) return;
    this.#tell(item.inboxId, this.#begun);
    if (seq !== undefined) this.emit({ type: 'entry', seq, entryType: 'message' });
  }

  get isRetry(): boolean {
    return this.#options.isRetry;
  }

  answers(inboxId: string): boolean {
    return this.#members.some((item) => item.inboxId === inboxId);
  }

  get members(): readonly InboxItem[] {
    return this.#members;
  }

  /** Of a message that was taken for this turn: its row counts a try. */
  took(item: InboxItem): void {
    this.#taken.push(item);
  }

  /** Those whose row counts this turn as a try. */
  get taken(): readonly InboxItem[] {
    return this.#taken;
  }

  /** Its end stands in the history, and its row has been told in the same step. */
  written(): void {
    this.#isWritten = true;
  }

  get isWritten(): boolean {
    return this.#isWritten;
  }

  /** Without a reason: by whoever it is for. */
  abort(reason?: RepriseError): void {
    this.#isStopped ||= reason === undefined;
    this.#controller.abort(reason ?? failure('ABORTED', 'turn.stopped'));
  }

  /** Nobody wants its answer any more. */
  get isStopped(): boolean {
    return this.#isStopped;
  }

  /** By the rows of the inbox as they are now: stopped by anybody, or by a message that interrupts. */
  look(rows: readonly InboxItem[]): void {
    const place = rows.findIndex(({ inboxId }) => inboxId === this.lead.inboxId);
    // Older ones that still wait are taken along by this turn, or have been passed by it.
    const by = interrupter(rows.slice(place + 1));
    if (rows[place]?.state !== 'running') this.abort();
    else if (by !== undefined) this.abort(interruptedBy(by));
  }

  /** Waits for something that is not this turn's own work: without its place, and without being called stuck. */
  aside<T>(work: () => Promise<T>): Promise<T> {
    return this.#stuck.aside(() => this.#options.slot.aside(work));
  }

  [Symbol.dispose](): void {
    this.#stuck[Symbol.dispose]();
    if (this.#deadline !== undefined) this.#options.clock.clearTimeout(this.#deadline);
  }

  #tell(inboxId: string, event: TurnEvent): void {
    const { hub, epoch } = this.#options;
    hub.publish({ sessionId: this.lead.sessionId, inboxId, epoch, event });
  }

  /** A time of day, so that a run that is taken up elsewhere gets no more of it. */
  #endAt(timeoutAt: number): void {
    const { clock } = this.#options;
    const leftMs = Math.max(0, timeoutAt - clock.now().getTime());
    this.#deadline = clock.setTimeout(() => this.abort(timedOut()), leftMs);
    this.#deadline.unref?.();
  }
}

function timedOut(): RepriseError {
  return failure('ABORTED', 'turn.timeLimit', {}, { details: { reason: 'timeout' } });
}

function interruptedBy({ inboxId }: InboxItem): RepriseError {
  return failure('ABORTED', 'turn.interrupted', {}, { details: { reason: 'interrupt', by: inboxId } });
}
