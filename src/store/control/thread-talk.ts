import type { RepriseError } from '../../errors.ts';
import type { ThreadError } from './protocol.ts';

/** What all storage threads do alike. */

/** A message is handled outside any transaction, and until the gate opens no other work is done. */
export function park(answer: () => void, gate: Int32Array): void {
  answer();
  Atomics.wait(gate, 0, 0);
}

export function describe({ code, message, details, outcome }: RepriseError): ThreadError {
  // Details may hold anything; only what JSON can say crosses threads.
  return { code, message, details: JSON.parse(JSON.stringify(details)) as ThreadError['details'], outcome };
}
