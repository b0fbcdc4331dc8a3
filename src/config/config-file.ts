import { closeSync, constants, fstatSync, openSync, readSync } from 'node:fs';
import type { RepriseError } from '../errors.ts';
import { failure } from '../messages/failure.ts';

export interface ConfigFile {
  readonly path: string;
  readonly bytes: Uint8Array;
  readonly text: string;
  /** Other users can read the file. */
  readonly isOpen: boolean;
}

const MAX_BYTES = 256 * 1024;
const OPEN_TO_OTHERS = 0o077;

/**
 * @returns undefined if there is no such file. Pipes, devices and huge files are refused, so that they cannot block the
 * start.
 */
export function readConfigFile(path: string): ConfigFile | undefined {
  let fd: number;
  try {
    fd = openSync(path, constants.O_RDONLY | constants.O_NONBLOCK);
  } catch (error) {
    const { code } = error as NodeJS.ErrnoException;
    if (code === 'ENOENT' || code === 'ENOTDIR') return undefined;
    throw fault(path, 'unreadable', { cause: error, errno: String(code) });
  }
  try {
    const stat = fstatSync(fd);
    if (!stat.isFile()) throw fault(path, 'notAFile');
    if (stat.size > MAX_BYTES) throw fault(path, 'tooLarge', { maxBytes: MAX_BYTES });
    const buffer = Buffer.alloc(MAX_BYTES + 1);
    let length = 0;
    for (let read = -1; read !== 0 && length < buffer.length; length += read)
      read = readSync(fd, buffer, length, buffer.length - length, null);
    if (length > MAX_BYTES) throw fault(path, 'tooLarge', { maxBytes: MAX_BYTES });
    const bytes = buffer.subarray(0, length);
    return { path, bytes, text: decode(path, bytes), isOpen: (stat.mode & OPEN_TO_OTHERS) !== 0 };
  } finally {
    closeSync(fd);
  }
}

function decode(path: string, bytes: Uint8Array): string {
  try {
    return new TextDecoder('utf-8', { fatal: true, ignoreBOM: true }).decode(bytes);
  } catch (error) {
    throw fault(path, 'notText', { cause: error });
  }
}

function fault(
  file: string,
  problem: 'unreadable' | 'notAFile' | 'tooLarge' | 'notText',
  { cause, ...more }: { readonly cause?: unknown; readonly errno?: string; readonly maxBytes?: number } = {},
): RepriseError {
  return failure(
    'CONFIG_INVALID',
    'config.badFile',
    { file, problem, ...more },
    { details: { file }, cause },
  );
}
