import { existsSync, readdirSync } from 'node:fs';
import { join } from 'node:path';
import { failure } from '../messages/failure.ts';

/*
 * Which store a home holds is seen by its files, and decided here for everybody who was not told: settings, commands and
 * programs. Whoever opened the other kind would make an empty store beside a full one, and nobody would look into the
 * full one again (I-82).
 */

/** Those that live in the home keep a file of their own there, by which they are known. */
export const STORE_FILES = { jsonl: 'control.db', sqlite: 'store.db' } as const;
export type LocalKind = keyof typeof STORE_FILES;

/**
 * The kinds of store a home holds, the one that is used first: it has its database, and of two databases it is the one
 * of transcripts. Transcripts alone are a store too, whose database is made anew.
 */
export function storesIn(home: string): readonly LocalKind[] {
  const hasFile = (kind: LocalKind): boolean => existsSync(join(home, STORE_FILES[kind]));
  const files = (['jsonl', 'sqlite'] as const).filter(hasFile);
  return !files.includes('jsonl') && hasTranscripts(home) ? [...files, 'jsonl'] : files;
}

/** What is opened where nobody says a kind. */
export function kindIn(home: string): LocalKind {
  return storesIn(home)[0] ?? 'jsonl';
}

/** Undefined but for a home that holds two stores: which of them is not in use. */
export function unusedIn(home: string, used: string): LocalKind | undefined {
  const found = storesIn(home);
  return found.some((kind) => kind === used) ? found.find((kind) => kind !== used) : undefined;
}

/** By what it is seen in a folder. */
export function filesOf(home: string, kind: LocalKind): string {
  return existsSync(join(home, STORE_FILES[kind])) ? STORE_FILES[kind] : 'transcripts in agents/';
}

/** An empty store beside a full one is not what was asked for, even where its kind was. */
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
    return true; // a folder that cannot be read: whoever opens the store says why
  }
}
