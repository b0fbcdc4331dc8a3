import { setTimeout as delay } from 'node:timers/promises';
import { transferState } from './copies.ts';
import { dropOldBodies } from './old-bodies.ts';
import type { StoreContext } from './transaction.ts';

/** Not at once: many commands live for less than a second. */
const FIRST_MS = 60_000;
const EVERY_MS = 60 * 60_000;

/** What has to be done now and then, by any node: it is the same for all, and done twice it does no harm. */
export function keepHouse({ connections }: StoreContext, signal: AbortSignal): void {
  const keep = async (): Promise<void> => {
    for (let pause = FIRST_MS; !signal.aborted; pause = EVERY_MS) {
      await delay(pause, undefined, { signal, ref: false });
      // Of a copy only what is whole can be compared.
      const { run } = await transferState(connections);
      if (run?.finished === false) continue;
      while (!signal.aborted && (await dropOldBodies(connections, Date.now()))) await delay(FIRST_MS / 100);
    }
  };
  // Ended by the signal, or by a server that is away: then another node, or the next start, does it.
  keep().catch(() => undefined);
}
