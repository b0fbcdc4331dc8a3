import { RepriseError } from '../../../src/errors.ts';
import type { Store } from '../../../src/index.ts';

export interface FullStore {
  readonly store: Store;
  /** How many appends were refused. */
  readonly refused: number;
}

/** A store with room for rows, and for words only behind so many tries: a row is small. */
export function fullStore(store: Store, refusals: number): FullStore {
  const full = { refused: 0 };
  const proxy = new Proxy(store, {
    get: (_, name) => {
      const value: unknown = Reflect.get(store, name, store);
      if (typeof value !== 'function') return value;
      if (name !== 'append' || full.refused >= refusals) return value.bind(store);
      return async () => {
        full.refused++;
        throw new RepriseError('STORE_FULL', 'no space left on the disk');
      };
    },
  });
  return Object.assign(full, { store: proxy });
}
