import { storesIn } from '../../config/home-stores.ts';
import { openIndex } from '../../config/open.ts';
import type { SessionIndex } from '../../store/port/session-index.ts';
import type { ListQuery, SessionPage, Store } from '../../store/port/store.ts';
import type { Options } from '../options.ts';
import type { Lister } from './backend.ts';
import { type Home, homeOf, isOnlyRead, openHomeAsItIs, waitForCounts } from './home.ts';

/** After the titles of 10,000 transcripts were read, most of the counts are known within this time too. */
const COUNTS_WAIT_MS = 3000;

/** Lists by a look at the index where that can be relied on, and opens the store where it cannot. */
class LocalLister implements Lister {
  readonly #home: Home;
  #index: SessionIndex | undefined;
  #store: Store | undefined;

  constructor(home: Home, index: SessionIndex | undefined) {
    this.#home = home;
    this.#index = index;
  }

  async list(query: ListQuery): Promise<SessionPage> {
    const page = this.#index?.list(query);
    if (page !== undefined) return page;
    this.#leaveIndex();
    this.#store ??= await openHomeAsItIs(this.#home);
    // Titles and times are known first. A list marks counts that take longer than this as incomplete.
    await waitForCounts(this.#store, { atMostMs: COUNTS_WAIT_MS });
    return this.#store.list(query);
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.#leaveIndex();
    await this.#store?.[Symbol.asyncDispose]();
  }

  #leaveIndex(): void {
    this.#index?.[Symbol.dispose]();
    this.#index = undefined;
  }
}

const NO_HOME: Lister = {
  list: async () => ({ sessions: [], cursor: null }),
  [Symbol.asyncDispose]: async () => undefined,
};

export async function openLocalLister(options: Options): Promise<Lister> {
  const home = await homeOf(options);
  // On a new machine the default home does not exist yet. A home that was named and does not exist is an error.
  if (home.origin === 'default' && home.kind !== 'postgres' && storesIn(home.path).length === 0)
    return NO_HOME;
  await isOnlyRead(home);
  return new LocalLister(home, await openIndex({ kind: home.kind, home: home.path }));
}
