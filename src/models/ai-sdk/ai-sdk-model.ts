import { setTimeout as delay } from 'node:timers/promises';
import type { LanguageModelV4, LanguageModelV4CallOptions, SharedV4ProviderOptions } from '@ai-sdk/provider';
import { RepriseError } from '../../errors.ts';
import { failure } from '../../messages/failure.ts';
import { message } from '../../messages/message.ts';
import { quotedValue } from '../../messages/quoted.ts';
import type { ProviderFamily } from '../../transcript/render/target.ts';
import type { Model, ModelEvent, ModelRequest, ModelStreamOptions } from '../model.ts';
import { abortedError, modelError } from '../model-error.ts';
import { identify } from './identify.ts';
import { asV4 } from './older-specs.ts';
import { PartReader, StreamFailure } from './part-reader.ts';
import { partStream } from './part-stream.ts';
import { renderPrompt } from './prompt.ts';
import { readFailure } from './read-failure.ts';
import { DEFAULT_RETRY_POLICY, retryDelay } from './retry.ts';
import type { AiSdkModelOptions, AiSdkModelSettings } from './settings.ts';

/** A model and its identity; it may be loaded on first use. */
export interface AiSdkSource {
  readonly id: string;
  readonly provider: string;
  readonly api: string;
  readonly family: ProviderFamily;
  readonly load: () => Promise<LanguageModelV4>;
  /** Returns the provider option that carries `cacheKey`, for providers that have one. */
  readonly cacheKeyOption?: (key: string) => SharedV4ProviderOptions;
}

const SPECS: readonly string[] = ['v2', 'v3', 'v4'];
const DEFAULT_IDLE_TIMEOUT_MS = 120_000;

/** Wraps any AI SDK language model in our port. */
export function createAiSdkModel({ model, family, provider, ...settings }: AiSdkModelOptions): Model {
  const { specificationVersion: version } = model;
  if (!SPECS.includes(version)) {
    throw failure('INVALID_INPUT', 'model.sdkVersion', { version: quotedValue(version) });
  }
  const known = identify(model.provider);
  return createSourceModel(
    {
      id: model.modelId,
      provider: provider ?? known.provider,
      api: known.api,
      family: family ?? known.family,
      load: async () => asV4(model),
    },
    settings,
  );
}

/** Wraps a source. Nothing is loaded or sent before the first `stream`. */
export function createSourceModel(source: AiSdkSource, settings: AiSdkModelSettings): Model {
  const { id, provider, api, family } = source;
  const { contextWindow, maxOutput, cost } = settings;
  const model: Model = {
    id,
    provider,
    api,
    target: { family, provider, model: id },
    ...(contextWindow !== undefined && { contextWindow }),
    ...(maxOutput !== undefined && { maxOutput }),
    ...(cost !== undefined && { cost }),
    stream: (request, options = {}) => streamAnswer(model, source, settings, request, options),
  };
  return model;
}

async function* streamAnswer(
  model: Model,
  source: AiSdkSource,
  settings: AiSdkModelSettings,
  request: ModelRequest,
  { signal }: ModelStreamOptions,
): AsyncGenerator<ModelEvent, void, undefined> {
  const { now = Date.now, random = Math.random, sleep = sleepUntil } = settings;
  const { idleTimeoutMs = DEFAULT_IDLE_TIMEOUT_MS } = settings;
  const policy = { ...DEFAULT_RETRY_POLICY, ...settings.retry };
  const options = callOptions(request, source, settings);
  for (let attempt = 1; ; attempt++) {
    const reader = new PartReader(model);
    const parts = partStream(
      async (stop) => (await source.load()).doStream({ ...options, abortSignal: stop }),
      {
        idleTimeoutMs,
        signal,
        aborted: () => abortedError(model, signal),
        timedOut: () => silence(model, idleTimeoutMs),
      },
    );
    try {
      for await (const part of parts) {
        for (const event of reader.read(part)) {
          yield event;
          if (event.type === 'finish') return;
        }
      }
      throw new StreamFailure({
        message: '',
        why: message('model.incomplete', { provider: model.provider }),
        broken: true,
      });
    } catch (error) {
      const failed = coded(error, model, now());
      const delayMs = reader.started ? undefined : retryDelay(failed, attempt, policy, random);
      if (delayMs === undefined) throw failed;
      const { code, message: reason, why } = failed;
      yield { type: 'retry', attempt, delayMs, code, reason, ...(why !== undefined && { why }) };
      await sleep(delayMs, signal);
      if (signal?.aborted) throw abortedError(model, signal);
    }
  }
}

function coded(error: unknown, model: Model, now: number): RepriseError {
  if (error instanceof RepriseError) return error;
  return modelError(error instanceof StreamFailure ? error.failure : readFailure(error), model, now);
}

function silence({ provider, id }: Model, idleTimeoutMs: number): RepriseError {
  return failure(
    'MODEL_TIMEOUT',
    'model.silent',
    { provider, seconds: idleTimeoutMs / 1000 },
    { details: { provider, model: id, idleTimeoutMs } },
  );
}

/** Resolves early on abort; the caller checks the signal anyway. */
async function sleepUntil(ms: number, signal: AbortSignal | undefined): Promise<void> {
  try {
    await delay(ms, undefined, signal === undefined ? {} : { signal });
  } catch {
    // Expected: the signal ended the wait.
  }
}

function callOptions(
  request: ModelRequest,
  { family, cacheKeyOption }: AiSdkSource,
  { maxOutput, cacheTtl, providerOptions }: AiSdkModelSettings,
): LanguageModelV4CallOptions {
  const anthropic = family === 'anthropic';
  const cacheControl = { type: 'ephemeral', ...(cacheTtl !== undefined && { ttl: cacheTtl }) };
  const { prompt, tools } = renderPrompt(
    request,
    family,
    anthropic ? { anthropic: { cacheControl } } : undefined,
  );
  const maxOutputTokens = request.maxOutputTokens ?? maxOutput;
  const reasoning = reasoningOf(request, anthropic);
  const { cacheKey, cache = 'auto', temperature } = request;
  const merged = mergeOptions([
    // Pings show that the provider is alive. Arguments are needed complete and checked, not early.
    anthropic ? { anthropic: { includePings: true, toolStreaming: false } } : {},
    cacheKey !== undefined && cache !== 'off' ? (cacheKeyOption?.(cacheKey) ?? {}) : {},
    (providerOptions ?? {}) as SharedV4ProviderOptions,
  ]);
  return {
    prompt,
    ...(tools !== undefined && { tools }),
    ...(maxOutputTokens !== undefined && { maxOutputTokens }),
    ...(reasoning !== undefined && { reasoning }),
    ...(temperature !== undefined && { temperature }),
    ...(Object.keys(merged).length > 0 && { providerOptions: merged }),
  };
}

function mergeOptions(all: readonly SharedV4ProviderOptions[]): SharedV4ProviderOptions {
  const merged: SharedV4ProviderOptions = {};
  for (const options of all)
    for (const [name, values] of Object.entries(options)) merged[name] = { ...merged[name], ...values };
  return merged;
}

function reasoningOf(
  { thinkingLevel, messages }: ModelRequest,
  anthropic: boolean,
): LanguageModelV4CallOptions['reasoning'] {
  if (thinkingLevel === undefined) return undefined;
  // Servers of the chat format refuse an unknown level, and many do not know "none".
  if (thinkingLevel === 'off') return anthropic ? 'none' : undefined;
  if (!anthropic) return thinkingLevel;
  // Within a round of tools, Anthropic requires the thinking with which the round began. A round without thinking, or
  // with another model's, must continue without it: "Expected `thinking` or `redacted_thinking`, but found
  // `tool_use`".
  const last = messages.findLast(({ role }) => role === 'assistant');
  const parts = last?.role === 'assistant' ? last.content : [];
  const open = parts.some(({ type }) => type === 'call') && parts[0]?.type !== 'thinking';
  return open ? undefined : thinkingLevel;
}
