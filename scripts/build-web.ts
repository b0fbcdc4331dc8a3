/**
 * The web page, from web/ into dist/web. A checkout builds it when it is first served and when its sources are newer, so
 * that `npm ci` needs no install script; the published package holds it built.
 */
import { randomUUID } from 'node:crypto';
import { globSync, renameSync, rmSync, statSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';

const root = fileURLToPath(new URL('..', import.meta.url));
const out = join(root, 'dist/web');
const SOURCES = ['web/**/*.*', 'src/client/*.ts', 'src/errors.ts', 'package-lock.json'];

/** Builds the page if it is missing or older than its sources. @returns whether it did. */
export async function ensureWeb(): Promise<boolean> {
  const newest = Math.max(
    ...globSync(SOURCES, { cwd: root }).map((file) => statSync(join(root, file)).mtimeMs),
  );
  const isThere = (): boolean => {
    const built = statSync(join(out, 'index.html'), { throwIfNoEntry: false });
    return built !== undefined && built.mtimeMs >= newest;
  };
  if (isThere()) return false;
  // Of several that build at once the first is as good as the others, and a server may be reading it.
  await buildWeb(isThere);
  return true;
}

/** Aside and then in place of the old one: two that build at once, or a server that reads, never see a half. */
export async function buildWeb(isThere?: () => boolean): Promise<void> {
  const { build } = await import('vite');
  const aside = `${out}-${randomUUID()}`;
  // Vite believes who runs it: under a test runner it would build what is for developers.
  const { NODE_ENV } = process.env;
  process.env['NODE_ENV'] = 'production';
  try {
    await build({ configFile: join(root, 'web/vite.config.ts'), build: { outDir: aside } });
    replaceFolder(out, aside, isThere);
  } finally {
    rmSync(aside, { recursive: true, force: true });
    if (NODE_ENV === undefined) delete process.env['NODE_ENV'];
    else process.env['NODE_ENV'] = NODE_ENV;
  }
}

/** How often another process may put its build in place between our two steps. */
const MAX_TRIES = 100;

/**
 * A folder cannot be renamed onto one that has files, so an old one is moved away first. If another process does the same,
 * its build is as good. A folder that `isThere` accepts is left in place: without it, the page would be missing for a moment.
 */
export function replaceFolder(
  target: string,
  aside: string,
  isThere: () => boolean = (): boolean => false,
): void {
  for (let tries = 1; !isThere(); tries++) {
    const old = `${aside}-old-${tries}`;
    try {
      renameSync(aside, target);
      return;
    } catch (error) {
      const { code = '' } = error as NodeJS.ErrnoException;
      if ((code !== 'ENOTEMPTY' && code !== 'EEXIST') || tries === MAX_TRIES) throw error;
    }
    if (isThere()) return;
    try {
      renameSync(target, old);
    } catch (error) {
      // Another process has just moved it.
      if ((error as NodeJS.ErrnoException).code !== 'ENOENT') throw error;
    } finally {
      rmSync(old, { recursive: true, force: true });
    }
  }
}

if (import.meta.main) await buildWeb();
