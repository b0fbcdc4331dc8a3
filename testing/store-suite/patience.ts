import { AsyncLocalStorage } from 'node:async_hooks';

/** For what hangs, not for a machine that has much else to do. */
export const PATIENCE_MS = 60_000;

const patience = new AsyncLocalStorage<number>();

/** How long the case that runs waits for what does not come. */
export function patienceMs(): number {
  return patience.getStore() ?? PATIENCE_MS;
}

/** Cases run side by side, each with its own. */
export function withPatience<T>(ms: number, work: () => Promise<T>): Promise<T> {
  return patience.run(ms, work);
}
