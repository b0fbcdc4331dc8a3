import { join } from 'node:path';
import type { AgentOptions } from '../engine/agents.ts';
import { Reprise, type RepriseOptions } from '../engine/reprise.ts';
import { RepriseError } from '../errors.ts';
import type { Model } from '../models/model.ts';
import type { Store } from '../store/store.ts';
import { type AiSdkLanguageModel, type CreateModelOptions, createModel } from './create-model.ts';
import { type OpenStoreOptions, openFittingStore, type StoreKind } from './open.ts';

/** A model's name, a model of ours, or any AI SDK model object. */
export type ModelChoice = string | Model | AiSdkLanguageModel;

export interface OpenRepriseOptions extends Omit<RepriseOptions, 'store' | 'model' | 'agents'> {
  /** The folder everything lives in; not needed for `memory`, `postgres` or a store of your own. */
  readonly home?: string;
  /** Unset: the kind the home holds, and `jsonl` in a new one. A kind that leaves aside what the home holds is refused. */
  readonly store?: StoreKind | Store;
  /** Where the database of a `postgres` store is. */
  readonly url?: OpenStoreOptions['url'];
  readonly durability?: OpenStoreOptions['durability'];
  /** Unset: `offline`, which needs no key and no network. */
  readonly model?: ModelChoice;
  /** Key, address and the like of models that are named. */
  readonly modelOptions?: CreateModelOptions;
  readonly agents?: Readonly<Record<string, Omit<AgentOptions, 'model'> & { readonly model?: ModelChoice }>>;
}

/** Reads no environment: everything is an option. Dispose it to let running turns end and to close the store. */
export async function openReprise(options: OpenRepriseOptions = {}): Promise<Reprise> {
  const {
    home,
    store,
    url,
    durability,
    model = 'offline',
    modelOptions = {},
    agents = {},
    ...rest
  } = options;
  // Models first: a wrong name must not leave a store open.
  const chosen = await resolveModel(model, modelOptions);
  const resolved: Record<string, AgentOptions> = {};
  const known: OpenRepriseOptions['agents'] = { main: {}, ...agents };
  for (const [agentId, { model: own, ...agent }] of Object.entries(known)) {
    const workspace =
      home === undefined || agentId === 'defaults'
        ? {}
        : { workspace: join(home, 'agents', agentId, 'workspace') };
    const ownModel = own === undefined ? {} : { model: await resolveModel(own, modelOptions) };
    resolved[agentId] = { ...workspace, ...agent, ...ownModel };
  }
  const isKept = rest.session?.enabled ?? true;
  const kind = isKept ? store : 'memory';
  const opened =
    typeof store === 'object'
      ? store
      : await openFittingStore({
          ...(typeof kind === 'string' && { kind }),
          ...(home !== undefined && { home }),
          ...(url !== undefined && { url }),
          ...(durability !== undefined && { durability }),
        });
  return new Reprise({ ...rest, store: opened, model: chosen, agents: resolved });
}

async function resolveModel(choice: ModelChoice, options: CreateModelOptions): Promise<Model> {
  if (typeof choice === 'string') return createModel(choice, options);
  if (typeof choice !== 'object' || choice === null)
    throw new RepriseError('INVALID_INPUT', 'a model is a name or a model object');
  // Ours streams with `stream`, the AI SDK's with `doStream`.
  if ('stream' in choice) return choice;
  return createModel(choice, options);
}
