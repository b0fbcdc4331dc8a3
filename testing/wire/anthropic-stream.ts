import type { JsonRecord } from '../providers/json.ts';
import {
  argumentText,
  DEFAULT_WIRE_USAGE,
  pieces,
  stopOf,
  type WireAnswer,
  type WireBlock,
  type WireStop,
} from './wire-answer.ts';

const STOP_REASONS: Readonly<Record<WireStop, string>> = {
  stop: 'end_turn',
  length: 'max_tokens',
  tools: 'tool_use',
  refusal: 'refusal',
  window: 'model_context_window_exceeded',
};

export function anthropicEvent(data: JsonRecord): string {
  return `event: ${String(data.type)}\ndata: ${JSON.stringify(data)}\n\n`;
}

/** An answer as the Messages API streams it. */
export function anthropicEvents(answer: WireAnswer, model: unknown): string[] {
  const { input, output, cacheRead = 0, cacheWrite = 0, reasoning } = answer.usage ?? DEFAULT_WIRE_USAGE;
  const events: JsonRecord[] = [
    {
      type: 'message_start',
      message: {
        id: 'msg_01XFDUDYJgAACzvnptvVoYEL',
        type: 'message',
        role: 'assistant',
        model,
        content: [],
        stop_reason: null,
        stop_sequence: null,
        usage: {
          input_tokens: input,
          cache_creation_input_tokens: cacheWrite,
          cache_read_input_tokens: cacheRead,
          output_tokens: 1,
          service_tier: 'standard',
        },
      },
    },
  ];
  for (const [index, block] of answer.blocks.entries()) {
    events.push({ type: 'content_block_start', index, content_block: opening(block) });
    if (index === 0) events.push({ type: 'ping' });
    for (const delta of deltas(block)) events.push({ type: 'content_block_delta', index, delta });
    events.push({ type: 'content_block_stop', index });
  }
  events.push({
    type: 'message_delta',
    delta: { stop_reason: STOP_REASONS[stopOf(answer)], stop_sequence: null },
    usage: {
      output_tokens: output,
      ...(reasoning !== undefined && { output_tokens_details: { thinking_tokens: reasoning } }),
    },
  });
  events.push({ type: 'message_stop' });
  return events.map(anthropicEvent);
}

function opening(block: WireBlock): JsonRecord {
  switch (block.type) {
    case 'text':
      return { type: 'text', text: '' };
    case 'thinking':
      return { type: 'thinking', thinking: '', signature: '' };
    case 'redacted':
      return { type: 'redacted_thinking', data: block.data };
    case 'call':
      return { type: 'tool_use', id: block.id, name: block.name, input: {} };
  }
}

function deltas(block: WireBlock): JsonRecord[] {
  switch (block.type) {
    case 'text':
      return pieces(block.text).map((text) => ({ type: 'text_delta', text }));
    case 'thinking':
      return [
        ...pieces(block.thinking).map((thinking) => ({ type: 'thinking_delta', thinking })),
        { type: 'signature_delta', signature: block.signature },
      ];
    case 'redacted':
      return [];
    case 'call':
      return ['', ...pieces(argumentText(block))].map((partial_json) => ({
        type: 'input_json_delta',
        partial_json,
      }));
  }
}
