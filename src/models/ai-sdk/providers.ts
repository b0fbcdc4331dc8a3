import { failure } from '../../messages/failure.ts';
import type { Model } from '../model.ts';
import { createSourceModel } from './ai-sdk-model.ts';
import { sameOriginFetch } from './same-origin-fetch.ts';
import type { OpenAiCompatibleSettings, ProviderSettings } from './settings.ts';

const ANTHROPIC_URL = 'https://api.anthropic.com/v1';
const OPENAI_URL = 'https://api.openai.com/v1';

/** A local model may process a long prompt for minutes before its first output. */
const LOCAL_IDLE_TIMEOUT_MS = 300_000;

export function createAnthropicModel(settings: ProviderSettings): Model {
  const { id, apiKey, baseURL = ANTHROPIC_URL, headers, fetch, ...rest } = settings;
  const key = needKey('anthropic', apiKey);
  return createSourceModel(
    {
      id,
      provider: 'anthropic',
      api: 'anthropic-messages',
      family: 'anthropic',
      load: once(async () => {
        const { createAnthropic } = await import('@ai-sdk/anthropic');
        return createAnthropic({
          apiKey: key,
          baseURL,
          fetch: sameOriginFetch(fetch),
          ...defined({ headers }),
        })(id);
      }),
    },
    rest,
  );
}

export function createOpenAiModel(settings: ProviderSettings): Model {
  const { id, apiKey, baseURL = OPENAI_URL, headers, fetch, ...rest } = settings;
  const key = needKey('openai', apiKey);
  return createSourceModel(
    {
      id,
      provider: 'openai',
      api: 'openai-completions',
      family: 'openai',
      load: once(async () => {
        const { createOpenAICompatible } = await import('@ai-sdk/openai-compatible');
        return createOpenAICompatible({
          name: 'openai',
          apiKey: key,
          baseURL,
          includeUsage: true,
          // Newer models refuse the old name, and older ones accept the new one.
          transformRequestBody: ({ max_tokens, ...body }) =>
            max_tokens === undefined ? body : { ...body, max_completion_tokens: max_tokens },
          fetch: sameOriginFetch(fetch),
          ...defined({ headers }),
        }).chatModel(id);
      }),
      cacheKeyOption: (prompt_cache_key) => ({ openai: { prompt_cache_key } }),
    },
    rest,
  );
}

/** Ollama, llama.cpp, vLLM, OpenRouter and all other servers that speak chat completions. */
export function createOpenAiCompatibleModel(settings: OpenAiCompatibleSettings): Model {
  const { id, apiKey, baseURL, headers, fetch, ...others } = settings;
  const { provider = 'openai-compatible', family = 'local', includeUsage = true, ...rest } = others;
  return createSourceModel(
    {
      id,
      provider,
      api: 'openai-completions',
      family,
      load: once(async () => {
        const { createOpenAICompatible } = await import('@ai-sdk/openai-compatible');
        const options = { ...defined({ apiKey, headers }), fetch: sameOriginFetch(fetch) };
        return createOpenAICompatible({ name: provider, baseURL, includeUsage, ...options }).chatModel(id);
      }),
    },
    { idleTimeoutMs: LOCAL_IDLE_TIMEOUT_MS, ...rest },
  );
}

function needKey(provider: string, apiKey: string | undefined): string {
  if (apiKey !== undefined && apiKey.trim() !== '') return apiKey;
  // Fail now instead of at the provider; the SDK would otherwise read a key from the environment.
  throw failure(
    'MODEL_AUTH',
    'model.noKey',
    { model: provider, variable: null },
    { details: { provider, retryable: false } },
  );
}

function once<T>(make: () => Promise<T>): () => Promise<T> {
  let made: Promise<T> | undefined;
  return () => {
    made ??= make();
    return made;
  };
}

type Defined<T> = { [K in keyof T]?: Exclude<T[K], undefined> };

/** Removes unset options: the SDK treats an undefined option differently from a missing one. */
function defined<T extends object>(values: T): Defined<T> {
  return Object.fromEntries(Object.entries(values).filter(([, value]) => value !== undefined)) as Defined<T>;
}
