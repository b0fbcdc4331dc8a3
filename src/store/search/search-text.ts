import { type Entry, entryTime, type SessionHeader } from '../../transcript/entry.ts';
import { entryText } from '../../transcript/entry-text.ts';
import { isObject } from '../../transcript/json.ts';
import type { SearchRole } from '../port/store.ts';

/** What a search looks at: the same in every store, whether it has an index or reads everything. */
export interface Searchable {
  readonly role: SearchRole;
  readonly text: string;
  /** When it was said, in milliseconds; 0 where the line does not say. */
  readonly at: number;
}

/** What stands behind so many characters of one message cannot be found: a bound for every index. */
const SEARCH_SAID_CHARS = 256 * 1024;
/** Of what a tool answered only the beginning is of interest. */
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

/** What was said, answered, returned by a tool or summarised; undefined for lines that say nothing of this kind. */
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

/** Never after it was stored, whatever a copy says: a session has nothing that is newer than its last line. */
function saidAt(entry: Entry): number {
  return Math.min(millisecondsOf(entryTime(entry)), millisecondsOf(entry.timestamp));
}

/** Lines of other tools may hold anything. Beyond what a date can be there is no order to keep. */
function millisecondsOf(timestamp: unknown): number {
  const ms = typeof timestamp === 'string' ? Date.parse(timestamp) : Number.NaN;
  return Number.isNaN(ms) || ms < 0 ? 0 : ms;
}

/** One line of well-formed text: any white space is a space, and a half of a character is none. */
export function flatText(text: string): string {
  return text.toWellFormed().replace(/\s+/g, ' ');
}

/** Without case. The last letter of a Greek word is the same letter as elsewhere; what else could depend on its neighbours does not exist. */
export function foldCase(text: string): string {
  return text.toLowerCase().replaceAll('ς', 'σ');
}
