import { estimateTextTokens } from '../../context/estimate.ts';
import { planToolTruncation, truncateToolText } from '../../context/truncate.ts';
import { contentText } from '../../transcript/content.ts';
import { canonicalMessages, toolCall } from '../../transcript/dialects/blocks.ts';
import type { Entry } from '../../transcript/entry.ts';
import { isObject, type JsonObject } from '../../transcript/json.ts';

/** A message in the format of the Anthropic or the OpenAI API; its other fields belong to the caller. */
export interface ApiMessage {
  readonly role: string;
}

/** Whether the message is an instruction, not conversation. Instructions are never summarized. */
export function isInstruction({ role }: ApiMessage): boolean {
  return role === 'system' || role === 'developer';
}

/** Messages as entries, so that the rules for stored histories can cut and summarize them. */
export interface ReadMessages {
  readonly entries: readonly Entry[];
  /** The index in `entries` at which each message begins; an instruction has no entry. */
  readonly begins: readonly number[];
}

export function readApiMessages(messages: readonly ApiMessage[]): ReadMessages {
  const entries: Entry[] = [];
  const begins: number[] = [];
  for (const message of messages) {
    begins.push(entries.length);
    if (isInstruction(message)) continue;
    for (const canonical of canonicalMessages(fromOpenAi(message as unknown as JsonObject))) {
      const id = `message-${begins.length}-${entries.length}`;
      entries.push({ type: 'message', id, parentId: null, timestamp: '', message: canonical } as Entry);
    }
  }
  return { entries, begins };
}

function fromOpenAi(message: JsonObject): JsonObject {
  const { role, content, tool_calls, tool_call_id } = message;
  if (role === 'tool') return { role: 'toolResult', toolCallId: tool_call_id, content: content ?? '' };
  if (!Array.isArray(tool_calls)) return message;
  const said = typeof content === 'string' ? [{ type: 'text', text: content }] : (content ?? []);
  const calls = tool_calls.filter(isObject).map(({ id, function: called }) => {
    const { name, arguments: text } = isObject(called) ? called : {};
    return toolCall(id, name, text);
  });
  return { role, content: [...(Array.isArray(said) ? said : []), ...calls] };
}

/**
 * Shortens the largest tool results of the messages. @returns `undefined` if none is large. Unchanged messages are
 * the caller's own objects; changed ones are copies.
 */
export function shortenToolResults<M extends ApiMessage>(
  messages: readonly M[],
  excessTokens: number,
): M[] | undefined {
  const results = messages.flatMap((message, at) =>
    resultsOf(message).map(({ block, content }) => {
      const tokens = estimateTextTokens(contentText(content));
      return { id: `${at}.${block}`, tokens };
    }),
  );
  const { cuts } = planToolTruncation(results, excessTokens);
  if (cuts.length === 0) return undefined;
  const limits = new Map(cuts.map(({ id, maxTokens }) => [id, maxTokens]));
  return messages.map((message, at) => {
    let changed = message;
    for (const { block } of resultsOf(message)) {
      const maxTokens = limits.get(`${at}.${block}`);
      if (maxTokens !== undefined) changed = shorten(changed, block, maxTokens);
    }
    return changed;
  });
}

export function carriesResults(message: ApiMessage): boolean {
  return resultsOf(message).length > 0;
}

/** `block` is the index of the result in the content; -1: the message itself is the result. */
function resultsOf(message: ApiMessage): { block: number; content: unknown }[] {
  const { role, content } = message as unknown as JsonObject;
  if (role === 'tool') return [{ block: -1, content }];
  if (!Array.isArray(content)) return [];
  return content.flatMap((block: unknown, at) =>
    isObject(block) && block['type'] === 'tool_result' ? [{ block: at, content: block['content'] }] : [],
  );
}

function shorten<M extends ApiMessage>(message: M, at: number, maxTokens: number): M {
  const { content } = message as unknown as JsonObject;
  if (at === -1) return { ...message, content: shortenContent(content, maxTokens) };
  const blocks = Array.isArray(content) ? content : [];
  return {
    ...message,
    content: blocks.map((block: unknown, i) =>
      i === at && isObject(block)
        ? { ...block, content: shortenContent(block['content'], maxTokens) }
        : block,
    ),
  };
}

/** Joins all texts at the position of the first one; images stay. */
function shortenContent(content: unknown, maxTokens: number): unknown {
  const text = truncateToolText(contentText(content), { maxTokens });
  if (!Array.isArray(content)) return text;
  const isText = (block: unknown): block is JsonObject => isObject(block) && block['type'] === 'text';
  const first = content.findIndex(isText);
  return content.flatMap((block: unknown, i) => {
    if (!isText(block)) return [block];
    return i === first ? [{ ...block, text }] : [];
  });
}
