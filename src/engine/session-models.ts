import { RepriseError } from '../errors.ts';
import type { Model } from '../models/model.ts';
import type { SessionRecord } from '../store/store.ts';
import { type Agents, agentOptions } from './agents.ts';
import { type Clock, pause } from './clock.ts';

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
  /** As it was chosen, or by its provider and id. */
  readonly name: string;
  /** Who chose it: this run (`--model`), the session, its agent, or the configuration for all. */
  readonly from: 'run' | 'session' | 'agent' | 'all';
  /** The session names another one, which nobody has. */
  readonly unusable?: string;
}

/** A model that is not there by then is as one that nobody has: another answers. */
const LOAD_MS = 30_000;

/** Which model a session has: the one of this run, else the one it names, else its agent's, else the one of all. */
export class SessionModels {
  readonly #options: SessionModelsOptions;

  constructor(options: SessionModelsOptions) {
    this.#options = options;
  }

  /** By what is loaded now. */
  of(record: SessionRecord): Model {
    return this.inUse(record).model;
  }

  inUse(record: SessionRecord): ModelInUse {
    const { agentId, settings } = record;
    const { agents, model, modelByName, modelOverride } = this.#options;
    const forced = modelOverride?.(record);
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
      ...(chosen !== undefined && { unusable: chosen }),
    };
  }

  /** Afterwards `of` knows the model a session names, if anybody does. */
  async loadFor(record: SessionRecord, signal?: AbortSignal): Promise<void> {
    if (this.#options.modelOverride?.(record) !== undefined) return;
    const chosen = chosenModel(record.settings);
    if (chosen !== undefined) await this.find(chosen, signal);
  }

  /** Throws INVALID_INPUT for a name that no later turn could use: it would be ignored from then on. */
  async check(name: string): Promise<void> {
    const { modelByName, loadModel } = this.#options;
    if (modelByName?.(name) !== undefined) return;
    const refused = (why: string, cause?: unknown): RepriseError =>
      new RepriseError('INVALID_INPUT', `the model cannot be ${JSON.stringify(name.slice(0, 80))}: ${why}`, {
        details: { field: 'model', next: 'Name a model that is configured, or pass it as `models`.' },
        cause,
      });
    if (loadModel === undefined) throw refused('this engine has no models to choose from');
    try {
      await loadModel(name);
    } catch (error) {
      throw refused((error as Error).message, error);
    }
    if (modelByName?.(name) === undefined) throw refused('no such model');
  }

  /** A model by its name, loaded where it is not yet. It is waited for until the signal aborts, and not for ever. */
  async find(name: string, signal?: AbortSignal): Promise<Model | undefined> {
    const { modelByName, loadModel, clock } = this.#options;
    const known = modelByName?.(name);
    if (known !== undefined || loadModel === undefined) return known;
    const over = new AbortController();
    // A name of another system, or a key that is not here: nobody waits for an answer in vain because of it.
    const loading = (async () => loadModel(name))().catch(() => undefined);
    const enough = AbortSignal.any([over.signal, ...(signal === undefined ? [] : [signal])]);
    await Promise.race([loading, pause(clock, LOAD_MS, enough)]);
    over.abort();
    return modelByName?.(name);
  }
}

function nameOf({ provider, id }: Model): string {
  return provider === id ? id : `${provider}:${id}`;
}

/** Older systems name provider and model apart. */
function chosenModel({
  model,
  modelOverride,
  providerOverride,
}: SessionRecord['settings']): string | undefined {
  const isApart = typeof providerOverride === 'string' && typeof modelOverride === 'string';
  const chosen = model ?? (isApart ? `${providerOverride}:${modelOverride}` : modelOverride);
  return typeof chosen === 'string' ? chosen : undefined;
}
