import { z } from 'zod';
import type { JsonObject } from '../transcript/json.ts';
import type { StreamEvent } from './events.ts';
import { maybe } from './maybe.ts';
import type { HistoryRow } from './records.ts';
import type { SessionView } from './sessions.ts';

/** Answers in the shape of ZyHive 0.9: its field names, its envelopes, its events, times in milliseconds. */

/** A session as the index `sessions.json` of ZyHive has it. */
export interface ZyhiveSession {
  readonly id: string;
  readonly agentId: string;
  readonly filePath: string;
  readonly title: string;
  readonly messageCount: number;
  readonly createdAt: number;
  readonly lastAt: number;
  readonly tokenEstimate: number;
}

const ms = z.int().meta({ description: 'Milliseconds since 1970.' });
const sessionFields = {
  id: z.string(),
  agentId: z.string(),
  filePath: z.string(),
  title: z.string(),
  messageCount: z.int(),
  createdAt: ms,
  lastAt: ms,
  tokenEstimate: z.number(),
};

export const zyhiveSessionSchema: z.ZodType<ZyhiveSession> = z
  .object(sessionFields)
  .meta({ id: 'ZyhiveSession' });

export function zyhiveSession(record: SessionView): ZyhiveSession {
  const { id, agentId, title, messageCount, createdAt, lastAt, tokenEstimate } = record;
  return {
    id,
    agentId,
    filePath: `${id}.jsonl`,
    title,
    messageCount,
    createdAt: Date.parse(createdAt),
    lastAt: Date.parse(lastAt),
    tokenEstimate,
  };
}

export const zyhiveAgentListSchema: z.ZodType<readonly ZyhiveSession[]> = z.array(zyhiveSessionSchema);

/** The list of all agents' sessions names each agent and counts what it lists. */
export interface ZyhiveList {
  readonly sessions: readonly (ZyhiveSession & { readonly agentName: string })[];
  readonly total: number;
}

export const zyhiveListSchema: z.ZodType<ZyhiveList> = z.object({
  sessions: z.array(z.object({ ...sessionFields, agentName: z.string() })),
  total: z.int(),
});

/** An agent has no other name here than its id. */
export function zyhiveList(records: readonly SessionView[]): ZyhiveList {
  const sessions = records.map((record) => ({ ...zyhiveSession(record), agentName: record.agentId }));
  return { sessions, total: sessions.length };
}

interface ZyhiveToolCall {
  readonly id: string;
  readonly name: string;
  /** JSON text. */
  readonly input?: string;
  readonly result?: string;
}

export interface ZyhiveMessage {
  readonly role: 'user' | 'assistant' | 'compaction';
  readonly text: string;
  readonly timestamp: number;
  readonly toolCalls?: readonly ZyhiveToolCall[];
  /** The text is a summary of older messages. */
  readonly isCompact?: true;
}

export interface ZyhiveHistory {
  readonly session: ZyhiveSession;
  readonly messages: readonly ZyhiveMessage[];
  readonly agent: { readonly id: string; readonly name: string };
}

const toolCall = z.object({
  id: z.string(),
  name: z.string(),
  input: maybe(z.string()).meta({ description: 'JSON text.' }),
  result: maybe(z.string()),
});

export const zyhiveHistorySchema: z.ZodType<ZyhiveHistory> = z.object({
  session: zyhiveSessionSchema,
  messages: z.array(
    z.object({
      role: z.enum(['user', 'assistant', 'compaction']),
      text: z.string(),
      timestamp: ms,
      toolCalls: maybe(z.array(toolCall)),
      isCompact: maybe(z.literal(true)),
    }),
  ),
  agent: z.object({ id: z.string(), name: z.string() }),
});

export function zyhiveHistory(session: SessionView, rows: readonly HistoryRow[]): ZyhiveHistory {
  const { agentId } = session;
  return {
    session: zyhiveSession(session),
    messages: zyhiveMessages(rows),
    agent: { id: agentId, name: agentId },
  };
}

/** User messages, answers and summaries. Calls of an answer without text are shown with the next text, as ZyHive does. */
function zyhiveMessages(rows: readonly HistoryRow[]): ZyhiveMessage[] {
  const messages: ZyhiveMessage[] = [];
  /** The newest call by its id: providers use ids again. */
  const calls = new Map<string, { -readonly [K in keyof ZyhiveToolCall]: ZyhiveToolCall[K] }>();
  let withoutText: ZyhiveMessage | undefined;
  const flush = (): void => {
    if (withoutText !== undefined) messages.push(withoutText);
    withoutText = undefined;
  };
  for (const { role, text, timestamp: at, toolCalls = [], toolCallId } of rows) {
    const timestamp = Date.parse(at);
    if (role === 'user' || role === 'compaction') {
      flush();
      messages.push({ role, text, timestamp, ...(role === 'compaction' && { isCompact: true }) });
    } else if (role === 'toolResult') {
      const call = calls.get(toolCallId ?? '');
      if (call !== undefined) call.result = text;
    } else if (role === 'assistant') {
      const made = toolCalls.map(({ id, name, input }) => ({
        id,
        name,
        ...(input !== undefined && { input: JSON.stringify(input) }),
      }));
      for (const call of made) calls.set(call.id, call);
      const shown = [...(withoutText?.toolCalls ?? []), ...made];
      if (text === '' && shown.length === 0) continue;
      withoutText = { role, text, timestamp, ...(shown.length > 0 && { toolCalls: shown }) };
      if (text !== '') flush();
    }
  }
  flush();
  return messages;
}

export interface ZyhiveDone {
  readonly ok: true;
}

export const zyhiveDoneSchema: z.ZodType<ZyhiveDone> = z.object({ ok: z.literal(true) });

/** What ZyHive streams. It knows no other events, so ours that have no counterpart are left out. */
export type ZyhiveEvent =
  | { readonly type: 'text_delta' | 'thinking_delta'; readonly text: string }
  | {
      readonly type: 'tool_call';
      readonly tool_call: { readonly id: string; readonly name: string; readonly input: JsonObject };
    }
  | { readonly type: 'tool_result'; readonly tool_call_id: string; readonly text: string }
  | { readonly type: 'usage'; readonly input_tokens: number; readonly output_tokens: number }
  | { readonly type: 'compaction_start'; readonly tokens_before: number }
  | {
      readonly type: 'compaction_end';
      readonly tokens_before: number;
      readonly tokens_after: number;
      readonly error?: string;
    }
  | { readonly type: 'done'; readonly sessionId: string; readonly tokenEstimate: number }
  | { readonly type: 'error'; readonly error: string }
  | { readonly type: 'idle' };

export function zyhiveEvent(event: StreamEvent): ZyhiveEvent | undefined {
  switch (event.type) {
    case 'text_delta':
    case 'thinking_delta':
      return { type: event.type, text: event.text };
    // There are no commands there: what one answers is shown as the answer.
    case 'command':
      return { type: 'text_delta', text: event.text };
    case 'tool_call': {
      const { id, name, input } = event;
      return { type: 'tool_call', tool_call: { id, name, input } };
    }
    case 'tool_result':
      return { type: 'tool_result', tool_call_id: event.toolCallId, text: event.text };
    case 'usage':
      return { type: 'usage', input_tokens: event.inputTokens, output_tokens: event.outputTokens };
    case 'compaction_start':
      return { type: 'compaction_start', tokens_before: event.tokensBefore };
    case 'compaction_end': {
      const { tokensBefore, tokensAfter, error } = event;
      return {
        type: 'compaction_end',
        tokens_before: tokensBefore,
        tokens_after: tokensAfter,
        ...(error !== undefined && { error }),
      };
    }
    case 'done':
      return { type: 'done', sessionId: event.sessionId, tokenEstimate: event.tokenEstimate };
    case 'error':
      return { type: 'error', error: event.error };
    case 'idle':
      return { type: 'idle' };
    case 'session':
    case 'queued':
    case 'turn_start':
    case 'model_fallback':
    case 'tool_progress':
    case 'interrupted':
    case 'guard':
      return undefined;
    default:
      event satisfies never;
      return undefined;
  }
}

const count = z.number().nonnegative();

export const zyhiveEventSchema: z.ZodType<ZyhiveEvent> = z.union([
  z.object({ type: z.enum(['text_delta', 'thinking_delta']), text: z.string() }),
  z.object({
    type: z.literal('tool_call'),
    tool_call: z.object({
      id: z.string(),
      name: z.string(),
      input: z.record(z.string(), z.unknown()) as unknown as z.ZodType<JsonObject>,
    }),
  }),
  z.object({ type: z.literal('tool_result'), tool_call_id: z.string(), text: z.string() }),
  z.object({ type: z.literal('usage'), input_tokens: count, output_tokens: count }),
  z.object({ type: z.literal('compaction_start'), tokens_before: count }),
  z.object({
    type: z.literal('compaction_end'),
    tokens_before: count,
    tokens_after: count,
    error: maybe(z.string()),
  }),
  z.object({ type: z.literal('done'), sessionId: z.string(), tokenEstimate: count }),
  z.object({ type: z.literal('error'), error: z.string() }),
  z.object({ type: z.literal('idle') }),
]);
