import { RepriseError } from '../../errors.ts';
import { parseAgentId, parseNewSessionId, parseSessionId } from '../../keys/ids.ts';
import { assertStorable, isObject, type JsonObject } from '../../transcript/json.ts';
import { DEFAULT_RECORD_LIMITS } from '../../transcript/limits.ts';
import type { ConvlogChatRef, ConvlogLine } from '../port/convlog.ts';
import type { Note } from '../port/notes.ts';
import type { AppendOptions, Inbound, NewEntry, PatchOptions, SessionInit } from '../port/store.ts';
import { canonicalTime } from '../shared/clock.ts';
import { encodeLogLine, isRole, isTime } from './convlog-line.ts';

/** On this side of the thread, because a structured clone would already have changed what cannot be stored. */
export function checkEntries(entries: readonly NewEntry[]): void {
  for (const entry of entries as readonly unknown[]) {
    checkObject(entry, 'an entry');
    const { type, id } = entry;
    if (typeof type !== 'string' || type === '' || type === 'session') {
      throw new RepriseError('INVALID_INPUT', 'an entry has a type, and only the store writes headers');
    }
    if (id !== undefined) throw new RepriseError('INVALID_INPUT', 'ids of entries are given by the store');
  }
}

/** A database replaces a lone surrogate by U+FFFD, so two different keys would become one. */
export function checkKey(key: string | undefined): void {
  if (key === undefined || (typeof key === 'string' && key.isWellFormed())) return;
  throw new RepriseError('INVALID_INPUT', 'an idempotency key must be a string without lone surrogates', {
    details: { next: 'Use a key that is valid Unicode, such as a UUID.' },
  });
}

export function checkAppendOptions({ key, settle = [], deliver = [] }: AppendOptions): void {
  checkKey(key);
  for (const { detail } of settle) if (detail !== undefined) checkObject(detail, 'a detail');
  // Checked as messages where they become requests.
  if (deliver.some(({ idempotencyKey }) => idempotencyKey === undefined))
    throw new RepriseError(
      'INVALID_INPUT',
      'a message that is delivered with an append has an idempotency key',
    );
}

/** Of a group's name: escaped it fits into an index of any store. */
const MAX_GROUP_CHARS = 256;

export function checkInbound(inbound: Inbound): void {
  const { body, sessionId, create, queue, group, source, idempotencyKey } = inbound;
  checkKey(source);
  checkKey(idempotencyKey);
  checkObject(body, 'a message body');
  if (group !== undefined && group.name.length > MAX_GROUP_CHARS)
    throw new RepriseError('LIMIT_EXCEEDED', `a group's name has at most ${MAX_GROUP_CHARS} characters`, {
      details: { limit: 'group name', max: MAX_GROUP_CHARS },
    });
  if (sessionId !== undefined) parseSessionId(sessionId);
  if (create?.id !== undefined) parseNewSessionId(create.id);
  if (create?.settings !== undefined) checkObject(create.settings, 'settings');
  for (const [name, value] of Object.entries({ 'queue.cap': queue?.cap, 'group.max': group?.max })) {
    if (value === undefined || (Number.isSafeInteger(value) && value >= 1)) continue;
    throw new RepriseError('INVALID_INPUT', `${name} is a number of at least 1, not ${String(value)}`);
  }
}

export function checkSessionInit({ settings, createdAt }: Pick<SessionInit, 'settings' | 'createdAt'>): void {
  if (settings !== undefined) checkObject(settings, 'settings');
  if (createdAt === undefined || canonicalTime(createdAt) === createdAt) return;
  throw new RepriseError('INVALID_INPUT', 'createdAt must be a UTC time with milliseconds', {
    details: { createdAt: String(createdAt).slice(0, 80), next: 'Use new Date(time).toISOString().' },
  });
}

export function checkPatch(settings: JsonObject, { title }: PatchOptions): void {
  checkObject(settings, 'settings');
  if (title !== undefined && typeof title !== 'string')
    throw new RepriseError('INVALID_INPUT', 'a title is a text');
}

/** Of a note, and of all of one call, which is one transaction. */
const MAX_NOTE_NAME_CHARS = 64;
const MAX_NOTES = 1000;

export function checkNoteName(name: string): string {
  if (typeof name === 'string' && name !== '' && name.length <= MAX_NOTE_NAME_CHARS && !name.includes('\0'))
    return name;
  throw new RepriseError('INVALID_INPUT', `a name of notes has 1 to ${MAX_NOTE_NAME_CHARS} characters`);
}

export function checkNotes(notes: readonly Note[]): readonly Note[] {
  if (!Array.isArray(notes) || notes.length > MAX_NOTES)
    throw new RepriseError('LIMIT_EXCEEDED', `at most ${MAX_NOTES} notes at once`, {
      details: { limit: 'notes', max: MAX_NOTES },
    });
  for (const { id, seq, value } of notes as readonly Note[]) {
    parseSessionId(id);
    checkObject(value, 'a note');
    if (!Number.isSafeInteger(seq) || seq < 0)
      throw new RepriseError('INVALID_INPUT', `the line of a note is a number, not ${String(seq)}`);
  }
  return notes;
}

/** Of a page. */
export function checkLimit(limit: number): number {
  if (Number.isSafeInteger(limit) && limit >= 1) return limit;
  throw new RepriseError('INVALID_INPUT', `a page has at least one entry, not ${limit}`);
}

export function checkObject(value: unknown, what: string): asserts value is JsonObject {
  if (!isObject(value)) throw new RepriseError('INVALID_INPUT', `${what} is an object`);
  assertStorable(value);
}

/** Of an id or a name a channel gives: far more than any has. */
const MAX_NAME_CHARS = 1024;
/** Of one call, which is one transaction. */
const MAX_LOG_LINES = 1000;

/** What a channel said may be anything; where it was said, by whom and when must be known. Answers what is stored. */
export function checkLog(lines: readonly ConvlogLine[]): ConvlogLine[] {
  if (!Array.isArray(lines)) throw new RepriseError('INVALID_INPUT', 'a convlog is given a list of lines');
  if (lines.length > MAX_LOG_LINES)
    throw new RepriseError('LIMIT_EXCEEDED', `at most ${MAX_LOG_LINES} convlog lines at once`, {
      details: { limit: 'lines', max: MAX_LOG_LINES },
    });
  return lines.map(checkLogLine);
}

export function checkLogLine(line: ConvlogLine): ConvlogLine {
  if (!isObject(line)) throw new RepriseError('INVALID_INPUT', 'a convlog line is an object');
  const { role, content, sender, ts, sessionId, messageId } = line;
  if (!isRole(role))
    throw new RepriseError('INVALID_INPUT', 'the role of a convlog line is user, assistant or system');
  if (typeof content !== 'string') throw new RepriseError('INVALID_INPUT', 'what was said is text');
  if (sender !== undefined && !isObject(sender))
    throw new RepriseError('INVALID_INPUT', 'a sender has an id');
  const checked: ConvlogLine = {
    ...checkChat(line),
    role,
    content,
    ...(sender !== undefined && {
      sender: {
        id: checkName(sender.id, 'the id of a sender'),
        ...(sender.name !== undefined && { name: checkName(sender.name, 'the name of a sender') }),
      },
    }),
    ...(ts !== undefined && { ts: checkTime(ts) }),
    ...(sessionId !== undefined && { sessionId: parseSessionId(sessionId) }),
    ...(messageId !== undefined && { messageId: checkName(messageId, 'the id of a message') }),
  };
  const { maxRecordBytes } = DEFAULT_RECORD_LIMITS;
  // A character of text takes at most six bytes in JSON: most need not be counted.
  const isTooLong =
    content.length > maxRecordBytes ||
    (content.length * 6 > maxRecordBytes && Buffer.byteLength(encodeLogLine(checked)) > maxRecordBytes);
  if (isTooLong)
    throw new RepriseError('LIMIT_EXCEEDED', 'the convlog line is too long', {
      details: { limit: 'record', max: maxRecordBytes },
    });
  return checked;
}

export function checkChat({ agentId, channelType, channelId }: ConvlogChatRef): ConvlogChatRef {
  return {
    agentId: parseAgentId(agentId),
    channelType: checkName(channelType, 'a channel type'),
    channelId: checkName(channelId, 'a channel id'),
  };
}

function checkName(name: unknown, what: string): string {
  if (typeof name === 'string' && name !== '' && name.length <= MAX_NAME_CHARS) return name;
  throw new RepriseError('INVALID_INPUT', `${what} is a text of 1 to ${MAX_NAME_CHARS} characters`);
}

/** In one spelling, so that times sort as text. */
function checkTime(ts: unknown): string {
  const date = typeof ts === 'string' && /^\d{4}-\d\d-\d\dT/.test(ts) ? new Date(ts) : undefined;
  const time = date === undefined || Number.isNaN(date.getTime()) ? '' : date.toISOString();
  if (isTime(time)) return time;
  throw new RepriseError('INVALID_INPUT', 'the time of a convlog line is in ISO-8601', { details: { ts } });
}
