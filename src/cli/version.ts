import { readFileSync } from 'node:fs';

/** Of this package. The build keeps its files as deep below it as the sources are. */
export function packageVersion(): string {
  const text = readFileSync(new URL('../../package.json', import.meta.url), 'utf8');
  return (JSON.parse(text) as { readonly version: string }).version;
}
