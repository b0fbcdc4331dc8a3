import { type Calibration, calibrate } from '../context/calibration.ts';
import {
  CONTEXT_WINDOW_HARD_MIN_TOKENS,
  type ContextWindowGuard,
  evaluateContextWindowGuard,
  type LearnedWindows,
  learnWindow,
  resolveContextWindow,
} from '../context/window.ts';
import { failure } from '../messages/failure.ts';
import type { Model } from '../models/model.ts';
import type { Inbound, InboxItem } from '../store/port/inbox.ts';
import type { SessionRecord, Store } from '../store/port/store.ts';
import type { Usage } from '../transcript/entry.ts';
import type { ProfileFor } from './agents/profiles.ts';
import type { ModelInUse } from './agents/session-models.ts';
import type { Clock } from './clock.ts';
import type { Hub } from './hub.ts';
import { InboxSignal } from './schedule/inbox-signal.ts';
import type { Lanes } from './schedule/lanes.ts';
import type { SessionOptions } from './session-options.ts';
import type { QueueSettings } from './session-settings.ts';
import type { Tool } from './tools/tool.ts';
import type { TurnOutcome } from './turn/turn-outcome.ts';

export interface EngineOptions {
  readonly store: Store;
  readonly hub: Hub;
  /** The model of a session, by its settings. */
  readonly modelInUse: (record: SessionRecord) => ModelInUse;
  /** Throws INVALID_INPUT for a name that no session can use. */
  readonly checkModel: (name: string) => Promise<void>;
  /** Call it after a caller changed the model of a session. */
  readonly modelChosen: (sessionId: string, model: unknown) => void;
  /**
   * Loads the model that a session names, so that `modelInUse` finds it. Resolves early, without an error, when the
   * signal aborts.
   */
  readonly loadModelFor: (record: SessionRecord, signal?: AbortSignal) => Promise<void>;
  readonly toolsFor: (record: SessionRecord) => Promise<readonly Tool[]>;
  readonly systemFor: (record: SessionRecord) => string;
  /** Configured limits of the window; the smallest one counts. */
  readonly contextTokensFor: (record: SessionRecord) => readonly (number | undefined)[];
  readonly profileFor: ProfileFor;
  readonly maxSteps: number;
  readonly summaryTimeoutMs: number;
  /** The folder for notes before a compaction; undefined: no notes are written. */
  readonly memoryFor: (record: SessionRecord) => string | undefined;
  readonly historyTurnsFor: (record: SessionRecord) => number | undefined;
  readonly queueFor: (record: SessionRecord) => QueueSettings;
  /** Whether a new thread's session starts with the conversation before it. */
  readonly threadsFor: (record: SessionRecord) => SessionOptions['threads'];
  readonly clock: Clock;
  readonly lanes: Lanes;
  /** A turn without any new event for this long is ended. */
  readonly stuckAfterMs: number;
  /** Messages to deliver in the transaction that ends a turn: a child's result for its parent. */
  readonly deliveries: (lead: InboxItem, outcome: TurnOutcome) => readonly Inbound[];
  /** Called when a message has been processed. */
  readonly afterItem: (item: InboxItem, turn: { readonly isRetry: boolean }) => Promise<void>;
  /** The share of the budget at which a background compaction starts; undefined: never. */
  readonly backgroundAt: number | undefined;
}

/** Shared by the sessions of one engine: the store, and what was learned about models. */
export class EngineContext {
  readonly options: EngineOptions;
  readonly inboxSignal: InboxSignal = new InboxSignal();
  /** Aborts when the engine no longer accepts messages. */
  readonly closing: AbortController = new AbortController();
  /** Aborts when all turns of this process have ended: a caller that still waits, waits for another process. */
  readonly closed: AbortController = new AbortController();
  readonly #calibrations: Map<string, Calibration> = new Map();
  #windows: LearnedWindows = {};

  constructor(options: EngineOptions) {
    this.options = options;
  }

  get store(): Store {
    return this.options.store;
  }

  get hub(): Hub {
    return this.options.hub;
  }

  assertOpen(): void {
    if (!this.closing.signal.aborted) return;
    throw failure('STORE_FAILED', 'engine.closed', {}, { outcome: 'none' });
  }

  window(model: Model, record: SessionRecord): ContextWindowGuard {
    const { contextTokens } = record.settings;
    const { window } = this.options.profileFor(record);
    const given = this.options.contextTokensFor(record);
    const caps = [contextTokens, ...given, window].filter((cap) => typeof cap === 'number');
    const info = resolveContextWindow({
      provider: model.provider,
      modelId: model.id,
      contextWindow: model.contextWindow,
      learned: this.#windows,
      ...(caps.length > 0 && { contextTokens: Math.min(...caps) }),
    });
    return evaluateContextWindowGuard({ info });
  }

  /** Like `window`, but refuses a window that is too small for any conversation before anything is sent. */
  usableWindow(model: Model, record: SessionRecord): number {
    const { tokens, source, shouldBlock } = this.window(model, record);
    if (!shouldBlock) return tokens;
    const min = CONTEXT_WINDOW_HARD_MIN_TOKENS;
    throw failure(
      'CONTEXT_WINDOW_TOO_SMALL',
      'window.tooSmall',
      { model: `${model.provider}/${model.id}`, tokens, min },
      { details: { tokens, source } },
    );
  }

  learnWindow({ provider, id }: Model, limit: number): void {
    this.#windows = learnWindow(this.#windows, { provider, modelId: id, limit });
  }

  calibration({ provider, id }: Model): Calibration | undefined {
    return this.#calibrations.get(`${provider}/${id}`);
  }

  learnUsage({ provider, id }: Model, estimated: number, { input, cacheRead, cacheWrite }: Usage): void {
    const name = `${provider}/${id}`;
    const reported = input + cacheRead + cacheWrite;
    this.#calibrations.set(name, calibrate(this.#calibrations.get(name), { estimated, reported }));
  }
}
