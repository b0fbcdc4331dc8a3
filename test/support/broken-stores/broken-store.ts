import type { StoreUnderTest } from '../../../testing/store-suite/index.ts';
import { openPlain, PlainStore } from '../plain-store/plain-store.ts';

/** A store with one plausible mistake, and the case (by its name) that must notice it. */
export interface BrokenStore {
  readonly name: string;
  readonly caughtBy: string;
  open(): Promise<StoreUnderTest>;
}

/** What a broken store does instead; `right` is the same store with its mistake left out. */
type Mistake = (store: PlainStore, right: PlainStore) => Partial<PlainStore>;

export function broken(name: string, caughtBy: string, mistake: Mistake): BrokenStore {
  const prepare = (store: PlainStore): void => {
    const right = new Proxy(store, {
      get(target, member): unknown {
        const method: unknown = Reflect.get(PlainStore.prototype, member);
        return typeof method === 'function' ? method.bind(target) : Reflect.get(target, member);
      },
    });
    Object.assign(store, mistake(store, right));
  };
  return { name, caughtBy, open: () => openPlain(prepare) };
}
