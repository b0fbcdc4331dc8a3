import { type ErrorCode, RepriseError } from '../errors.ts';
import type { Inbound, Store } from '../store/store.ts';

const NOBODY: ReadonlySet<ErrorCode> = new Set(['SESSION_DELETED', 'SESSION_NOT_FOUND', 'GONE']);

/** As a store does with what an append delivers: where nobody is there to take it, it is passed over. */
export async function deliver({ inbox }: Store, inbound: Inbound): Promise<void> {
  try {
    await inbox.receive(inbound);
  } catch (error) {
    if (!(error instanceof RepriseError) || !NOBODY.has(error.code)) throw error;
  }
}
