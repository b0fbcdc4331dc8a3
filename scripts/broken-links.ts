import { readFileSync } from 'node:fs';
import { join, normalize } from 'node:path';

/** `[text](target)`, `![text](target)`. */
const LINK = /\]\(([^)\s#]*)(?:#([^)\s]*))?\)/g;
const CODE_BLOCK = /^```[\s\S]*?^```/gm;

/**
 * Relative links in the Markdown files of a package or checkout that lead to no file or folder of it, or to no heading:
 * `docs/a.md: ../src/b.ts`, `docs/a.md: b.md#missing`.
 */
export function brokenLinks(folder: string, files: readonly string[]): string[] {
  const known = new Set(files);
  for (const file of files)
    for (let at = file.indexOf('/'); at !== -1; at = file.indexOf('/', at + 1))
      known.add(file.slice(0, at + 1));
  const anchors = new Map<string, ReadonlySet<string>>();
  const hasHeading = (path: string, anchor: string): boolean => {
    const found = anchors.get(path) ?? anchorsOf(readFileSync(join(folder, path), 'utf8'));
    anchors.set(path, found);
    return found.has(anchor);
  };
  return files
    .filter((file) => file.endsWith('.md'))
    .flatMap((file) => {
      const text = readFileSync(join(folder, file), 'utf8').replace(CODE_BLOCK, '');
      return [...text.matchAll(LINK)].flatMap(([link, target = '', anchor]) => {
        if (/^[a-z]+:/.test(target) || link === ']()') return [];
        const path = target === '' ? file : normalize(join(file, '..', target)).replaceAll('\\', '/');
        const isFound = known.has(path) || known.has(`${path}/`);
        const isHeading =
          anchor === undefined || !path.endsWith('.md') || !isFound || hasHeading(path, anchor);
        return isFound && isHeading ? [] : [`${file}: ${link.slice(2, -1)}`];
      });
    });
}

/** The anchors that GitHub gives to the headings of a page. */
function anchorsOf(text: string): ReadonlySet<string> {
  const anchors = new Set<string>();
  for (const [, heading = ''] of text.replace(CODE_BLOCK, '').matchAll(/^#+ (.+)$/gm)) {
    const anchor = heading
      .trim()
      .toLowerCase()
      .replace(/[^\p{L}\p{N}\s_-]/gu, '')
      .replaceAll(' ', '-');
    let unique = anchor;
    for (let n = 1; anchors.has(unique); n++) unique = `${anchor}-${n}`;
    anchors.add(unique);
  }
  return anchors;
}
