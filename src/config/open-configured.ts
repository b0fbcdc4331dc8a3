import type { Reprise } from '../engine/reprise.ts';
import type { Model } from '../models/model.ts';
import type { SessionRecord, Store } from '../store/port/store.ts';
import type { ModelBook } from './model-book.ts';
import { modelBookFor } from './model-book-for.ts';
import { openConfiguredStore } from './open-configured-store.ts';
import { openReprise } from './open-reprise.ts';
import type { Config } from './schema.ts';
import { loadToolModules } from './tool-modules.ts';

export interface OpenConfiguredOptions {
  /** Whether this process runs accepted messages of any session. */
  readonly run?: boolean;
  /** For programs that own their process; see `OpenStoreOptions`. */
  readonly signals?: boolean;
  /** An open store of the same home. The engine closes it. */
  readonly store?: Store;
  /** Callers that let users choose models pass the book, so that they can load models by name. */
  readonly models?: ModelBook;
  /** Whether the configured model wins over the one a session has stored, because it was chosen for this run. */
  readonly modelWins?: (record: SessionRecord) => boolean;
  readonly onWarning?: (warning: string) => void;
}

/** An engine as the configuration says. Dispose it to let running turns end and to close the store. */
export async function openConfigured(config: Config, options: OpenConfiguredOptions = {}): Promise<Reprise> {
  const { run, signals = false, models = modelBookFor(config), modelWins, onWarning } = options;
  const { home, session, agents, contextTokens, profile, maxSteps, stuckAfterMs } = config;
  // Models first: a wrong name or a missing key must not leave a store open.
  const model = await models.load(config.model);
  const resolved: Record<string, Omit<Config['agents'][string], 'model'> & { readonly model?: Model }> = {};
  for (const [agentId, { model: own, ...agent }] of Object.entries(agents))
    resolved[agentId] = { ...agent, ...(own !== undefined && { model: await models.load(own) }) };
  const tools = config.tools === undefined ? undefined : await loadToolModules(config.tools);
  const { maintenance: _, ...sessionOptions } = session;
  const opened =
    options.store ??
    (await openConfiguredStore(config, { signals, ...(onWarning !== undefined && { onWarning }) }));
  try {
    return await openReprise({
      home,
      store: opened,
      model,
      modelByName: (name) => models.get(name),
      loadModel: (name) => models.load(name),
      ...(modelWins !== undefined && { modelOverride: (record) => (modelWins(record) ? model : undefined) }),
      agents: resolved,
      session: sessionOptions,
      compaction: config.compaction,
      lanes: config.lanes,
      ...(tools !== undefined && { tools }),
      ...(contextTokens !== undefined && { contextTokens }),
      ...(profile !== undefined && { profile }),
      ...(maxSteps !== undefined && { maxSteps }),
      ...(stuckAfterMs !== undefined && { stuckAfterMs }),
      ...(run !== undefined && { run }),
      ...(onWarning !== undefined && { onWarning }),
    });
  } catch (error) {
    if (options.store === undefined) await opened[Symbol.asyncDispose]();
    throw error;
  }
}
