import { isObject, type JsonObject } from '../transcript/json.ts';

/** Whether this is a user message without tool results. */
export function beginsTurn(message: object): boolean {
  return spoken(message)['role'] === 'user' && !carriesResults(message);
}

export function carriesResults(message: object): boolean {
  const { role, content } = spoken(message);
  if (role === 'tool' || role === 'toolResult') return true;
  return (
    Array.isArray(content) && content.some((block) => isObject(block) && block['type'] === 'tool_result')
  );
}

/** The message of a stored entry, or the message itself. */
function spoken(message: object): JsonObject {
  const inner = (message as JsonObject)['message'];
  return isObject(inner) ? inner : (message as JsonObject);
}
