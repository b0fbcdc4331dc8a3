import type { Store } from '../store/port/store.ts';
import { type OpenStoreOptions, openFittingStore } from './open.ts';
import type { Config } from './schema.ts';

/** The store the configuration names; without `session.enabled` one that keeps nothing. */
export function openConfiguredStore(
  { home, store, session }: Pick<Config, 'home' | 'store' | 'session'>,
  { signals = false, onWarning }: Pick<OpenStoreOptions, 'signals' | 'onWarning'> = {},
): Promise<Store> {
  const { kind, ...rest } = store;
  return openFittingStore({
    ...{ ...rest, kind: (session.enabled ?? true) ? kind : 'memory', home, signals },
    ...(onWarning !== undefined && { onWarning }),
  });
}
