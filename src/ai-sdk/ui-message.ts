import type { SessionMessage } from '../engine/history/session-messages.ts';

/*
 * The messages of the AI SDK's user interfaces, as far as Reprise makes them. They are declared here, so that a program that
 * does not use the AI SDK does not need its packages; a test assigns them to the SDK's own types.
 */

export type UiPart =
  | { type: 'text'; text: string; state?: 'streaming' | 'done' }
  | { type: 'reasoning'; text: string; state?: 'streaming' | 'done' }
  | { type: 'file'; mediaType: string; url: string }
  | { type: 'step-start' }
  | {
      type: 'dynamic-tool';
      toolName: string;
      toolCallId: string;
      state: 'input-available';
      input: unknown;
    }
  | {
      type: 'dynamic-tool';
      toolName: string;
      toolCallId: string;
      state: 'output-available';
      input: unknown;
      output: unknown;
    }
  | {
      type: 'dynamic-tool';
      toolName: string;
      toolCallId: string;
      state: 'output-error';
      input: unknown;
      errorText: string;
    };

/** One message of `useChat`. */
export interface UiMessage {
  id: string;
  role: 'system' | 'user' | 'assistant';
  metadata?: unknown;
  parts: UiPart[];
}

type MessageOf<Role> = Extract<SessionMessage, { role: Role }>;

/**
 * The messages of a session as `useChat` shows them: an answer with its tool calls and their results is one message.
 *
 * @example
 * ```ts
 * import { openReprise } from 'reprise';
 * import { toUIMessages } from 'reprise/ai-sdk';
 *
 * const reprise = await openReprise({ store: 'memory' });
 * const session = await reprise.session({ user: 'ada' });
 * await session.send('Hello!').result;
 * console.log(toUIMessages(await session.messages()));
 * await reprise.close();
 * ```
 */
export function toUIMessages(messages: readonly SessionMessage[]): UiMessage[] {
  const result: UiMessage[] = [];
  const answer = (message: SessionMessage): UiMessage => {
    const last = result.at(-1);
    if (last?.role === 'assistant') return last;
    const next: UiMessage = {
      id: message.entryId,
      role: 'assistant',
      metadata: { at: message.at },
      parts: [],
    };
    result.push(next);
    return next;
  };
  for (const message of messages) {
    switch (message.role) {
      case 'user':
        result.push({
          id: message.entryId,
          role: 'user',
          metadata: { at: message.at },
          parts: contentParts(message),
        });
        break;
      case 'assistant':
        answer(message).parts.push({ type: 'step-start' }, ...answerParts(message));
        break;
      case 'toolResult':
        addResult(answer(message), message);
        break;
      default: // commands of other tools and system messages are not part of the chat
    }
  }
  return result;
}

function contentParts({ content }: Pick<MessageOf<'user'>, 'content'>): UiPart[] {
  if (typeof content === 'string') return [{ type: 'text', text: content }];
  return content.map((block) =>
    block.type === 'text'
      ? { type: 'text', text: block.text }
      : { type: 'file', mediaType: block.mimeType, url: `data:${block.mimeType};base64,${block.data}` },
  );
}

function answerParts({ content }: MessageOf<'assistant'>): UiPart[] {
  return content.flatMap((block): UiPart[] => {
    switch (block.type) {
      case 'text':
        return [{ type: 'text', text: block.text, state: 'done' }];
      case 'thinking':
        return block.thinking === '' ? [] : [{ type: 'reasoning', text: block.thinking, state: 'done' }];
      case 'toolCall': {
        const { id: toolCallId, name: toolName, arguments: input } = block;
        return [{ type: 'dynamic-tool', toolName, toolCallId, state: 'input-available', input }];
      }
      default:
        return []; // a block of another tool
    }
  });
}

function addResult(
  { parts }: UiMessage,
  { toolCallId, toolName, content, isError }: MessageOf<'toolResult'>,
): void {
  const text = content.flatMap((block) => (block.type === 'text' ? [block.text] : [])).join('\n');
  const at = parts.findLastIndex((part) => part.type === 'dynamic-tool' && part.toolCallId === toolCallId);
  const call = parts[at];
  const input = call?.type === 'dynamic-tool' ? call.input : undefined;
  const common = { type: 'dynamic-tool' as const, toolName, toolCallId, input };
  const result: UiPart = isError
    ? { ...common, state: 'output-error', errorText: text }
    : { ...common, state: 'output-available', output: text };
  if (at === -1) parts.push(result);
  else parts[at] = result;
}
