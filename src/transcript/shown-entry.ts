import { shownCalls } from './content.ts';
import { type Entry, entryTime } from './entry.ts';
import { entryText } from './entry-text.ts';
import { isObject } from './json.ts';

/** One message or event in the form for display, in a terminal and on a page. */
export interface ShownEntry {
  readonly id: string;
  /** Line number in the file; the header is 1. */
  readonly seq: number;
  /** A message's role, otherwise the type of the entry. */
  readonly role: string;
  readonly text: string;
  /** Time of the message or event. */
  readonly timestamp: string;
  readonly content?: unknown;
  readonly toolCalls?: readonly { readonly id: string; readonly name: string; readonly input: unknown }[];
}

export function shownEntry(entry: Entry, seq: number): ShownEntry {
  const { id, type, message } = entry;
  const timestamp = entryTime(entry);
  const text = entryText(entry);
  if (!isObject(message)) return { id, seq, role: type, text, timestamp };
  const { role, content } = message;
  const toolCalls = shownCalls(content);
  return {
    id,
    seq,
    role: String(role),
    text,
    timestamp,
    content,
    ...(toolCalls.length > 0 && { toolCalls }),
  };
}
