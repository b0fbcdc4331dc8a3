import {
  type HistoryFormat,
  type HistoryFormats,
  type ProviderFamily,
  rebuildHistory,
} from '../../../src/exports/transcript.ts';
import type { Entry } from '../../../src/index.ts';
import {
  type Violation,
  validateAiSdkMessages,
  validateAnthropicMessages,
  validateBedrock,
  validateGemini,
  validateLocalTemplate,
  validateMistral,
  validateOpenAiChat,
  validateOpenAiResponses,
} from '../../../testing/index.ts';

/** Every way a request leaves the house, with the validator that stands in for the provider. */
export interface RequestKind {
  readonly name: string;
  readonly format: HistoryFormat;
  readonly family: ProviderFamily;
  readonly validate: (messages: readonly unknown[]) => Violation[];
}

const aiSdkAnd =
  (validate: RequestKind['validate']): RequestKind['validate'] =>
  (messages) => [...validateAiSdkMessages(messages), ...validate(messages)];

export const REQUEST_KINDS: readonly RequestKind[] = [
  { name: 'Anthropic', format: 'anthropic', family: 'anthropic', validate: validateAnthropicMessages },
  { name: 'OpenAI chat', format: 'openai', family: 'openai', validate: validateOpenAiChat },
  { name: 'Mistral', format: 'openai', family: 'mistral', validate: validateMistral },
  { name: 'local template', format: 'openai', family: 'local', validate: validateLocalTemplate },
  { name: 'Gemini', format: 'ai-sdk', family: 'gemini', validate: aiSdkAnd(validateGemini) },
  { name: 'Bedrock', format: 'ai-sdk', family: 'bedrock', validate: aiSdkAnd(validateBedrock) },
  {
    name: 'OpenAI Responses',
    format: 'ai-sdk',
    family: 'openai-responses',
    validate: aiSdkAnd(validateOpenAiResponses),
  },
  {
    name: 'AI SDK, provider not known',
    format: 'ai-sdk',
    family: 'generic',
    validate: aiSdkAnd(validateGemini),
  },
];

export const MODEL = { provider: 'anthropic', model: 'claude-a' };

export function request(
  entries: readonly Entry[],
  { format, family }: RequestKind,
): HistoryFormats[HistoryFormat][] {
  return rebuildHistory(entries, { format, target: { family, ...MODEL } });
}

/**
 * What the provider's prompt cache sees of a request: roles and parts in order. A text that is sent as a plain
 * string and the same text as the only block of a list are one prompt, and users who speak in a row are one turn.
 */
export function promptOf(messages: readonly unknown[]): string {
  let prompt = '';
  for (const message of messages) {
    const { role, content, ...rest } = message as Record<string, unknown>;
    prompt += `\u0001${String(role)}${Object.keys(rest).length > 0 ? JSON.stringify(rest) : ''}`;
    const parts = Array.isArray(content) ? content : [content];
    for (const part of parts) {
      if (typeof part === 'string') prompt += `\u0002${part}`;
      else if (part !== null) {
        const { type, text, ...others } = part as Record<string, unknown>;
        prompt += `\u0002${type === 'text' ? String(text) : JSON.stringify({ type, text, ...others })}`;
      }
    }
  }
  return prompt;
}
