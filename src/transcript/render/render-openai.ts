import type { AssistantPart, ProjectedMessage, UserPart } from './conversation.ts';

export type OpenAiPart =
  | { readonly type: 'text'; readonly text: string }
  | { readonly type: 'image_url'; readonly image_url: { readonly url: string } };

export interface OpenAiToolCall {
  readonly id: string;
  readonly type: 'function';
  readonly function: { readonly name: string; readonly arguments: string };
}

export type OpenAiMessage =
  | { readonly role: 'user'; readonly content: string | OpenAiPart[] }
  | { readonly role: 'assistant'; readonly content: string | null; readonly tool_calls?: OpenAiToolCall[] }
  | { readonly role: 'tool'; readonly tool_call_id: string; readonly content: string };

/** Chat completions: plain strings wherever possible, because many compatible servers support nothing else. */
export function renderOpenAi(messages: readonly ProjectedMessage[]): OpenAiMessage[] {
  const out: OpenAiMessage[] = [];
  for (const message of messages) {
    switch (message.role) {
      case 'tool':
        for (const { callId, text } of message.results)
          out.push({ role: 'tool', tool_call_id: callId, content: text });
        break;
      case 'user':
        out.push({ role: 'user', content: userContent(message.content) });
        break;
      case 'assistant':
        out.push(assistantMessage(message.content));
    }
  }
  return out;
}

function userContent(content: readonly UserPart[]): string | OpenAiPart[] {
  const [only] = content;
  if (content.length === 1 && only?.type === 'text') return only.text;
  return content.map((part) =>
    part.type === 'text'
      ? part
      : { type: 'image_url', image_url: { url: `data:${part.mimeType};base64,${part.data}` } },
  );
}

function assistantMessage(content: readonly AssistantPart[]): OpenAiMessage {
  const texts: string[] = [];
  const calls: OpenAiToolCall[] = [];
  for (const part of content) {
    if (part.type === 'text') texts.push(part.text);
    else if (part.type === 'call') {
      calls.push({
        id: part.id,
        type: 'function',
        function: { name: part.name, arguments: JSON.stringify(part.input) },
      });
    }
  }
  const text = texts.length === 0 ? null : texts.join('\n\n');
  return calls.length === 0
    ? { role: 'assistant', content: text }
    : { role: 'assistant', content: text, tool_calls: calls };
}
