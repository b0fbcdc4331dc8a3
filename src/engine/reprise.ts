/* This file is longer than most: it is the public interface of the engine and only delegates. */

import type { CutStrategy } from '../compaction/cut-strategies.ts';
import { agentOfKey, normalizeSessionKey } from '../keys/session-key.ts';
import { failure } from '../messages/failure.ts';
import type { Message } from '../messages/message.ts';
import type { Model } from '../models/model.ts';
import type { InboxState } from '../store/port/inbox.ts';
import type { SearchQuery } from '../store/port/search.ts';
import type { ListQuery, SessionPage, SessionRecord, Store } from '../store/port/store.ts';
import { type ConvlogView, convlogView } from './admin/convlog.ts';
import { type MaintenanceOptions, type MaintenanceReport, runMaintenance } from './admin/run-maintenance.ts';
import { UsageBook, type UsageQuery } from './admin/usage-book.ts';
import type { UsageOverview } from './admin/usage-sums.ts';
import {
  type AgentInfo,
  type Agents,
  agentInfos,
  agentOptions,
  agentTools,
  storedSystemPrompt,
} from './agents/agents.ts';
import {
  type CompactionTrigger,
  type Profile,
  type ProfileFor,
  type ProfileName,
  profileResolver,
} from './agents/profiles.ts';
import { SessionModels } from './agents/session-models.ts';
import type { SpawnRequest, SpawnResult } from './agents/spawn-request.ts';
import { type SubagentRun, Subagents } from './agents/subagents.ts';
import { policyOf } from './agents/tool-policy.ts';
import { Workspaces } from './agents/workspaces.ts';
import { checkOptions } from './check-options.ts';
import { type Clock, clockFrom } from './clock.ts';
import { type Command, type UnknownCommand, unknownCommand } from './commands/commands.ts';
import { runCommand } from './commands/run-command.ts';
import { EngineContext } from './engine-context.ts';
import type { DoneEvent, ErrorEvent, SessionEvent } from './events.ts';
import type { MergeOptions, MergeResult } from './history/merge-history.ts';
import { type PurgeReport, type PurgeSessionOptions, purgeSession } from './history/purge-session.ts';
import { Hub } from './hub.ts';
import type { InboundMessage } from './intake/inbound.ts';
import type { Keyed } from './intake/keyed-request.ts';
import { type AnsweredCommand, type Received, type ReceiveOptions, Receiver } from './intake/receive.ts';
import { withNewId } from './intake/session-ids.ts';
import { answeredBy, endOf, isOpen } from './schedule/item-end.ts';
import { type LaneLimits, Lanes } from './schedule/lanes.ts';
import { Runners } from './schedule/runners.ts';
import { Session } from './session.ts';
import { queueFor, type SessionOptions, sessionOptionsOf } from './session-options.ts';
import { type NamedSession, namedSession, type SessionRef } from './session-ref.ts';
import { createSessionTools } from './tools/session-tools.ts';
import { type ToolList, toolsFor } from './tools/tool-list.ts';
import { awaitEnd, type FollowOptions, startTurn, type TurnStream } from './turn/turn-stream.ts';
import { historyTurnsFor } from './window/history-turns.ts';

export interface RepriseOptions {
  readonly store: Store;
  readonly model: Model;
  /** Finds a model named by a session's `model` setting. */
  readonly modelByName?: (name: string) => Model | undefined;
  /** Called before a model is needed that `modelByName` does not return yet. If it fails, another model answers. */
  readonly loadModel?: (name: string) => Promise<unknown>;
  /**
   * A model for this run that wins over the one stored in a session and over its agent's, until `session.patch({
   * model })` or `/model` chooses another one for that session.
   */
  readonly modelOverride?: (record: SessionRecord) => Model | undefined;
  /** Upper limit for the window. */
  readonly contextTokens?: number;
  readonly agents?: Agents;
  /** The folder with AGENT.md and the workspaces of each agent in `agents/<agent>/`. */
  readonly home?: string;
  /** Tools for all agents that permit them, or a function that returns the tools of a session. */
  readonly tools?: ToolList;
  /** The behavior of another tool, see `PROFILES`; an agent's and a session's own choice win. */
  readonly profile?: ProfileName;
  readonly compaction?: {
    /** How much a compaction keeps; overrides the profile. */
    readonly cut?: CutStrategy;
    /** When to compact; overrides the profile. */
    readonly trigger?: CompactionTrigger;
    /** The share of the budget at which a summary is prepared in the background; false: only when it is needed. */
    readonly background?: number | false;
    readonly summaryTimeoutMs?: number;
    /** Whether the model writes notes for later to MEMORY.md in the conversation's workspace before a compaction. */
    readonly memoryFlush?: boolean;
  };
  /** How conversations are found, created and queued. */
  readonly session?: SessionOptions;
  readonly clock?: Clock | (() => Date);
  readonly maxSteps?: number;
  /** How many turns run at once in this process. */
  readonly lanes?: Partial<LaneLimits>;
  /** A turn without any new event for this long is ended; ten minutes by default. */
  readonly stuckAfterMs?: number;
  /** Whether this process runs accepted messages of all sessions, also those of processes that died. */
  readonly run?: boolean;
}

export interface InboxStatus {
  readonly status: InboxState;
  readonly sessionId: string;
  readonly turnId?: string;
  readonly reply?: { readonly text: string; readonly usageLine?: string };
  readonly error?: { readonly code: string; readonly message: string; readonly why?: Message };
  /** The message that it was answered together with. */
  readonly mergedInto?: string;
}

const MAX_STEPS = 50;
const SUMMARY_TIMEOUT_MS = 60_000;
const BACKGROUND_AT = 0.8;
const MAINTAIN_MS = 60 * 60_000;
const MAINTAIN_LIMIT = 100;
const STUCK_AFTER_MS = 10 * 60_000;

/** Sessions on a store with a model. The caller disposes it, which waits for running turns. */
export class Reprise implements AsyncDisposable {
  readonly #context: EngineContext;
  readonly #options: RepriseOptions;
  readonly #profileFor: ProfileFor;
  readonly #runners: Runners;
  readonly #receiver: Receiver;
  readonly #subagents: Subagents;
  readonly #models: SessionModels;
  readonly #workspaces: Workspaces;
  #maintainedAt = 0;
  #usage: UsageBook | undefined;

  constructor(options: RepriseOptions) {
    this.#options = options;
    const { store, agents = {}, tools = [], compaction = {}, session = {}, maxSteps = MAX_STEPS } = options;
    const { background = BACKGROUND_AT, summaryTimeoutMs = SUMMARY_TIMEOUT_MS } = compaction;
    checkOptions(options);
    const workspaces = new Workspaces(options.home, agents);
    this.#workspaces = workspaces;
    const optionsOf = (agentId: string): SessionOptions => sessionOptionsOf(session, agents, agentId);
    this.#profileFor = profileResolver({ ...options, ...compaction });
    assertPersists(this.#profileFor, store);
    const clock = clockFrom(options.clock);
    const { model, modelByName, loadModel, modelOverride } = options;
    const models = new SessionModels({ model, agents, modelByName, loadModel, modelOverride, clock });
    this.#models = models;
    this.#context = new EngineContext({
      store,
      hub: new Hub(),
      modelInUse: (record) => models.inUse(record),
      checkModel: (name) => models.check(name),
      modelChosen: (sessionId, name) => models.choose(sessionId, name),
      loadModelFor: (record, signal) => models.loadFor(record, signal),
      toolsFor: async (record) =>
        agentTools(agentOptions(agents, record.agentId), record, {
          given: await toolsFor(tools, record),
          sessionTools,
          fileToolsFolder: workspaces.fileToolsFolder(record),
        }),
      systemFor: (record) =>
        storedSystemPrompt(record) ?? agentOptions(agents, record.agentId).systemPrompt ?? '',
      contextTokensFor: ({ agentId }) => [options.contextTokens, agentOptions(agents, agentId).contextTokens],
      profileFor: this.#profileFor,
      maxSteps,
      summaryTimeoutMs,
      memoryFor: (record) => (compaction.memoryFlush === true ? workspaces.folderOf(record) : undefined),
      historyTurnsFor: (record) => historyTurnsFor(optionsOf(record.agentId), record),
      queueFor: (record) => queueFor(optionsOf(record.agentId), record),
      threadsFor: (record) => optionsOf(record.agentId).threads,
      clock,
      lanes: new Lanes(options.lanes),
      stuckAfterMs: options.stuckAfterMs ?? STUCK_AFTER_MS,
      deliveries: (lead, outcome) => this.#subagents.deliveries(lead, outcome),
      afterItem: (item, turn) => this.#subagents.afterItem(item, turn),
      backgroundAt: background === false ? undefined : background,
    });
    this.#runners = new Runners({
      context: this.#context,
      runs: options.run ?? true,
      onSweep: async (open) => {
        await this.#subagents.look(open);
        this.#maintainSometimes();
      },
    });
    const run = (sessionId: string): void => this.#runners.run(sessionId);
    const wake = (sessionId: string): void => this.#runners.wake(sessionId);
    this.#subagents = new Subagents({
      context: this.#context,
      agents,
      workspaces,
      findModel: (name, signal) => models.find(name, signal),
      run,
      tellParent: (sessionId) => (this.#runners.has(sessionId) ? run(sessionId) : wake(sessionId)),
    });
    const sessionTools = createSessionTools({
      context: this.#context,
      subagents: this.#subagents,
      reachOf: (record) => policyOf(agentOptions(agents, record.agentId), record).reach,
      wake,
      run,
    });
    this.#receiver = new Receiver({
      context: this.#context,
      agents,
      workspaces,
      session,
      wake,
      runCommand: async (command, sessionId) => this.#runCommand(command, sessionId),
      idForm: (agentId) => this.profile(agentId).sessionId,
    });
    this.#runners.start();
  }

  get store(): Store {
    return this.#options.store;
  }

  /** The channel logs; for operators, never for agents. */
  get convlog(): ConvlogView {
    return convlogView(this.store);
  }

  /**
   * By key, or by agent, user and thread: the active session, created if needed. By id: that session.
   *
   * @example
   * ```ts
   * import { openReprise } from 'reprise';
   *
   * const reprise = await openReprise({ store: 'memory' });
   * const session = await reprise.session({ user: 'ada', thread: 'invoices' });
   * console.log(session.key);
   * await reprise.close();
   * ```
   */
  async session(ref: string | SessionRef | { readonly id: string }): Promise<Session> {
    this.#context.assertOpen();
    const isId = typeof ref === 'object' && 'id' in ref;
    const record = isId ? await this.store.get(ref.id) : await this.#byKey(namedSession(ref));
    return this.#session(record);
  }

  /** Starts a new session for a key. The old one stays and is linked, and `undo` returns to it. */
  async renew(key: string, options: Keyed & { readonly label?: string } = {}): Promise<Session> {
    this.#context.assertOpen();
    return this.#session(await this.#receiver.renew(normalizeSessionKey(key), options));
  }

  /** Accepts a message of a channel: durable when this resolves; its turn runs on its own. */
  async receive(message: InboundMessage, options: ReceiveOptions = {}): Promise<Received> {
    return this.#receiver.receive(message, options);
  }

  /** Gives a task to a child of a session; its result arrives as a message for that session. */
  async spawn(parent: string | { readonly id: string }, request: SpawnRequest): Promise<SpawnResult> {
    const { id } = await this.session(typeof parent === 'string' ? parent : { id: parent.id });
    return this.#subagents.spawn(await this.store.get(id), request);
  }

  /** The children of a session with the state of their tasks, newest first. */
  async runs(parentSessionId: string): Promise<readonly SubagentRun[]> {
    return this.#subagents.runs(parentSessionId);
  }

  /**
   * Appends what is new in the full history that another program holds: a history that continues a known one is
   * continued, one that differs becomes a branch below the last common message, a known one adds nothing. The
   * messages are those of the named API, whatever ids, order of results or spelling it uses.
   */
  async mergeHistory(
    sessionId: string,
    messages: readonly unknown[],
    options: MergeOptions,
  ): Promise<MergeResult> {
    return (await this.session({ id: sessionId })).mergeHistory(messages, options);
  }

  /** The events of an accepted message from now on, until its turn has ended. */
  follow(inboxId: string, { signal }: { readonly signal?: AbortSignal } = {}): TurnStream {
    return startTurn({
      ...this.#following(inboxId, signal),
      signal: undefined,
      stop: async () => undefined,
    });
  }

  /** Resolves with the end of an accepted message, in whichever process it runs. */
  async ended(
    inboxId: string,
    { signal }: { readonly signal?: AbortSignal } = {},
  ): Promise<DoneEvent | ErrorEvent> {
    return awaitEnd(this.#following(inboxId, signal));
  }

  #following(inboxId: string, signal: AbortSignal | undefined): FollowOptions {
    const { store, hub, inboxSignal, closed, options } = this.#context;
    return {
      store,
      hub,
      inboxSignal,
      clock: options.clock,
      about: inboxId,
      closed: signal === undefined ? closed.signal : AbortSignal.any([closed.signal, signal]),
      accept: async () => {
        const { sessionId, sessionKey } = await store.inbox.get(inboxId);
        return { inboxId, sessionId, sessionKey, fresh: false, held: false, dropped: [] };
      },
      run: async ({ sessionId }) => this.#runners.wake(sessionId),
    };
  }

  async sessions(query: ListQuery = {}): Promise<SessionPage> {
    return this.store.list(query);
  }

  async search(query: SearchQuery): ReturnType<Store['search']> {
    return this.store.search(query);
  }

  /** Tokens, cost and other statistics of a period, by day, agent and model, over all sessions. */
  async usage(query: UsageQuery): Promise<UsageOverview> {
    this.#usage ??= new UsageBook(this.store, this.#context.closed.signal);
    return this.#usage.look(query);
  }

  /** The current state of an accepted message. */
  async inbox(inboxId: string): Promise<InboxStatus> {
    const own = await this.store.inbox.get(inboxId);
    const { sessionId } = own;
    const item = await answeredBy(this.store, own);
    const merged = own === item ? {} : { mergedInto: item.inboxId };
    const { state: status } = own.state === 'merged' ? own : item;
    if (isOpen(item)) return { status, sessionId, ...merged };
    const end = endOf(item);
    if (end.type === 'done') return { status, sessionId, turnId: end.turnId, reply: replyOf(end), ...merged };
    const { type: _, details: __, ...error } = end;
    return { status, sessionId, error, ...merged };
  }

  /**
   * Removes the text of a session in the trash permanently: from the store, from channel logs and from the prompt
   * history. The report lists the copies of it in other sessions, in notes and in its workspace; `withCopies` removes
   * these too.
   */
  async purge(id: string, options: Omit<PurgeSessionOptions, 'home' | 'agents'> = {}): Promise<PurgeReport> {
    const { home, agents = {} } = this.#options;
    return purgeSession(this.store, id, { ...options, home, agents });
  }

  /** Deletes what the maintenance rules allow, or only reports it. Without rules nothing is deleted. */
  async maintain(options: Omit<MaintenanceOptions, 'now'> = {}): Promise<MaintenanceReport> {
    const { clock } = this.#context.options;
    const rules = this.#options.session?.maintenance ?? {};
    return runMaintenance(this.store, rules, { ...options, now: () => clock.now() });
  }

  /** All events in the sessions of this process from now on. */
  events({ signal }: { readonly signal?: AbortSignal } = {}): AsyncIterable<SessionEvent> {
    return this.#context.hub.subscribe(() => true, signal === undefined ? {} : { signal });
  }

  /**
   * Like `events`, but calls back for each event as it is emitted, so that none is missed. @returns a function that
   * ends it.
   */
  tap(tap: (event: SessionEvent) => void): () => void {
    return this.#context.hub.tap(tap);
  }

  /** How many turns run and wait in this process, for operators. */
  lanes(): ReturnType<Lanes['stats']> {
    return this.#context.options.lanes.stats();
  }

  /** How many sessions this process has in memory: running, or held by a caller. */
  sessionsInHand(): number {
    return this.#runners.size;
  }

  /** The configured agents; `main` always exists. */
  agents(): readonly AgentInfo[] {
    const { agents = {}, model, profile } = this.#options;
    return agentInfos(agents, { model, profile });
  }

  /** The profile of an agent's new sessions. A session may have chosen another one. */
  profile(agentId: string): Profile {
    return this.#profileFor({ agentId, settings: {} });
  }

  /** Resolves when all accepted work known to this process is done. */
  async idle(): Promise<void> {
    await this.#runners.idle();
  }

  /**
   * Accepts nothing and starts no turn from now on: queued messages stay queued for the next process, and running
   * turns continue. For a program that stops a turn in order to exit and must not start the next one.
   */
  holdQueue(): void {
    this.#context.closing.abort();
    this.#runners.holdQueue();
  }

  /** Accepts no more messages, lets running turns end, and closes the store. The same as `await using`. */
  close(): Promise<void> {
    return this[Symbol.asyncDispose]();
  }

  async [Symbol.asyncDispose](): Promise<void> {
    const { closing, closed } = this.#context;
    closing.abort();
    await this.#runners.close();
    // Listeners receive the ends of turns in microtasks; only then is it known which callers wait for another
    // process.
    await new Promise((resolve) => setImmediate(resolve));
    closed.abort();
    await this.store[Symbol.asyncDispose]();
  }

  async #byKey({ key, owner }: NamedSession): Promise<SessionRecord> {
    const active = await this.store.active(key);
    if (active !== undefined) return active;
    const agentId = agentOfKey(key);
    const systemPrompt = await this.#workspaces.systemPromptFor(agentId);
    const settings = systemPrompt === '' ? {} : { settings: { systemPrompt } };
    const { sessionId } = this.profile(agentId);
    return withNewId(
      sessionId,
      () => this.#context.options.clock.now(),
      (id) =>
        this.store.create({ key, activate: true, ...settings, ...(owner !== undefined && { owner }), ...id }),
    );
  }

  #session(record: SessionRecord): Session {
    const session = new Session(this.#context, this.#runners.hold(record.id), record);
    this.#runners.letGoWith(session, record.id);
    return session;
  }

  async #runCommand(
    command: Command | UnknownCommand,
    sessionId: string,
  ): Promise<Omit<AnsweredCommand, 'text'>> {
    if ('unknown' in command) return { name: command.unknown, messages: [unknownCommand(command)] };
    const record = await this.store.get(sessionId);
    const session = new Session(this.#context, this.#runners.hold(sessionId), record);
    const { modelByName } = this.#options;
    try {
      const find = (name: string): Promise<Model | undefined> => this.#models.find(name);
      const named = modelByName === undefined ? {} : { modelByName: find };
      return await runCommand(command, { reprise: this, session, surface: 'channel', ...named });
    } finally {
      this.#runners.letGo(sessionId);
    }
  }

  #maintainSometimes(): void {
    const now = this.#context.options.clock.now().getTime();
    if (this.#options.session?.maintenance === undefined || now - this.#maintainedAt < MAINTAIN_MS) return;
    this.#maintainedAt = now;
    // No caller reads this report; what could not be deleted is retried by the next run.
    void this.maintain({ limit: MAINTAIN_LIMIT, signal: this.#context.closing.signal }).catch(
      () => undefined,
    );
  }
}

function replyOf({ text, usageLine }: DoneEvent): NonNullable<InboxStatus['reply']> {
  return { text, ...(usageLine !== undefined && { usageLine }) };
}

/** A profile that must stay in this process must not be used with a store that saves data. */
function assertPersists(profileFor: ProfileFor, { supports }: Store): void {
  const { persist } = profileFor({ agentId: 'main', settings: {} });
  if (persist === 'session' || supports.durability === 'none') return;
  throw failure('CONFIG_INVALID', 'setting.temporarySessions');
}
