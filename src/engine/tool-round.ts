import type { Lease } from '../store/store.ts';
import type { ToolResultMessage } from '../transcript/entry.ts';
import type { TurnEvent } from './events.ts';
import { runTool, type ToolCall } from './tools/run-tool.ts';
import type { Tool } from './tools/tool.ts';
import type { TurnStore } from './turn-store.ts';

export interface ToolRoundOptions {
  readonly store: TurnStore;
  readonly sessionId: string;
  readonly sessionKey: string;
  readonly agentId: string;
  readonly lease: Lease;
  readonly tools: ReadonlyMap<string, Tool>;
  readonly emit: (event: TurnEvent) => void;
  readonly signal: AbortSignal;
}

/**
 * Runs the calls of one answer side by side and stores their results in call order, in one append: a history never
 * has some results of a round without the others. The answer itself has been stored before anything runs.
 */
export async function runToolRound(calls: readonly ToolCall[], options: ToolRoundOptions): Promise<void> {
  const { store, sessionId, sessionKey, agentId, lease, tools, emit, signal } = options;
  const context = { sessionId, sessionKey, agentId, signal };
  const messages = await Promise.all(
    calls.map(async (call): Promise<ToolResultMessage> => {
      emit({ type: 'tool_call', id: call.id, name: call.name, input: call.input });
      const { message, text, durationMs } = await runTool(call, tools.get(call.name), context);
      const { id, name } = call;
      emit({ type: 'tool_result', id, name, isError: message.isError, text, durationMs });
      return { ...message, details: { durationMs } };
    }),
  );
  const entries = messages.map((message) => ({ type: 'message', message }));
  const { firstSeq, lastSeq } = await store.append(sessionId, entries, { epoch: lease.epoch });
  if (firstSeq <= lastSeq) emit({ type: 'entry', seq: lastSeq, entryType: 'toolResult' });
}
