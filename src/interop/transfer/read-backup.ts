import { createHash } from 'node:crypto';
import { type FileHandle, open } from 'node:fs/promises';
import type { RepriseError } from '../../errors.ts';
import { failure } from '../../messages/failure.ts';
import type { InboxItem } from '../../store/port/inbox.ts';
import type { TransferRecord } from '../../store/port/transfer.ts';
import { decodeLine } from '../../transcript/line.ts';
import { createLineSplitter } from '../../transcript/split-lines.ts';
import { type BackupEnd, type BackupHeader, damaged, parseHeader, parseRecord } from './backup-record.ts';
import { digestRecords, type StoreDigest } from './store-digest.ts';

const CHUNK = 1024 * 1024;
/** The longest possible line: a blob as base64. */
const MAX_LINE_BYTES = 32 * 1024 * 1024;
/** A record with the lines that follow it: a backup writes about a megabyte of lines per record, plus one line. */
const MAX_RECORD_BYTES = 2 * MAX_LINE_BYTES;
const LF = Buffer.from('\n');

export interface BackupRecord {
  readonly record: TransferRecord;
  /** Offset of the next record. */
  readonly end: number;
}

export interface CheckedBackup extends BackupHeader {
  readonly bytes: number;
  readonly sha256: string;
  readonly digest: StoreDigest;
  /** Messages that had not ended. A restore holds them, so that they do not run until the user releases them. */
  readonly queued: number;
}

/** Reads and verifies a whole backup: the checksum of the file, every seal, every blob. */
export async function checkBackup(
  path: string,
  onProgress: (done: number, total: number) => void = () => undefined,
): Promise<CheckedBackup> {
  await using file = await openBackup(path);
  const { size } = await file.handle.stat();
  const hash = createHash('sha256');
  let end: BackupEnd | undefined;
  let records = 0;
  let queued = 0;
  const lines = readLines(file.handle, 0, {
    onLine: (bytes, isLast) => {
      if (!isLast) hash.update(bytes).update(LF);
    },
    onChunk: (at) => onProgress(at, size),
  });
  const first = await lines.next();
  const header = parseHeader(first.done === true ? undefined : first.value.bytes, path);
  const checked = async function* (): AsyncGenerator<TransferRecord> {
    for await (const { record, end: at } of parse(lines, (found) => (end = found))) {
      assertSound(record, at);
      records++;
      if (record.kind === 'item' && isPending(record.item)) queued++;
      yield record;
    }
  };
  const digest = await digestRecords(checked());
  if (end === undefined) throw damaged(size, 'endsEarly');
  const sha256 = hash.digest('hex');
  if (sha256 !== end.sha256) throw damaged(size, 'otherBytes');
  if (records !== end.records) throw damaged(size, 'recordCount', { found: records, expected: end.records });
  return { ...header, bytes: size, sha256, digest, queued };
}

/** The records of a verified backup, from the start or from where an earlier read ended. */
export async function* readBackup(path: string, from?: number): AsyncGenerator<BackupRecord> {
  await using file = await openBackup(path);
  const lines = readLines(file.handle, from ?? 0);
  if (from === undefined) await lines.next();
  yield* parse(lines, () => undefined);
}

interface FileLine {
  readonly bytes: Buffer;
  readonly offset: number;
}

async function* parse(
  lines: AsyncIterator<FileLine>,
  onEnd: (end: BackupEnd) => void,
): AsyncGenerator<BackupRecord> {
  for (;;) {
    const next = await lines.next();
    if (next.done === true) return;
    const { bytes, offset } = next.value;
    const parsed = parseRecord(bytes, offset);
    if ('end' in parsed) {
      if ((await lines.next()).done !== true) throw damaged(offset, 'afterEnd');
      onEnd(parsed.end);
      return;
    }
    if ('record' in parsed) {
      yield { record: parsed.record, end: offset + bytes.length + 1 };
      continue;
    }
    const { session, first, count } = parsed.lines;
    const parts: Buffer[] = [];
    let end = offset + bytes.length + 1;
    for (let i = 0; i < count; i++) {
      const line = await lines.next();
      if (line.done === true) throw damaged(end, 'endsInSession');
      if (end - offset > MAX_RECORD_BYTES) throw tooLong(offset, 'record', MAX_RECORD_BYTES);
      parts.push(line.value.bytes, LF);
      end = line.value.offset + line.value.bytes.length + 1;
    }
    yield { record: { kind: 'lines', session, first, bytes: Buffer.concat(parts) }, end };
  }
}

const isPending = ({ state }: InboxItem): boolean =>
  ['accepted', 'running', 'waiting', 'held'].includes(state);

function assertSound(record: TransferRecord, offset: number): void {
  if (record.kind === 'blob' && createHash('sha256').update(record.bytes).digest('hex') !== record.hash)
    throw damaged(offset, 'otherBlobBytes', { session: record.session });
  if (record.kind !== 'lines') return;
  const bytes = Buffer.from(record.bytes.buffer, record.bytes.byteOffset, record.bytes.length);
  let seq = record.first;
  for (let start = 0; start < bytes.length; seq++) {
    const end = bytes.indexOf(LF, start);
    const decoded = decodeLine(bytes.subarray(start, end));
    if (decoded.kind !== 'record' || decoded.seal === 'broken')
      throw damaged(offset, 'brokenLine', { session: record.session, line: seq });
    start = end + 1;
  }
}

function tooLong(offset: number, limit: 'line' | 'record', max: number): RepriseError {
  return failure('LIMIT_EXCEEDED', 'backup.tooLong', { limit, offset, max }, { details: { limit, max } });
}

interface LineEvents {
  readonly onLine?: (bytes: Buffer, isLast: boolean) => void;
  readonly onChunk?: (offset: number) => void;
}

/** Reads one chunk at a time, so that memory holds only the chunk and its last line. */
async function* readLines(
  handle: FileHandle,
  from: number,
  { onLine = () => undefined, onChunk = () => undefined }: LineEvents = {},
): AsyncGenerator<FileLine> {
  const { size } = await handle.stat();
  let waiting: FileLine[] = [];
  const splitter = createLineSplitter(
    MAX_LINE_BYTES,
    ({ bytes, offset, length, terminated }) => {
      if (!terminated) throw damaged(from + offset, 'endsInLine');
      onLine(bytes, from + offset + length + 1 === size);
      waiting.push({ bytes, offset: from + offset });
    },
    {
      onTooLong: (offset) => {
        throw tooLong(from + offset, 'line', MAX_LINE_BYTES);
      },
    },
  );
  for (let at = from; at < size; ) {
    const { bytesRead, buffer } = await handle.read(Buffer.allocUnsafe(CHUNK), 0, CHUNK, at);
    if (bytesRead === 0) break;
    at += bytesRead;
    splitter.push(buffer.subarray(0, bytesRead));
    if (at >= size) splitter.end();
    onChunk(at);
    const lines = waiting;
    waiting = [];
    yield* lines;
  }
}

async function openBackup(path: string): Promise<{ handle: FileHandle } & AsyncDisposable> {
  try {
    const handle = await open(path, 'r');
    if ((await handle.stat()).isFile()) return { handle, [Symbol.asyncDispose]: () => handle.close() };
    await handle.close();
  } catch (error) {
    const { code: errno = null } = error as NodeJS.ErrnoException;
    const isMissing = errno === 'ENOENT';
    throw failure(
      isMissing ? 'NOT_FOUND' : 'INVALID_INPUT',
      'backup.notRead',
      { path, problem: isMissing ? 'missing' : 'other', errno },
      { cause: error },
    );
  }
  throw failure('INVALID_INPUT', 'backup.notRead', { path, problem: 'notFile', errno: null });
}
