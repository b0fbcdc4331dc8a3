import { existsSync, readdirSync } from 'node:fs';
import { join } from 'node:path';
import { failure } from '../messages/failure.ts';

/*
 * Detects from its files which kind of store a home holds, if no kind is configured. Settings, commands and programs all
 * use this module: opening the other kind would create an empty store next to a full one, and the user would miss all
 * sessions (I-82).
 */

/** The database file by which each kind of store in a home is recognized. */
export const STORE_FILES = { jsonl: 'control.db', sqlite: 'store.db' } as const;
export type LocalKind = keyof typeof STORE_FILES;

/**
 * The kinds of store in a home, the one in use first. A database outranks transcripts, and of two databases the one
 * with transcripts is first. Transcripts alone are a jsonl store, whose database is rebuilt.
 */
export function storesIn(home: string): readonly LocalKind[] {
  const hasFile = (kind: LocalKind): boolean => existsSync(join(home, STORE_FILES[kind]));
  const files = (['jsonl', 'sqlite'] as const).filter(hasFile);
  return !files.includes('jsonl') && hasTranscripts(home) ? [...files, 'jsonl'] : files;
}

/** The kind to open if none is configured. */
export function kindIn(home: string): LocalKind {
  return storesIn(home)[0] ?? 'jsonl';
}

/** The unused store of a home that holds two; undefined otherwise. */
export function unusedIn(home: string, used: string): LocalKind | undefined {
  const found = storesIn(home);
  return found.some((kind) => kind === used) ? found.find((kind) => kind !== used) : undefined;
}

/** The file or folder by which a kind is recognized, for messages. */
export function filesOf(home: string, kind: LocalKind): string {
  return existsSync(join(home, STORE_FILES[kind])) ? STORE_FILES[kind] : 'transcripts in agents/';
}

/** Refuses to create an empty store next to a full one, even if that kind was configured. */
export function assertKindFits(home: string, kind: string): void {
  const all = storesIn(home);
  const [found] = all;
  if (found === undefined || !Object.hasOwn(STORE_FILES, kind) || all.some((each) => each === kind)) return;
  throw failure('INVALID_INPUT', 'store.otherKind', { home, found, kind });
}

function hasTranscripts(home: string): boolean {
  const agents = join(home, 'agents');
  if (!existsSync(agents)) return false;
  try {
    return readdirSync(agents).some((agent) => existsSync(join(agents, agent, 'sessions')));
  } catch {
    return true; // an unreadable folder; opening the store reports why
  }
}
