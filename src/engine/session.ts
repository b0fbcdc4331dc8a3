import { randomUUID } from 'node:crypto';
import type { Pin } from '../compaction/pins.ts';
import { contextBudget } from '../context/budget.ts';
import { failure } from '../messages/failure.ts';
import { loadBlobs } from '../store/copy/load-blobs.ts';
import type { InboxItem, InboxReceipt } from '../store/port/inbox.ts';
import type {
  ChangeOptions,
  EntryPage,
  Lease,
  ReadRange,
  SessionRecord,
  StoredEntry,
} from '../store/port/store.ts';
import { hydrateBlobs } from '../transcript/blobs.ts';
import type { Entry } from '../transcript/entry.ts';
import type { JsonObject } from '../transcript/json.ts';
import { pathEntries } from '../transcript/tree.ts';
import { type Explanation, explainTurn } from './admin/explain.ts';
import { type SessionTotals, totalsOf } from './admin/totals.ts';
import type { ModelInUse } from './agents/session-models.ts';
import { checkNames, checkOneOf } from './check-config.ts';
import type { EngineContext } from './engine-context.ts';
import type { GuardEvent } from './events.ts';
import { forkSession } from './history/fork-session.ts';
import { type MergeOptions, type MergeResult, mergeHistory } from './history/merge-history.ts';
import { readHistory } from './history/read-history.ts';
import { type SayAgainOptions, sayAgain } from './history/say-again.ts';
import { type SessionMessage, sessionMessages } from './history/session-messages.ts';
import { type StepRequest, takeStep, type UndoResult } from './history/take-step.ts';
import { type BranchPlace, branchStep, type EntryStep, redoStep, undoStep } from './history/undo.ts';
import { bodyOf, newItem, type UserInput, withTicket } from './intake/inbound.ts';
import { earlierKey, findRequested, type Keyed, requestKey } from './intake/keyed-request.ts';
import type { QueueMode } from './schedule/queue.ts';
import type { SessionFrame, SessionRunner } from './schedule/session-runner.ts';
import { type StopOptions, type StopResult, stopSession } from './schedule/stop-session.ts';
import { QUEUE_MODES, type QueueSettings } from './session-settings.ts';
import { parseSettingsPatch, wrongValue } from './settings-patch.ts';
import { newestContext } from './turn/newest-context.ts';
import { type ContextView, makeView, viewContext } from './turn/turn-context.ts';
import { TURN_SETTINGS, type TurnSettings, turnBody } from './turn/turn-settings.ts';
import { startTurn, type TurnStream } from './turn/turn-stream.ts';
import {
  type CompactionPreview,
  commitCompaction,
  compactedBefore,
  planFor,
  prepareCompaction,
  previewOf,
} from './window/compactor.ts';
import { type ContextReport, reportContext } from './window/context-report.ts';
import { compactionLimits } from './window/guard.ts';
import { SessionPins } from './window/session-pins.ts';
import { standingOf } from './window/standing.ts';

export interface SendOptions extends TurnSettings {
  readonly idempotencyKey?: string;
  /** Where the message came from; together with the key it makes a message unique. */
  readonly source?: string;
  /** Stops the turn and keeps what has arrived. A message whose turn has not begun is cancelled. */
  readonly signal?: AbortSignal;
  /**
   * What happens if a turn is running. Unset: `followup`, so that every call has its own turn and answer, and no
   * queue limit drops it. `session`: the queue mode of the session, as on channels and in the chat; with it, and with
   * `steer`, `collect` or `interrupt`, several messages may share one answer.
   */
  readonly queueMode?: QueueMode | 'session';
}

export interface SendAgainOptions extends SayAgainOptions {
  readonly signal?: AbortSignal | undefined;
}

export interface CompactRequest extends Keyed {
  /** What the summary should preserve above all. */
  readonly focus?: string;
  readonly signal?: AbortSignal;
}

/** One conversation. Everything it does is durable before it is reported, is visible, and can be undone. */
export class Session {
  readonly id: string;
  readonly key: string;
  readonly #context: EngineContext;
  readonly #runner: SessionRunner;
  readonly #pins: SessionPins;
  #compacting: Promise<CompactionEvent | null> | undefined;

  constructor(context: EngineContext, runner: SessionRunner, { id, sessionKey }: SessionRecord) {
    this.#context = context;
    this.#runner = runner;
    this.id = id;
    this.key = sessionKey;
    const budget = async (): Promise<number> => (await this.context()).budget;
    this.#pins = new SessionPins({ store: context.store, sessionId: id, budget });
  }

  /**
   * Accepts a message durably and runs it in order: `result` is the answer to this message. Throws only before the
   * message is accepted; a turn that fails ends with `error`.
   */
  send(input: string | UserInput, options: SendOptions = {}): TurnStream {
    const { idempotencyKey, source = 'library', signal, queueMode = 'followup' } = options;
    const { store, options: engine } = this.#context;
    let body: JsonObject | undefined;
    const accept = async (): Promise<InboxReceipt> => {
      checkNames('send', options, ['idempotencyKey', 'source', 'signal', 'queueMode', ...TURN_SETTINGS]);
      const said = { ...bodyOf(input), ...turnBody(options) };
      if (options.model !== undefined) await engine.checkModel(options.model);
      if (queueMode !== 'session') checkOneOf('queueMode', queueMode, QUEUE_MODES);
      // A program waits for each of its answers, so no queue limit drops its messages.
      const own = queueMode === 'followup' ? undefined : engine.queueFor(await this.record());
      const mode = queueMode === 'session' ? (own?.mode ?? 'followup') : queueMode;
      // The caller waits for this answer and sends nothing more.
      body = withTicket(said, { mode, debounceMs: 0, at: engine.clock.now().getTime() });
      const keyed = idempotencyKey === undefined ? {} : { idempotencyKey, digest: JSON.stringify(said) };
      const limits = own === undefined ? {} : { queue: { cap: own.cap, drop: own.drop } };
      const to = { sessionKey: this.key, sessionId: this.id, source };
      return store.inbox.receive({ ...to, body, ...limits, ...keyed });
    };
    // A followup has its own turn. Its row is known here, so it is not read again.
    const isOwn = queueMode === 'followup';
    return this.#start(signal, accept, (receipt) => (isOwn && body ? newItem(receipt, body) : undefined));
  }

  /** Sends the last message again, or with a new text; the old answer stays as a branch. */
  sendAgain({ signal, ...again }: SendAgainOptions = {}): TurnStream {
    const { store, options } = this.#context;
    return this.#start(signal, async () => {
      const record = await this.record();
      const queue = options.queueFor(record);
      const { lane } = this.#runner;
      return sayAgain({ store, lane, record, queue, now: options.clock.now() }, again);
    });
  }

  /**
   * The events of a message that was accepted earlier, from now on. Runs it in this process unless another one does.
   */
  resume(inboxId: string, { signal }: Pick<SendOptions, 'signal'> = {}): TurnStream {
    const { inbox } = this.#context.store;
    return this.#start(signal, async () => {
      const { sessionId, sessionKey } = await inbox.get(inboxId);
      return { inboxId, sessionId, sessionKey, fresh: false, held: false, dropped: [] };
    });
  }

  /**
   * Stops the running turn, in whichever process, and keeps what has arrived. With `waiting`, also cancels waiting
   * messages and notifies their senders; without `running`, cancels only those. With `children`, also ends the tasks
   * of its children, so that no result of a child starts a new turn.
   */
  async stop(options: StopOptions = {}): Promise<StopResult> {
    const { store, options: engine } = this.#context;
    const now = engine.clock.now();
    return stopSession({ store, now, stopItem: (inboxId) => this.#stopItem(inboxId) }, this.id, options);
  }

  /** The queue settings for messages that arrive during a turn, from its settings and the configuration. */
  async queue(): Promise<QueueSettings> {
    return this.#context.options.queueFor(await this.record());
  }

  async record(): Promise<SessionRecord> {
    return this.#context.store.get(this.id);
  }

  /** Everything ever written here, in pages; compactions remove nothing from it. */
  async history(range: ReadRange = {}): Promise<EntryPage> {
    return this.#context.store.read(this.id, range);
  }

  watch(afterSeq: number, signal: AbortSignal): AsyncIterable<StoredEntry> {
    return this.#context.store.watch(this.id, { afterSeq, signal });
  }

  /** The messages of the current branch, oldest first, with their content. */
  async messages(): Promise<readonly SessionMessage[]> {
    return sessionMessages(this.#context.store, this.id);
  }

  /** Changes settings by name, null removes one; `title` sets the conversation's title permanently. */
  async patch({ title, ...settings }: JsonObject, options: ChangeOptions = {}): Promise<SessionRecord> {
    const { store, options: engine } = this.#context;
    const parsed = parseSettingsPatch(settings);
    const { model } = parsed;
    if (typeof model === 'string') await engine.checkModel(model);
    if (title !== undefined && (typeof title !== 'string' || title.trim() === ''))
      throw wrongValue('title', title, [{ is: 'nonEmptyText' }]);
    if (title === undefined && Object.keys(parsed).length === 0) return this.record();
    // A title set by a person wins over one made from the first message, whichever came first.
    const record = await store.patch(this.id, parsed, { ...options, ...(title !== undefined && { title }) });
    if ('model' in parsed || 'modelOverride' in parsed)
      engine.modelChosen(this.id, parsed['model'] ?? parsed['modelOverride']);
    return record;
  }

  /** Tokens and cost of every turn so far, including abandoned branches: they were paid for. */
  async totals(): Promise<SessionTotals> {
    return totalsOf(await this.#all());
  }

  /** The model that answers here, and which setting chose it. Loads the model if needed. */
  async model(): Promise<ModelInUse> {
    const { options } = this.#context;
    const record = await this.record();
    await options.loadModelFor(record);
    return options.modelInUse(record);
  }

  /** What the next request would contain, by source. */
  async context(): Promise<ContextReport> {
    const record = await this.record();
    const frame = await this.#runner.frame(record);
    const window = this.#context.window(frame.model, record);
    const newest = await newestContext(this.#context.store, record, frame, window.tokens);
    return reportContext(newest, window, frame);
  }

  /**
   * What `compact` would cover and keep, without calling a model or writing anything. @returns null if there is
   * nothing to compact.
   */
  async previewCompaction(): Promise<CompactionPreview | null> {
    const { view, limits } = await this.#planning();
    const plan = planFor(view, limits);
    return plan === undefined ? null : previewOf(plan);
  }

  /** @returns null if there was nothing to gain. Concurrent calls compact once. */
  compact(request: CompactRequest = {}): Promise<CompactionEvent | null> {
    this.#compacting ??= this.#runner.lane
      .run((lease) => this.#compact(lease, request))
      .finally(() => {
        this.#compacting = undefined;
      });
    return this.#compacting;
  }

  /**
   * Undoes one step: the last turn, or the last compaction with every later turn kept. If nothing is left, it undoes
   * the reset that created this session: the key returns to the previous session.
   */
  async undo({ anyway = false, ...keyed }: Keyed & { readonly anyway?: boolean } = {}): Promise<UndoResult> {
    const find: StepRequest['find'] = async (all, { parentId }) => {
      const step = undoStep(all, parentId);
      if (step?.kind === 'compaction' && !anyway) await this.#assertFits(all, step);
      return step;
    };
    return this.#step({ asked: 'undo', find, ...keyed });
  }

  /** Continues at another point of the tree, such as an abandoned branch. `redo` returns to the previous point. */
  async branch(
    entryId: string,
    { place, ...keyed }: Keyed & { readonly place?: BranchPlace } = {},
  ): Promise<void> {
    await this.#step({ asked: 'branch', find: async (all) => branchStep(all, entryId, place), ...keyed });
  }

  /** Redoes the last undone step, as long as no message was added since. */
  async redo(keyed: Keyed = {}): Promise<UndoResult> {
    return this.#step({ asked: 'redo', find: async (all) => redoStep(all), ...keyed });
  }

  /** Keeps an entry's text in every later context, word for word. */
  async pin(entryId: string, keyed: Keyed = {}): Promise<readonly Pin[]> {
    return this.#pins.add(entryId, keyed);
  }

  /** Several ids are unpinned in one step. */
  async unpin(entryId: string | readonly string[], keyed: Keyed = {}): Promise<readonly Pin[]> {
    return this.#pins.remove(typeof entryId === 'string' ? [entryId] : entryId, keyed);
  }

  async pins(): Promise<readonly Pin[]> {
    return this.#pins.list();
  }

  /**
   * Creates a new session that starts with this history up to an entry; both continue separately. If the caller
   * passes an id, a retry finds the result of the first attempt: there is one copy, however often it is requested.
   */
  async fork({
    at,
    id = randomUUID(),
  }: {
    readonly at?: string;
    readonly id?: string;
  } = {}): Promise<SessionRecord> {
    return forkSession(this.#context.store, await this.record(), { at, id });
  }

  /** Appends what is new in the full history that another program holds. */
  async mergeHistory(messages: readonly unknown[], options: MergeOptions): Promise<MergeResult> {
    const { store } = this.#context;
    return mergeHistory({ store, lane: this.#runner.lane, sessionId: this.id }, messages, options);
  }

  /** What the model saw in a turn and why; unset: the last turn. */
  async explain(turnId?: string): Promise<Explanation> {
    const frame = await this.#runner.frame(await this.record());
    const all = await this.#all();
    const whole = hydrateBlobs(all, await loadBlobs(this.#context.store, this.id, all));
    return explainTurn(whole, { frame, turnId, inbox: this.#context.store.inbox });
  }

  #start(
    signal: AbortSignal | undefined,
    accept: () => Promise<InboxReceipt>,
    due: (receipt: InboxReceipt) => InboxItem | undefined = () => undefined,
  ): TurnStream {
    const { store, hub, inboxSignal, closed, options } = this.#context;
    return startTurn({
      store,
      hub,
      inboxSignal,
      clock: options.clock,
      signal,
      about: this.id,
      closed: closed.signal,
      accept: async () => {
        this.#context.assertOpen();
        return accept();
      },
      run: (receipt) => this.#runner.wake({ due: due(receipt) }),
      stop: ({ inboxId }) => this.#stopItem(inboxId),
    });
  }

  async #stopItem(inboxId: string): Promise<void> {
    if (this.#runner.stop(inboxId)) return;
    await this.#context.store.inbox.settle(inboxId, 'cancelled', { reason: 'stopped' });
  }

  async #all(): Promise<Entry[]> {
    return readHistory(this.#context.store, this.id);
  }

  async #planning(): Promise<{
    view: ContextView;
    limits: ReturnType<typeof compactionLimits>;
    frame: SessionFrame;
  }> {
    const { store } = this.#context;
    const record = await this.record();
    const frame = await this.#runner.frame(record);
    const view = await viewContext(store, this.id, frame);
    const limits = compactionLimits(view, this.#context.usableWindow(frame.model, record), frame);
    return { view, frame, limits };
  }

  async #compact(
    lease: Lease,
    { idempotencyKey, isFresh, ...request }: CompactRequest,
  ): Promise<CompactionEvent | null> {
    const { store, hub, options } = this.#context;
    const key = idempotencyKey === undefined ? undefined : requestKey(idempotencyKey);
    const earlier = earlierKey({ idempotencyKey, isFresh });
    const done = earlier === undefined ? undefined : await findRequested(store, this.id, earlier);
    if (done !== undefined) return compactedBefore(done);
    const { view, limits, frame } = await this.#planning();
    const { breaker } = this.#runner;
    const summarise = breaker.summariser(frame.model, options.summaryTimeoutMs);
    const asked = {
      reason: 'asked for',
      isExact: true,
      ...limits,
      ...request,
      standing: await standingOf(store, this.id),
      ...(summarise !== undefined && { summarise }),
    };
    const prepared = await prepareCompaction(view, asked, { store, sessionId: this.id });
    if (prepared === undefined) return null;
    if (summarise !== undefined) breaker.report(prepared.draft.method);
    const event = await commitCompaction({ store, sessionId: this.id, lease, key }, prepared, frame);
    if (event !== undefined) hub.publish({ sessionId: this.id, event });
    return event ?? null;
  }

  #step(request: StepRequest): Promise<UndoResult> {
    return takeStep({ store: this.#context.store, lane: this.#runner.lane, sessionId: this.id }, request);
  }

  /** Refuses an undo that restores more than fits: the next turn would only compact it again. */
  async #assertFits(all: readonly Entry[], { entry }: EntryStep): Promise<void> {
    const record = await this.record();
    const frame = await this.#runner.frame(record);
    const parentId = pathEntries(all).at(-1)?.id ?? null;
    const after = { ...entry, id: 'undone', parentId, timestamp: '' } as unknown as Entry;
    const { tokens } = makeView([...all, after], frame);
    const { tokens: window } = this.#context.window(frame.model, record);
    const { budget } = contextBudget(window, frame.maxOutputTokens);
    if (tokens <= budget) return;
    throw failure('CONTEXT_OVERFLOW', 'undo.tooLarge', { tokens, budget }, { details: { tokens, budget } });
  }
}

export type CompactionEvent = Extract<GuardEvent, { type: 'compaction' }>;
