import { mkdir, realpath, stat } from 'node:fs/promises';
import { RepriseError } from '../../errors.ts';

/** Makes the home folder, or says why it cannot be one; answers its real path. */
export async function prepareHome(home: string): Promise<string> {
  try {
    await mkdir(home, { recursive: true, mode: 0o700 });
    const found = await stat(home);
    if (!found.isDirectory()) throw notAFolder(home);
    return await realpath(home);
  } catch (error) {
    if (error instanceof RepriseError) throw error;
    const { code } = error as NodeJS.ErrnoException;
    if (code === 'EEXIST' || code === 'ENOTDIR') throw notAFolder(home);
    throw new RepriseError('STORE_READ_ONLY', `cannot use ${home}: ${code ?? String(error)}`, {
      cause: error,
      details: { next: 'Choose a folder you can write to.' },
    });
  }
}

function notAFolder(home: string): RepriseError {
  return new RepriseError('INVALID_INPUT', `${home} is not a folder`, {
    details: { next: 'Choose a folder; it is made if it does not exist.' },
  });
}
