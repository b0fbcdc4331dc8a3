import { randomBytes, randomUUID } from 'node:crypto';
import { chmod, link, lstat, mkdir, readFile, rename, rm, stat, writeFile } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import type { RepriseError } from '../../errors.ts';
import { failure } from '../../messages/failure.ts';

const TOKEN_BYTES = 32;
const OPEN_TO_OTHERS = 0o077;
const MIN_CHARS = 16;
/** How often and long to wait for a token that another process is writing. */
const MAX_LOOKS = 50;
const LOOK_MS = 10;
const TOKEN = /^[\x21-\x7e]+$/;

/** The default token file of a home. */
export function tokenFileIn(home: string): string {
  return join(home, 'server-token');
}

/**
 * Reads the token file, creating it on the first start, readable by the owner only. Two servers that start at once use
 * the same token.
 */
export async function loadTokenFile(file: string, { make }: { readonly make: boolean }): Promise<string> {
  if (make) await makeTokenFile(file);
  let text: string;
  try {
    const { mode } = await stat(file);
    if (isOpenToOthers(mode)) await chmod(file, 0o600);
    text = await readFile(file, 'utf8');
    for (let look = 0; make && text === '' && look < MAX_LOOKS; look++) {
      await delay(LOOK_MS);
      text = await readFile(file, 'utf8');
    }
  } catch (cause) {
    throw tokenUnreadable(file, cause);
  }
  return parseToken(text.trim(), file);
}

export function parseToken(token: string, origin: string): string {
  if (isToken(token)) return token;
  throw failure('CONFIG_INVALID', 'token.notValid', { origin, min: MIN_CHARS });
}

export function isOpenToOthers(mode: number): boolean {
  return (mode & OPEN_TO_OTHERS) !== 0;
}

export function isToken(text: string): boolean {
  return text.length >= MIN_CHARS && TOKEN.test(text);
}

/** Replaces the token in one step: a server that reads the file sees the old token or the new one, never a part. */
export async function rotateTokenFile(file: string): Promise<void> {
  const draft = `${file}.${randomUUID()}.tmp`;
  try {
    await mkdir(dirname(file), { recursive: true, mode: 0o700 });
    await writeFile(draft, newToken(), ALONE);
    await rename(draft, file);
  } catch (cause) {
    throw cannotWrite(file, cause);
  } finally {
    await rm(draft, { force: true }).catch(() => undefined); // reported above
  }
}

/** @returns false if there was no token. */
export async function revokeTokenFile(file: string): Promise<boolean> {
  try {
    await rm(file);
    return true;
  } catch (cause) {
    if (codeOf(cause) === 'ENOENT') return false;
    throw cannotWrite(file, cause);
  }
}

function newToken(): string {
  return `${randomBytes(TOKEN_BYTES).toString('base64url')}\n`;
}

function cannotWrite(file: string, cause: unknown): RepriseError {
  const params = { file, reason: reasonOf(cause) };
  return failure('CONFIG_INVALID', 'token.notWritten', params, { cause, details: { file } });
}

export function tokenUnreadable(file: string, cause: unknown): RepriseError {
  const params = { file, reason: reasonOf(cause) };
  return failure('CONFIG_INVALID', 'token.unreadable', params, { cause, details: { file } });
}

function reasonOf(cause: unknown): string {
  return (cause as NodeJS.ErrnoException).code ?? String(cause);
}

/**
 * Creates the file complete: another server that starts at the same time reads a whole token or creates one. The token
 * is written to a draft and linked to its name, so it never replaces an existing token and never follows a symbolic
 * link. On a file system without hard links the file is empty for a moment; readers wait.
 */
async function makeTokenFile(file: string): Promise<void> {
  const draft = `${file}.${randomUUID()}.tmp`;
  try {
    await mkdir(dirname(file), { recursive: true, mode: 0o700 });
    if (await isThere(file)) return;
    const token = newToken();
    await writeFile(draft, token, ALONE);
    await link(draft, file)
      .catch((error: unknown) => {
        // Not renamed: that would replace a token that another process has created meanwhile.
        if (NO_LINKS.has(codeOf(error))) return writeFile(file, token, ALONE);
        throw error;
      })
      .catch((error: unknown) => {
        if (codeOf(error) !== 'EEXIST') throw error;
      });
  } catch (cause) {
    throw cannotWrite(file, cause);
  } finally {
    // If the draft could not be written, removing it fails too. The first error is already reported.
    await rm(draft, { force: true }).catch(() => undefined);
  }
}

/** Readable by the owner only, and never replacing an existing file. */
const ALONE = { flag: 'wx', mode: 0o600, flush: true } as const;

/** Error codes of file systems without hard links, or on which the process may not create them. */
const NO_LINKS: ReadonlySet<string> = new Set(['EPERM', 'EACCES', 'ENOTSUP', 'ENOSYS']);

async function isThere(file: string): Promise<boolean> {
  return lstat(file).then(
    () => true,
    (error: unknown) => {
      if (codeOf(error) === 'ENOENT') return false;
      throw error;
    },
  );
}

function codeOf(error: unknown): string {
  return (error as NodeJS.ErrnoException).code ?? '';
}
