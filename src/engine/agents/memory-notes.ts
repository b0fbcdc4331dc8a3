import { readdir } from 'node:fs/promises';
import { join } from 'node:path';
import type { SessionRecord } from '../../store/port/store.ts';

/* The format of MEMORY.md: one section per note. The heading names the session that the note came from. */

export const MEMORY_FILE = 'MEMORY.md';
const HEADING = /^## \d{4}-\d\d-\d\d, .*$/m;

type Noted = Pick<SessionRecord, 'id' | 'title' | 'sessionKey'>;

export function memoryHeading({ id, title, sessionKey }: Noted, at: Date): string {
  return `## ${at.toISOString().slice(0, 10)}, ${title === '' ? sessionKey : title} (${id})`;
}

/** Whether a note belongs to a session. Notes of older versions have no id and are recognized by title or key. */
export function isMemoryOf(heading: string, { id, title, sessionKey }: Noted): boolean {
  const name = heading.replace(/^## \d{4}-\d\d-\d\d, /, '');
  return name.endsWith(`(${id})`) || name === sessionKey || (title !== '' && name === title);
}

export interface MemorySection {
  /** Empty for text that a person wrote before the first note. */
  readonly heading: string;
  readonly text: string;
}

export function memorySections(text: string): MemorySection[] {
  const starts = [...text.matchAll(new RegExp(HEADING, 'gm'))].map(({ index }) => index);
  const bounds = [...(starts[0] === 0 ? [] : [0]), ...starts];
  return bounds
    .map((start, i) => text.slice(start, bounds[i + 1]))
    .filter((section) => section !== '')
    .map((section) => ({ heading: HEADING.exec(section)?.[0] ?? '', text: section }));
}

/** All possible MEMORY.md files: of workspaces inside and outside the home, and of sandboxed sessions. */
export async function memoryFilesIn(
  home: string | undefined,
  workspaces: readonly string[],
): Promise<readonly string[]> {
  const agents = home === undefined ? [] : await namesIn(join(home, 'agents'));
  const folders = agents.map((agent) => join(home ?? '', 'agents', agent));
  const shared = [...workspaces, ...folders.map((folder) => join(folder, 'workspace'))];
  const parents = [
    ...shared.map((folder) => join(folder, 'sessions')),
    ...folders.map((folder) => join(folder, 'workspaces')),
  ];
  const own = await Promise.all(
    parents.map(async (parent) => (await namesIn(parent)).map((name) => join(parent, name))),
  );
  return [...shared, ...own.flat()].map((folder) => join(folder, MEMORY_FILE));
}

async function namesIn(folder: string): Promise<readonly string[]> {
  return readdir(folder).catch((error: NodeJS.ErrnoException) => {
    if (error.code === 'ENOENT' || error.code === 'ENOTDIR') return [];
    throw error;
  });
}
