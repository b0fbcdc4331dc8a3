import type { RepriseError } from '../../errors.ts';
import { failure } from '../../messages/failure.ts';
import type { BackupDamage, BackupProblem } from '../../messages/params/params-interop.ts';
import { quoted, quotedValue } from '../../messages/quoted.ts';
import type { BlobRecord, LinesRecord, TransferRecord } from '../../store/port/transfer.ts';
import { isObject, type JsonObject } from '../../transcript/json.ts';
import { isRecordKind, wrongField } from './record-fields.ts';

/**
 * The version of the backup format: JSON lines, so that `grep`, `jq` and `sha256sum` can inspect it. The lines of a
 * transcript follow their record as they are stored; blobs are base64. The last line contains the SHA-256 of all bytes
 * before it.
 */
export const BACKUP_VERSION = 1;

export interface BackupHeader {
  readonly kind: 'backup';
  readonly version: number;
  readonly createdAt: string;
  /** Secrets are masked. */
  readonly redacted?: boolean;
}

export interface BackupEnd {
  readonly kind: 'end';
  readonly records: number;
  readonly sha256: string;
}

const LF = 10;
export function encodeRecord(record: TransferRecord): Uint8Array[] {
  if (record.kind === 'blob') {
    const { bytes, ...rest } = record;
    const base64 = Buffer.from(bytes.buffer, bytes.byteOffset, bytes.length).toString('base64');
    return [encodeJson({ ...rest, base64 })];
  }
  if (record.kind === 'lines') {
    const { bytes, ...rest } = record;
    return [encodeJson({ ...rest, count: countLines(bytes) }), bytes];
  }
  return [encodeJson(record)];
}

export function encodeJson(value: object): Buffer {
  return Buffer.from(`${JSON.stringify(value)}\n`);
}

/** A complete record, or the start of one that is followed by `count` transcript lines. */
export type ParsedRecord =
  | { readonly record: TransferRecord }
  | { readonly lines: { readonly session: string; readonly first: number; readonly count: number } }
  | { readonly end: BackupEnd };

export function parseRecord(line: Buffer, offset: number): ParsedRecord {
  const value = parseJson(line, offset);
  const { kind } = value;
  if (kind === 'end') return { end: value as unknown as BackupEnd };
  if (!isRecordKind(kind)) throw damaged(offset, 'unknownRecord', { record: quotedValue(kind) });
  const wrong = wrongField(kind, value);
  if (wrong !== undefined) throw damaged(offset, 'wrongField', { record: quoted(kind), field: wrong });
  if (kind === 'lines') {
    const { session, first, count } = value as unknown as LinesRecord & { readonly count: unknown };
    if (!isCount(count)) throw damaged(offset, 'noLines', { session });
    return { lines: { session, first, count } };
  }
  if (kind !== 'blob') return { record: value as unknown as TransferRecord };
  const { session, hash, base64 } = value as unknown as BlobRecord & { readonly base64: unknown };
  if (typeof base64 !== 'string') throw damaged(offset, 'noBlobBytes', { session });
  return { record: { kind, session, hash, bytes: Buffer.from(base64, 'base64') } };
}

export function parseHeader(line: Buffer | undefined, path: string): BackupHeader {
  let value: JsonObject = {};
  try {
    if (line !== undefined) value = parseJson(line, 0);
  } catch {
    // Reported below: the file does not start like a backup.
  }
  if (value['kind'] !== 'backup') {
    throw failure('INVALID_INPUT', 'backup.notBackup', { path });
  }
  const header = value as unknown as BackupHeader;
  if (header.version === BACKUP_VERSION) {
    if (typeof header.createdAt !== 'string') throw damaged(0, 'noTime');
    return header;
  }
  throw failure('STORE_NEWER', 'backup.newer', { path, version: header.version, known: BACKUP_VERSION });
}

export function damaged(
  offset: number,
  problem: BackupProblem,
  about: Omit<BackupDamage, 'offset' | 'problem'> = {},
): RepriseError {
  return failure('STORE_CORRUPT', 'backup.damaged', { offset, problem, ...about }, { details: { offset } });
}

function parseJson(line: Buffer, offset: number): JsonObject {
  try {
    const value: unknown = JSON.parse(line.toString());
    if (isObject(value)) return value;
  } catch {
    // A damaged line; reported below.
  }
  throw damaged(offset, 'notJson');
}

const isCount = (value: unknown): value is number => Number.isSafeInteger(value) && (value as number) >= 1;

function countLines(bytes: Uint8Array): number {
  let count = 0;
  for (let at = bytes.indexOf(LF); at !== -1; at = bytes.indexOf(LF, at + 1)) count++;
  return count;
}
