import { createHash, randomUUID } from 'node:crypto';
import { chmodSync, mkdirSync, readFileSync, realpathSync, renameSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import type { RepriseError } from '../errors.ts';
import { failure } from '../messages/failure.ts';
import { isObject } from '../transcript/json.ts';

/** What was trusted: the real path of a file, and the hash of what it said then. */
export interface Trust {
  readonly path: string;
  readonly sha256: string;
}

/** Of the bytes that are read as settings, never of a second look at the file: it may have changed in between. */
export function trustOf(file: string, bytes: Uint8Array): Trust {
  return { path: realpathSync(file), sha256: createHash('sha256').update(bytes).digest('hex') };
}

export function isTrusted(folder: string, { path, sha256 }: Trust): boolean {
  const known = readTrusted(folder);
  return known.get(path) === sha256;
}

/** Remembers it for this user. Others may not even read what is trusted where. */
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
  // Whole or not at all: two who trust at once leave one of the two lists, never half of one.
  renameSync(fresh, file);
  return file;
}

function trustFile(folder: string): string {
  return join(folder, 'trusted.json');
}

/** A list that cannot be read trusts nothing, and is not silently replaced. */
function readTrusted(folder: string): Map<string, string> {
  const file = trustFile(folder);
  let text: string;
  try {
    text = readFileSync(file, 'utf8');
  } catch (error) {
    // Nobody has trusted anything yet.
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
