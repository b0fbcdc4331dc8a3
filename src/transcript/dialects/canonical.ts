import type { Entry } from '../entry.ts';
import { entryIdForSeq, longEntryIdForSeq } from '../entry-id.ts';
import type { PlacedRecord } from '../history-rule.ts';
import type { IssueLog } from '../issues.ts';
import { isObject, type JsonObject } from '../json.ts';
import { canonicalMessages, hasForeignBlocks } from './blocks.ts';
import { createFlatReader, isFlatRecord } from './claw0.ts';
import { isoTime } from './time.ts';
import { isBoundaryRow, isMessageRow, summaryOfRow } from './zeroclaw.ts';

/**
 * Converts any format to canonical entries. Canonical lines are passed on unchanged; the others get deterministic ids
 * (from their position in the file) and the previous line as their parent.
 */

const KNOWN_TYPES: ReadonlySet<unknown> = new Set([
  'session',
  'message',
  'model_change',
  'thinking_level_change',
  'compaction',
  'branch_summary',
  'custom_message',
  'context_edit',
  'custom',
  'label',
  'session_info',
  'usage',
]);

export type Dialect = 'v3' | 'pi-v2' | 'pi-v1' | 'claw0' | 'claw0-classic' | 'zyhive' | 'zeroclaw';

export interface CanonicalHistory {
  readonly entries: readonly Entry[];
  readonly dialects: ReadonlyMap<Dialect, number>;
}

export function isKnownRecord(record: JsonObject): boolean {
  const { type, message } = record;
  // Other APIs have a `message` with its content beside the type; no format here can read that.
  if (type === 'message') return isObject(message);
  return KNOWN_TYPES.has(type) || isFlatRecord(record) || isMessageRow(record) || isBoundaryRow(record);
}

export function canonicalEntries(records: readonly PlacedRecord[], issues: IssueLog): CanonicalHistory {
  const builder = createBuilder(records);
  const dialects = new Map<Dialect, number>();
  let version: unknown;
  for (let index = 0; index < records.length; index++) {
    const placed = records[index];
    if (placed === undefined) continue;
    const { record } = placed;
    if (record['type'] === 'session') {
      version ??= record['version'];
      builder.skip();
      continue;
    }
    const dialect = dialectOf(record, version);
    if (dialect === undefined) {
      const { line, offset } = placed;
      issues.add({ kind: 'unknown-record', line, offset, detail: 'no type, no role' });
      continue;
    }
    dialects.set(dialect, (dialects.get(dialect) ?? 0) + 1);
    builder.add(record, index);
  }
  return { entries: builder.finish(), dialects };
}

function dialectOf(record: JsonObject, version: unknown): Dialect | undefined {
  const { type, id, timestamp } = record;
  if (type !== 'message' && isFlatRecord(record))
    return typeof record['ts'] === 'string' ? 'claw0-classic' : 'claw0';
  if (typeof type !== 'string') return isMessageRow(record) || isBoundaryRow(record) ? 'zeroclaw' : undefined;
  if (typeof id === 'string') return version === 2 ? 'pi-v2' : 'v3';
  return typeof timestamp === 'number' ? 'zyhive' : 'pi-v1';
}

interface UnplacedEntry {
  readonly type: string;
  readonly id: string;
  readonly timestamp: string;
  readonly parentId?: string | null;
  readonly [key: string]: unknown;
}

interface Builder {
  add(record: JsonObject, index: number): void;
  skip(): void;
  finish(): readonly Entry[];
}

function nthIdForSeq(seq: number, n: number): string {
  if (n === 0) return entryIdForSeq(seq);
  return n === 1 ? longEntryIdForSeq(seq) : `${longEntryIdForSeq(seq)}-${n - 1}`;
}

function createBuilder(records: readonly PlacedRecord[]): Builder {
  const entries: Entry[] = [];
  let takenIds: Set<string> | undefined;
  /** Created when first needed: a file in our own format never needs it. */
  const taken = (): Set<string> => {
    if (takenIds !== undefined) return takenIds;
    takenIds = new Set();
    for (const { record } of records) if (typeof record['id'] === 'string') takenIds.add(record['id']);
    return takenIds;
  };
  /** The first entry made from each record, for pi v1's `firstKeptEntryIndex`. */
  const idOfRecord: (string | undefined)[] = [];
  /** Ids of message lines, for ZyHive's `msg-<n>`, which counts them from 1. */
  const messageIds: string[] = [];
  let lastUserRow: string | null = null;
  let current = 0;

  /** One line can become many entries; they are numbered consecutively without a new search. */
  let part = { of: -1, n: 0 };
  const freshId = (index: number): string => {
    const ids = taken();
    if (part.of !== index) part = { of: index, n: 0 };
    let id = '';
    do {
      id = nthIdForSeq(index + 1, part.n++);
    } while (ids.has(id));
    ids.add(id);
    return id;
  };
  /** The parent of an entry without `parentId` is the previous entry. */
  const push = (entry: UnplacedEntry): void => {
    const { parentId = entries.at(-1)?.id ?? null } = entry;
    entries.push({ ...entry, parentId });
    idOfRecord[current] ??= entry.id;
  };
  const pushMessages = (messages: readonly JsonObject[], base: JsonObject, timestamp: string): void => {
    const { id, parentId } = base;
    for (const [i, message] of messages.entries()) {
      const last = i === messages.length - 1;
      push({
        ...(i === 0 && messages.length === 1 ? base : {}),
        type: 'message',
        // Children name the line's id, so its last part gets that id.
        id: last && typeof id === 'string' ? id : freshId(current),
        ...(i === 0 && (typeof parentId === 'string' || parentId === null) && { parentId }),
        timestamp,
        message,
      });
    }
  };
  const flat = createFlatReader((message, source) =>
    push({
      type: 'message',
      id: freshId(current),
      timestamp: isoTime(source['ts'] ?? source['timestamp']),
      message,
    }),
  );
  const addRow = (record: JsonObject): void => {
    const timestamp = isoTime(record['created_at'] ?? record['timestamp']);
    const summary = summaryOfRow(record);
    const id = freshId(current);
    if (summary !== undefined) {
      // The rows do not show whether the last exchange is in the summary, so it is shown in full and never lost.
      push({
        type: 'compaction',
        id,
        timestamp,
        summary,
        firstKeptEntryId: lastUserRow ?? id,
        tokensBefore: 0,
      });
      return;
    }
    if (record['role'] === 'user') lastUserRow = id;
    const { role, content } = record;
    push({ type: 'message', id, timestamp, message: { role, content } });
  };
  const addTyped = (record: JsonObject): void => {
    const { type, id, parentId, message } = record;
    const timestamp = isoTime(record['timestamp'] ?? record['createdAt']);
    if (type === 'message' && isObject(message)) {
      const canonical = isCanonicalMessage(message) ? [message] : canonicalMessages(message);
      pushMessages(canonical, record, timestamp);
      messageIds.push(entries.at(-1)?.id ?? '');
      return;
    }
    push({
      ...record,
      type: type as string,
      id: typeof id === 'string' ? id : freshId(current),
      timestamp,
      ...((typeof parentId === 'string' || parentId === null) && { parentId }),
    });
  };

  return {
    add(record, index) {
      current = index;
      if (isFlatRecord(record)) {
        flat.add(record);
        return;
      }
      flat.close();
      if (isCanonicalEntry(record)) {
        entries.push(record);
        idOfRecord[index] = record.id;
        if (record.type === 'message') messageIds.push(record.id);
      } else if (isMessageRow(record)) addRow(record);
      else if (!isBoundaryRow(record)) addTyped(record);
    },
    skip: flat.close,
    finish() {
      flat.close();
      return entries.map((entry) =>
        entry.type === 'compaction' ? withFirstKept(entry, { taken, idOfRecord, messageIds }) : entry,
      );
    },
  };
}

/** Our format and pi's v3: nothing has to be changed or copied. */
export function isCanonicalEntry(record: JsonObject): record is Entry {
  const { type, id, parentId, timestamp, message } = record;
  return (
    typeof type === 'string' &&
    typeof id === 'string' &&
    !isFlatRecord(record) &&
    (parentId === null || typeof parentId === 'string') &&
    typeof timestamp === 'string' &&
    (type !== 'message' || (isObject(message) && isCanonicalMessage(message))) &&
    (type !== 'compaction' || typeof record['firstKeptEntryId'] === 'string')
  );
}

function isCanonicalMessage(message: JsonObject): boolean {
  return message['role'] !== 'hookMessage' && !hasForeignBlocks(message['content']);
}

interface KeptNames {
  readonly taken: () => ReadonlySet<string>;
  readonly idOfRecord: readonly (string | undefined)[];
  readonly messageIds: readonly string[];
}

/**
 * pi v1 counts lines, ZyHive counts messages; both become the id of an entry. The count is dropped: it refers to
 * lines of that file and would name another entry if these entries are read again without its header, or copied. If
 * nothing is kept, the count is beyond the end, and the compaction then names itself.
 */
function withFirstKept(entry: Entry, { taken, idOfRecord, messageIds }: KeptNames): Entry {
  const { firstKeptEntryIndex, ...rest } = entry;
  const { firstKeptEntryId } = entry;
  if (typeof firstKeptEntryIndex === 'number')
    return { ...rest, firstKeptEntryId: idOfRecord[firstKeptEntryIndex] ?? entry.id } as Entry;
  if (typeof firstKeptEntryId !== 'string' || taken().has(firstKeptEntryId)) return entry;
  const [, n] = /^msg-(\d+)$/.exec(firstKeptEntryId) ?? [];
  return n === undefined ? entry : { ...entry, firstKeptEntryId: messageIds[Number(n) - 1] ?? entry.id };
}
