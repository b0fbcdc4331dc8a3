import { isRecord, type JsonRecord } from '../providers/json.ts';
import {
  argumentText,
  DEFAULT_WIRE_USAGE,
  pieces,
  stopOf,
  type WireAnswer,
  type WireBlock,
  type WireStop,
} from './wire-answer.ts';

const FINISH_REASONS: Readonly<Record<WireStop, string>> = {
  stop: 'stop',
  length: 'length',
  tools: 'tool_calls',
  refusal: 'content_filter',
  window: 'length',
};

export function openAiEvent(data: JsonRecord): string {
  return `data: ${JSON.stringify(data)}\n\n`;
}

/** An answer as chat completions stream it. Thinking is sent unsigned, as servers of open models do. */
export function openAiEvents(answer: WireAnswer, body: JsonRecord): string[] {
  const chunk = (choices: readonly JsonRecord[], more: JsonRecord = {}): string =>
    openAiEvent({
      id: 'chatcmpl-9r2YZt3K4lVwQm8sN1oBxUeA',
      object: 'chat.completion.chunk',
      created: 1_735_689_600,
      model: body.model,
      system_fingerprint: 'fp_44709d6fcb',
      choices,
      ...more,
    });
  const say = (delta: JsonRecord, finish_reason: string | null = null): string =>
    chunk([{ index: 0, delta, logprobs: null, finish_reason }]);

  const events = [say({ role: 'assistant', content: '' })];
  let calls = 0;
  for (const block of answer.blocks) {
    for (const delta of deltas(block, calls)) events.push(say(delta));
    if (block.type === 'call') calls++;
  }
  events.push(say({}, FINISH_REASONS[stopOf(answer)]));
  const { stream_options: asked } = body;
  if (isRecord(asked) && asked.include_usage === true) events.push(chunk([], { usage: usageOf(answer) }));
  events.push('data: [DONE]\n\n');
  return events;
}

function usageOf({ usage = DEFAULT_WIRE_USAGE }: WireAnswer): JsonRecord {
  const { input, output, cacheRead = 0, reasoning = 0 } = usage;
  return {
    prompt_tokens: input + cacheRead,
    completion_tokens: output,
    total_tokens: input + cacheRead + output,
    prompt_tokens_details: { cached_tokens: cacheRead },
    completion_tokens_details: { reasoning_tokens: reasoning },
  };
}

function deltas(block: WireBlock, index: number): JsonRecord[] {
  switch (block.type) {
    case 'text':
      return pieces(block.text).map((content) => ({ content }));
    case 'thinking':
      return pieces(block.thinking).map((reasoning_content) => ({ reasoning_content }));
    case 'redacted':
      return [];
    case 'call': {
      const { id, name } = block;
      return [
        { tool_calls: [{ index, id, type: 'function', function: { name, arguments: '' } }] },
        ...pieces(argumentText(block)).map((text) => ({
          tool_calls: [{ index, function: { arguments: text } }],
        })),
      ];
    }
  }
}
