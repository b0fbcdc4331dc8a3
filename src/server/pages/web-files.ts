import { existsSync, readdirSync, readFileSync } from 'node:fs';
import { extname, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { gzipSync } from 'node:zlib';

export interface WebFile {
  readonly type: string;
  readonly bytes: Buffer;
  readonly gzip: Buffer;
}

/** The page as it was built: `index.html`, and what it names under `assets/`, by file name. */
export interface WebFiles {
  readonly index: WebFile;
  readonly assets: ReadonlyMap<string, WebFile>;
}

const TYPES: Readonly<Record<string, string>> = {
  '.html': 'text/html; charset=utf-8',
  '.js': 'text/javascript; charset=utf-8',
  '.css': 'text/css; charset=utf-8',
  '.svg': 'image/svg+xml',
};

/** Beside the bundled command, beside the compiled sources of an installed package, and in a checkout. */
const FOLDERS: readonly string[] = ['../web', '../../../web', '../../../dist/web'].map((path) =>
  fileURLToPath(new URL(path, import.meta.url)),
);

/** All of it, read once: a request can name nothing that was not there. Undefined: it has not been built. */
export function readWebFiles(folders: readonly string[] = FOLDERS): WebFiles | undefined {
  const folder = folders.find((candidate) => existsSync(join(candidate, 'assets')));
  if (folder === undefined) return undefined;
  const assets = new Map<string, WebFile>();
  for (const name of readdirSync(join(folder, 'assets')))
    if (TYPES[extname(name)] !== undefined) assets.set(name, readFile(join(folder, 'assets', name)));
  return { index: readFile(join(folder, 'index.html')), assets };
}

function readFile(path: string): WebFile {
  const bytes = readFileSync(path);
  let packed: Buffer | undefined;
  return {
    type: TYPES[extname(path)] ?? 'application/octet-stream',
    bytes,
    // Once, when it is first asked for: most servers of tests never are.
    get gzip() {
      packed ??= gzipSync(bytes, { level: 9 });
      return packed;
    },
  };
}
