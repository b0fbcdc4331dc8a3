import { createHash, randomUUID } from 'node:crypto';
import { chmodSync, mkdirSync, readFileSync, realpathSync, renameSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import type { RepriseError } from '../errors.ts';
import { failure } from '../messages/failure.ts';
import { isObject } from '../transcript/json.ts';

/** A trusted file: its real path and the hash of its trusted content. */
export interface Trust {
  readonly path: string;
  readonly sha256: string;
}

/** Hashes the bytes that were parsed, not a second read: the file may have changed in between. */
export function trustOf(file: string, bytes: Uint8Array): Trust {
  return { path: realpathSync(file), sha256: createHash('sha256').update(bytes).digest('hex') };
}

export function isTrusted(folder: string, { path, sha256 }: Trust): boolean {
  const known = readTrusted(folder);
  return known.get(path) === sha256;
}

/** Stores the trust for this user, readable by this user only. */
export function rememberTrust(folder: string, { path, sha256 }: Trust): string {
  const known = readTrusted(folder);
  known.set(path, sha256);
  mkdirSync(folder, { recursive: true, mode: 0o700 });
  const file = trustFile(folder);
  const fresh = join(dirname(file), `.trusted-${randomUUID()}`);
  writeFileSync(fresh, `${JSON.stringify({ trusted: Object.fromEntries(known) }, null, 2)}\n`, {
    mode: 0o600,
    flag: 'wx',
  });
  chmodSync(fresh, 0o600);
  // Written atomically: of two processes that trust at once, one list wins, and it is complete.
  renameSync(fresh, file);
  return file;
}

function trustFile(folder: string): string {
  return join(folder, 'trusted.json');
}

/** If the list cannot be read nothing is trusted, and the list is not overwritten silently. */
function readTrusted(folder: string): Map<string, string> {
  const file = trustFile(folder);
  let text: string;
  try {
    text = readFileSync(file, 'utf8');
  } catch (error) {
    // Nothing is trusted yet.
    if ((error as NodeJS.ErrnoException).code === 'ENOENT') return new Map();
    throw unreadable(file, error);
  }
  try {
    const parsed: unknown = JSON.parse(text);
    const trusted = isObject(parsed) ? parsed['trusted'] : undefined;
    if (!isObject(trusted)) throw new SyntaxError('no list');
    return new Map(Object.entries(trusted).map(([path, hash]) => [path, String(hash)]));
  } catch (error) {
    throw unreadable(file, error);
  }
}

function unreadable(file: string, cause: unknown): RepriseError {
  return failure('CONFIG_INVALID', 'config.badTrustFile', { file }, { details: { file }, cause });
}
