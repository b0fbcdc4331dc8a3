import { messageText } from '../../messages/english.ts';
import { message } from '../../messages/message.ts';
import type { Lease } from '../../store/port/store.ts';
import type { ToolResultMessage } from '../../transcript/entry.ts';
import type { TurnEvent } from '../events.ts';
import { runTool, type ToolCall } from '../tools/run-tool.ts';
import type { Tool } from '../tools/tool.ts';
import type { TurnStore } from './turn-store.ts';

export interface ToolRoundOptions {
  readonly store: TurnStore;
  readonly sessionId: string;
  readonly sessionKey: string;
  readonly agentId: string;
  readonly user: string | undefined;
  readonly lease: Lease;
  readonly tools: ReadonlyMap<string, Tool>;
  readonly emit: (event: TurnEvent) => void;
  readonly signal: AbortSignal;
  readonly isOvertaken: () => Promise<boolean>;
  readonly aside: <T>(work: () => Promise<T>) => Promise<T>;
}

const SKIPPED = message('tool.skipped');
const SKIPPED_TEXT = messageText(SKIPPED);

/**
 * Runs the calls of one answer side by side and stores their results in call order, in one append: a history never
 * has some results of a round without the others. The answer itself has been stored before anything runs. When a
 * newer message comes, what has started goes on and the rest is left out.
 */
export async function runToolRound(calls: readonly ToolCall[], options: ToolRoundOptions): Promise<void> {
  const { store, sessionId, lease, emit, isOvertaken } = options;
  const running: Promise<ToolResultMessage>[] = [];
  let isSkipping = false;
  for (const call of calls) {
    isSkipping ||= await isOvertaken();
    running.push(isSkipping ? skip(call, emit) : runCall(call, options));
  }
  const messages = await Promise.all(running);
  const entries = messages.map((result) => ({ type: 'message', message: result }));
  const { firstSeq, lastSeq } = await store.append(sessionId, entries, { epoch: lease.epoch });
  if (firstSeq <= lastSeq) emit({ type: 'entry', seq: lastSeq, entryType: 'toolResult' });
}

async function runCall(call: ToolCall, options: ToolRoundOptions): Promise<ToolResultMessage> {
  const { sessionId, sessionKey, agentId, user, tools, emit, signal, aside } = options;
  const { id, name, input } = call;
  emit({ type: 'tool_call', id, name, input });
  const { message: result, ...run } = await runTool(call, tools.get(name), {
    session: { id: sessionId, key: sessionKey, agentId },
    ...(user !== undefined && { user }),
    signal,
    aside,
    onProgress: (text) => emit({ type: 'tool_progress', id, name, text }),
  });
  emit({ type: 'tool_result', id, name, isError: result.isError, ...run });
  return { ...result, details: { durationMs: run.durationMs } };
}

async function skip(
  { id, name, input }: ToolCall,
  emit: (event: TurnEvent) => void,
): Promise<ToolResultMessage> {
  emit({ type: 'tool_call', id, name, input });
  emit({ type: 'tool_result', id, name, isError: true, text: SKIPPED_TEXT, why: SKIPPED, durationMs: 0 });
  const content = [{ type: 'text' as const, text: SKIPPED_TEXT }];
  return {
    role: 'toolResult',
    toolCallId: id,
    toolName: name,
    content,
    isError: true,
    details: { skipped: true },
  };
}
