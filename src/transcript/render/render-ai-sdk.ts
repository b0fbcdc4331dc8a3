import type { JsonObject } from '../json.ts';
import type { AssistantPart, ProjectedMessage, ResultPart, UserPart } from './conversation.ts';

export type AiSdkProviderOptions = Readonly<Record<string, Readonly<Record<string, string>>>>;

export type AiSdkUserPart =
  | { readonly type: 'text'; readonly text: string }
  | { readonly type: 'file'; readonly data: string; readonly mediaType: string };

export type AiSdkAssistantPart =
  | { readonly type: 'text'; readonly text: string }
  | { readonly type: 'reasoning'; readonly text: string; readonly providerOptions: AiSdkProviderOptions }
  | {
      readonly type: 'tool-call';
      readonly toolCallId: string;
      readonly toolName: string;
      readonly input: JsonObject;
      readonly providerOptions?: AiSdkProviderOptions;
    };

export interface AiSdkToolResult {
  readonly type: 'tool-result';
  readonly toolCallId: string;
  readonly toolName: string;
  readonly output: { readonly type: 'text' | 'error-text'; readonly value: string };
}

export type AiSdkMessage =
  | { readonly role: 'user'; readonly content: AiSdkUserPart[] }
  | { readonly role: 'assistant'; readonly content: AiSdkAssistantPart[] }
  | { readonly role: 'tool'; readonly content: AiSdkToolResult[] };

/** AI SDK model messages, in the subset shared by its prompt and its message types. */
export function renderAiSdk(messages: readonly ProjectedMessage[]): AiSdkMessage[] {
  return messages.map(renderMessage);
}

function renderMessage(message: ProjectedMessage): AiSdkMessage {
  switch (message.role) {
    case 'user':
      return { role: 'user', content: message.content.map(userPart) };
    case 'assistant':
      return { role: 'assistant', content: message.content.map(assistantPart) };
    case 'tool':
      return { role: 'tool', content: message.results.map(toolResult) };
  }
}

function userPart(part: UserPart): AiSdkUserPart {
  return part.type === 'text' ? part : { type: 'file', data: part.data, mediaType: part.mimeType };
}

function assistantPart(part: AssistantPart): AiSdkAssistantPart {
  switch (part.type) {
    case 'text':
      return part;
    case 'thinking': {
      const anthropic: Record<string, string> = part.redacted
        ? { redactedData: part.signature }
        : { signature: part.signature };
      return { type: 'reasoning', text: part.thinking, providerOptions: { anthropic } };
    }
    case 'call': {
      const { id: toolCallId, name: toolName, input, signature } = part;
      return {
        type: 'tool-call',
        toolCallId,
        toolName,
        input,
        ...(signature !== undefined && { providerOptions: { google: { thoughtSignature: signature } } }),
      };
    }
  }
}

function toolResult({ callId, name, text, isError }: ResultPart): AiSdkToolResult {
  return {
    type: 'tool-result',
    toolCallId: callId,
    toolName: name,
    output: { type: isError ? 'error-text' : 'text', value: text },
  };
}
