import { lstat } from 'node:fs/promises';
import { Readable } from 'node:stream';
import { createZstdDecompress } from 'node:zlib';
import type { JsonObject } from '../../transcript/json.ts';
import { DEFAULT_RECORD_LIMITS } from '../../transcript/limits.ts';
import { decodeLine } from '../../transcript/line.ts';
import { createLineSplitter } from '../../transcript/split-lines.ts';
import type { LossCounter } from './loss-report.ts';
import { readBytes } from './source-files.ts';

/** A longer line is not parsed. */
export const MAX_LINE_BYTES: number = 32 * 1024 * 1024;
/** What a compressed file may become. */
const MAX_UNPACKED_BYTES = 4 * 1024 ** 3;

const LIMITS = { ...DEFAULT_RECORD_LIMITS, maxRecordBytes: MAX_LINE_BYTES };

/**
 * Passes each record of a file of lines on, in order. Lines that are no records are counted, except a last line that
 * its tool has not finished.
 */
export async function readRecords(
  path: string,
  onRecord: (record: JsonObject, line: number) => void,
  loss?: LossCounter,
): Promise<void> {
  let line = 0;
  const splitter = createLineSplitter(MAX_LINE_BYTES, ({ bytes, length, offset, terminated }) => {
    line++;
    const decoded =
      length > MAX_LINE_BYTES ? ({ kind: 'bad', reason: 'too-long' } as const) : decodeLine(bytes, LIMITS);
    if (decoded.kind === 'record') onRecord(decoded.record, line);
    else if (decoded.kind === 'bad') {
      const kind = terminated ? `line that is no record (${decoded.reason})` : 'unfinished last line';
      loss?.dropped(kind, `line ${line}, byte ${offset}, ${length} bytes`);
    }
  });
  let unpacked = 0;
  for await (const chunk of path.endsWith('.zst') ? unpack(path) : readBytes(path)) {
    unpacked += chunk.length;
    if (unpacked > MAX_UNPACKED_BYTES) {
      loss?.dropped('part beyond 4 GB', `line ${line}`);
      return;
    }
    splitter.push(chunk);
  }
  splitter.end();
}

async function* unpack(path: string): AsyncGenerator<Uint8Array> {
  const source = Readable.from(readBytes(path));
  const stream = source.pipe(createZstdDecompress());
  source.on('error', (error) => stream.destroy(error));
  try {
    for await (const chunk of stream) yield chunk as Uint8Array;
  } catch (error) {
    // A file that is still written, or was cut, ends in the middle of a frame. What was unpacked is used.
    const { code = '' } = error as NodeJS.ErrnoException;
    if (!code.startsWith('ZSTD_') && code !== 'Z_BUF_ERROR') throw error;
  }
}

/** Changes whenever a file is written. */
export async function stampOf(...paths: readonly string[]): Promise<string> {
  const stamps: string[] = [];
  for (const path of paths) {
    const { size, mtimeMs, ino } = await lstat(path);
    stamps.push(`${ino}:${size}:${mtimeMs}`);
  }
  return stamps.join(' ');
}
