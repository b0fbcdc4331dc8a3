import { readFileSync } from 'node:fs';
import { join, normalize } from 'node:path';

/** `[text](target)`, `![text](target)`; the anchor of a target is not checked here. */
const LINK = /\]\(([^)\s#]+)(?:#[^)]*)?\)/g;

/** Relative links in the Markdown files of a package that lead to no file or folder of it: `docs/a.md: ../src/b.ts`. */
export function brokenLinks(folder: string, files: readonly string[]): string[] {
  const known = new Set(files);
  for (const file of files)
    for (let at = file.indexOf('/'); at !== -1; at = file.indexOf('/', at + 1))
      known.add(file.slice(0, at + 1));
  return files
    .filter((file) => file.endsWith('.md'))
    .flatMap((file) =>
      [...readFileSync(join(folder, file), 'utf8').matchAll(LINK)].flatMap(([, target = '']) => {
        if (/^[a-z]+:/.test(target)) return [];
        const path = normalize(join(file, '..', target)).replaceAll('\\', '/');
        return known.has(path) || known.has(`${path}/`) ? [] : [`${file}: ${target}`];
      }),
    );
}
