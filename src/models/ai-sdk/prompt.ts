import type {
  JSONSchema7,
  LanguageModelV4FunctionTool,
  LanguageModelV4Message,
  LanguageModelV4Prompt,
  SharedV4ProviderOptions,
} from '@ai-sdk/provider';
import type {
  AssistantPart,
  ProjectedMessage,
  ResultPart,
  UserPart,
} from '../../transcript/render/conversation.ts';
import type { ImagePart } from '../../transcript/render/image-budget.ts';
import { FAMILY_RULES, type ProviderFamily } from '../../transcript/render/target.ts';
import type { ModelRequest } from '../model.ts';

type MessageOf<Role> = Extract<LanguageModelV4Message, { role: Role }>;
type AssistantContent = MessageOf<'assistant'>['content'];
type ToolContent = MessageOf<'tool'>['content'];

export interface Prompt {
  readonly prompt: LanguageModelV4Prompt;
  readonly tools: LanguageModelV4FunctionTool[] | undefined;
}

/** A request in the format of all AI SDK models, with Anthropic's cache breakpoints if enabled. */
export function renderPrompt(
  { system, messages, tools = [], cache = 'auto' }: ModelRequest,
  family: ProviderFamily,
  cacheMark: SharedV4ProviderOptions | undefined,
): Prompt {
  const mark = cache === 'off' ? undefined : cacheMark;
  const marked = mark === undefined ? {} : { providerOptions: mark };
  const prompt: LanguageModelV4Prompt = messages.map((message) => renderMessage(message, family));
  if (mark !== undefined) for (const message of lastTwoUserTurns(prompt)) message.providerOptions = mark;
  if (system !== undefined && system !== '') prompt.unshift({ role: 'system', content: system, ...marked });
  const rendered = tools.map(
    ({ name, description, inputSchema }, i): LanguageModelV4FunctionTool => ({
      type: 'function',
      name,
      ...(description !== undefined && { description }),
      inputSchema: inputSchema as JSONSchema7,
      ...(i === tools.length - 1 && marked),
    }),
  );
  return { prompt, tools: rendered.length > 0 ? rendered : undefined };
}

/**
 * Four breakpoints are allowed. The tools and the system prompt take one each, which leaves two for the conversation:
 * the end of this request, for the next one to find, and the end of the previous one, to be found now.
 */
function lastTwoUserTurns(prompt: LanguageModelV4Prompt): LanguageModelV4Message[] {
  const found: LanguageModelV4Message[] = [];
  let answered = true;
  for (let i = prompt.length - 1; i >= 0 && found.length < 2; i--) {
    const message = prompt[i];
    if (message?.role === 'assistant') answered = true;
    // Tool results and the text after them are sent as one message; it ends with the last of them.
    else if (message !== undefined && answered) {
      found.push(message);
      answered = false;
    }
  }
  return found;
}

function renderMessage(message: ProjectedMessage, family: ProviderFamily): LanguageModelV4Message {
  switch (message.role) {
    case 'user':
      return { role: 'user', content: message.content.map(userPart) };
    case 'assistant':
      return { role: 'assistant', content: assistantContent(message.content, family) };
    case 'tool':
      return { role: 'tool', content: message.results.map((result) => toolResult(result, family)) };
  }
}

function userPart(part: UserPart): MessageOf<'user'>['content'][number] {
  return part.type === 'text' ? { type: 'text', text: part.text } : imagePart(part);
}

function imagePart({ data, mimeType }: ImagePart): {
  type: 'file';
  data: { type: 'data'; data: string };
  mediaType: string;
} {
  return { type: 'file', data: { type: 'data', data }, mediaType: mimeType };
}

function assistantContent(parts: readonly AssistantPart[], family: ProviderFamily): AssistantContent {
  const content: AssistantContent = [];
  for (const part of parts) {
    const last = content.at(-1);
    switch (part.type) {
      case 'text':
        // Adapters of the chat format join texts; the blank line separates words as everywhere else.
        if (last?.type === 'text' && family !== 'anthropic') last.text = `${last.text}\n\n${part.text}`;
        else content.push({ type: 'text', text: part.text });
        break;
      case 'thinking': {
        const { thinking, signature, redacted } = part;
        const anthropic: Record<string, string> = redacted ? { redactedData: signature } : { signature };
        content.push({ type: 'reasoning', text: thinking, providerOptions: { anthropic } });
        break;
      }
      case 'call': {
        const { id: toolCallId, input, signature } = part;
        const signed = signature === undefined ? {} : { thoughtSignature: signature };
        const options = signature === undefined ? {} : { providerOptions: { google: signed } };
        content.push({ type: 'tool-call', toolCallId, toolName: ownName(part.name), input, ...options });
      }
    }
  }
  return content;
}

function toolResult(
  { callId: toolCallId, name, text, images, isError }: ResultPart,
  family: ProviderFamily,
): ToolContent[number] {
  const part = { type: 'tool-result', toolCallId, toolName: ownName(name) } as const;
  // If results are text only, the projection has already moved the images to a user message.
  const shown = FAMILY_RULES[family].toolImages ? images : [];
  if (shown.length === 0) return { ...part, output: { type: isError ? 'error-text' : 'text', value: text } };
  // The SDK has no error result with images, so the text marks the error.
  const said = isError ? `[error] ${text}`.trim() : text;
  const value = [...(said === '' ? [] : [{ type: 'text' as const, text: said }]), ...shown.map(imagePart)];
  return { ...part, output: { type: 'content', value } };
}

/** The SDK looks names up in plain objects, where "constructor" finds an inherited property. */
function ownName(name: string): string {
  return name in Object.prototype ? `${name}_` : name;
}
