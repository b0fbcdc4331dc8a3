import type { Inbound } from '../store/port/inbox.ts';
import { isForNobody } from '../store/port/nobody.ts';
import type { Store } from '../store/port/store.ts';

/** Delivers a message like an append does: it is skipped if its session is deleted or missing. */
export async function deliver({ inbox }: Store, inbound: Inbound): Promise<void> {
  try {
    await inbox.receive(inbound);
  } catch (error) {
    if (!isForNobody(error)) throw error;
  }
}
