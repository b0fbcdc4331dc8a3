import type { Store } from '../port/store.ts';
import { ControlStore } from '../sqlite/control-store.ts';

export interface MemoryStoreOptions {
  readonly now?: string;
  readonly sessionCacheTtlMs?: number;
}

/** Opens a store that saves nothing: for tests, demos and sessions that must leave no trace. */
export async function openMemoryStore({ now, sessionCacheTtlMs }: MemoryStoreOptions = {}): Promise<Store> {
  return ControlStore.open({
    path: ':memory:',
    durability: 'os',
    supports: { search: 'scan', durability: 'none', shared: false, live: 'process' },
    ...(now !== undefined && { now }),
    ...(sessionCacheTtlMs !== undefined && { cacheTtlMs: sessionCacheTtlMs }),
  });
}
