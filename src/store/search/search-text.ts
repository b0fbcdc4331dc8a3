import { type Entry, entryTime, type SessionHeader } from '../../transcript/entry.ts';
import { entryText } from '../../transcript/entry-text.ts';
import { isObject } from '../../transcript/json.ts';
import type { SearchRole } from '../port/search.ts';

/** The searchable part of an entry, the same in every store, with or without an index. */
export interface Searchable {
  readonly role: SearchRole;
  readonly text: string;
  /** Time of the message in milliseconds; 0 if the line has no time. */
  readonly at: number;
}

/** Text after this many characters of a message is not searchable; it bounds every index. */
const SEARCH_SAID_CHARS = 256 * 1024;
/** Only the start of a tool result is searched. */
const SEARCH_TOOL_CHARS = 16 * 1024;

const ROLES: Readonly<Record<string, SearchRole>> = {
  user: 'user',
  assistant: 'assistant',
  toolResult: 'tool',
  bashExecution: 'tool',
};
const TYPES: Readonly<Record<string, SearchRole>> = {
  compaction: 'summary',
  branch_summary: 'summary',
  custom_message: 'note',
};

/** The text of a message, tool result, summary or note; `undefined` for other entries. */
export function searchable(line: Entry | SessionHeader): Searchable | undefined {
  const { message, type } = line as Entry;
  const name = isObject(message) ? message['role'] : undefined;
  const role = isObject(message)
    ? typeof name === 'string' && Object.hasOwn(ROLES, name)
      ? ROLES[name]
      : 'note'
    : Object.hasOwn(TYPES, type)
      ? TYPES[type]
      : undefined;
  if (role === undefined) return undefined;
  const text = entryText(line as Entry).slice(0, role === 'tool' ? SEARCH_TOOL_CHARS : SEARCH_SAID_CHARS);
  return text === '' ? undefined : { role, text, at: saidAt(line as Entry) };
}

/** Never later than the time of storage, even for a copy, so nothing in a session is newer than its last line. */
function saidAt(entry: Entry): number {
  return Math.min(millisecondsOf(entryTime(entry)), millisecondsOf(entry.timestamp));
}

/** Lines of other tools may contain any time. Invalid times and times before 1970 count as 0. */
function millisecondsOf(timestamp: unknown): number {
  const ms = typeof timestamp === 'string' ? Date.parse(timestamp) : Number.NaN;
  return Number.isNaN(ms) || ms < 0 ? 0 : ms;
}

/** Converts a text to one line: white space becomes a space, and unpaired surrogates are replaced. */
export function flatText(text: string): string {
  return text.toWellFormed().replace(/\s+/g, ' ');
}

/**
 * Folds case. The final form of the Greek sigma counts as the normal one; no other letter depends on its neighbors.
 */
export function foldCase(text: string): string {
  return text.toLowerCase().replaceAll('ς', 'σ');
}
