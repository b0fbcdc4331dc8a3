import { randomUUID } from 'node:crypto';
import { RepriseError } from '../../errors.ts';
import { isSubagentSessionKey } from '../../keys/predicates.ts';
import type { Model } from '../../models/model.ts';
import type { InboxChange, InboxItem, InboxState } from '../../store/port/inbox.ts';
import type { Lease, SessionRecord } from '../../store/port/store.ts';
import type { Entry } from '../../transcript/entry.ts';
import type { ModelInUse } from '../agents/session-models.ts';
import type { EngineContext } from '../engine-context.ts';
import type { TurnEvent } from '../events.ts';
import { thinkingLevelOf } from '../session-settings.ts';
import type { Tool } from '../tools/tool.ts';
import { type Company, type KnownRows, runItem } from '../turn/run-item.ts';
import { RunningTurn, type RunningTurnOptions } from '../turn/running-turn.ts';
import type { RequestFrame } from '../turn/turn-context.ts';
import type { TurnStore } from '../turn/turn-store.ts';
import { BackgroundCompaction } from '../window/background-compaction.ts';
import { ContextGuard } from '../window/guard.ts';
import { flushMemory } from '../window/memory-flush.ts';
import { standingOf } from '../window/standing.ts';
import { SummaryBreaker } from '../window/summary-breaker.ts';
import { isOpen } from './item-end.ts';
import type { Slot } from './lanes.ts';
import { isRunning, nextTurn, saidBefore } from './queue.ts';
import { RoomWait } from './room-wait.ts';
import { type BeginTurn, type HeldTurn, SessionLane } from './session-lane.ts';
import { inputsOf, isQueued, seenAs } from './turn-plan.ts';

export interface SessionFrame extends RequestFrame {
  readonly inUse: ModelInUse;
  readonly toolsByName: ReadonlyMap<string, Tool>;
}

const DEFAULT_OUTPUT_TOKENS = 8192;

/** Everything one session does in this process: one turn at a time, in the order its messages were accepted. */
export class SessionRunner {
  readonly sessionId: string;
  readonly lane: SessionLane;
  readonly breaker: SummaryBreaker = new SummaryBreaker();
  readonly background: BackgroundCompaction;
  readonly #context: EngineContext;
  readonly #room: RoomWait;
  #turn: RunningTurn | undefined;
  #draining: Promise<void> | undefined;
  #isAwake = false;
  #isClosed = false;
  #isHeld = false;
  /** A message that was accepted just now and needs a turn of its own: the inbox need not be read to find it. */
  #due: InboxItem | undefined;
  /** The session as the last turn that began here found it. Nothing that is decided by it may be wrong if it changed. */
  #record: SessionRecord | undefined;
  /** How many changes of the inbox were reported that a turn or the queue depends on. */
  #changes = 0;
  /** Changes that were reported since the inbox was read. */
  readonly #heard: Map<string, InboxState> = new Map();
  /** The messages of the turn that runs here or ran last. */
  #chosen: ReadonlySet<string> = new Set();
  /** Set while messages wait for more from the same sender. */
  #debounce: { readonly over: Promise<void>; readonly cancel: () => void } | undefined;

  constructor(context: EngineContext, sessionId: string) {
    this.#context = context;
    this.sessionId = sessionId;
    // Told by nobody: what is left undone waits in the inbox for the next look at it.
    const onWaiting = (): void => void this.wake().catch(() => undefined);
    this.lane = new SessionLane({ store: context.store, sessionId, onWaiting });
    const onOver = (): void => (this.#isClosed ? undefined : onWaiting());
    this.#room = new RoomWait({ clock: context.options.clock, onOver });
    this.background = new BackgroundCompaction(context, this);
  }

  /** Runs queued messages unless another process does. Resolves when this process has nothing left to do for them. */
  async wake({ due }: { readonly due?: InboxItem | undefined } = {}): Promise<void> {
    // A drain that has nothing to await would end before it is assigned below, and the runner would stay busy.
    if (this.#isHeld) return;
    this.#isAwake = true;
    // Later calls for the same message only ask whether its runner has died.
    if (due !== undefined && !this.#chosen.has(due.inboxId)) this.#due ??= due;
    this.#draining ??= this.#drainAll();
    return this.#draining;
  }

  /** Resolves when nothing runs or is prepared here. */
  async idle(): Promise<void> {
    while (this.isBusy) {
      await this.#draining?.catch(() => undefined); // told to whoever woke it
      await this.#debounce?.over;
      await this.lane.idle();
      await this.background.idle();
    }
  }

  get isBusy(): boolean {
    const isWaiting = this.#draining !== undefined || this.#debounce !== undefined;
    return isWaiting || this.lane.isBusy || this.background.isBusy;
  }

  /** Nothing runs, waits or is prepared here: nobody would miss this object. */
  get isIdle(): boolean {
    const isWaiting = this.#draining !== undefined || this.#debounce !== undefined || this.#room.hasMessage;
    return !isWaiting && this.lane.isAtRest && !this.background.isBusy;
  }

  /** True: a turn of this process was told to stop; with an id only one that answers that message. */
  stop(inboxId?: string): boolean {
    const turn = this.#turn;
    if (turn === undefined || (inboxId !== undefined && !turn.answers(inboxId))) return false;
    turn.abort();
    return true;
  }

  /** Something changed in the inbox of this session, here or in another process. */
  async heed({ inboxId, state }: InboxChange): Promise<void> {
    const turn = this.#turn;
    // What a turn does to its own rows is not news to it.
    if (turn?.isWritten === true || state === 'merged' || state === 'running') return;
    // Reported late: the acceptance and the end of what was chosen for the last turn.
    if (turn === undefined && this.#chosen.has(inboxId)) return;
    this.#changes++;
    this.#heard.set(inboxId, state);
    if (turn === undefined) {
      if (this.lane.isHeld || this.#room.hasMessage) await this.wake();
      return;
    }
    // The acceptance of its own message may be reported late.
    const isLead = inboxId === turn.lead.inboxId;
    if (isLead === isOpen({ state })) return;
    turn.look(await this.#context.store.inbox.pending(this.sessionId));
  }

  /** Starts no further turn. Queued messages stay in the inbox for the process that opens the store next. */
  hold(): void {
    this.#isHeld = true;
    this.close();
  }

  /** Runs what is queued now, and waits for nothing: neither for more from the same sender nor for a full disk. */
  close(): void {
    this.#isClosed = true;
    this.#debounce?.cancel();
    this.#room.end();
  }

  /** What requests of this session are made of, by its settings as they are now; its model is loaded where it is not yet. */
  async frame(record: SessionRecord, signal?: AbortSignal): Promise<SessionFrame> {
    const { options } = this.#context;
    await options.loadModelFor(record, signal);
    const inUse = options.modelInUse(record);
    const { model } = inUse;
    const tools = await options.toolsFor(record);
    const window = this.#context.window(model, record).tokens;
    const profile = options.profileFor(record);
    return {
      model,
      inUse,
      system: options.systemFor(record),
      thinkingLevel: thinkingLevelOf(record.settings),
      tools: tools.map(({ name, description, inputSchema }) => ({ name, description, inputSchema })),
      toolsByName: new Map(tools.map((tool) => [tool.name, tool])),
      maxOutputTokens: Math.min(
        profile.maxOutputTokens ?? Number.POSITIVE_INFINITY,
        model.maxOutput ?? DEFAULT_OUTPUT_TOKENS,
        Math.floor(window * 0.25),
        positive(record.settings['maxTokens']),
      ),
      temperature: numberOf(record.settings['temperature']),
      profile,
      calibration: this.#context.calibration(model),
      historyTurns: options.historyTurnsFor(record),
    };
  }

  guard(
    record: SessionRecord,
    modelOf: () => Model,
    lease: Lease,
    store: TurnStore,
    emit: (event: TurnEvent) => void,
    signal: AbortSignal,
  ): ContextGuard {
    const { options } = this.#context;
    return new ContextGuard({
      store,
      sessionId: this.sessionId,
      lease,
      emit,
      window: () => this.#context.usableWindow(modelOf(), record),
      learnWindow: (limit) => this.#context.learnWindow(modelOf(), limit),
      summarise: () => this.breaker.summariser(modelOf(), options.summaryTimeoutMs),
      onSummary: (method) => this.breaker.report(method),
      standing: () => standingOf(this.#context.store, this.sessionId),
      beforeCompaction: (covered, maxInputTokens) =>
        this.#takeNotes(record, modelOf(), covered, maxInputTokens, signal),
      signal,
    });
  }

  async #takeNotes(
    { id }: SessionRecord,
    model: Model,
    covered: readonly Entry[],
    maxInputTokens: number,
    signal: AbortSignal,
  ): Promise<void> {
    const { store, options } = this.#context;
    const record = await store.get(id);
    const workspace = options.memoryFor(record);
    const summarise =
      workspace === undefined ? undefined : this.breaker.summariser(model, options.summaryTimeoutMs);
    if (workspace === undefined || summarise === undefined) return;
    await flushMemory(record, covered, {
      store,
      workspace,
      summarise,
      maxInputTokens,
      now: () => options.clock.now(),
      signal,
    });
  }

  async #drainAll(): Promise<void> {
    try {
      // Whoever calls while the last look at the inbox is under way is heard by another look.
      while (this.#isAwake && !this.#isHeld) {
        this.#isAwake = false;
        await this.#runNext();
      }
    } catch (error) {
      // Another process runs this session, took it over, or the store is closed: none of it is ours to answer.
      const isExpected = error instanceof RepriseError && EXPECTED.has(error.code);
      if (!isExpected) throw error;
    } finally {
      // In the same step as the last look: whoever calls from now on starts another one.
      this.#draining = undefined;
    }
  }

  /** One turn, and only then the next in line: other sessions have had theirs in between. */
  async #runNext(): Promise<void> {
    const { store, options } = this.#context;
    const { clock, lanes } = options;
    this.#debounce?.cancel();
    const due = this.#room.hasMessage ? undefined : this.#due;
    this.#due = undefined;
    let sessionKey = due?.sessionKey;
    if (sessionKey === undefined) {
      const rows = await store.inbox.pending(this.sessionId);
      this.#room.look(rows);
      if (this.#room.isOn) return;
      const next = nextTurn(rows, clock.now().getTime());
      if (!rows.some(isRunning)) {
        if (next === undefined) return this.lane.giveBack();
        if (next.waitMs > 0) return this.#wait(next.waitMs);
      }
      ({ sessionKey } = rows[0] as InboxItem);
    }
    using slot = await lanes.enter(isSubagentSessionKey(sessionKey) ? 'children' : 'turns');
    // If more messages wait, the lane cannot release its lease and wakes this runner.
    await this.lane.runTurn((begin) => this.#take(begin, slot, due));
  }

  /**
   * Begins the next turn by the rows as this process knows them. If they are others by now, the store answers with
   * them, and the turn is chosen again.
   */
  async #take(begin: BeginTurn, slot: Slot, due: InboxItem | undefined): Promise<void> {
    if (this.#isHeld) return;
    const { store, options } = this.#context;
    // Whatever woke this runner before is seen by this look.
    this.#isAwake = false;
    this.#heard.clear();
    const [found, record] = await Promise.all([
      due === undefined ? store.inbox.pending(this.sessionId) : [due],
      this.#record ?? store.get(this.sessionId),
    ]);
    // What was reported meanwhile may be in these rows already.
    const shown = new Set(found.map(({ inboxId }) => inboxId));
    const isSeen = this.#heard.entries().every(([id, state]) => state === 'accepted' && shown.has(id));
    if (isSeen) this.#isAwake = false;
    const changes = isSeen ? this.#changes : Number.NaN;
    const turnId = randomUUID();
    for (let rows = found.filter(isQueued); ; ) {
      // Whoever stands in this lane is the only runner, so a row that is running has lost its own.
      const orphan = rows.find(isRunning);
      const next = orphan === undefined ? nextTurn(rows, options.clock.now().getTime()) : undefined;
      const lead = orphan ?? next?.lead;
      if (lead === undefined) return;
      if (next !== undefined && next.waitMs > 0) {
        // No lease is held, so nothing else looks again when the wait is over.
        this.#isAwake = true;
        return;
      }
      const inputs = next === undefined ? [] : await inputsOf(this.#context, record, next);
      this.#chosen = new Set([lead.inboxId, ...inputs.map(({ inboxId }) => inboxId)]);
      const plan = { turnId, openRows: rows.map(seenAs), lead: lead.inboxId, inputs };
      const begun = await begin(plan).catch((error: unknown) => {
        // A row is smaller than its words: the turn begins without them, and tells its senders what it waits for.
        if (inputs.length === 0 || !(error instanceof RepriseError) || error.code !== 'STORE_FULL')
          throw error;
        return begin({ ...plan, inputs: [] });
      });
      if (!('openRows' in begun)) {
        this.#record = begun.record;
        const isRetry = orphan !== undefined;
        // Rows that a dead runner left behind keep no lease: only another look finds them.
        if (isRetry) this.#isAwake = true;
        const before = next?.before ?? saidBefore(rows, lead);
        const known = (): readonly InboxItem[] | undefined =>
          this.#changes === changes && this.#context.inboxSignal.isLive ? rows : undefined;
        return this.#run(begun, { turnId, slot, isRetry }, { before, after: next?.after ?? [] }, known);
      }
      rows = begun.openRows.filter(isQueued);
    }
  }

  async #run(
    begun: HeldTurn,
    { turnId, slot, isRetry }: Pick<RunningTurnOptions, 'turnId' | 'slot' | 'isRetry'>,
    company: Company,
    known: KnownRows,
  ): Promise<void> {
    const { hub, options } = this.#context;
    const { lease, lead } = begun;
    using turn = new RunningTurn(lead, {
      turnId,
      hub,
      clock: options.clock,
      stuckAfterMs: options.stuckAfterMs,
      slot,
      epoch: lease.epoch,
      isRetry,
      lost: lease.signal,
    });
    this.#turn = turn;
    try {
      const run = { context: this.#context, runner: this, turn, lease, room: this.#room, begun };
      await runItem(run, company, known);
    } finally {
      this.#turn = undefined;
    }
  }

  #wait(ms: number): void {
    if (this.#isClosed) return;
    const { clock } = this.#context.options;
    const { promise: over, resolve } = Promise.withResolvers<void>();
    const end = (): void => {
      this.#debounce = undefined;
      resolve();
    };
    const timer = clock.setTimeout(() => {
      end();
      void this.wake().catch(() => undefined); // what is left undone waits for the next look at it
    }, ms);
    const cancel = (): void => {
      clock.clearTimeout(timer);
      end();
    };
    this.#debounce = { over, cancel };
  }
}

const EXPECTED: ReadonlySet<string> = new Set([
  'LEASE_HELD',
  'FENCED',
  'SESSION_DELETED',
  'SESSION_NOT_FOUND',
  'GONE',
  'STORE_FAILED',
  'STORE_BUSY',
  'STORE_FULL',
]);

function numberOf(value: unknown): number | undefined {
  return typeof value === 'number' ? value : undefined;
}

/** A limit of the turn; without one, infinity. */
function positive(value: unknown): number {
  return typeof value === 'number' && value > 0 ? value : Number.POSITIVE_INFINITY;
}
