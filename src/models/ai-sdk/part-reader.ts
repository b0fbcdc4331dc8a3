import type { LanguageModelV4StreamPart, LanguageModelV4Usage } from '@ai-sdk/provider';
import { message } from '../../messages/message.ts';
import type { StopReason, Usage } from '../../transcript/entry.ts';
import { inspectJson, isObject, type JsonObject } from '../../transcript/json.ts';
import { DEFAULT_RECORD_LIMITS } from '../../transcript/limits.ts';
import { Answer } from '../answer.ts';
import type { Model, ModelEvent, ToolCallEvent } from '../model.ts';
import type { ProviderFailure } from '../model-error.ts';
import { usageOf } from '../usage.ts';
import { readFailure } from './read-failure.ts';

type Part<Type> = Extract<LanguageModelV4StreamPart, { type: Type }>;
type Metadata = Part<'reasoning-start'>['providerMetadata'];

/** A stream that ended abnormally; its facts become an error with a code where the model is known. */
export class StreamFailure extends Error {
  override readonly name: string = 'StreamFailure';
  readonly failure: ProviderFailure;

  constructor(failure: ProviderFailure) {
    super(failure.message);
    this.failure = failure;
  }
}

/** Converts the parts of one AI SDK stream into events. */
export class PartReader {
  readonly #model: Pick<Model, 'api' | 'provider' | 'id' | 'cost'>;
  readonly #answer = new Answer();
  /** Maps ids of the SDK's parts to positions in the answer; an id may be reused for a later block. */
  readonly #blocks = new Map<string, number>();
  readonly #calls: ToolCallEvent[] = [];
  #nextBlock = 0;
  #responseId: string | undefined;
  /** Whether any part of the answer has arrived; from then on the request is not sent again. */
  started = false;

  constructor(model: Pick<Model, 'api' | 'provider' | 'id' | 'cost'>) {
    this.#model = model;
  }

  read(part: LanguageModelV4StreamPart): ModelEvent[] {
    switch (part.type) {
      case 'stream-start':
      case 'raw':
      case 'ping':
        return [];
      case 'error':
        throw new StreamFailure(readFailure(part.error));
      default:
        this.started = true;
        return this.#readAnswer(part);
    }
  }

  #readAnswer(part: LanguageModelV4StreamPart): ModelEvent[] {
    switch (part.type) {
      case 'response-metadata':
        this.#responseId ??= part.id;
        return [];
      case 'text-start':
      case 'tool-input-start':
        this.#open(part.id);
        return [];
      case 'text-delta':
        return part.delta === ''
          ? []
          : this.#emit({ type: 'text_delta', block: this.#block(part.id), text: part.delta });
      case 'reasoning-start':
        this.#open(part.id);
        return this.#thinking(part.id, '', part.providerMetadata);
      case 'reasoning-delta':
        return this.#thinking(part.id, part.delta, part.providerMetadata);
      case 'reasoning-end':
        return this.#thinking(part.id, '', part.providerMetadata);
      case 'tool-call':
        // Hold calls back until the stream has ended normally: some adapters complete a torn call with the part they
        // have (T43).
        if (part.providerExecuted !== true) this.#calls.push(this.#call(part));
        return [];
      case 'finish':
        return this.#finish(part);
      default:
        return [];
    }
  }

  #open(id: string): void {
    this.#blocks.set(id, this.#nextBlock++);
  }

  #block(id: string): number {
    if (!this.#blocks.has(id)) this.#open(id);
    return this.#blocks.get(id) ?? 0;
  }

  #emit(event: ModelEvent): ModelEvent[] {
    this.#answer.take(event);
    return [event];
  }

  #thinking(id: string, text: string, metadata: Metadata): ModelEvent[] {
    const { signature, redactedData } = metadata?.['anthropic'] ?? {};
    const redacted = typeof redactedData === 'string';
    const signed = redacted ? redactedData : signature;
    if (text === '' && typeof signed !== 'string') return [];
    return this.#emit({
      type: 'thinking_delta',
      block: this.#block(id),
      text,
      ...(typeof signed === 'string' && { signature: signed }),
      ...(redacted && { redacted }),
    });
  }

  #call({ toolCallId: id, toolName: name, input, providerMetadata }: Part<'tool-call'>): ToolCallEvent {
    const parsed = parseArguments(input);
    const signature = Object.values(providerMetadata ?? {}).find(
      (options) => typeof options['thoughtSignature'] === 'string',
    )?.['thoughtSignature'];
    return {
      type: 'tool_call',
      block: this.#block(id),
      id,
      name,
      input: parsed ?? {},
      ...(parsed === undefined && { rawArguments: input }),
      ...(typeof signature === 'string' && { signature }),
    };
  }

  #finish({ finishReason: { unified, raw }, usage: reported }: Part<'finish'>): ModelEvent[] {
    if (unified === 'error' || unified === 'interrupted')
      throw new StreamFailure({
        message: '',
        why: message('model.brokeOff', { provider: this.#model.provider }),
        broken: true,
      });
    const usage = readUsage(reported, this.#model);
    const empty = this.#calls.length === 0 && this.#answer.content().length === 0;
    if (raw === 'model_context_window_exceeded' && empty)
      throw new StreamFailure({
        message: '',
        why: message('model.noRoom', { model: this.#model.id }),
        codes: [raw],
      });
    const events: ModelEvent[] = this.#calls.map((call) =>
      unified === 'length' ? cutOff(call, this.#nextBlock) : call,
    );
    for (const event of events) this.#answer.take(event);
    const refused = unified === 'content-filter';
    const finish = this.#answer.finish(this.#model, {
      stopReason: stopReason(unified, events.length),
      usage,
      responseId: this.#responseId,
      errorMessage: refused ? `the provider withheld the answer (${raw ?? unified})` : undefined,
    });
    return [...events, finish];
  }
}

/** When the answer runs out of tokens, its last call may be incomplete, even if it parses. */
function cutOff(call: ToolCallEvent, blocks: number): ToolCallEvent {
  if (call.block !== blocks - 1) return call;
  return { ...call, input: {}, rawArguments: call.rawArguments ?? JSON.stringify(call.input) };
}

/** Servers report different reasons for an answer with calls, so the calls decide. */
function stopReason(unified: Part<'finish'>['finishReason']['unified'], calls: number): StopReason {
  if (unified === 'length') return 'length';
  if (unified === 'content-filter') return 'error';
  return calls > 0 ? 'toolUse' : 'stop';
}

function parseArguments(text: string): JsonObject | undefined {
  if (text.trim() === '') return {};
  try {
    const value: unknown = JSON.parse(text);
    // A value deeper than a record allows could be run but not stored.
    if (isObject(value) && !inspectJson(value, DEFAULT_RECORD_LIMITS.maxDepth - 8).tooDeep) return value;
  } catch {
    // Expected from models that write invalid JSON; the caller gets the text.
  }
  return undefined;
}

function readUsage(
  { inputTokens, outputTokens }: LanguageModelV4Usage,
  { cost }: Pick<Model, 'cost'>,
): Usage | undefined {
  const { total, noCache, cacheRead = 0, cacheWrite = 0 } = inputTokens;
  const input = noCache ?? (total === undefined ? undefined : Math.max(0, total - cacheRead - cacheWrite));
  if (input === undefined && outputTokens.total === undefined) return undefined;
  return usageOf(
    {
      input: input ?? 0,
      output: outputTokens.total ?? 0,
      cacheRead,
      cacheWrite,
      reasoning: outputTokens.reasoning,
    },
    cost,
  );
}
