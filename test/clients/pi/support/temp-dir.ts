import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';

/** A temporary folder for one test: `using dir = openTempDir()`. */
export function openTempDir(): Disposable & { readonly path: string; file(name: string): string } {
  const path = mkdtempSync(join(tmpdir(), 'reprise-interop-'));
  return {
    path,
    file: (name) => join(path, name),
    [Symbol.dispose]: () => rmSync(path, { recursive: true, force: true }),
  };
}
