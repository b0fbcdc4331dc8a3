import type { None } from '../params.ts';

/** What a provider answered. `text` is in the language of the provider; empty if it gave no reason. */
export interface ProviderAnswer {
  readonly provider: string;
  readonly model: string;
  readonly text: string;
}

/** Messages about models, their providers, and summaries. */
export interface ModelMessages {
  'model.authFailed': ProviderAnswer;
  'model.noCredit': ProviderAnswer;
  'model.notFound': ProviderAnswer;
  'model.rateLimited': ProviderAnswer;
  'model.tooLong': ProviderAnswer;
  'model.overloaded': ProviderAnswer;
  'model.failed': ProviderAnswer;
  /** The provider also refused the stricter form of the request. */
  'model.refused': ProviderAnswer;
  'model.silent': { readonly provider: string; readonly seconds: number };
  'model.stopped': { readonly provider: string };
  'model.incomplete': { readonly provider: string };
  'model.brokeOff': { readonly provider: string };
  /** The addresses are given in quotes. A null `to`: the address is not valid. */
  'model.redirect': { readonly from: string; readonly to: string | null; readonly status: number };
  'model.noRoom': { readonly model: string };
  /** A null `variable`: the key is an option of the library. */
  'model.noKey': { readonly model: string; readonly variable: string | null };
  'model.noAddress': { readonly model: string; readonly variable: string | null };
  'model.noProvider': { readonly model: string; readonly forms: readonly string[] };
  'model.wrongFormat': { readonly model: string; readonly family: string };
  'model.sdkVersion': { readonly version: string };
  /** `complaints`: what the scripted provider answered. */
  'model.scriptUnmet': { readonly complaints: readonly string[]; readonly stepsLeft: number };
  'model.noneToChoose': { readonly model: string };
  'window.tooSmall': { readonly model: string; readonly tokens: number; readonly min: number };
  'summary.empty': None;
  'summary.tooLong': { readonly maxTokens: number };
  'summary.slow': { readonly seconds: number };
  'summary.stopped': None;
  'compaction.noGain': None;
  /** The request is sent again at once, with less in it that a provider could refuse. */
  'retry.stricter': ProviderAnswer;
}
