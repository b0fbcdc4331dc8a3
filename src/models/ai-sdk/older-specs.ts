import type {
  LanguageModelV4,
  LanguageModelV4CallOptions,
  LanguageModelV4Message,
  LanguageModelV4StreamPart,
  LanguageModelV4StreamResult,
} from '@ai-sdk/provider';
import { isObject, type JsonObject } from '../../transcript/json.ts';
import type { AiSdkLanguageModel } from './settings.ts';

type OlderSpec = 'v2' | 'v3';
type Json = Record<string, unknown>;

/** A model of specification v2 (AI SDK 5) or v3 (AI SDK 6) with the interface of v4. */
export function asV4(model: AiSdkLanguageModel): LanguageModelV4 {
  const { specificationVersion: version } = model;
  if (version === 'v4') return model as LanguageModelV4;
  // Providers of that time count cached tokens as input, except Anthropic.
  const countsCached = !model.provider.startsWith('anthropic');
  const adapted: Pick<LanguageModelV4, 'provider' | 'modelId' | 'doStream'> = {
    provider: model.provider,
    modelId: model.modelId,
    async doStream(options) {
      const result = (await model.doStream(olderOptions(options, version))) as LanguageModelV4StreamResult;
      if (version === 'v3') return result;
      return { ...result, stream: result.stream.pipeThrough(finishesOfV2(countsCached)) };
    },
  };
  return adapted as LanguageModelV4;
}

/** Files are the only parts of a prompt that changed. `reasoning` is new in v4: older models take provider options. */
function olderOptions(options: LanguageModelV4CallOptions, version: OlderSpec): Json {
  const { reasoning: _, prompt, ...rest } = options;
  return { ...rest, prompt: prompt.map((message) => olderMessage(message, version)) };
}

function olderMessage(message: LanguageModelV4Message, version: OlderSpec): Json {
  if (message.role === 'system') return message as unknown as Json;
  const content = message.content.map((part) => olderPart(part as unknown as Json, version));
  return { ...message, content };
}

function olderPart(part: Json, version: OlderSpec): Json {
  if (part['type'] === 'file') return { ...part, data: fileData(part) };
  const { output } = part;
  if (part['type'] !== 'tool-result' || !isObject(output) || !Array.isArray(output['value'])) return part;
  const type = version === 'v2' ? 'media' : 'image-data';
  const value = (output['value'] as Json[]).map((each) =>
    each['type'] === 'file' ? { type, data: fileData(each), mediaType: each['mediaType'] } : each,
  );
  return { ...part, output: { ...output, value } };
}

function fileData({ data }: Json): unknown {
  return isObject(data) ? data['data'] : data;
}

/** The end of a stream is the only part that v3 changed. */
function finishesOfV2(
  countsCached: boolean,
): TransformStream<LanguageModelV4StreamPart, LanguageModelV4StreamPart> {
  return new TransformStream({
    transform: (part, controller) =>
      controller.enqueue(part.type === 'finish' ? newerFinish(part, countsCached) : part),
  });
}

function newerFinish(
  part: LanguageModelV4StreamPart & { type: 'finish' },
  countsCached: boolean,
): LanguageModelV4StreamPart {
  const {
    finishReason,
    usage = {},
    ...rest
  } = part as unknown as Json & {
    readonly finishReason: string;
    readonly usage?: JsonObject;
  };
  const { inputTokens: total, outputTokens, reasoningTokens: reasoning, cachedInputTokens } = usage;
  const unified = finishReason === 'unknown' ? 'other' : finishReason;
  return {
    ...rest,
    type: 'finish',
    finishReason: { unified, raw: finishReason },
    usage: {
      inputTokens: {
        total,
        noCache: countsCached ? undefined : total,
        cacheRead: cachedInputTokens,
        cacheWrite: undefined,
      },
      outputTokens: { total: outputTokens, text: undefined, reasoning },
    },
  } as unknown as LanguageModelV4StreamPart;
}
