import type { JsonObject } from '../../transcript/json.ts';
import type { TurnEvent } from '../events.ts';

const TOOLS: ReadonlySet<TurnEvent['type']> = new Set(['tool_call', 'tool_progress', 'tool_result']);

/** Whether listeners receive an event, by the session's settings. Hidden events are stored all the same. */
export function isTold({ reasoningLevel, verboseLevel }: JsonObject, { type }: TurnEvent): boolean {
  if (type === 'thinking_delta') return reasoningLevel !== 'off';
  return !TOOLS.has(type) || verboseLevel !== 'off';
}
