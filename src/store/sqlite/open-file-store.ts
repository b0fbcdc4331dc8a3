import { join } from 'node:path';
import type { Store } from '../port/store.ts';
import { ControlStore } from './control-store.ts';
import { findHome, prepareHome } from './home.ts';

/** Options of the stores that live in a folder. */
export interface FileStoreOptions {
  readonly home: string;
  readonly durability?: 'disk' | 'os';
  readonly now?: string;
  readonly minFreeBytes?: number;
  readonly signals?: boolean;
  readonly sessionCacheTtlMs?: number;
  readonly search?: 'index' | 'scan';
  readonly readOnly?: boolean;
  /** Called after another program's changes to `sessions.json` were found; the edited file was moved to this path. */
  readonly onEdited?: (file: string) => void;
}

interface FileLayout {
  /** File name of the database in the home. */
  readonly database: string;
  /** Whether the home has transcript files beside the database. */
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
    // A read-only store cannot build an index.
    supports: { search: readOnly ? 'scan' : search, durability, shared: true, live: 'process' },
    ...(sessionCacheTtlMs !== undefined && { cacheTtlMs: sessionCacheTtlMs }),
  });
}
