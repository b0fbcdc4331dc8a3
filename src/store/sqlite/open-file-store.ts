import { join } from 'node:path';
import type { Store } from '../port/store.ts';
import { ControlStore } from './control-store.ts';
import { findHome, prepareHome } from './home.ts';

/** Of the stores that live in a folder. */
export interface FileStoreOptions {
  readonly home: string;
  readonly durability?: 'disk' | 'os';
  readonly now?: string;
  readonly minFreeBytes?: number;
  readonly signals?: boolean;
  readonly sessionCacheTtlMs?: number;
  readonly search?: 'index' | 'scan';
  readonly readOnly?: boolean;
  /** A `sessions.json` with changes of something else was moved to this path. */
  readonly onEdited?: (file: string) => void;
}

interface FileLayout {
  /** Name of the database in the folder. */
  readonly database: string;
  /** Whether transcripts stand beside it. */
  readonly hasTranscripts: boolean;
}

export async function openFileStore(
  {
    home,
    durability = 'disk',
    sessionCacheTtlMs,
    search = 'index',
    readOnly = false,
    ...options
  }: FileStoreOptions,
  { database, hasTranscripts }: FileLayout,
): Promise<Store> {
  const folder = await (readOnly ? findHome(home) : prepareHome(home));
  return ControlStore.open({
    ...options,
    readOnly,
    path: join(folder, database),
    ...(hasTranscripts && { home: folder }),
    durability,
    // An index would have to be written.
    supports: { search: readOnly ? 'scan' : search, durability, shared: true, live: 'process' },
    ...(sessionCacheTtlMs !== undefined && { cacheTtlMs: sessionCacheTtlMs }),
  });
}
