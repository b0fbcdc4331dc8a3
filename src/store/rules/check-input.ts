import { parseAgentId, parseNewSessionId, parseSessionId } from '../../keys/ids.ts';
import { failure } from '../../messages/failure.ts';
import { quotedValue } from '../../messages/quoted.ts';
import { assertStorable, isObject, type JsonObject } from '../../transcript/json.ts';
import { DEFAULT_RECORD_LIMITS } from '../../transcript/limits.ts';
import type { ConvlogChatRef, ConvlogLine } from '../port/convlog.ts';
import type { Inbound } from '../port/inbox.ts';
import type { Note } from '../port/notes.ts';
import type { SessionSource, SourceMark } from '../port/sources.ts';
import type { AppendOptions, NewEntry, PatchOptions, SessionInit } from '../port/store.ts';
import { canonicalTime } from '../shared/clock.ts';
import { encodeLogLine, isRole, isTime } from './convlog-line.ts';
import {
  isName,
  isOrigin,
  isSource,
  MAX_OWNER_CHARS,
  MAX_PATH_CHARS,
  MAX_SOURCE_CHARS,
  MAX_TOOL_CHARS,
} from './origin.ts';

/**
 * Runs on the caller's thread, because a structured clone would already have changed values that cannot be stored.
 */
export function checkEntries(entries: readonly NewEntry[]): void {
  for (const entry of entries as readonly unknown[]) {
    checkObject(entry, 'entry');
    const { type, id, customType, sourceId } = entry;
    if (typeof type !== 'string' || type === '' || type === 'session' || isOrigin({ type, customType })) {
      throw failure('INVALID_INPUT', 'entry.badType', { type: quotedValue(type) });
    }
    if (id !== undefined) throw failure('INVALID_INPUT', 'entry.hasId');
    if (sourceId !== undefined) checkIndexed(sourceId, 'sourceId', MAX_SOURCE_CHARS);
  }
}

/** A database replaces a lone surrogate with U+FFFD, so two different keys would become equal. */
export function checkKey(key: string | undefined): void {
  if (key === undefined || (typeof key === 'string' && key.isWellFormed())) return;
  throw failure('INVALID_INPUT', 'idempotency.notUnicode');
}

export function checkAppendOptions({ key, settle = [], deliver = [] }: AppendOptions): void {
  checkKey(key);
  for (const { detail } of settle) if (detail !== undefined) checkObject(detail, 'detail');
  // They are checked as messages when they become requests.
  if (deliver.some(({ idempotencyKey }) => idempotencyKey === undefined))
    throw failure('INVALID_INPUT', 'idempotency.missing');
}

/** Maximum length of a group name; escaped, it fits into an index of every store. */
const MAX_GROUP_CHARS = 256;

export function checkInbound(inbound: Inbound): void {
  const { body, sessionId, create, queue, group, source, idempotencyKey } = inbound;
  checkKey(source);
  checkKey(idempotencyKey);
  checkObject(body, 'body');
  if (group !== undefined && group.name.length > MAX_GROUP_CHARS)
    throw failure(
      'LIMIT_EXCEEDED',
      'input.tooLong',
      { field: 'group.name', length: group.name.length, max: MAX_GROUP_CHARS },
      { details: { limit: 'group name', max: MAX_GROUP_CHARS } },
    );
  if (sessionId !== undefined) parseSessionId(sessionId);
  if (create?.id !== undefined) parseNewSessionId(create.id);
  if (create?.settings !== undefined) checkObject(create.settings, 'settings');
  if (create?.owner !== undefined) checkIndexed(create.owner, 'create.owner', MAX_OWNER_CHARS);
  for (const [name, value] of Object.entries({ 'queue.cap': queue?.cap, 'group.max': group?.max })) {
    if (value === undefined || (Number.isSafeInteger(value) && value >= 1)) continue;
    throw failure('INVALID_INPUT', 'value.wrong', {
      field: name,
      value: quotedValue(value),
      expected: [{ is: 'integer', min: 1 }],
    });
  }
}

type CheckedInit = Pick<SessionInit, 'settings' | 'createdAt' | 'owner' | 'source'>;

export function checkSessionInit({ settings, createdAt, owner, source }: CheckedInit): void {
  if (settings !== undefined) checkObject(settings, 'settings');
  if (owner !== undefined) checkIndexed(owner, 'owner', MAX_OWNER_CHARS);
  if (source !== undefined) checkSource(source);
  if (createdAt === undefined || canonicalTime(createdAt) === createdAt) return;
  throw failure('INVALID_INPUT', 'value.wrong', {
    field: 'createdAt',
    value: quotedValue(createdAt),
    expected: [{ is: 'utcTime' }],
  });
}

export function checkSource(source: SessionSource): SessionSource {
  if (isSource(source)) return source;
  const { tool, id } = (source ?? {}) as Partial<SessionSource>;
  return {
    tool: checkIndexed(tool, 'source.tool', MAX_TOOL_CHARS),
    id: checkIndexed(id, 'source.id', MAX_SOURCE_CHARS),
  };
}

export function checkMark(mark: SourceMark): SourceMark {
  checkObject(mark, 'mark');
  const { path, mark: position } = mark;
  if (path !== undefined) checkIndexed(path, 'path', MAX_PATH_CHARS);
  if (position !== undefined) checkObject(position, 'mark');
  return mark;
}

/** A name that every store can index. */
function checkIndexed(value: unknown, field: string, max: number): string {
  if (isName(value, max)) return value;
  throw failure('INVALID_INPUT', 'value.wrong', {
    field,
    value: value === undefined ? null : quotedValue(value),
    expected: [{ is: 'shortText', max }],
  });
}

export function checkPatch(settings: JsonObject, { title }: PatchOptions): void {
  checkObject(settings, 'settings');
  if (title !== undefined && typeof title !== 'string')
    throw failure('INVALID_INPUT', 'value.wrong', {
      field: 'title',
      value: quotedValue(title),
      expected: [{ is: 'text' }],
    });
}

/** Limits of a note name, and of the notes of one call, which is one transaction. */
const MAX_NOTE_NAME_CHARS = 64;
const MAX_NOTES = 1000;

export function checkNoteName(name: string): string {
  if (typeof name === 'string' && name !== '' && name.length <= MAX_NOTE_NAME_CHARS && !name.includes('\0'))
    return name;
  throw failure('INVALID_INPUT', 'value.wrong', {
    field: 'name',
    value: quotedValue(name),
    expected: [{ is: 'shortText', max: MAX_NOTE_NAME_CHARS }],
  });
}

export function checkNotes(notes: readonly Note[]): readonly Note[] {
  checkList(notes, 'notes', MAX_NOTES);
  for (const { id, seq, value } of notes as readonly Note[]) {
    parseSessionId(id);
    checkObject(value, 'value');
    if (!Number.isSafeInteger(seq) || seq < 0)
      throw failure('INVALID_INPUT', 'value.wrong', {
        field: 'seq',
        value: quotedValue(seq),
        expected: [{ is: 'integer', min: 0 }],
      });
  }
  return notes;
}

/** Checks the size of a page. */
export function checkLimit(limit: number): number {
  if (Number.isSafeInteger(limit) && limit >= 1) return limit;
  throw failure('INVALID_INPUT', 'value.wrong', {
    field: 'limit',
    value: quotedValue(limit),
    expected: [{ is: 'integer', min: 1 }],
  });
}

export function checkObject(value: unknown, field: string): asserts value is JsonObject {
  if (!isObject(value))
    throw failure('INVALID_INPUT', 'value.wrong', {
      ...{ field, value: quotedValue(value) },
      expected: [{ is: 'object', names: [] }],
    });
  assertStorable(value);
}

function checkList(value: unknown, field: 'notes' | 'lines', max: number): void {
  if (!Array.isArray(value))
    throw failure('INVALID_INPUT', 'value.wrong', {
      ...{ field, value: quotedValue(value) },
      expected: [{ is: 'list', of: [] }],
    });
  if (value.length > max)
    throw failure(
      'LIMIT_EXCEEDED',
      'input.tooMany',
      { field, length: value.length, max },
      { details: { limit: field, max } },
    );
}

/** Maximum length of a channel's id or name, far above those of real channels. */
const MAX_NAME_CHARS = 1024;
/** Limit of one call, which is one transaction. */
const MAX_LOG_LINES = 1000;

/**
 * Checks log lines and returns what to store. The content may be any text, but chat, sender and time must be valid.
 */
export function checkLog(lines: readonly ConvlogLine[]): ConvlogLine[] {
  checkList(lines, 'lines', MAX_LOG_LINES);
  return lines.map(checkLogLine);
}

export function checkLogLine(line: ConvlogLine): ConvlogLine {
  checkObject(line, 'line');
  const { role, content, sender, ts, sessionId, messageId } = line;
  if (!isRole(role))
    throw failure('INVALID_INPUT', 'value.wrong', {
      field: 'role',
      value: quotedValue(role),
      expected: [{ is: 'oneOf', values: ['user', 'assistant', 'system'] }],
    });
  if (typeof content !== 'string')
    throw failure('INVALID_INPUT', 'value.wrong', {
      field: 'content',
      value: quotedValue(content),
      expected: [{ is: 'text' }],
    });
  if (sender !== undefined && !isObject(sender))
    throw failure('INVALID_INPUT', 'value.wrong', {
      field: 'sender',
      value: quotedValue(sender),
      expected: [{ is: 'object', names: ['id'] }],
    });
  const checked: ConvlogLine = {
    ...checkChat(line),
    role,
    content,
    ...(sender !== undefined && {
      sender: {
        id: checkName(sender.id, 'sender.id'),
        ...(sender.name !== undefined && { name: checkName(sender.name, 'sender.name') }),
      },
    }),
    ...(ts !== undefined && { ts: checkTime(ts) }),
    ...(sessionId !== undefined && { sessionId: parseSessionId(sessionId) }),
    ...(messageId !== undefined && { messageId: checkName(messageId, 'messageId') }),
  };
  const { maxRecordBytes } = DEFAULT_RECORD_LIMITS;
  // A character takes at most six bytes in JSON, so most lines need not be encoded to be measured.
  const isTooLong =
    content.length > maxRecordBytes ||
    (content.length * 6 > maxRecordBytes && Buffer.byteLength(encodeLogLine(checked)) > maxRecordBytes);
  if (isTooLong)
    throw failure(
      'LIMIT_EXCEEDED',
      'record.tooLarge',
      { maxBytes: maxRecordBytes },
      { details: { limit: 'record', max: maxRecordBytes } },
    );
  return checked;
}

export function checkChat({ agentId, channelType, channelId }: ConvlogChatRef): ConvlogChatRef {
  return {
    agentId: parseAgentId(agentId),
    channelType: checkName(channelType, 'channelType'),
    channelId: checkName(channelId, 'channelId'),
  };
}

function checkName(name: unknown, field: string): string {
  if (typeof name === 'string' && name !== '' && name.length <= MAX_NAME_CHARS) return name;
  throw failure('INVALID_INPUT', 'value.wrong', {
    field: field,
    value: name === undefined ? null : quotedValue(name),
    expected: [{ is: 'shortText', max: MAX_NAME_CHARS }],
  });
}

/** Converts a time to a single format, so that times sort as text. */
function checkTime(ts: unknown): string {
  const date = typeof ts === 'string' && /^\d{4}-\d\d-\d\dT/.test(ts) ? new Date(ts) : undefined;
  const time = date === undefined || Number.isNaN(date.getTime()) ? '' : date.toISOString();
  if (isTime(time)) return time;
  throw failure('INVALID_INPUT', 'value.wrong', {
    field: 'ts',
    value: ts === undefined ? null : quotedValue(ts),
    expected: [{ is: 'isoTime' }],
  });
}
