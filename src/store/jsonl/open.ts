import { join } from 'node:path';
import { ControlStore } from '../control/control-store.ts';
import { findHome, prepareHome } from '../control/home.ts';
import type { Store } from '../store.ts';

export interface JsonlStoreOptions {
  readonly home: string;
  readonly durability?: 'disk' | 'os';
  readonly now?: string;
  readonly minFreeBytes?: number;
  readonly signals?: boolean;
  readonly sessionCacheTtlMs?: number;
  readonly search?: 'index' | 'scan';
  readonly readOnly?: boolean;
}

/** The default: SQLite commits, JSONL tells. Transcripts are complete within milliseconds, synced within a second. */
export async function openJsonlStore({
  home,
  durability = 'disk',
  sessionCacheTtlMs,
  search = 'index',
  readOnly = false,
  ...options
}: JsonlStoreOptions): Promise<Store> {
  const folder = await (readOnly ? findHome(home) : prepareHome(home));
  return ControlStore.open({
    ...options,
    readOnly,
    path: join(folder, 'control.db'),
    home: folder,
    durability,
    // An index would have to be written.
    supports: { search: readOnly ? 'scan' : search, durability, shared: true, live: 'process' },
    ...(sessionCacheTtlMs !== undefined && { cacheTtlMs: sessionCacheTtlMs }),
  });
}
