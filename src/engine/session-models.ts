import type { Model } from '../models/model.ts';
import type { SessionRecord } from '../store/store.ts';
import { type Agents, agentOptions } from './agents.ts';
import { type Clock, pause } from './clock.ts';

export interface SessionModelsOptions {
  readonly model: Model;
  readonly agents: Agents;
  readonly modelByName: ((name: string) => Model | undefined) | undefined;
  readonly loadModel: ((name: string) => Promise<unknown>) | undefined;
  readonly clock: Clock;
}

export interface ModelInUse {
  readonly model: Model;
  /** As it was chosen, or by its provider and id. */
  readonly name: string;
  /** Who says so: the session itself, its agent, or whoever configured the engine for all. */
  readonly from: 'session' | 'agent' | 'all';
  /** The session names another one, which nobody has. */
  readonly unusable?: string;
}

/** A model that is not there by then is as one that nobody has: another answers. */
const LOAD_MS = 30_000;

/** Which model a session has: the one it names, else its agent's, else the one of all. */
export class SessionModels {
  readonly #options: SessionModelsOptions;

  constructor(options: SessionModelsOptions) {
    this.#options = options;
  }

  /** By what is loaded now. */
  of(record: SessionRecord): Model {
    return this.inUse(record).model;
  }

  inUse({ agentId, settings }: SessionRecord): ModelInUse {
    const { agents, model, modelByName } = this.#options;
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
  async loadFor({ settings }: SessionRecord, signal?: AbortSignal): Promise<void> {
    const chosen = chosenModel(settings);
    if (chosen !== undefined) await this.find(chosen, signal);
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
