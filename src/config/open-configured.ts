import type { Reprise } from '../engine/reprise.ts';
import { RepriseError } from '../errors.ts';
import type { Model } from '../models/model.ts';
import type { Store } from '../store/store.ts';
import type { CreateModelOptions } from './create-model.ts';
import { ModelBook } from './model-book.ts';
import { openStore } from './open.ts';
import { openReprise } from './open-reprise.ts';
import type { Config, ProviderConfig } from './schema.ts';
import { envName } from './settings.ts';

export interface OpenConfiguredOptions {
  /** Whether accepted messages of any session are run here. */
  readonly run?: boolean;
  /** For programs that own their process; see `OpenStoreOptions`. */
  readonly signals?: boolean;
  /** One that is open already, of the same home. The engine closes it. */
  readonly store?: Store;
  /** Whoever lets people choose models keeps the book, to load what they name. */
  readonly models?: ModelBook;
}

/** An engine as the configuration says. Dispose it to let running turns end and to close the store. */
export async function openConfigured(config: Config, options: OpenConfiguredOptions = {}): Promise<Reprise> {
  const { run, signals = false, models = modelBookFor(config) } = options;
  const { home, store, session, agents, contextTokens, profile, maxSteps, stuckAfterMs } = config;
  // Models first: a wrong name or a missing key must not leave a store open.
  const model = await models.load(config.model);
  const resolved: Record<string, Omit<Config['agents'][string], 'model'> & { readonly model?: Model }> = {};
  for (const [agentId, { model: own, ...agent }] of Object.entries(agents))
    resolved[agentId] = { ...agent, ...(own !== undefined && { model: await models.load(own) }) };
  const { kind, ...rest } = store;
  const { maintenance: _, ...sessionOptions } = session;
  const isKept = session.enabled ?? true;
  const opened =
    options.store ?? (await openStore({ ...rest, kind: isKept ? kind : 'memory', home, signals }));
  try {
    return await openReprise({
      home,
      store: opened,
      model,
      modelByName: (name) => models.get(name),
      agents: resolved,
      session: sessionOptions,
      compaction: config.compaction,
      lanes: config.lanes,
      ...(contextTokens !== undefined && { contextTokens }),
      ...(profile !== undefined && { profile }),
      ...(maxSteps !== undefined && { maxSteps }),
      ...(stuckAfterMs !== undefined && { stuckAfterMs }),
      ...(run !== undefined && { run }),
    });
  } catch (error) {
    if (options.store === undefined) await opened[Symbol.asyncDispose]();
    throw error;
  }
}

/** Each model gets what is configured for its own provider: the key of one must never reach another. */
export function modelBookFor({ models }: Pick<Config, 'models'>): ModelBook {
  const configured = new Map<string, ProviderConfig>(Object.entries(models));
  return new ModelBook((name): CreateModelOptions => {
    const provider = name.split(':', 1)[0] ?? '';
    const options = configured.get(provider) ?? {};
    const missing = NEEDED.get(provider);
    if (missing !== undefined && options[missing] === undefined) throw lacking(name, provider, missing);
    return options;
  });
}

const NEEDED: ReadonlyMap<string, 'apiKey' | 'baseURL'> = new Map([
  ['anthropic', 'apiKey'],
  ['openai', 'apiKey'],
  ['openai-compatible', 'baseURL'],
]);

/** Who starts a program is told which variable to set, not which argument to pass. */
function lacking(name: string, provider: string, what: 'apiKey' | 'baseURL'): RepriseError {
  const variable = envName(`models.${provider}.${what}`);
  const [code, message] =
    what === 'apiKey'
      ? (['MODEL_AUTH', `there is no API key for ${name}`] as const)
      : (['CONFIG_INVALID', `${name} needs the address of its server`] as const);
  return new RepriseError(code, message, {
    details: { provider, next: `Set ${variable}, or choose another model with --model.` },
  });
}
