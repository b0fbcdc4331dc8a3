import { closeSync, constants, fstatSync, openSync, statSync } from 'node:fs';
import { parseSessionKey } from '../../keys/session-key.ts';
import type { JsonObject } from '../../transcript/json.ts';
import { decodeLine } from '../../transcript/line.ts';
import { insertFromHeader } from './adopt.ts';
import type { Database } from './database.ts';
import { isStranger, type Owner } from './folders.ts';
import { findIgnoringCase } from './session-row.ts';
import { readRange, type TranscriptFiles } from './transcript-files.ts';

/** Ours have at most 512 bytes; what is longer was not written by us. */
const HEADER_BYTES = 4096;

/** Inside a transaction: the header of a file the index does not know becomes a row without lines. */
export function takeHeader(db: Database, files: TranscriptFiles, { id, agentId }: Owner): void {
  if (findIgnoringCase(db, id) !== undefined) return;
  const path = files.path(agentId, id);
  if (db.row('SELECT 1 FROM purged WHERE id = ?', id) !== undefined) {
    // Left by a purge that was cut short between its commit and the removal.
    files.remove(agentId, id);
    return;
  }
  const stat = statSync(path, { throwIfNoEntry: false });
  if (stat === undefined || isStranger(db, { id, agentId }, stat)) return;
  const { size, mtimeMs } = stat;
  const header = readHeader(path, id);
  if (header !== undefined) insertFromHeader(db, header, agentId);
  else db.run('INSERT OR REPLACE INTO strangers VALUES (?, ?, ?, ?)', agentId, id, size, mtimeMs);
}

/** Undefined for another tool's file: importing it is a decision, not a repair. */
function readHeader(path: string, id: string): JsonObject | undefined {
  try {
    const { record, isSealed } = firstRecord(path) ?? {};
    if (record === undefined || isSealed !== true) return undefined;
    if (record['type'] !== 'session' || record['id'] !== id) return undefined;
    if (typeof record['key'] === 'string') parseSessionKey(record['key']);
    return record;
  } catch (error) {
    if ((error as NodeJS.ErrnoException).syscall !== undefined) throw error;
    // Sealed, with a key no version of ours has written.
    return undefined;
  }
}

/**
 * The session whose transcript, or whose export, stands under the name of another one. Other tools name files as they
 * like: only what has our seal or names our agent is meant.
 */
export function otherSessionIn(path: string, id: string): string | undefined {
  try {
    const { record, isSealed } = firstRecord(path) ?? {};
    if (record?.['type'] !== 'session' || typeof record['id'] !== 'string') return undefined;
    const isOurs = isSealed === true || typeof record['agentId'] === 'string';
    return isOurs && record['id'] !== id ? record['id'] : undefined;
  } catch (error) {
    if ((error as NodeJS.ErrnoException).syscall === undefined) throw error;
    return undefined; // gone since it was listed, or no file
  }
}

function firstRecord(path: string): { readonly record: JsonObject; readonly isSealed: boolean } | undefined {
  const { O_RDONLY, O_NOFOLLOW, O_NONBLOCK } = constants;
  const fd = openSync(path, O_RDONLY | O_NOFOLLOW | O_NONBLOCK);
  try {
    if (!fstatSync(fd).isFile()) return undefined;
    const head = readRange(fd, 0, HEADER_BYTES);
    const end = head.indexOf(10);
    const line = decodeLine(end === -1 ? head : head.subarray(0, end));
    if (line.kind !== 'record') return undefined;
    return { record: line.record, isSealed: line.seal !== undefined && line.seal !== 'broken' };
  } finally {
    closeSync(fd);
  }
}
