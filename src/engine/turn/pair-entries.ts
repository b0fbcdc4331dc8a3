import type { NewEntry } from '../../store/port/store.ts';
import { isObject } from '../../transcript/json.ts';

/**
 * What is left of a turn if tools are not stored: messages and answers. `said` came before the `last` entries, of which
 * an answer that was cut off keeps its text.
 */
export function withoutTools(said: readonly NewEntry[], last: readonly NewEntry[]): NewEntry[] {
  const spoken = said.filter((entry) => !isResult(entry) && !hasCalls(entry));
  return [...spoken, ...last.flatMap(textOnly)];
}

function textOnly(entry: NewEntry): NewEntry[] {
  if (isResult(entry)) return [];
  const { message } = entry;
  if (!hasCalls(entry) || !isObject(message)) return [entry];
  const content = blocksOf(message['content']).filter((block) => !isCall(block));
  return content.some(isText) ? [{ ...entry, message: { ...message, content } }] : [];
}

function isResult({ message }: NewEntry): boolean {
  return isObject(message) && message['role'] === 'toolResult';
}

function hasCalls({ message }: NewEntry): boolean {
  return isObject(message) && message['role'] === 'assistant' && blocksOf(message['content']).some(isCall);
}

function blocksOf(content: unknown): readonly unknown[] {
  return Array.isArray(content) ? content : [];
}

function isCall(block: unknown): boolean {
  return isObject(block) && block['type'] === 'toolCall';
}

function isText(block: unknown): boolean {
  return isObject(block) && block['type'] === 'text';
}
