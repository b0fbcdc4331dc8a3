import { setTimeout as delay } from 'node:timers/promises';
import type { StoreContext } from './connection/transaction.ts';
import { transferState } from './copy/copies.ts';
import { bringUpListed } from './listed.ts';
import { dropOldBodies } from './old-bodies.ts';

/** Start late, because many commands run for less than a second. */
const FIRST_MS = 60_000;
const EVERY_MS = 60 * 60_000;
const LIST_MS = 10_000;

/** Regular maintenance, run by every node. Running it twice is harmless. */
export function keepHouse({ connections }: StoreContext, signal: AbortSignal): void {
  const keep = async (): Promise<void> => {
    for (let pause = FIRST_MS; !signal.aborted; pause = EVERY_MS) {
      await delay(pause, undefined, { signal, ref: false });
      try {
        await dropAll();
      } catch {
        // The server is not reachable; the next run retries.
      }
    }
  };
  const dropAll = async (): Promise<void> => {
    // An unfinished copy cannot be compared with its source rows.
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
        // Not reachable. Lists are correct without this.
      }
    }
  };
  // The signal ends both loops.
  keep().catch(() => undefined);
  list().catch(() => undefined);
}
