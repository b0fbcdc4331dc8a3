import type { Store } from '../../src/store/port/store.ts';
import { PATIENCE_MS, withPatience } from './patience.ts';

export type StoreArea =
  | 'append'
  | 'keys'
  | 'leaf'
  | 'lease'
  | 'inbox'
  | 'list'
  | 'read'
  | 'search'
  | 'watch'
  | 'live'
  | 'lifecycle'
  | 'export'
  | 'blobs'
  | 'convlog'
  | 'notes'
  | 'owner'
  | 'sources'
  | 'turns'
  | 'transfer'
  | 'input';

/** One promise that users may rely on with every store. Needs no test runner: `run` rejects if it is broken. */
export interface StoreCase {
  readonly name: string;
  /** The promise, for example "P1: an acknowledged append is never lost". */
  readonly promise: string;
  readonly area: StoreArea;
  run(t: CaseStores): Promise<void>;
}

export interface StoreUnderTest {
  readonly store: Store;
  /** Closes and reopens the same data; stores that save nothing return the same store. */
  reopen(): Promise<Store>;
}

/** The stores that a case works with. */
export interface CaseStores extends StoreUnderTest {
  /** Opens another empty store of the same kind. */
  another(): Promise<Store>;
}

export interface StoreCaseOptions {
  /** How long a case waits for an answer before it fails; a minute by default. */
  readonly patienceMs?: number;
}

/** Opens a store, runs the case, and closes everything the case left open. Every case starts with an empty store. */
export async function runStoreCase(
  storeCase: StoreCase,
  open: () => Promise<StoreUnderTest>,
  { patienceMs = PATIENCE_MS }: StoreCaseOptions = {},
): Promise<void> {
  const opened = await open();
  await using stores = new AsyncDisposableStack();
  stores.use(opened.store);
  const seen = new Set<Store>([opened.store]);
  const reopen = async (): Promise<Store> => {
    const store = await opened.reopen();
    if (!seen.has(store)) stores.use(store);
    seen.add(store);
    return store;
  };
  const another = async (): Promise<Store> => stores.use((await open()).store);
  await withPatience(patienceMs, () => storeCase.run({ store: opened.store, reopen, another }));
}
