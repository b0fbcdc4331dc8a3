import { causeText } from '../messages/english.ts';
import { isMessage, message } from '../messages/message.ts';
import { contentText } from '../transcript/content.ts';
import type { Entry, SessionHeader, Usage } from '../transcript/entry.ts';
import { isObject, type JsonObject } from '../transcript/json.ts';
import { redactText } from '../transcript/redact/redact.ts';
import { type DoneFrame, type ErrorFrame, type StreamEvent, tokenUsage } from './events.ts';
import { maskedWhy } from './problem.ts';

/** The stream events derived from a stored entry; always the same for the same entry. */
export interface ToldEntry {
  /** Events sent when the entry is stored. */
  readonly said: readonly StreamEvent[];
  /** Events sent after it: the tool calls of an answer. */
  readonly calls: readonly StreamEvent[];
}

/** The end of a turn, derived from its entry. */
export interface StoredEnd {
  /** The message that started the turn. */
  readonly inboxId: string;
  readonly turnId: string;
  /** The caller fills in the text, which is in the entries before. */
  readonly frame: DoneFrame | ErrorFrame;
}

type Line = Entry | SessionHeader;

const NOTHING: ToldEntry = { said: [], calls: [] };

export function toldByEntry(line: Line): ToldEntry {
  const { type, message } = line as Entry;
  if (type === 'compaction') {
    const { tokensBefore, tokensAfter } = line as Entry & Record<'tokensBefore' | 'tokensAfter', unknown>;
    return {
      said: [{ type: 'compaction_end', tokensBefore: count(tokensBefore), tokensAfter: count(tokensAfter) }],
      calls: [],
    };
  }
  if (type !== 'message' || !isObject(message)) return NOTHING;
  if (message['role'] === 'toolResult') {
    const { toolCallId, toolName, isError, content } = message;
    const text = contentText(content);
    const named = { toolCallId: String(toolCallId), name: String(toolName) };
    return { said: [{ type: 'tool_result', ...named, text, isError: isError === true }], calls: [] };
  }
  return message['role'] === 'assistant' ? toldByAnswer(message) : NOTHING;
}

function toldByAnswer({ content, usage }: JsonObject): ToldEntry {
  const said: StreamEvent[] = [];
  const calls: StreamEvent[] = [];
  for (const block of Array.isArray(content) ? content : []) {
    if (!isObject(block)) continue;
    const { type, text, thinking, id, name, arguments: input } = block;
    if (type === 'text' && typeof text === 'string' && text !== '') said.push({ type: 'text_delta', text });
    if (type === 'thinking' && typeof thinking === 'string' && thinking !== '')
      said.push({ type: 'thinking_delta', text: thinking });
    if (type === 'toolCall')
      calls.push({
        type: 'tool_call',
        id: String(id),
        name: String(name),
        input: isObject(input) ? input : {},
      });
  }
  if (isObject(usage) && typeof usage['input'] === 'number')
    said.push({ type: 'usage', ...tokenUsage(usage as unknown as Usage) });
  return { said, calls };
}

/**
 * The text of an answer. @returns undefined if the entry is not an answer.
 */
export function answerText(line: Line): string | undefined {
  const { type, message } = line as Entry;
  if (type !== 'message' || !isObject(message) || message['role'] !== 'assistant') return undefined;
  return contentText(message['content']);
}

/** Whether the entry is a user message: entries before it do not belong to the answer after it. */
export function isUserMessage(line: Line): boolean {
  const { type, message } = line as Entry;
  return type === 'message' && isObject(message) && message['role'] === 'user';
}

export function endOfTurn(line: Line, sessionId: string): StoredEnd | undefined {
  const { type, customType, data } = line as Entry;
  if (type !== 'custom' || customType !== 'reprise.turn' || !isObject(data)) return undefined;
  const { inboxId, turnId, status, error, usage, calls, tokenEstimate } = data;
  const names = { inboxId: String(inboxId), turnId: typeof turnId === 'string' ? turnId : '' };
  if (status !== 'done') {
    const { code, message: text, why } = isObject(error) ? error : {};
    const unexplained = message('turn.endedAs', { status: String(status) });
    const known = typeof text === 'string' ? why : unexplained;
    const cause = isMessage(known) ? maskedWhy(known) : undefined;
    const frame = {
      type: 'error',
      sessionId,
      code: typeof code === 'string' ? code : 'ABORTED',
      error: redactText(typeof text === 'string' ? text : causeText(unexplained)),
      ...(cause !== undefined && { why: cause }),
    } as const;
    return { ...names, frame };
  }
  const last = Array.isArray(calls) ? calls.at(-1) : undefined;
  const used = tokenUsage(usage as unknown as Usage);
  const requested = isObject(last) ? count(last['tokens']) : 0;
  const frame = {
    type: 'done',
    sessionId,
    turnId: names.turnId,
    text: '',
    usage: used,
    // Earlier versions did not store the number.
    tokenEstimate: count(tokenEstimate ?? requested + used.outputTokens),
  } as const;
  return { ...names, frame };
}

function count(value: unknown): number {
  return typeof value === 'number' && value >= 0 ? Math.floor(value) : 0;
}
