import { contentText } from '../../transcript/content.ts';
import { type Entry, isSideEntry } from '../../transcript/entry.ts';
import { isObject, type JsonObject } from '../../transcript/json.ts';
import { settingsIn } from '../../transcript/settings.ts';
import { canonicalTime } from '../shared/clock.ts';

/**
 * The changes that one entry makes to its session's row. A row follows from the entries in order, so it can be
 * rebuilt from the transcript alone.
 */
export interface EntryFacts {
  readonly side: boolean;
  /** The time of the original of a copied entry. The last entry of a session decides how recent the session is. */
  readonly copiedAt?: string;
  readonly role?: 'user' | 'assistant';
  /** Text from which to make a title. */
  readonly userText?: string;
  readonly firstKept?: string;
  readonly name?: string;
  readonly settings?: JsonObject;
  readonly leafMove?: boolean;
  readonly status?: 'open' | 'deleted';
}

const TITLE_SOURCE_CHARS = 400;
const TITLE_CODE_POINTS = 60;

export function factsOf(entry: JsonObject): EntryFacts {
  const copiedAt = canonicalTime(entry['copiedAt']);
  return copiedAt === undefined ? ownFacts(entry) : { ...ownFacts(entry), copiedAt };
}

function ownFacts(entry: JsonObject): EntryFacts {
  const side = isSideEntry(entry as Entry);
  const { type, message, customType, firstKeptEntryId, name } = entry;
  if (type === 'message' && isObject(message)) {
    const { role } = message;
    if (role === 'user')
      return { side, role, userText: contentText(message['content']).slice(0, TITLE_SOURCE_CHARS) };
    if (role === 'assistant') return { side, role };
  }
  if (type === 'compaction') {
    return { side, firstKept: typeof firstKeptEntryId === 'string' ? firstKeptEntryId : '' };
  }
  if (type === 'session_info') return { side, name: typeof name === 'string' ? name : '' };
  if (type === 'custom') {
    const settings = settingsIn(entry as Entry);
    if (settings !== undefined) return { side, settings };
    if (customType === 'reprise.leaf') return { side, leafMove: true };
    if (customType === 'reprise.deleted') return { side, status: 'deleted' };
    if (customType === 'reprise.restored') return { side, status: 'open' };
  }
  return { side };
}

/** A title from the start of a user's text, cut at 60 code points. */
export function titleFrom(text: string): string {
  const line = text.trim().replace(/\s+/g, ' ');
  return [...line].slice(0, TITLE_CODE_POINTS).join('');
}
