import { setTimeout as delay } from 'node:timers/promises';
import type { StoreContext } from './connection/transaction.ts';
import { transferState } from './copy/copies.ts';
import { bringUpListed } from './listed.ts';
import { dropOldBodies } from './old-bodies.ts';

/** Not at once: many commands live for less than a second. */
const FIRST_MS = 60_000;
const EVERY_MS = 60 * 60_000;
const LIST_MS = 10_000;

/** What has to be done now and then, by any node: it is the same for all, and done twice it does no harm. */
export function keepHouse({ connections }: StoreContext, signal: AbortSignal): void {
  const keep = async (): Promise<void> => {
    for (let pause = FIRST_MS; !signal.aborted; pause = EVERY_MS) {
      await delay(pause, undefined, { signal, ref: false });
      try {
        await dropAll();
      } catch {
        // The server is away; the next time it may be there.
      }
    }
  };
  const dropAll = async (): Promise<void> => {
    // Of a copy only what is whole can be compared.
    const { run } = await transferState(connections);
    if (run?.finished === false) return;
    while (!signal.aborted && (await dropOldBodies(connections, Date.now())))
      await delay(FIRST_MS / 100, undefined, { signal, ref: false });
  };
  const list = async (): Promise<void> => {
    while (!signal.aborted) {
      await delay(LIST_MS, undefined, { signal, ref: false });
      try {
        while (!signal.aborted && (await bringUpListed(connections)));
      } catch {
        // Away too; lists are right without it.
      }
    }
  };
  // Ended by the signal.
  keep().catch(() => undefined);
  list().catch(() => undefined);
}
