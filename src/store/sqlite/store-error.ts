import { accessSync, closeSync, constants, openSync } from 'node:fs';
import { devNull } from 'node:os';
import { dirname } from 'node:path';
import { type ErrorCode, type Outcome, RepriseError } from '../../errors.ts';
import { failure } from '../../messages/failure.ts';
import type { DatabaseDamage, StoreProblem } from '../../messages/params/params-stores.ts';

const CORRUPT = 11;
const NOT_A_DATABASE = 26;

/** SQLite's primary result codes with a clear meaning. */
const BY_RESULT: Readonly<Record<number, ErrorCode>> = {
  5: 'STORE_BUSY',
  8: 'STORE_READ_ONLY',
  13: 'STORE_FULL',
  [CORRUPT]: 'STORE_CORRUPT',
  [NOT_A_DATABASE]: 'STORE_CORRUPT',
};
/** I/O error and "cannot open": SQLite does not report the reason. */
const UNEXPLAINED: ReadonlySet<number> = new Set([10, 14]);

const BY_ERRNO: Readonly<Record<string, ErrorCode>> = {
  EROFS: 'STORE_READ_ONLY',
  EACCES: 'STORE_READ_ONLY',
  EPERM: 'STORE_READ_ONLY',
  ENOSPC: 'STORE_FULL',
  EDQUOT: 'STORE_FULL',
};

const PROBLEMS: Readonly<Partial<Record<ErrorCode, StoreProblem>>> = {
  STORE_BUSY: 'busy',
  STORE_READ_ONLY: 'readOnly',
  STORE_FULL: 'full',
  STORE_CORRUPT: 'corrupt',
};

const NO_DESCRIPTORS: ReadonlySet<string> = new Set(['EMFILE', 'ENFILE']);

/** Translates errors of SQLite and of the file system into our codes, with a next step where one is known. */
export function storeError(error: unknown, outcome: Outcome = 'none', path?: string): RepriseError {
  if (error instanceof RepriseError) return error;
  const { errcode = 0, message = String(error) } = error as { errcode?: number; message?: string };
  const primary = errcode & 0xff;
  const place = path ?? (error as NodeJS.ErrnoException).path;
  const errno = UNEXPLAINED.has(primary) ? reasonFor(path) : errnoOf(error as NodeJS.ErrnoException);
  const code = BY_RESULT[primary] ?? BY_ERRNO[errno] ?? 'STORE_FAILED';
  return failure(
    code,
    'store.failed',
    {
      problem: NO_DESCRIPTORS.has(errno) ? 'openFiles' : (PROBLEMS[code] ?? 'other'),
      message: errno === '' ? message : `${message} (${errno})`,
      folder: place === undefined ? null : dirname(place),
    },
    { cause: error, outcome, details: errno === '' ? {} : { reason: errno } },
  );
}

/** Whether the database itself is damaged, as opposed to a transcript. */
export function isDamage(error: unknown): boolean {
  const { errcode = 0 } = ((error as { cause?: unknown }).cause ?? error ?? {}) as { errcode?: number };
  return [CORRUPT, NOT_A_DATABASE].includes(errcode & 0xff);
}

/** An error for damage that SQLite does not detect by itself. */
export function damage(problem: DatabaseDamage, found: string | null = null): RepriseError {
  return failure('STORE_CORRUPT', 'store.damaged', { problem, found }, { cause: { errcode: CORRUPT } });
}

/** The operating system's code. If a thread could not start, only the message contains it. */
function errnoOf({ code = '', message = '' }: Partial<NodeJS.ErrnoException>): string {
  if (code !== '' && !code.startsWith('ERR_')) return code;
  return /\bE(?:M|N)FILE\b/.exec(message)?.[0] ?? '';
}

/** Asks the system what SQLite will not say. The database itself is never opened: closing it would drop its locks. */
function reasonFor(path: string | undefined): string {
  try {
    closeSync(openSync(devNull, 'r'));
    if (path === undefined || path === ':memory:') return '';
    accessSync(dirname(path), constants.R_OK | constants.W_OK | constants.X_OK);
    for (const suffix of ['', '-wal', '-shm']) {
      try {
        accessSync(path + suffix, constants.R_OK | constants.W_OK);
      } catch (error) {
        if ((error as NodeJS.ErrnoException).code !== 'ENOENT') throw error;
      }
    }
    return '';
  } catch (error) {
    return (error as NodeJS.ErrnoException).code ?? '';
  }
}
