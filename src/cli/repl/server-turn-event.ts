import type { StreamEvent } from '../../client/index.ts';
import type { TurnEvent } from '../../engine/events.ts';
import { message } from '../../messages/message.ts';

/** An event of a server as the engine's own, which the view of a home shows too. */
export function serverTurnEvent(event: StreamEvent): TurnEvent | undefined {
  switch (event.type) {
    case 'text_delta':
    case 'thinking_delta':
    case 'tool_call':
    case 'queued':
      return event;
    case 'turn_start':
      return { ...event, seq: 0 };
    case 'tool_result': {
      const { toolCallId: id, durationMs = 0, ...rest } = event;
      return { ...rest, id, durationMs };
    }
    case 'compaction_start':
      return event;
    case 'compaction_end': {
      const { tokensBefore, tokensAfter, error } = event;
      if (error !== undefined) return undefined;
      return {
        type: 'compaction',
        seq: 0,
        reason: '',
        method: '',
        coveredEntries: 0,
        tokensBefore,
        tokensAfter,
      };
    }
    case 'guard': {
      const { step, attempt = 1, delayMs = 0, reason = '', results = 0, tokensSaved = 0 } = event;
      const why = event.why ?? message('text', { text: reason });
      if (step === 'retry') return { type: 'retry', attempt, delayMs, reason, why };
      if (step === 'truncate') return { type: 'context_truncated', results, tokensSaved };
      return { type: 'overflow', attempt, reason, why };
    }
    default:
      return undefined;
  }
}
