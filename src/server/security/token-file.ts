import { randomBytes, randomUUID } from 'node:crypto';
import { chmod, link, lstat, mkdir, readFile, rename, rm, stat, writeFile } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import { RepriseError } from '../../errors.ts';

const TOKEN_BYTES = 32;
const OPEN_TO_OTHERS = 0o077;
const MIN_CHARS = 16;
/** How long a token that is being written beside us is waited for. */
const MAX_LOOKS = 50;
const LOOK_MS = 10;
const TOKEN = /^[\x21-\x7e]+$/;

/** Where the token of a home is unless a setting names another file. */
export function tokenFileIn(home: string): string {
  return join(home, 'server-token');
}

/** The token of a file, made there for its owner alone on the first start. Two servers that start at once agree. */
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
    throw new RepriseError('CONFIG_INVALID', `cannot read the token file ${file}`, {
      details: { file, next: 'Name a file that contains a token, or leave --token-file out.' },
      cause,
    });
  }
  return parseToken(text.trim(), file);
}

export function parseToken(token: string, origin: string): string {
  if (isToken(token)) return token;
  throw new RepriseError(
    'CONFIG_INVALID',
    `the token in ${origin} is not valid: it must have at least ${MIN_CHARS} visible ASCII characters and no spaces`,
    {
      details: { next: 'Generate one: head -c 32 /dev/urandom | base64' },
    },
  );
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
  return new RepriseError('CONFIG_INVALID', `cannot write the token file ${file}`, {
    details: { file, next: 'Name another file with --token-file.' },
    cause,
  });
}

/**
 * Whole from the moment it is there: who starts beside us reads a token or makes one, never half of ours. Linked under
 * its name, so never over a token that is in use, and never through a link somebody left there. On a disk without links
 * it is empty for a moment, which who reads it waits out.
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
        // Not renamed, which would put it in the place of a token that came meanwhile.
        if (NO_LINKS.has(codeOf(error))) return writeFile(file, token, ALONE);
        throw error;
      })
      .catch((error: unknown) => {
        if (codeOf(error) !== 'EEXIST') throw error;
      });
  } catch (cause) {
    throw cannotWrite(file, cause);
  } finally {
    // Where it could not be written it cannot be removed either, and what went wrong is told already.
    await rm(draft, { force: true }).catch(() => undefined);
  }
}

/** For its owner, and never over what is there. */
const ALONE = { flag: 'wx', mode: 0o600, flush: true } as const;

/** What disks say that know no second name of a file, or systems that let nobody give one. */
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
