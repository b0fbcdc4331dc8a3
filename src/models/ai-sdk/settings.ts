import type { JsonObject } from '../../transcript/json.ts';
import type { ProviderFamily } from '../../transcript/render/target.ts';
import type { ModelCost } from '../model.ts';
import type { RetryPolicy } from './retry.ts';

/*
 * Settings of a model for users. They are public, so nothing here uses a type of the SDK: its declarations would
 * require packages that users without the SDK would have to install.
 */

/** Any language model object of AI SDK 5, 6 or 7, with the fields by which it is recognized. */
export interface AiSdkLanguageModel {
  readonly specificationVersion: 'v2' | 'v3' | 'v4';
  readonly provider: string;
  readonly modelId: string;
  doStream(options: object): PromiseLike<object>;
}

/** Settings for a model of any provider. */
export interface AiSdkModelSettings {
  readonly contextWindow?: number | undefined;
  readonly maxOutput?: number | undefined;
  readonly cost?: ModelCost | undefined;
  readonly retry?: Partial<RetryPolicy> | undefined;
  /** The longest time without data, before the first part and between parts. */
  readonly idleTimeoutMs?: number | undefined;
  /** How long Anthropic caches a prefix. */
  readonly cacheTtl?: '5m' | '1h' | undefined;
  /** Passed on with every call, as the SDK's `providerOptions`. */
  readonly providerOptions?: Readonly<Record<string, JsonObject>> | undefined;
  readonly now?: (() => number) | undefined;
  readonly random?: (() => number) | undefined;
  readonly sleep?: ((ms: number, signal: AbortSignal | undefined) => Promise<unknown>) | undefined;
}

export interface AiSdkModelOptions extends AiSdkModelSettings {
  readonly model: AiSdkLanguageModel;
  /** Unset: derived from the name of the model's provider. */
  readonly family?: ProviderFamily | undefined;
  readonly provider?: string | undefined;
}

/** Address and credentials of a provider. Everything is an argument; nothing here reads the environment. */
export interface ProviderSettings extends AiSdkModelSettings {
  readonly id: string;
  readonly apiKey?: string | undefined;
  readonly baseURL?: string | undefined;
  readonly headers?: Record<string, string> | undefined;
  readonly fetch?: typeof globalThis.fetch | undefined;
}

export interface OpenAiCompatibleSettings extends ProviderSettings {
  readonly baseURL: string;
  /** The provider name stored with answers, for example `ollama`. */
  readonly provider?: string | undefined;
  /** The requirements of the server on a conversation. Unset: those of the strictest chat template. */
  readonly family?: Exclude<ProviderFamily, 'anthropic'> | undefined;
  /** Whether to request token counts; old servers refuse the option. */
  readonly includeUsage?: boolean | undefined;
}
