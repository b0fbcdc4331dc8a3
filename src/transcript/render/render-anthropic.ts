import type { JsonObject } from '../json.ts';
import type { AssistantPart, ProjectedMessage, ResultPart, UserPart } from './conversation.ts';
import type { ImagePart } from './image-budget.ts';

export type AnthropicBlock =
  | { readonly type: 'text'; readonly text: string }
  | {
      readonly type: 'image';
      readonly source: { readonly type: 'base64'; readonly media_type: string; readonly data: string };
    }
  | { readonly type: 'thinking'; readonly thinking: string; readonly signature: string }
  | { readonly type: 'redacted_thinking'; readonly data: string }
  | { readonly type: 'tool_use'; readonly id: string; readonly name: string; readonly input: JsonObject }
  | {
      readonly type: 'tool_result';
      readonly tool_use_id: string;
      readonly content: string | AnthropicBlock[];
      readonly is_error?: true;
    };

export interface AnthropicMessage {
  readonly role: 'user' | 'assistant';
  readonly content: string | AnthropicBlock[];
}

/** Messages API: results open the user message after their calls; plain text stays a string. */
export function renderAnthropic(messages: readonly ProjectedMessage[]): AnthropicMessage[] {
  const out: AnthropicMessage[] = [];
  let results: AnthropicBlock[] | undefined;
  for (const message of messages) {
    switch (message.role) {
      case 'tool':
        results = message.results.map(toolResult);
        out.push({ role: 'user', content: results });
        break;
      case 'user':
        if (results !== undefined)
          for (const part of message.content) results.push(part.type === 'text' ? part : image(part));
        else out.push({ role: 'user', content: userContent(message.content) });
        results = undefined;
        break;
      case 'assistant':
        out.push({ role: 'assistant', content: message.content.map(assistantBlock) });
        results = undefined;
    }
  }
  return out;
}

function userContent(content: readonly UserPart[]): AnthropicMessage['content'] {
  const [only] = content;
  if (content.length === 1 && only?.type === 'text') return only.text;
  return content.map((part) => (part.type === 'text' ? part : image(part)));
}

function assistantBlock(part: AssistantPart): AnthropicBlock {
  switch (part.type) {
    case 'text':
      return part;
    case 'call':
      return { type: 'tool_use', id: part.id, name: part.name, input: part.input };
    case 'thinking':
      return part.redacted
        ? { type: 'redacted_thinking', data: part.signature }
        : { type: 'thinking', thinking: part.thinking, signature: part.signature };
  }
}

function toolResult({ callId, text, images, isError }: ResultPart): AnthropicBlock {
  const content: AnthropicBlock[] = text === '' ? [] : [{ type: 'text', text }];
  return {
    type: 'tool_result',
    tool_use_id: callId,
    content: images.length === 0 ? text : [...content, ...images.map(image)],
    ...(isError && { is_error: true }),
  };
}

function image({ data, mimeType }: ImagePart): AnthropicBlock {
  return { type: 'image', source: { type: 'base64', media_type: mimeType, data } };
}
