import { closeSync, statSync } from 'node:fs';
import { agentOfKey, parseSessionKey } from '../../../keys/session-key.ts';
import type { JsonObject } from '../../../transcript/json.ts';
import { decodeLine } from '../../../transcript/line.ts';
import { isNewerVersion } from '../../../transcript/records.ts';
import { type FirstRecord, firstRecord } from '../../jsonl/file-header.ts';
import { isStranger, type Owner } from '../../jsonl/folders.ts';
import { insertFromHeader } from '../../jsonl/recovery/adopt.ts';
import { type Peek, peek } from '../../jsonl/recovery/peek.ts';
import { openPlain, readRange, sizeOf, type TranscriptFiles } from '../../jsonl/transcript-files.ts';
import type { Database } from '../database.ts';
import { findIgnoringCase } from '../session-row.ts';

/** How much of a file without a valid header is searched for a line that Reprise wrote. */
const SEARCH_BYTES = 1024 * 1024;
/** Error codes for a path without a plain file. */
const NO_FILE: ReadonlySet<string> = new Set(['ENOENT', 'ENOTDIR', 'ELOOP', 'EISDIR', 'ENOTSUP']);

type FoundFile =
  | { readonly kind: 'transcript'; readonly header: JsonObject; readonly peeked: Peek }
  /**
   * Written by Reprise, but its header is damaged, missing or of a newer version. `header` holds the readable fields,
   * unverified.
   */
  | { readonly kind: 'damaged'; readonly header: JsonObject }
  /** Another tool's file, an export, or the transcript of another session: importing it is a decision, not a repair. */
  | { readonly kind: 'foreign' };

/**
 * Inside a transaction: a file that the index does not know becomes a row without lines, with the title and time that
 * its ends show. A damaged transcript becomes a row as well, so that lists show it; it is also recorded in `strangers`
 * to notice when it is replaced.
 */
export function takeHeader(db: Database, files: TranscriptFiles, { id, agentId }: Owner): void {
  if (findIgnoringCase(db, id) !== undefined) return;
  const path = files.path(agentId, id);
  if (db.row('SELECT 1 FROM purged WHERE id = ?', id) !== undefined) {
    // A purge was interrupted between its commit and the removal of the file.
    files.remove(agentId, id);
    return;
  }
  const stat = statSync(path, { throwIfNoEntry: false });
  if (stat === undefined || isStranger(db, { id, agentId }, stat)) return;
  const { size, mtimeMs, mtime } = stat;
  const found = inspectFile(path, id);
  if (found.kind !== 'transcript')
    db.run('INSERT OR REPLACE INTO strangers VALUES (?, ?, ?, ?)', agentId, id, size, mtimeMs);
  if (found.kind === 'transcript') insertFromHeader(db, found.header, { id, agentId }, found.peeked);
  else if (found.kind === 'damaged') insertDamaged(db, found.header, { id, agentId }, mtime.toISOString());
}

/**
 * Inside a transaction: drops the row of a damaged transcript whose file has changed since, so that it is read again.
 * @returns whether there was one.
 */
export function dropIfReplaced(db: Database, files: TranscriptFiles, owner: Owner): boolean {
  const { id, agentId } = owner;
  if (db.row('SELECT 1 FROM strangers WHERE agent_id = ? AND id = ?', agentId, id) === undefined)
    return false;
  const stat = statSync(files.path(agentId, id), { throwIfNoEntry: false });
  if (stat === undefined || isStranger(db, owner, stat)) return false;
  db.run('DELETE FROM strangers WHERE agent_id = ? AND id = ?', agentId, id);
  for (const table of ['append_keys', 'marks', 'foreign_lines', 'skipped_lines'])
    db.run(`DELETE FROM ${table} WHERE session_id = ?`, id);
  db.run('DELETE FROM sessions WHERE id = ?', id);
  return true;
}

function insertDamaged(db: Database, header: JsonObject, owner: Owner, changedAt: string): void {
  const { key, timestamp } = header;
  const isTime = typeof timestamp === 'string' && !Number.isNaN(Date.parse(timestamp));
  insertFromHeader(
    db,
    {
      ...header,
      key: typeof key === 'string' && isKeyOf(key, owner.agentId) ? key : undefined,
      timestamp: isTime ? timestamp : changedAt,
      parentSession: undefined,
    },
    owner,
  );
  db.run('UPDATE sessions SET corrupt_at = 0 WHERE id = ?', owner.id);
}

function isKeyOf(key: string, agentId: string): boolean {
  try {
    return agentOfKey(key) === agentId;
  } catch {
    return false; // no valid key
  }
}

function inspectFile(path: string, id: string): FoundFile {
  const fd = openPlain(path);
  try {
    return inspectOpen(fd, id);
  } finally {
    closeSync(fd);
  }
}

function inspectOpen(fd: number, id: string): FoundFile {
  const { record = {}, isSealed = false } = firstRecord(fd) ?? {};
  const isHeader = record['type'] === 'session';
  if (isHeader && isSealed && record['id'] !== id) return { kind: 'foreign' };
  const isNewer = isHeader && isNewerVersion(record);
  const { key } = record;
  if (isHeader && isSealed && !isNewer && (key === undefined || isValidKey(key)))
    return { kind: 'transcript', header: record, peeked: peek(fd, sizeOf(fd)) };
  // Another tool's fork of our transcript has its own header, and keeps our seals in the lines it copied.
  const isNamed = record['id'] === id && typeof record['agentId'] === 'string';
  if (isHeader && record['seal'] === undefined && !isNamed) return { kind: 'foreign' };
  const isOurs = (isNewer && isNamed) || hasOurLines(fd);
  return isOurs ? { kind: 'damaged', header: isHeader ? record : {} } : { kind: 'foreign' };
}

function isValidKey(key: unknown): boolean {
  try {
    if (typeof key === 'string') parseSessionKey(key);
    return true;
  } catch {
    return false; // sealed, with a key that no version of Reprise has written
  }
}

/** A line with a seal, intact or broken. A file without a single readable line counts too: no tool can read it. */
function hasOurLines(fd: number): boolean {
  const bytes = readRange(fd, 0, Math.min(SEARCH_BYTES, sizeOf(fd)));
  let records = 0;
  for (let start = 0; start < bytes.length; ) {
    const lf = bytes.indexOf(10, start);
    const end = lf === -1 ? bytes.length : lf;
    const line = decodeLine(bytes.subarray(start, end));
    if (line.kind === 'record') {
      if (line.seal !== undefined) return true;
      records++;
    }
    start = end + 1;
  }
  return records === 0;
}

export interface StrangerReport {
  readonly isDamaged: boolean;
  /** Set only for a header with our seal or our agent, because other tools name their files as they like. */
  readonly otherSession?: string | undefined;
  /** Why the disk does not return the file. */
  readonly unreadable?: string;
}

/** What `verify` reports of a file that no session has. */
export function inspectStranger(path: string, id: string): StrangerReport {
  try {
    const { record, isSealed } = readFirst(path) ?? {};
    const named = record?.['type'] === 'session' ? record['id'] : undefined;
    const isOurs = isSealed === true || typeof record?.['agentId'] === 'string';
    const otherSession = isOurs && typeof named === 'string' && named !== id ? named : undefined;
    return { isDamaged: inspectFile(path, id).kind === 'damaged', otherSession };
  } catch (error) {
    const { syscall, code = '' } = error as NodeJS.ErrnoException;
    if (syscall === undefined) throw error;
    // Removed since it was listed, or not a file.
    return NO_FILE.has(code) ? { isDamaged: false } : { isDamaged: false, unreadable: code };
  }
}

function readFirst(path: string): FirstRecord | undefined {
  const fd = openPlain(path);
  try {
    return firstRecord(fd);
  } finally {
    closeSync(fd);
  }
}
