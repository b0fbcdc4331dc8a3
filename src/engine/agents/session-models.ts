import { RepriseError } from '../../errors.ts';
import { causeText } from '../../messages/english.ts';
import { failure, failureOf } from '../../messages/failure.ts';
import { failedMessage, type Message, message, whyOf } from '../../messages/message.ts';
import { quoted } from '../../messages/quoted.ts';
import type { Model } from '../../models/model.ts';
import type { SessionRecord } from '../../store/port/store.ts';
import { type Clock, pause } from '../clock.ts';
import { type Agents, agentOptions } from './agents.ts';

export interface SessionModelsOptions {
  readonly model: Model;
  readonly agents: Agents;
  readonly modelByName: ((name: string) => Model | undefined) | undefined;
  readonly loadModel: ((name: string) => Promise<unknown>) | undefined;
  readonly modelOverride: ((record: SessionRecord) => Model | undefined) | undefined;
  readonly clock: Clock;
}

export interface ModelInUse {
  readonly model: Model;
  /** The chosen name, or the model's provider and id. */
  readonly name: string;
  /** Which setting chose it: this run (`--model`), the session, its agent, or the configuration. */
  readonly from: 'run' | 'session' | 'agent' | 'all';
  /** Set if the session names a model that cannot be used here, so that `model` answers instead. */
  readonly fallbackFrom?: {
    readonly model: string;
    /** Why it cannot be used, in English and as a code. */
    readonly reason: string;
    readonly why: Message;
  };
}

/** A model that takes longer to load counts as unusable for this turn. */
const LOAD_MS = 30_000;

/**
 * Decides the model of a session: the one of this run, else the one it names, else its agent's, else the configured
 * one. A model that a caller gives to the session during this run wins over the one of this run.
 */
export class SessionModels {
  readonly #options: SessionModelsOptions;
  /** Why models could not be loaded, by name. */
  readonly #reasons: Map<string, Message> = new Map();
  readonly #chosenInThisRun: Set<string> = new Set();

  constructor(options: SessionModelsOptions) {
    this.#options = options;
  }

  /** Decides with the models that are loaded now. */
  inUse(record: SessionRecord): ModelInUse {
    const { agentId, settings } = record;
    const { agents, model, modelByName } = this.#options;
    const forced = this.#override(record);
    if (forced !== undefined) return { model: forced, name: nameOf(forced), from: 'run' };
    const chosen = chosenModel(settings);
    const named = chosen === undefined ? undefined : modelByName?.(chosen);
    if (chosen !== undefined && named !== undefined) return { model: named, name: chosen, from: 'session' };
    const own = agentOptions(agents, agentId).model;
    const answering = own ?? model;
    return {
      model: answering,
      name: nameOf(answering),
      from: own === undefined ? 'all' : 'agent',
      ...(chosen !== undefined && { fallbackFrom: this.#fallbackFrom(chosen) }),
    };
  }

  #fallbackFrom(model: string): NonNullable<ModelInUse['fallbackFrom']> {
    const why = this.#reasons.get(model) ?? message('model.notConfigured', { model });
    return { model, reason: causeText(why), why };
  }

  /** Call it when a caller changes the model of a session; null or undefined returns the choice to this run. */
  choose(sessionId: string, model: unknown): void {
    if (typeof model === 'string') this.#chosenInThisRun.add(sessionId);
    else this.#chosenInThisRun.delete(sessionId);
  }

  #override(record: SessionRecord): Model | undefined {
    return this.#chosenInThisRun.has(record.id) ? undefined : this.#options.modelOverride?.(record);
  }

  /** Loads the model that a session names, so that `inUse` finds it. */
  async loadFor(record: SessionRecord, signal?: AbortSignal): Promise<void> {
    if (this.#override(record) !== undefined) return;
    const chosen = chosenModel(record.settings);
    if (chosen !== undefined) await this.find(chosen, signal);
  }

  /**
   * Throws INVALID_INPUT for a name that no later turn could use; otherwise the setting would be ignored silently.
   */
  async check(name: string): Promise<void> {
    const { modelByName, loadModel } = this.#options;
    if (modelByName?.(name) !== undefined) return;
    const details = { field: 'model' };
    const model = quoted(name);
    if (loadModel === undefined) throw failure('INVALID_INPUT', 'model.noneToChoose', { model }, { details });
    try {
      await loadModel(name);
    } catch (error) {
      throw failureOf('INVALID_INPUT', loadFailure(error), { details, cause: error });
    }
    if (modelByName?.(name) === undefined)
      throw failure('INVALID_INPUT', 'model.notConfigured', { model }, { details });
  }

  /** Finds a model by name and loads it if needed. Waits until the signal aborts or the load times out. */
  async find(name: string, signal?: AbortSignal): Promise<Model | undefined> {
    const { modelByName, loadModel, clock } = this.#options;
    const known = modelByName?.(name);
    if (known !== undefined || loadModel === undefined) return known;
    const over = new AbortController();
    // The name may come from another tool, or an API key may be missing: that must not fail the turn.
    const loading = (async () => loadModel(name))().then(
      () => this.#reasons.delete(name),
      (error: unknown) => this.#reasons.set(name, loadFailure(error)),
    );
    const enough = AbortSignal.any([over.signal, ...(signal === undefined ? [] : [signal])]);
    await Promise.race([loading, pause(clock, LOAD_MS, enough)]);
    over.abort();
    const found = modelByName?.(name);
    if (found === undefined && !this.#reasons.has(name))
      this.#reasons.set(name, message('model.slow', { model: name, seconds: LOAD_MS / 1000 }));
    return found;
  }
}

function loadFailure(error: unknown): Message {
  if (error instanceof RepriseError) return whyOf(error);
  const text = error instanceof Error ? error.message : String(error);
  return failedMessage({ code: 'MODEL_FAILED', message: text, details: {} });
}

function nameOf({ provider, id }: Model): string {
  return provider === id ? id : `${provider}:${id}`;
}

/** The model that a session names. Other tools store provider and model separately. */
export function chosenModel({
  model,
  modelOverride,
  providerOverride,
}: SessionRecord['settings']): string | undefined {
  const isApart = typeof providerOverride === 'string' && typeof modelOverride === 'string';
  const chosen = model ?? (isApart ? `${providerOverride}:${modelOverride}` : modelOverride);
  return typeof chosen === 'string' ? chosen : undefined;
}
