import { ControlStore } from '../control/control-store.ts';
import type { Store } from '../store.ts';

export interface MemoryStoreOptions {
  readonly now?: string;
}

/** Keeps nothing: for tests, demos and sessions that shall leave no trace. */
export async function openMemoryStore({ now }: MemoryStoreOptions = {}): Promise<Store> {
  return ControlStore.open({
    path: ':memory:',
    durability: 'os',
    supports: { search: 'scan', durability: 'none', shared: false, live: 'process' },
    ...(now !== undefined && { now }),
  });
}
