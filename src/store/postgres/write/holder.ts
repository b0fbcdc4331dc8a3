import { hostname } from 'node:os';
import { currentHolder, type Holder, isCertainlyDead } from '../../shared/holder.ts';

/** The holder of a lease and its machine, for `reprise locks` and to detect a dead process on the same machine. */
export interface NodeHolder extends Holder {
  readonly host: string;
}

export function currentNode(engineId: string): NodeHolder {
  return { host: hostname(), ...currentHolder(engineId) };
}

/** Only a process on the same machine can be known to be dead; all others are judged by the server's clock. */
export function isDeadNeighbour(holder: Holder, self: Holder): boolean {
  return holder.bootId !== '' && holder.bootId === self.bootId && isCertainlyDead(holder, self);
}
