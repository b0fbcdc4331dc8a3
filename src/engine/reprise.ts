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
import { type Agents, agentOptions, agentTools, storedSystemPrompt, systemPromptFor } from './agents.ts';
import { EngineContext } from './engine-context.ts';
import type { SessionEvent } from './events.ts';
import { Hub } from './hub.ts';
import { type CompactionTrigger, type ProfileFor, type ProfileName, profileResolver } from './profiles.ts';
import { Session } from './session.ts';
import { createWithId, newSessionId } from './session-ids.ts';
import { SessionRunner } from './session-runner.ts';
import type { Tool } from './tools/tool.ts';
import { endOf } from './turn-stream.ts';

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
  readonly session?: {
    /** False: sessions live in this process only; wants a store that keeps nothing. */
    readonly enabled?: boolean;
    /** At most so many messages are kept by a compaction. */
    readonly historyLimit?: number;
  };
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
  readonly clock?: () => Date;
  readonly maxSteps?: number;
  /** Whether accepted messages of any session are run here, also those of processes that died. */
  readonly run?: boolean;
}

export interface InboxStatus {
  readonly status: InboxState;
  readonly sessionId: string;
  readonly turnId?: string;
  readonly reply?: { readonly text: string };
  readonly error?: { readonly code: string; readonly message: string };
}

const MAX_STEPS = 50;
const SUMMARY_TIMEOUT_MS = 60_000;
const BACKGROUND_AT = 0.8;
const SWEEP_MS = 1000;

/** Sessions on a store with a model. Whoever opens it disposes it; running turns are waited for. */
export class Reprise implements AsyncDisposable {
  readonly #context: EngineContext;
  readonly #options: RepriseOptions;
  readonly #profileFor: ProfileFor;
  readonly #runners: Map<string, SessionRunner> = new Map();
  readonly #sweep: NodeJS.Timeout | undefined;

  constructor(options: RepriseOptions) {
    this.#options = options;
    const { store, agents = {}, tools = [], compaction = {}, maxSteps = MAX_STEPS, run = true } = options;
    const { background = BACKGROUND_AT, summaryTimeoutMs = SUMMARY_TIMEOUT_MS } = compaction;
    this.#profileFor = profileResolver({ ...options, ...compaction });
    assertPersists(this.#profileFor, store);
    this.#context = new EngineContext({
      store,
      hub: new Hub(),
      modelFor: (record) => this.#modelFor(record),
      toolsFor: ({ agentId }) => agentTools(agentOptions(agents, agentId), tools),
      systemFor: (record) =>
        storedSystemPrompt(record) ?? agentOptions(agents, record.agentId).systemPrompt ?? '',
      contextTokens: options.contextTokens,
      profileFor: this.#profileFor,
      maxSteps,
      summaryTimeoutMs,
      memoryFor: ({ agentId }) =>
        compaction.memoryFlush === true ? agentOptions(agents, agentId).workspace : undefined,
      now: options.clock ?? (() => new Date()),
      backgroundAt: background === false ? undefined : background,
    });
    if (!run) return;
    this.#sweep = setInterval(() => void this.#takeUp(), SWEEP_MS);
    this.#sweep.unref();
    void this.#takeUp();
  }

  get store(): Store {
    return this.#options.store;
  }

  /** By key: the active session, made if there is none. By id: that very one. */
  async session(ref: string | { readonly id: string }): Promise<Session> {
    this.#context.assertOpen();
    const record =
      typeof ref === 'string' ? await this.#byKey(normalizeSessionKey(ref)) : await this.store.get(ref.id);
    return new Session(this.#context, this.#runner(record.id), record);
  }

  async sessions(query: ListQuery = {}): Promise<SessionPage> {
    return this.store.list(query);
  }

  async search(query: SearchQuery): ReturnType<Store['search']> {
    return this.store.search(query);
  }

  /** What became of an accepted message. */
  async inbox(inboxId: string): Promise<InboxStatus> {
    const item = await this.store.inbox.get(inboxId);
    const { state: status, sessionId } = item;
    if (status === 'accepted' || status === 'running') return { status, sessionId };
    const end = endOf(item);
    if (end.type === 'done') return { status, sessionId, turnId: end.turnId, reply: { text: end.text } };
    return { status, sessionId, error: { code: end.code, message: end.message } };
  }

  /** Everything that happens in the sessions of this process from now on. */
  events({ signal }: { readonly signal?: AbortSignal } = {}): AsyncIterable<SessionEvent> {
    return this.#context.hub.subscribe(() => true, signal === undefined ? {} : { signal });
  }

  /** Resolves when all accepted work this process knows of is done. */
  async idle(): Promise<void> {
    await this.#takeUp();
    for (const runner of this.#runners.values()) await runner.idle();
  }

  async [Symbol.asyncDispose](): Promise<void> {
    const { closing, closed } = this.#context;
    closing.abort();
    clearInterval(this.#sweep);
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
    const now = (this.#options.clock ?? (() => new Date()))();
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

  #modelFor({ agentId, settings }: SessionRecord): Model {
    const { agents = {}, model, modelByName } = this.#options;
    const chosen = settings['model'];
    const named = typeof chosen === 'string' ? modelByName?.(chosen) : undefined;
    return named ?? agentOptions(agents, agentId).model ?? model;
  }

  /** Messages that were accepted and that nobody runs: of a process that died, or accepted by one that does not run. */
  async #takeUp(): Promise<void> {
    if (this.#context.closing.signal.aborted) return;
    try {
      const pending = await this.store.inbox.pending();
      const ids = new Set(pending.map(({ sessionId }) => sessionId));
      await Promise.all([...ids].map((id) => this.#runner(id).wake()));
    } catch (error) {
      // A store that is busy or closing is asked again by the next sweep.
      if (!(error instanceof RepriseError)) throw error;
    }
  }
}

/** What shall live in this process only must not be given to a store that keeps it. */
function assertPersists(profileFor: ProfileFor, { supports }: Store): void {
  const { persist } = profileFor({ agentId: 'main', settings: {} });
  if (persist === 'session' || supports.durability === 'none') return;
  throw new RepriseError('CONFIG_INVALID', 'sessions are not to be kept, but this store keeps them', {
    details: { next: 'Leave out the store, use "memory", or allow sessions.' },
  });
}
