import type { RepriseError } from '../errors.ts';
import { failure } from '../messages/failure.ts';
import { quoted } from '../messages/quoted.ts';
import type { AiSdkLanguageModel, AiSdkModelOptions, ProviderSettings } from '../models/ai-sdk/settings.ts';
import type { Model } from '../models/model.ts';
import type { OfflineVariant } from '../models/offline/offline-model.ts';

export type { AiSdkLanguageModel };

export interface CreateModelOptions extends Omit<ProviderSettings, 'id'> {
  /** Of a server behind `openai-compatible:` or of a model object; what it asks of a conversation. */
  readonly family?: AiSdkModelOptions['family'];
  /** The name answers are signed with, for the same two. */
  readonly provider?: AiSdkModelOptions['provider'];
  /** Whether to ask a server behind `openai-compatible:` for token counts; old ones refuse the question. */
  readonly includeUsage?: boolean | undefined;
}

const VARIANTS: readonly string[] = ['slow', 'error', 'overflow', 'orphan-tool'] satisfies OfflineVariant[];

/**
 * The only place that names concrete models: `offline`, `offline:<variant>`, `anthropic:<id>`, `openai:<id>`,
 * `openai-compatible:<id>` with a base URL, `ollama:<id>` and `llamacpp:<id>` on this machine, or any AI SDK model object. Adapters are loaded when asked for.
 */
export async function createModel(
  ref: string | AiSdkLanguageModel,
  options: CreateModelOptions = {},
): Promise<Model> {
  if (typeof ref !== 'string') {
    const { createAiSdkModel } = await import('../models/ai-sdk/ai-sdk-model.ts');
    return createAiSdkModel({ ...options, model: ref });
  }
  const colon = ref.indexOf(':');
  const name = colon === -1 ? ref : ref.slice(0, colon);
  const id = colon === -1 ? '' : ref.slice(colon + 1);
  if (name === 'offline') return await createOffline(ref, id, options);
  if (id !== '' && PROVIDERS.has(name)) return await createProvider(name, id, options);
  throw unknownModel(ref);
}

export const LOCAL_URLS: ReadonlyMap<string, string> = new Map([
  ['ollama', 'http://127.0.0.1:11434/v1'],
  ['llamacpp', 'http://127.0.0.1:8080/v1'],
]);
const PROVIDERS: ReadonlySet<string> = new Set([
  'anthropic',
  'openai',
  'openai-compatible',
  ...LOCAL_URLS.keys(),
]);

async function createOffline(
  ref: string,
  id: string,
  { contextWindow, maxOutput }: CreateModelOptions,
): Promise<Model> {
  if (ref !== 'offline' && !VARIANTS.includes(id)) throw unknownModel(ref);
  const { createOfflineModel } = await import('../models/offline/offline-model.ts');
  const variant = id === '' ? 'offline' : (id as OfflineVariant);
  return createOfflineModel({ variant, contextWindow, maxOutput });
}

async function createProvider(name: string, id: string, options: CreateModelOptions): Promise<Model> {
  const { family, includeUsage, baseURL = LOCAL_URLS.get(name), ...others } = options;
  const { provider = LOCAL_URLS.has(name) ? name : undefined, ...rest } = others;
  const providers = await import('../models/ai-sdk/providers.ts');
  if (name === 'anthropic') return providers.createAnthropicModel({ ...rest, baseURL, id });
  if (name === 'openai') return providers.createOpenAiModel({ ...rest, baseURL, id });
  if (baseURL === undefined) {
    throw failure('INVALID_INPUT', 'model.noAddress', { model: `${name}:${id}`, variable: null });
  }
  if (family === 'anthropic')
    throw failure('INVALID_INPUT', 'model.wrongFormat', { model: `${name}:${id}`, family });
  return providers.createOpenAiCompatibleModel({ ...rest, family, provider, includeUsage, baseURL, id });
}

function unknownModel(ref: string): RepriseError {
  const forms = ['offline', `offline:${VARIANTS.join('|')}`, ...[...PROVIDERS].map((name) => `${name}:<id>`)];
  return failure('MODEL_UNKNOWN', 'model.noProvider', { model: quoted(ref), forms }, { details: { ref } });
}
