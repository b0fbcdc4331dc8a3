import { alternatives, count, counted, secondCount } from '../english-format.ts';
import type { MessageTable } from '../message.ts';
import type { ModelMessages, ProviderAnswer } from '../params/params-models.ts';

/** Surfaces add the next step of the error code: it depends on how the model was chosen. */
const answered =
  (what: string) =>
  ({ provider, text }: ProviderAnswer): readonly [string] => [`${provider}: ${text === '' ? what : text}`];

export const ENGLISH_MODELS: Pick<MessageTable, keyof ModelMessages> = {
  'model.authFailed': answered('the provider rejected the API key'),
  'model.noCredit': answered('the account has no credit left'),
  'model.notFound': answered('the provider has no such model'),
  'model.rateLimited': answered('the provider limits the rate of requests'),
  'model.tooLong': answered('the request is too long for the model'),
  'model.overloaded': answered('the provider is overloaded or cannot be reached'),
  'model.failed': answered('the call failed'),
  'model.refused': ({ provider, text }) => [
    `${provider}: ${text === '' ? 'the provider refused the request' : text}`,
    'The provider refuses this conversation. Undo the last message with /undo, or choose another model with /model.',
  ],
  'model.silent': ({ provider, seconds }) => [
    `${provider}: the model sent nothing for ${secondCount(seconds)}`,
  ],
  'model.stopped': ({ provider }) => [`${provider}: the caller stopped the model call`],
  'model.incomplete': ({ provider }) => [`${provider}: the stream ended before the answer was complete`],
  'model.brokeOff': ({ provider }) => [`${provider}: the answer broke off`],
  'model.redirect': ({ from, to, status }) => [
    `${from} redirects to ${to ?? 'an address that is not valid'} (HTTP ${status}); the API key and the conversation were not sent there`,
    'If the provider moved, set its baseURL.',
  ],
  'model.noRoom': ({ model }) => [
    `the context window of ${model} has no room for an answer`,
    'Send less at once, or choose a model with a larger window with /model.',
  ],
  'model.noKey': ({ model, variable }) => [
    `there is no API key for ${model}`,
    variable === null
      ? 'Pass "apiKey" when you create the model.'
      : `Set ${variable}, or choose another model with --model.`,
  ],
  'model.noAddress': ({ model, variable }) => [
    `${model} needs the address of its server`,
    variable === null
      ? 'Pass "baseURL" when you create the model, such as http://127.0.0.1:11434/v1 for Ollama.'
      : `Set ${variable}, or choose another model with --model.`,
  ],
  'model.noProvider': ({ model, forms }) => [
    `no provider has a model with the name ${model}`,
    `Use ${alternatives(forms)}.`,
  ],
  'model.wrongFormat': ({ model, family }) => [
    `${model} cannot use the request format of the family "${family}"`,
    'Use an anthropic:<id> model, or another family.',
  ],
  'model.sdkVersion': ({ version }) => [
    `the AI SDK model has specification version ${version}, and "v2", "v3" or "v4" is needed`,
    'Use a provider package of AI SDK 5, 6 or 7.',
  ],
  'model.scriptUnmet': ({ complaints, stepsLeft }) => {
    const left = stepsLeft === 0 ? [] : [`${counted(stepsLeft, 'step')} of the script left`];
    return [`the scripted model was not used as its script says: ${[...complaints, ...left].join('; ')}`];
  },
  'model.noneToChoose': ({ model }) => [
    `the model cannot be ${model}: there are no models to choose from here`,
    'Pass the model as one of `models` or with `loadModel`.',
  ],
  'window.tooSmall': ({ model, tokens, min }) => [
    `the context window of ${model} has ${count(tokens)} tokens, but at least ${count(min)} are needed`,
    'Choose a model with a larger window, or raise contextTokens.',
  ],
  'summary.empty': () => ['the model answered with an empty summary'],
  'summary.tooLong': ({ maxTokens }) => [
    `the summary is much longer than the ${count(maxTokens)} tokens that the model was asked for`,
  ],
  'summary.slow': ({ seconds }) => [
    `the model did not finish the summary within ${secondCount(seconds)}`,
    'Raise compaction.summaryTimeoutMs, or choose a faster model.',
  ],
  'summary.stopped': () => ['the summary was stopped'],
  'compaction.noGain': () => ['the compaction would not save any tokens'],
  'retry.stricter': ({ provider, text }) => [
    `${provider}: ${text === '' ? 'the provider refused the request' : text}; the request is sent again without thinking and images, and with plain tool call ids`,
  ],
};
