import { truncateToolText } from '../context/truncate.ts';
import { contentText, readBlocks } from '../transcript/content.ts';
import type { Entry } from '../transcript/entry.ts';
import { isObject, type JsonObject } from '../transcript/json.ts';
import { roleOf } from './safe-cut.ts';

/** One entry for a summarizer or a digest: the speaker and the plain text. */
export interface SpokenEntry {
  readonly entry: Entry;
  readonly speaker: 'user' | 'assistant' | 'tool' | 'note';
  readonly text: string;
}

/** A long tool result is cut to its head and tail. */
const RESULT_CHARS = 2000;

/** Converts entries to plain text. Entries without text, such as settings, and thinking are left out. */
export function speakEntries(
  entries: readonly Entry[],
  edits: ReadonlyMap<Entry, unknown> = new Map(),
): SpokenEntry[] {
  return entries.flatMap((entry) => {
    const edit = edits.get(entry);
    if (edit === null) return [];
    const spoken = speak(entry, edit);
    return spoken === undefined || spoken.text.trim() === '' ? [] : [{ entry, ...spoken }];
  });
}

function speak(entry: Entry, edit: unknown): Omit<SpokenEntry, 'entry'> | undefined {
  const { message } = entry;
  if (entry.type === 'custom_message')
    return { speaker: 'note', text: contentText(edit ?? entry['content']) };
  if (entry.type === 'branch_summary') return { speaker: 'note', text: String(entry['summary'] ?? '') };
  if (!isObject(message)) return undefined;
  const content = edit ?? message['content'];
  switch (roleOf(entry)) {
    case 'user':
      return { speaker: 'user', text: withImages(content) };
    case 'assistant':
      return { speaker: 'assistant', text: speakAssistant(content) };
    case 'toolResult':
      return { speaker: 'tool', text: speakResult(message, content) };
    case 'bashExecution':
      return {
        speaker: 'note',
        text: `$ ${String(message['command'] ?? '')}\n${String(message['output'] ?? '')}`,
      };
    case 'custom':
      return { speaker: 'note', text: contentText(content) };
    default:
      return undefined;
  }
}

function withImages(content: unknown): string {
  const parts = readBlocks(content).flatMap((block) => {
    if (block.type === 'text') return [block.text];
    return block.type === 'image' ? [`[image, ${block.mimeType}]`] : [];
  });
  return parts.join('\n');
}

function speakAssistant(content: unknown): string {
  const parts = readBlocks(content).flatMap((block) => {
    if (block.type === 'text') return [block.text];
    if (block.type !== 'toolCall') return [];
    return [`(calls ${String(block.block['name'] ?? '')} ${safeJson(block.block['arguments'])})`];
  });
  return parts.join('\n');
}

function speakResult(message: JsonObject, content: unknown): string {
  const text = withImages(content);
  const { toolName, isError } = message;
  const head = `${String(toolName ?? 'tool')}${isError === true ? ' failed' : ''}: `;
  return head + truncateToolText(text, { maxChars: RESULT_CHARS });
}

function safeJson(value: unknown): string {
  return JSON.stringify(value ?? {}) ?? '{}';
}

const SPEAKERS = { user: 'User', assistant: 'Assistant', tool: 'Tool', note: 'Note' } as const;

/** The transcript in the form that a summarizer receives. */
export function writeTranscript(spoken: readonly SpokenEntry[]): string {
  return spoken.map(({ speaker, text }) => `[${SPEAKERS[speaker]}] ${text}`).join('\n\n');
}
