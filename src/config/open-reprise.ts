import type { AgentOptions } from '../engine/agents/agents.ts';
import { checkOptions } from '../engine/check-options.ts';
import { Reprise, type RepriseOptions } from '../engine/reprise.ts';
import { wrongValue } from '../engine/settings-patch.ts';
import type { Model } from '../models/model.ts';
import type { Store } from '../store/port/store.ts';
import { type AiSdkLanguageModel, type CreateModelOptions, createModel } from './create-model.ts';
import { editedIndexWarnings, emitWarning } from './edited-indexes.ts';
import { ignoredInstructions } from './ignored-instructions.ts';
import { ModelBook } from './model-book.ts';
import { type OpenStoreOptions, openFittingStore, type StoreKind } from './open.ts';

/** A model name, a Reprise model, or any AI SDK model object. */
export type ModelChoice = string | Model | AiSdkLanguageModel;

export interface OpenRepriseOptions extends Omit<RepriseOptions, 'store' | 'model' | 'agents'> {
  /**
   * The folder with all data: the store, and AGENT.md and the workspaces of each agent. Not needed for `memory`,
   * `postgres` or a store of your own.
   */
  readonly home?: string;
  /**
   * Unset: the kind found in the home, and `jsonl` in a new one. A kind that would ignore the store in the home is
   * refused.
   */
  readonly store?: StoreKind | Store;
  /** The database address of a `postgres` store. */
  readonly url?: OpenStoreOptions['url'];
  readonly durability?: OpenStoreOptions['durability'];
  /** Default: `offline`, which needs no key and no network. */
  readonly model?: ModelChoice;
  /** Key, address and other options of models chosen by name. */
  readonly modelOptions?: CreateModelOptions;
  /**
   * Models that sessions may choose by these names: `session.patch({ model: 'fast' })`. They may also choose `offline` and
   * other models of the provider of `model`, which get the same `modelOptions`.
   */
  readonly models?: Readonly<Record<string, ModelChoice>>;
  readonly agents?: Readonly<Record<string, Omit<AgentOptions, 'model'> & { readonly model?: ModelChoice }>>;
  /** Receives one text for each thing the owner should do about the home. Default: `process.emitWarning`. */
  readonly onWarning?: (warning: string) => void;
}

/** Options of this function, besides those of the engine. */
const OWN_OPTIONS: Readonly<Record<Exclude<keyof OpenRepriseOptions, keyof RepriseOptions>, true>> = {
  ...{ url: true, durability: true, modelOptions: true, models: true, onWarning: true },
};

/**
 * Does not read the environment: everything is an option. Dispose the result to let running turns end and close the
 * store.
 */
export async function openReprise(options: OpenRepriseOptions = {}): Promise<Reprise> {
  const {
    home,
    store,
    url,
    durability,
    model = 'offline',
    modelOptions = {},
    models: _,
    agents = {},
    onWarning = emitWarning,
    ...rest
  } = options;
  // Options and models first: an error must not leave a store open.
  const chosen = await resolveModel(model, modelOptions);
  const named = rest.modelByName === undefined ? await namedModels(options, chosen) : {};
  const resolved: Record<string, AgentOptions> = {};
  const known: OpenRepriseOptions['agents'] = { main: {}, ...agents };
  for (const [agentId, { model: own, ...agent }] of Object.entries(known)) {
    const ownModel = own === undefined ? {} : { model: await resolveModel(own, modelOptions) };
    resolved[agentId] = { ...agent, ...ownModel };
  }
  checkOptions({ ...rest, agents: resolved, ...(home !== undefined && { home }) }, Object.keys(OWN_OPTIONS));
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
          onWarning,
        });
  if (home !== undefined)
    for (const warning of [...ignoredInstructions(home, resolved), ...editedIndexWarnings(home)])
      onWarning(warning);
  return new Reprise({
    ...rest,
    ...named,
    store: opened,
    model: chosen,
    agents: resolved,
    ...(home !== undefined && { home }),
  });
}

/** A key or an address belongs to one provider and is never used for another. */
async function namedModels(
  { model = 'offline', models = {}, modelOptions = {} }: OpenRepriseOptions,
  chosen: Model,
): Promise<Pick<RepriseOptions, 'modelByName' | 'loadModel'>> {
  const provider = typeof model === 'string' ? providerOf(model) : undefined;
  const optionsFor = (name: string): CreateModelOptions =>
    providerOf(name) === provider ? modelOptions : {};
  const book = new ModelBook(optionsFor);
  if (typeof model === 'string') book.add(model, chosen);
  for (const [name, choice] of Object.entries(models))
    book.add(name, await resolveModel(choice, typeof choice === 'string' ? optionsFor(choice) : {}));
  return { modelByName: (name) => book.get(name), loadModel: (name) => book.load(name) };
}

function providerOf(name: string): string {
  return name.split(':', 1)[0] ?? '';
}

async function resolveModel(choice: ModelChoice, options: CreateModelOptions): Promise<Model> {
  if (typeof choice === 'string') return createModel(choice, options);
  if (typeof choice !== 'object' || choice === null)
    throw wrongValue('model', choice, [{ is: 'model' }, { is: 'object', names: ['stream'] }]);
  // A Reprise model has `stream`, an AI SDK model `doStream`.
  if ('stream' in choice) return choice;
  return createModel(choice, options);
}
