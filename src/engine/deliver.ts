import { isForNobody } from '../store/port/nobody.ts';
import type { Inbound, Store } from '../store/port/store.ts';

/** As a store does with what an append delivers: where nobody is there to take it, it is passed over. */
export async function deliver({ inbox }: Store, inbound: Inbound): Promise<void> {
  try {
    await inbox.receive(inbound);
  } catch (error) {
    if (!isForNobody(error)) throw error;
  }
}
