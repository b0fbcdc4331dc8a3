import { readFileSync } from 'node:fs';

/** The source file of each entry point of the package, by import name, as file URLs. */
export function ownSources(): Readonly<Record<string, string>> {
  const root = new URL('../', import.meta.url);
  const { compilerOptions } = JSON.parse(readFileSync(new URL('tsconfig.json', root), 'utf8')) as {
    readonly compilerOptions: { readonly paths: Readonly<Record<string, readonly [string]>> };
  };
  return Object.fromEntries(
    Object.entries(compilerOptions.paths).map(([name, [path]]) => [name, new URL(path, root).href]),
  );
}
