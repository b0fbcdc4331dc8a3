import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';

/** Every file below a folder whose bytes hold a text, as it is or as JSON spells it, with the text it holds. */
export function filesHolding(folder: string, texts: readonly string[]): string[] {
  return readdirSync(folder, { recursive: true, withFileTypes: true })
    .filter((entry) => entry.isFile())
    .flatMap((entry) => {
      const path = join(entry.parentPath, entry.name);
      const bytes = readFileSync(path);
      return texts
        .filter((text) => bytes.includes(text))
        .map((text) => `${path.slice(folder.length + 1)}: ${text}`);
    });
}
