import { randomBytes } from 'node:crypto';
import { chmod, mkdir, open, readFile, stat } from 'node:fs/promises';
import { dirname } from 'node:path';
import { RepriseError } from '../errors.ts';

const TOKEN_BYTES = 32;
const OPEN_TO_OTHERS = 0o077;
const MIN_CHARS = 16;
const TOKEN = /^[\x21-\x7e]+$/;

/** The token of a file, made there for its owner alone on the first start. Two servers that start at once agree. */
export async function loadTokenFile(file: string, { make }: { readonly make: boolean }): Promise<string> {
  if (make) await makeTokenFile(file);
  let text: string;
  try {
    const { mode } = await stat(file);
    if ((mode & OPEN_TO_OTHERS) !== 0) await chmod(file, 0o600);
    text = await readFile(file, 'utf8');
  } catch (cause) {
    throw new RepriseError('CONFIG_INVALID', `cannot read the token file ${file}`, {
      details: { file, next: 'Name a file that holds a token, or leave --token-file out.' },
      cause,
    });
  }
  return parseToken(text.trim(), file);
}

export function parseToken(token: string, origin: string): string {
  if (token.length >= MIN_CHARS && TOKEN.test(token)) return token;
  throw new RepriseError(
    'CONFIG_INVALID',
    `the token of ${origin} is none: it takes ${MIN_CHARS} visible characters`,
    {
      details: { next: 'Make one: head -c 32 /dev/urandom | base64' },
    },
  );
}

async function makeTokenFile(file: string): Promise<void> {
  await mkdir(dirname(file), { recursive: true, mode: 0o700 });
  try {
    // Exclusive: never over a token that is in use, and never through a link somebody left there.
    const made = await open(file, 'wx', 0o600);
    try {
      await made.writeFile(`${randomBytes(TOKEN_BYTES).toString('base64url')}\n`);
      await made.sync();
    } finally {
      await made.close();
    }
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== 'EEXIST')
      throw new RepriseError('CONFIG_INVALID', `cannot write the token file ${file}`, {
        details: { file, next: 'Name another with --token-file.' },
        cause: error,
      });
  }
}
