import { join } from 'node:path';
import { ControlStore } from '../control/control-store.ts';
import { findHome, prepareHome } from '../control/home.ts';
import type { Store } from '../store.ts';

export interface SqliteStoreOptions {
  readonly home: string;
  readonly durability?: 'disk' | 'os';
  readonly now?: string;
  readonly minFreeBytes?: number;
  readonly signals?: boolean;
  readonly sessionCacheTtlMs?: number;
  readonly search?: 'index' | 'scan';
  readonly readOnly?: boolean;
}

/** One file holds everything: the journal of the JSONL store, never emptied. */
export async function openSqliteStore({
  home,
  durability = 'disk',
  sessionCacheTtlMs,
  search = 'index',
  readOnly = false,
  ...options
}: SqliteStoreOptions): Promise<Store> {
  const folder = await (readOnly ? findHome(home) : prepareHome(home));
  return ControlStore.open({
    ...options,
    readOnly,
    path: join(folder, 'store.db'),
    durability,
    // An index would have to be written.
    supports: { search: readOnly ? 'scan' : search, durability, shared: true, live: 'process' },
    ...(sessionCacheTtlMs !== undefined && { cacheTtlMs: sessionCacheTtlMs }),
  });
}
