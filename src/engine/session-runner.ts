import { randomUUID } from 'node:crypto';
import { RepriseError } from '../errors.ts';
import type { Model } from '../models/model.ts';
import type { InboxItem, InboxState, Lease, SessionRecord } from '../store/store.ts';
import type { Entry } from '../transcript/entry.ts';
import type { JsonObject } from '../transcript/json.ts';
import { BackgroundCompaction } from './background-compaction.ts';
import type { EngineContext } from './engine-context.ts';
import type { ErrorEvent, TurnEvent } from './events.ts';
import { ContextGuard } from './guard.ts';
import { entriesOf } from './inbound.ts';
import { flushMemory } from './memory-flush.ts';
import { endEntry, endOf, inspectTurn, whyNot } from './recovery.ts';
import { SessionLane } from './session-lane.ts';
import { SummaryBreaker } from './summary-breaker.ts';
import type { Tool } from './tools/tool.ts';
import { Turn, type TurnEnd } from './turn.ts';
import type { RequestFrame } from './turn-context.ts';
import { openTurnStore, type TurnStore } from './turn-store.ts';

const DEFAULT_OUTPUT_TOKENS = 8192;

/** Everything one session does in this process: one turn at a time, in the order its messages were accepted. */
export class SessionRunner {
  readonly sessionId: string;
  readonly lane: SessionLane;
  readonly breaker: SummaryBreaker = new SummaryBreaker();
  readonly background: BackgroundCompaction;
  readonly #context: EngineContext;
  /** The turns that run or wait here, to be stopped by the id of their message. */
  readonly #running: Map<string, AbortController> = new Map();
  #draining: Promise<void> | undefined;
  #isAwake = false;

  constructor(context: EngineContext, sessionId: string) {
    this.#context = context;
    this.sessionId = sessionId;
    // Told by nobody: what is left undone waits in the inbox for the next look at it.
    const onWaiting = (): void => void this.wake().catch(() => undefined);
    this.lane = new SessionLane({ store: context.store, sessionId, onWaiting });
    this.background = new BackgroundCompaction(context, this);
  }

  /** Runs whatever waits, if nobody else does. Resolves when this process has nothing left to do for it. */
  async wake(): Promise<void> {
    this.#isAwake = true;
    this.#draining ??= this.#drainAll();
    return this.#draining;
  }

  /** Resolves when nothing runs or is prepared here. */
  async idle(): Promise<void> {
    while (this.#draining !== undefined || this.lane.isBusy || this.background.isBusy) {
      await this.#draining?.catch(() => undefined); // told to whoever woke it
      await this.lane.idle();
      await this.background.idle();
    }
  }

  /** True: a turn of this process was told to stop. */
  stop(inboxId?: string): boolean {
    const controllers = inboxId === undefined ? [...this.#running.values()] : [this.#running.get(inboxId)];
    const found = controllers.flatMap((controller) => controller ?? []);
    for (const controller of found) controller.abort(new RepriseError('ABORTED', 'the turn was stopped'));
    return found.length > 0;
  }

  /** What requests of this session are made of, by its settings as they are now. */
  frame(record: SessionRecord): RequestFrame & { readonly toolsByName: ReadonlyMap<string, Tool> } {
    const { options } = this.#context;
    const model = options.modelFor(record);
    const tools = options.toolsFor(record);
    const window = this.#context.window(model, record).tokens;
    const profile = options.profileFor(record);
    return {
      model,
      system: options.systemFor(record),
      tools: tools.map(({ name, description, inputSchema }) => ({ name, description, inputSchema })),
      toolsByName: new Map(tools.map((tool) => [tool.name, tool])),
      maxOutputTokens: Math.min(
        profile.maxOutputTokens ?? Number.POSITIVE_INFINITY,
        model.maxOutput ?? DEFAULT_OUTPUT_TOKENS,
        Math.floor(window * 0.25),
      ),
      profile,
      calibration: this.#context.calibration(model),
    };
  }

  guard(
    record: SessionRecord,
    model: Model,
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
      window: () => this.#context.usableWindow(model, record),
      learnWindow: (limit) => this.#context.learnWindow(model, limit),
      summarise: () => this.breaker.summariser(model, options.summaryTimeoutMs),
      onSummary: (method) => this.breaker.report(method),
      beforeCompaction: (covered, maxInputTokens) =>
        this.#takeNotes(record, model, covered, maxInputTokens, signal),
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
      now: options.now,
      signal,
    });
  }

  async #drainAll(): Promise<void> {
    try {
      // Whoever calls while the last look at the inbox is under way is heard by another look.
      while (this.#isAwake) {
        this.#isAwake = false;
        await this.lane.run((lease) => this.#drain(lease), { waitMs: 0 });
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

  async #drain(lease: Lease): Promise<void> {
    const { store } = this.#context;
    for (;;) {
      // Whoever stands in this lane is the only runner, so a row that is running has lost its own.
      const item = await store.inbox.take(this.sessionId, { epoch: lease.epoch, orphans: true });
      if (item === null) return;
      await this.#runItem(item, lease);
    }
  }

  async #runItem(item: InboxItem, lease: Lease): Promise<void> {
    const { hub } = this.#context;
    const emit = (event: TurnEvent): void =>
      hub.publish({ sessionId: this.sessionId, inboxId: item.inboxId, event });
    const controller = new AbortController();
    this.#running.set(item.inboxId, controller);
    try {
      const signal = AbortSignal.any([controller.signal, lease.signal]);
      const end = await this.#answer(item, lease, emit, { controller, signal });
      await this.#settle(item, 'done', { ...end });
      emit({ type: 'done', ...end });
      this.background.consider();
    } catch (error) {
      const failure = error instanceof RepriseError ? error : unexpected(error);
      // Whoever took over tells how it ends. An append may be refused before the lease is known to be lost.
      if (lease.signal.aborted || failure.code === 'FENCED') throw lost(failure);
      const event = errorEvent(failure);
      await this.#settle(item, stateFor(failure), {
        code: event.code,
        message: event.message,
        details: event.details,
      });
      emit(event);
    } finally {
      this.#running.delete(item.inboxId);
    }
  }

  async #answer(
    item: InboxItem,
    lease: Lease,
    emit: (event: TurnEvent) => void,
    { controller, signal }: { readonly controller: AbortController; readonly signal: AbortSignal },
  ): Promise<TurnEnd> {
    const { store, options } = this.#context;
    const { inboxId, attempts } = item;
    const record = await store.get(this.sessionId);
    const frame = this.frame(record);
    const turnStore = openTurnStore({
      store,
      sessionId: this.sessionId,
      profile: frame.profile,
      inboxId,
      isRetry: attempts > 1,
      tools: frame.toolsByName,
    });
    // Durable before any model is called (T57). With the message's own id as key a second try finds the first.
    const { lastSeq } = await turnStore.append(this.sessionId, entriesOf(item), {
      key: inboxId,
      epoch: lease.epoch,
    });
    if (attempts > 1) {
      const ended = await this.#recover(item, lastSeq, lease, frame.toolsByName, turnStore);
      if (ended !== undefined) return ended;
    }
    const turnId = randomUUID();
    const { model } = frame;
    emit({ type: 'turn_start', turnId, model: `${model.provider}:${model.id}` });
    const turn = new Turn({
      store: turnStore,
      sessionId: this.sessionId,
      sessionKey: record.sessionKey,
      agentId: record.agentId,
      turnId,
      inboxId,
      lease,
      signal,
      emit,
      guard: this.guard(record, model, lease, turnStore, emit, signal),
      frame: () => ({ ...frame, calibration: this.#context.calibration(model) }),
      window: () => this.#context.usableWindow(model, record),
      tools: frame.toolsByName,
      maxSteps: options.maxSteps,
      onUsage: (estimated, usage) => this.#context.learnUsage(model, estimated, usage),
      atBoundary: async () => {
        // Stopped by another process, or in the moment between taking the message and running it.
        const { state } = await store.inbox.get(inboxId);
        if (state !== 'running') controller.abort(new RepriseError('ABORTED', 'the turn was stopped'));
        await this.background.commit(lease, emit);
      },
    });
    return await turn.run();
  }

  /** Answers with the end of a turn that had ended; throws where it must not go on. */
  async #recover(
    { inboxId, attempts }: InboxItem,
    afterSeq: number,
    lease: Lease,
    tools: ReadonlyMap<string, Tool>,
    turnStore: TurnStore,
  ): Promise<TurnEnd | undefined> {
    const { store } = this.#context;
    const found = await inspectTurn(store, { sessionId: this.sessionId, afterSeq, inboxId }, tools);
    // Looked at before the attempts are: a turn that had ended well did so, however often its row was not told.
    if (found.kind === 'ended') return endOf(found);
    const failure = whyNot(found, attempts);
    const entries = [...found.results, ...(failure === undefined ? [] : [endEntry(inboxId, failure)])];
    if (entries.length > 0) await turnStore.append(this.sessionId, entries, { epoch: lease.epoch });
    if (failure !== undefined) throw failure;
    return undefined;
  }

  async #settle({ inboxId }: InboxItem, state: InboxState, detail: JsonObject): Promise<void> {
    try {
      await this.#context.store.inbox.settle(inboxId, state, detail);
    } catch (error) {
      // The row stays `running` and the transcript says how it ended: the next runner reads it there.
      if (!(error instanceof RepriseError)) throw error;
    }
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

function lost(cause: RepriseError): RepriseError {
  return new RepriseError('FENCED', 'another runner has the session now', { cause });
}

function stateFor({ code, details }: RepriseError): InboxState {
  if (details['reason'] === 'interrupted') return 'interrupted';
  return code === 'ABORTED' ? 'cancelled' : 'failed';
}

function errorEvent({ code, message, details }: RepriseError): ErrorEvent {
  return { type: 'error', code, message, details: JSON.parse(JSON.stringify(details)) as JsonObject };
}

function unexpected(error: unknown): RepriseError {
  const message = error instanceof Error ? error.message : String(error);
  return new RepriseError('MODEL_FAILED', `the turn failed: ${message}`, { cause: error });
}
