import { setImmediate as nextTick, setTimeout as sleep } from 'node:timers/promises';
import { estimateTextTokens } from '../../context/estimate.ts';
import type { StopReason } from '../../transcript/entry.ts';
import { Answer } from '../answer.ts';
import type { Model, ModelEvent, ModelRequest, ModelStreamOptions } from '../model.ts';
import { abortedError, modelError } from '../model-error.ts';
import { usageOf } from '../usage.ts';
import { reply } from './reply.ts';
import { requestTokens } from './request-tokens.ts';

/**
 * `slow` pauses between words. `error` breaks off in the middle of every answer. `overflow` claims a larger window
 * than it has. `orphan-tool` breaks off right after a tool call. Each demonstrates one safeguard.
 */
export type OfflineVariant = 'offline' | 'slow' | 'error' | 'overflow' | 'orphan-tool';

export interface OfflineModelOptions {
  readonly variant?: OfflineVariant | undefined;
  /** Larger requests are refused, as a provider would. Unset: no limit. */
  readonly contextWindow?: number | undefined;
  readonly maxOutput?: number | undefined;
  /** Pause between words of the slow variant. */
  readonly delayMs?: number | undefined;
}

const STATED_WINDOW = 200_000;
const REAL_WINDOW = 16_000;
const SLOW_DELAY_MS = 40;
/** Yields to the event loop after this many words, so that an answer of any length can be stopped. */
const WORDS_PER_TICK = 32;

/**
 * A model without network and without understanding, to try, test and measure everything else. It is a pure function
 * of the request: it knows only the messages it receives.
 */
export function createOfflineModel({
  variant = 'offline',
  contextWindow,
  maxOutput,
  delayMs = variant === 'slow' ? SLOW_DELAY_MS : 0,
}: OfflineModelOptions = {}): Model {
  const window = contextWindow ?? (variant === 'overflow' ? REAL_WINDOW : undefined);
  const stated = variant === 'overflow' ? STATED_WINDOW : contextWindow;
  const model: Model = {
    id: variant,
    provider: 'offline',
    api: 'offline',
    target: { family: 'local', provider: 'offline', model: variant },
    ...(stated !== undefined && { contextWindow: stated }),
    ...(maxOutput !== undefined && { maxOutput }),
    stream: (request, options = {}) => answer(model, request, options, { variant, window, delayMs }),
  };
  return model;
}

interface Behaviour {
  readonly variant: OfflineVariant;
  readonly window: number | undefined;
  readonly delayMs: number;
}

async function* answer(
  model: Model,
  request: ModelRequest,
  { signal }: ModelStreamOptions,
  { variant, window, delayMs }: Behaviour,
): AsyncGenerator<ModelEvent, void, undefined> {
  const input = requestTokens(request);
  if (signal?.aborted) throw abortedError(model, signal);
  if (window !== undefined && input > window) {
    const message = `prompt is too long: ${input} tokens > ${window} maximum`;
    throw modelError({ status: 400, codes: ['invalid_request_error'], message }, model, 0);
  }
  const room = Math.min(
    request.maxOutputTokens ?? Number.POSITIVE_INFINITY,
    model.maxOutput ?? Number.POSITIVE_INFINITY,
    window === undefined ? Number.POSITIVE_INFINITY : Math.max(1, window - input),
  );
  const { text, calls } = reply(request, room);
  const { said, cut } = shorten(text, room);
  const collected = new Answer();
  const words = said.match(/\S+\s*|\s+/g) ?? [];
  const breakAt = variant === 'error' ? Math.ceil(words.length / 2) : Number.POSITIVE_INFINITY;
  for (const [i, word] of words.entries()) {
    if (i === breakAt) break;
    await pause(i, delayMs, signal);
    if (signal?.aborted) throw abortedError(model, signal);
    const event: ModelEvent = { type: 'text_delta', block: 0, text: word };
    collected.take(event);
    yield event;
  }
  if (variant === 'error') throw onPurpose(model);
  if (signal?.aborted) throw abortedError(model, signal);
  for (const [i, call] of (cut ? [] : calls).entries()) {
    const event: ModelEvent = { type: 'tool_call', block: i + 1, ...call };
    collected.take(event);
    yield event;
  }
  if (variant === 'orphan-tool' && calls.length > 0) throw onPurpose(model);
  const stopReason: StopReason = cut ? 'length' : calls.length > 0 ? 'toolUse' : 'stop';
  const written = calls.map(({ name, input }) => name + JSON.stringify(input)).join('');
  const output = estimateTextTokens(said) + estimateTextTokens(written);
  yield collected.finish(model, { stopReason, usage: usageOf({ input, output }) });
}

async function pause(word: number, delayMs: number, signal: AbortSignal | undefined): Promise<void> {
  if (delayMs === 0) {
    if (word % WORDS_PER_TICK === 0) await nextTick();
    return;
  }
  try {
    await sleep(delayMs, undefined, signal === undefined ? {} : { signal });
  } catch {
    // Expected: aborted during the pause; the caller checks the signal next.
  }
}

function shorten(text: string, room: number): { said: string; cut: boolean } {
  let said = text;
  for (let tokens = estimateTextTokens(said); tokens > room; tokens = estimateTextTokens(said)) {
    said = said.slice(0, Math.min(said.length - 1, Math.floor((said.length * room) / tokens)));
  }
  return { said, cut: said !== text };
}

function onPurpose(model: Model): Error {
  const message = `the variant ${model.id} breaks off on purpose`;
  return modelError({ status: 529, codes: ['overloaded_error'], message }, model, 0);
}
