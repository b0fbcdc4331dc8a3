import type { JsonObject } from '../../transcript/json.ts';
import type { ProviderFamily } from '../../transcript/render/target.ts';
import type { ModelCost } from '../model.ts';
import type { RetryPolicy } from './retry.ts';

/*
 * What users say about a model. These are public, so nothing here names a type of the SDK: its declarations ask for
 * packages that people who never use it would have to install.
 */

/** Any language model object of AI SDK 7, as far as it is recognised by. */
export interface AiSdkLanguageModel {
  readonly specificationVersion: 'v4';
  readonly provider: string;
  readonly modelId: string;
  doStream(options: object): PromiseLike<object>;
}

/** What may be said about a model whoever provides it. */
export interface AiSdkModelSettings {
  readonly contextWindow?: number | undefined;
  readonly maxOutput?: number | undefined;
  readonly cost?: ModelCost | undefined;
  readonly retry?: Partial<RetryPolicy> | undefined;
  /** The longest silence, before the first part and between parts. */
  readonly idleTimeoutMs?: number | undefined;
  /** How long Anthropic keeps a cached prefix. */
  readonly cacheTtl?: '5m' | '1h' | undefined;
  /** Passed on with every call, as the SDK's `providerOptions`. */
  readonly providerOptions?: Readonly<Record<string, JsonObject>> | undefined;
  readonly now?: (() => number) | undefined;
  readonly random?: (() => number) | undefined;
  readonly sleep?: ((ms: number, signal: AbortSignal | undefined) => Promise<unknown>) | undefined;
}

export interface AiSdkModelOptions extends AiSdkModelSettings {
  readonly model: AiSdkLanguageModel;
  /** Unset: known by the name the model's provider gives itself. */
  readonly family?: ProviderFamily | undefined;
  readonly provider?: string | undefined;
}

/** Where a provider is and how it knows us. Everything is an argument; nothing here reads the environment. */
export interface ProviderSettings extends AiSdkModelSettings {
  readonly id: string;
  readonly apiKey?: string | undefined;
  readonly baseURL?: string | undefined;
  readonly headers?: Record<string, string> | undefined;
  readonly fetch?: typeof globalThis.fetch | undefined;
}

export interface OpenAiCompatibleSettings extends ProviderSettings {
  readonly baseURL: string;
  /** The name answers are signed with, e.g. `ollama`. */
  readonly provider?: string | undefined;
  /** What the server behind the address asks of a conversation. Unset: what the strictest chat template asks. */
  readonly family?: Exclude<ProviderFamily, 'anthropic'> | undefined;
  /** Whether to ask for token counts; old servers refuse the question. */
  readonly includeUsage?: boolean | undefined;
}
