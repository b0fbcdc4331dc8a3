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
  const whenRoom = <T>(write: () => Promise<T>): Promise<T> => {
    if (full.refused >= refusals) return write();
    full.refused++;
    return Promise.reject(noRoom());
  };
  const { turns } = store;
  const own: Partial<Store> = {
    append: (...args) => whenRoom(() => store.append(...args)),
    turns: {
      // A turn that cannot begin with its words begins without them: its append is the try that counts.
      begin: (id, plan) =>
        plan.inputs.length === 0 || full.refused >= refusals
          ? turns.begin(id, plan)
          : Promise.reject(noRoom()),
      end: (...args) => whenRoom(() => turns.end(...args)),
    },
  };
  const proxy = new Proxy(store, {
    get: (_, name) => {
      if (name in own) return Reflect.get(own, name);
      const value: unknown = Reflect.get(store, name, store);
      return typeof value === 'function' ? value.bind(store) : value;
    },
  });
  return Object.assign(full, { store: proxy });
}

function noRoom(): RepriseError {
  return new RepriseError('STORE_FULL', 'no space left on the disk');
}
