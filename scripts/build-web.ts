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

/** Builds where there is none, or an older one. Answers whether it did. */
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

/** So often somebody else may put theirs in place between our two steps. */
const MAX_TRIES = 100;

/**
 * A folder cannot be renamed onto one that has files, so an old one goes first; whoever else does the same is as good.
 * What is there already, as the caller sees it, is left in its place: for a moment there would be none.
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
      // Somebody else has just moved it.
      if ((error as NodeJS.ErrnoException).code !== 'ENOENT') throw error;
    } finally {
      rmSync(old, { recursive: true, force: true });
    }
  }
}

if (import.meta.main) await buildWeb();
