import { AsyncLocalStorage } from 'node:async_hooks';

/** A limit for hanging stores, not for a busy machine. */
export const PATIENCE_MS = 60_000;

const patience = new AsyncLocalStorage<number>();

/** How long the running case waits for an answer that does not come. */
export function patienceMs(): number {
  return patience.getStore() ?? PATIENCE_MS;
}

/** Runs a case with its own limit, because cases run in parallel. */
export function withPatience<T>(ms: number, work: () => Promise<T>): Promise<T> {
  return patience.run(ms, work);
}
