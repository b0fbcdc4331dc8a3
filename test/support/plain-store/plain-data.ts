import { createHash } from 'node:crypto';
import { type ErrorCode, RepriseError } from '../../../src/errors.ts';
import type { StoredConvlogLine } from '../../../src/store/port/convlog.ts';
import type { InboxChange, InboxItem } from '../../../src/store/port/inbox.ts';
import type { Note } from '../../../src/store/port/notes.ts';
import type { SourceMark } from '../../../src/store/port/sources.ts';
import type * as port from '../../../src/store/port/store.ts';
import type { SessionCopy, TransferRecord } from '../../../src/store/port/transfer.ts';
import type { JsonObject } from '../../../src/transcript/json.ts';
import type { PlainBlobs } from './plain-blobs.ts';

/** What the plain store keeps, and what its layers say alike. */

export interface PlainOptions {
  /** ISO times; never runs backwards. */
  readonly now: () => string;
  readonly newId: () => string;
}

export interface PlainSession {
  readonly id: string;
  readonly key: string;
  readonly createdAt: string;
  readonly parentId?: string;
  /** Sealed lines with their LF; the seq is the index plus one. */
  readonly lines: string[];
  readonly keys: Map<string, { readonly hash: string; readonly receipt: port.AppendReceipt }>;
  blobs: PlainBlobs;
  leaf: string | null;
  epoch: number;
  deleted: boolean;
  holder?: { readonly store: object; readonly lost: AbortController };
}

/** What a copy into a plain store remembers. */
export interface PlainCopy {
  readonly run: string;
  cursor: string | null;
  finished: boolean;
  epoch: number;
  session?: SessionCopy;
}

/** What outlives a store object: the disk, so to speak. */
export class PlainData {
  readonly notes: Map<string, Note> = new Map();
  /** The turn that a row belongs to, by its inbox id. */
  readonly turns: Map<string, string> = new Map();
  /** By session. */
  readonly marks: Map<string, SourceMark> = new Map();
  readonly logged: StoredConvlogLine[] = [];
  /** By lower-case id: ids are unique ignoring case. */
  readonly sessions: Map<string, PlainSession> = new Map();
  readonly purged: Set<string> = new Set();
  readonly active: Map<string, string> = new Map();
  readonly items: Map<string, InboxItem> = new Map();
  readonly inbound: Map<string, { readonly hash: string; readonly inboxId: string }> = new Map();
  /** Items that were accepted or settled, in order. */
  readonly changes: InboxChange[] = [];
  /** The records that copies of this store have read, a list for each pass. */
  readonly passes: TransferRecord[][] = [];
  /** The copy that was made into this one. */
  copy?: PlainCopy;
  epochFloor = 0;
}

export type Entries = readonly port.NewEntry[];

export const HOLDER: JsonObject = { pid: process.pid };

export function fail(code: ErrorCode, message: string, outcome: 'none' | 'unknown' = 'none'): RepriseError {
  return new RepriseError(code, message, { outcome });
}

export function held({ id }: PlainSession): RepriseError {
  return new RepriseError('LEASE_HELD', `somebody holds ${id}`, { details: { holder: HOLDER } });
}

export function hashOf(value: unknown): string {
  return createHash('sha256').update(JSON.stringify(value)).digest('hex').slice(0, 16);
}
