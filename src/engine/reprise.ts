import type { CutStrategy } from '../compaction/cut-strategies.ts';
import { RepriseError } from '../errors.ts';
import { normalizeSessionKey, parseSessionKey } from '../keys/session-key.ts';
import type { Model } from '../models/model.ts';
import type {
  InboxState,
  ListQuery,
  SearchQuery,
  SessionPage,
  SessionRecord,
  Store,
} from '../store/store.ts';
import {
  type Agents,
  agentOptions,
  agentTools,
  storedSystemPrompt,
  systemPromptFor,
  workspaceOf,
} from './agents.ts';
import { checkAgents } from './check-agents.ts';
import { type Clock, clockFrom, type TimerHandle } from './clock.ts';
import { type Command, type UnknownCommand, unknownCommandText } from './commands.ts';
import { type ConvlogView, convlogView } from './convlog.ts';
import { EngineContext } from './engine-context.ts';
import type { DoneEvent, ErrorEvent, SessionEvent } from './events.ts';
import { Hub } from './hub.ts';
import type { InboundMessage } from './inbound.ts';
import { type LaneLimits, Lanes } from './lanes.ts';
import { type CompactionTrigger, type ProfileFor, type ProfileName, profileResolver } from './profiles.ts';
import { type Received, type ReceiveOptions, Receiver } from './receive.ts';
import { runCommand } from './run-command.ts';
import { Session } from './session.ts';
import { createWithId, newSessionId } from './session-ids.ts';
import { checkSessionOptions, queueFor, type SessionOptions, sessionOptionsOf } from './session-options.ts';
import { SessionRunner } from './session-runner.ts';
import { type SpawnRequest, type SpawnResult, type SubagentRun, Subagents } from './subagents.ts';
import { policyOf } from './tool-policy.ts';
import { createSessionTools } from './tools/session-tools.ts';
import type { Tool } from './tools/tool.ts';
import { awaitEnd, ended, endOf, startTurn, type TurnStream } from './turn-stream.ts';

export interface RepriseOptions {
  readonly store: Store;
  readonly model: Model;
  /** A model named by a session's `model` setting. */
  readonly modelByName?: (name: string) => Model | undefined;
  /** A cap on the window. */
  readonly contextTokens?: number;
  readonly agents?: Agents;
  readonly tools?: readonly Tool[];
  /** The ways of another system, see `PROFILES`; an agent's and a session's own choice win. */
  readonly profile?: ProfileName;
  readonly compaction?: {
    /** How much stays; takes the place of the profile's. */
    readonly cut?: CutStrategy;
    /** From when on; takes the place of the profile's. */
    readonly trigger?: CompactionTrigger;
    /** Share of the budget from which on a summary is prepared beside the conversation; false: only when it must be. */
    readonly background?: number | false;
    readonly summaryTimeoutMs?: number;
    /** Before a history is compacted the model may note in MEMORY.md of the workspace what will matter later. */
    readonly memoryFlush?: boolean;
  };
  /** How conversations are found, begun and queued. */
  readonly session?: SessionOptions;
  readonly clock?: Clock | (() => Date);
  readonly maxSteps?: number;
  /** How many turns run at once in this process. */
  readonly lanes?: Partial<LaneLimits>;
  /** A turn that tells nothing new for so long is ended; by default ten minutes. */
  readonly stuckAfterMs?: number;
  /** Whether accepted messages of any session are run here, also those of processes that died. */
  readonly run?: boolean;
}

export interface AgentInfo {
  readonly id: string;
  /** Who answers where a session has not chosen: `provider/model`. */
  readonly model: string;
  readonly profile?: ProfileName;
}

export interface InboxStatus {
  readonly status: InboxState;
  readonly sessionId: string;
  readonly turnId?: string;
  readonly reply?: { readonly text: string };
  readonly error?: { readonly code: string; readonly message: string };
  /** The message it was answered together with. */
  readonly mergedInto?: string;
}

const MAX_STEPS = 50;
const SUMMARY_TIMEOUT_MS = 60_000;
const BACKGROUND_AT = 0.8;
const SWEEP_MS = 1000;
const STUCK_AFTER_MS = 10 * 60_000;
/** A command that has run for so long has lost its process. */
const COMMAND_MS = 60_000;

/** Sessions on a store with a model. Whoever opens it disposes it; running turns are waited for. */
export class Reprise implements AsyncDisposable {
  readonly #context: EngineContext;
  readonly #options: RepriseOptions;
  readonly #profileFor: ProfileFor;
  readonly #runners: Map<string, SessionRunner> = new Map();
  /** Runners somebody has a session of: those stay. */
  readonly #kept: Set<string> = new Set();
  readonly #receiver: Receiver;
  readonly #subagents: Subagents;
  readonly #runs: boolean;
  #sweep: TimerHandle | undefined;

  constructor(options: RepriseOptions) {
    this.#options = options;
    const { store, agents = {}, tools = [], compaction = {}, session = {}, maxSteps = MAX_STEPS } = options;
    const { background = BACKGROUND_AT, summaryTimeoutMs = SUMMARY_TIMEOUT_MS } = compaction;
    checkSessionOptions(session);
    checkAgents(agents);
    const optionsOf = (agentId: string): SessionOptions => sessionOptionsOf(session, agents, agentId);
    this.#profileFor = profileResolver({ ...options, ...compaction });
    assertPersists(this.#profileFor, store);
    this.#context = new EngineContext({
      store,
      hub: new Hub(),
      modelFor: (record) => this.#modelFor(record),
      toolsFor: (record) =>
        agentTools(agentOptions(agents, record.agentId), record, { given: tools, sessionTools }),
      systemFor: (record) =>
        storedSystemPrompt(record) ?? agentOptions(agents, record.agentId).systemPrompt ?? '',
      contextTokens: options.contextTokens,
      profileFor: this.#profileFor,
      maxSteps,
      summaryTimeoutMs,
      memoryFor: (record) =>
        compaction.memoryFlush === true
          ? workspaceOf(agentOptions(agents, record.agentId), record)
          : undefined,
      queueFor: (record) => queueFor(optionsOf(record.agentId), record),
      threadsFor: (record) => optionsOf(record.agentId).threads,
      clock: clockFrom(options.clock),
      lanes: new Lanes(options.lanes),
      stuckAfterMs: options.stuckAfterMs ?? STUCK_AFTER_MS,
      deliveries: (lead, outcome) => this.#subagents.deliveries(lead, outcome),
      afterItem: (item) => this.#subagents.afterItem(item),
      backgroundAt: background === false ? undefined : background,
    });
    const run = (sessionId: string): void => this.#run(sessionId);
    this.#subagents = new Subagents({
      context: this.#context,
      agents,
      modelByName: options.modelByName,
      run,
      tellParent: (sessionId) =>
        this.#runners.has(sessionId) ? this.#run(sessionId) : this.#wake(sessionId),
    });
    const sessionTools = createSessionTools({
      context: this.#context,
      subagents: this.#subagents,
      reachOf: (record) => policyOf(agentOptions(agents, record.agentId), record).reach,
      wake: (sessionId) => this.#wake(sessionId),
      run,
    });
    this.#receiver = new Receiver({
      context: this.#context,
      agents,
      session,
      wake: (sessionId) => this.#wake(sessionId),
      runCommand: async (command, sessionId) => this.#runCommand(command, sessionId),
      idForm: (agentId) => this.#profileFor({ agentId, settings: {} }).sessionId,
    });
    this.#runs = options.run ?? true;
    void this.#heed();
    if (!this.#runs) return;
    this.#sweepLater();
    void this.#takeUp();
  }

  get store(): Store {
    return this.#options.store;
  }

  /** What was said on the channels; for admins, never for agents. */
  get convlog(): ConvlogView {
    return convlogView(this.store);
  }

  /** By key: the active session, made if there is none. By id: that very one. */
  async session(ref: string | { readonly id: string }): Promise<Session> {
    this.#context.assertOpen();
    const record =
      typeof ref === 'string' ? await this.#byKey(normalizeSessionKey(ref)) : await this.store.get(ref.id);
    return this.#session(record);
  }

  /** A new session in the place of a key's; the old one is kept and linked, and `undo` brings it back. */
  async renew(key: string, options: { readonly label?: string } = {}): Promise<Session> {
    this.#context.assertOpen();
    return this.#session(await this.#receiver.renew(normalizeSessionKey(key), options));
  }

  /** A message of a channel: durable when this resolves; its turn runs by itself. */
  async receive(message: InboundMessage, options: ReceiveOptions = {}): Promise<Received> {
    return this.#receiver.receive(message, options);
  }

  /** Gives a task to a child of a session; its result comes back as a message for that session. */
  async spawn(parent: string | { readonly id: string }, request: SpawnRequest): Promise<SpawnResult> {
    const { id } = await this.session(typeof parent === 'string' ? parent : { id: parent.id });
    return this.#subagents.spawn(await this.store.get(id), request);
  }

  /** The children of a session with what became of their tasks, newest first. */
  async runs(parentSessionId: string): Promise<readonly SubagentRun[]> {
    return this.#subagents.runs(parentSessionId);
  }

  /** The events of an accepted message until its turn has ended, from now on. */
  follow(inboxId: string, { signal }: { readonly signal?: AbortSignal } = {}): TurnStream {
    const { store, hub, news, closed, options } = this.#context;
    return startTurn({
      store,
      hub,
      news,
      clock: options.clock,
      signal: undefined,
      closed: signal === undefined ? closed.signal : AbortSignal.any([closed.signal, signal]),
      accept: async () => {
        const { sessionId, sessionKey } = await store.inbox.get(inboxId);
        return { inboxId, sessionId, sessionKey, fresh: false, held: false, dropped: [] };
      },
      run: async ({ sessionId }) => (this.#runs ? this.#runner(sessionId).wake() : undefined),
      stop: async () => undefined,
    });
  }

  /** How an accepted message ends, in whichever process it runs. */
  async ended(
    inboxId: string,
    { signal }: { readonly signal?: AbortSignal } = {},
  ): Promise<DoneEvent | ErrorEvent> {
    const { store, hub, news, closed, options } = this.#context;
    const run = async ({ sessionId }: { readonly sessionId: string }): Promise<void> =>
      this.#runs ? this.#runner(sessionId).wake() : undefined;
    const { clock } = options;
    return awaitEnd({ store, hub, news, clock, run, signal, closed: closed.signal }, inboxId);
  }

  async sessions(query: ListQuery = {}): Promise<SessionPage> {
    return this.store.list(query);
  }

  async search(query: SearchQuery): ReturnType<Store['search']> {
    return this.store.search(query);
  }

  /** What became of an accepted message. */
  async inbox(inboxId: string): Promise<InboxStatus> {
    const own = await this.store.inbox.get(inboxId);
    const { sessionId } = own;
    const item = await ended(this.store, inboxId);
    const merged = own === item ? {} : { mergedInto: item.inboxId };
    const { state: status } = own.state === 'merged' ? own : item;
    if (OPEN.has(item.state)) return { status, sessionId, ...merged };
    const end = endOf(item);
    if (end.type === 'done')
      return { status, sessionId, turnId: end.turnId, reply: { text: end.text }, ...merged };
    return { status, sessionId, error: { code: end.code, message: end.message }, ...merged };
  }

  /** Everything that happens in the sessions of this process from now on. */
  events({ signal }: { readonly signal?: AbortSignal } = {}): AsyncIterable<SessionEvent> {
    return this.#context.hub.subscribe(() => true, signal === undefined ? {} : { signal });
  }

  /** The same, each in the moment it is told: for those who must not miss one. Answers with how to end it. */
  tap(tap: (event: SessionEvent) => void): () => void {
    return this.#context.hub.tap(tap);
  }

  /** How many turns run and wait in this process, for whoever looks after it. */
  lanes(): ReturnType<Lanes['stats']> {
    return this.#context.options.lanes.stats();
  }

  /** The agents that are configured; `main` always is. */
  agents(): readonly AgentInfo[] {
    const { agents = {}, model } = this.#options;
    const ids = new Set(['main', ...Object.keys(agents).filter((id) => id !== 'defaults')]);
    return [...ids].map((id) => {
      const { model: own = model, profile = this.#options.profile } = agentOptions(agents, id);
      return { id, model: `${own.provider}/${own.id}`, ...(profile !== undefined && { profile }) };
    });
  }

  /** Resolves when all accepted work this process knows of is done. */
  async idle(): Promise<void> {
    await this.#takeUp();
    // Turns give work to other sessions: to children, and these to their parents.
    for (let busy = this.#busy(); busy.length > 0; busy = this.#busy())
      for (const runner of busy) await runner.idle();
  }

  async [Symbol.asyncDispose](): Promise<void> {
    const { closing, closed } = this.#context;
    closing.abort();
    if (this.#sweep !== undefined) this.#context.options.clock.clearTimeout(this.#sweep);
    for (const runner of this.#runners.values()) runner.close();
    for (const runner of this.#runners.values()) await runner.idle();
    // Listeners hear the ends of turns in microtasks; only then is it known who waits for another process.
    await new Promise((resolve) => setImmediate(resolve));
    closed.abort();
    await this.store[Symbol.asyncDispose]();
  }

  async #byKey(key: string): Promise<SessionRecord> {
    const active = await this.store.active(key);
    if (active !== undefined) return active;
    const parts = parseSessionKey(key);
    const agentId = parts.kind === 'global' ? 'main' : parts.agentId;
    const { agents = {} } = this.#options;
    const systemPrompt = await systemPromptFor(agentOptions(agents, agentId));
    const settings = systemPrompt === '' ? {} : { settings: { systemPrompt } };
    const { sessionId } = this.#profileFor({ agentId, settings: {} });
    const now = this.#context.options.clock.now();
    const idFor = (attempt: number): string | undefined => newSessionId(sessionId, now, attempt);
    return createWithId(this.store, { key, activate: true, ...settings }, idFor);
  }

  #runner(sessionId: string): SessionRunner {
    let runner = this.#runners.get(sessionId);
    if (runner === undefined) {
      runner = new SessionRunner(this.#context, sessionId);
      this.#runners.set(sessionId, runner);
    }
    return runner;
  }

  #busy(): SessionRunner[] {
    return [...this.#runners.values()].filter(({ isBusy }) => isBusy);
  }

  #modelFor({ agentId, settings }: SessionRecord): Model {
    const { agents = {}, model, modelByName } = this.#options;
    const { model: given, modelOverride, providerOverride } = settings;
    // Older systems name provider and model apart.
    const isApart = typeof providerOverride === 'string' && typeof modelOverride === 'string';
    const chosen = given ?? (isApart ? `${providerOverride}:${modelOverride}` : modelOverride);
    const named = typeof chosen === 'string' ? modelByName?.(chosen) : undefined;
    return named ?? agentOptions(agents, agentId).model ?? model;
  }

  #session(record: SessionRecord): Session {
    this.#kept.add(record.id);
    return new Session(this.#context, this.#runner(record.id), record);
  }

  async #runCommand(
    command: Command | UnknownCommand,
    sessionId: string,
  ): Promise<{ readonly name: string; readonly text: string }> {
    if ('unknown' in command) return { name: command.unknown, text: unknownCommandText(command) };
    const session = this.#session(await this.store.get(sessionId));
    const { modelByName } = this.#options;
    return runCommand(command, {
      reprise: this,
      session,
      surface: 'channel',
      ...(modelByName !== undefined && { modelByName }),
    });
  }

  /** Where this process runs conversations at all. */
  #wake(sessionId: string): void {
    if (this.#runs) this.#run(sessionId);
  }

  #run(sessionId: string): void {
    if (this.#context.closing.signal.aborted) return;
    const runner = this.#runner(sessionId);
    const leave = (): void => {
      if (runner.isIdle && !this.#kept.has(sessionId)) this.#runners.delete(sessionId);
    };
    // What goes wrong is a state of the row, and what is left undone waits for the next look at it.
    runner.wake().then(leave, leave);
  }

  /** Until this engine closes: what changed in any inbox concerns whoever runs, waits or might run. */
  async #heed(): Promise<void> {
    const { closed, news } = this.#context;
    try {
      for await (const sessionId of this.store.inbox.watch({ signal: closed.signal })) {
        news.tell(sessionId);
        void this.#runners
          .get(sessionId)
          ?.heed()
          .catch(() => undefined); // the next boundary looks again
        this.#wake(sessionId);
      }
    } catch (error) {
      // The store closed before this engine did: everything is told by looks from now on.
      if (!(error instanceof RepriseError)) throw error;
    }
  }

  #sweepLater(): void {
    this.#sweep = this.#context.options.clock.setTimeout(() => {
      void this.#takeUp();
      if (!this.#context.closing.signal.aborted) this.#sweepLater();
    }, SWEEP_MS);
    this.#sweep.unref?.();
  }

  /** Messages that were accepted and that nobody runs: of a process that died, or accepted by one that does not run. */
  async #takeUp(): Promise<void> {
    const { closing, options } = this.#context;
    if (closing.signal.aborted) return;
    try {
      const pending = await this.store.inbox.pending();
      await this.#subagents.look(pending);
      const now = options.clock.now().getTime();
      for (const { inboxId, class: kind, createdAt } of pending) {
        if (kind !== 'command' || now - Date.parse(createdAt) < COMMAND_MS) continue;
        const detail = {
          code: 'ABORTED',
          message: 'the process ended while the command ran',
          reason: 'interrupted',
        };
        await this.store.inbox.settle(inboxId, 'interrupted', detail);
      }
      for (const id of new Set(pending.map(({ sessionId }) => sessionId))) this.#wake(id);
    } catch (error) {
      // A store that is busy or closing is asked again by the next sweep.
      if (!(error instanceof RepriseError)) throw error;
    }
  }
}

const OPEN: ReadonlySet<InboxState> = new Set(['accepted', 'running']);
/** What shall live in this process only must not be given to a store that keeps it. */
function assertPersists(profileFor: ProfileFor, { supports }: Store): void {
  const { persist } = profileFor({ agentId: 'main', settings: {} });
  if (persist === 'session' || supports.durability === 'none') return;
  throw new RepriseError('CONFIG_INVALID', 'sessions are not to be kept, but this store keeps them', {
    details: { next: 'Leave out the store, use "memory", or allow sessions.' },
  });
}
