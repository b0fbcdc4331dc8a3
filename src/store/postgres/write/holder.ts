import { hostname } from 'node:os';
import { currentHolder, type Holder, isCertainlyDead } from '../../shared/holder.ts';

/** Who holds a lease, on which machine: for `reprise locks`, and to see at once that a neighbour has died. */
export interface NodeHolder extends Holder {
  readonly host: string;
}

export function currentNode(engineId: string): NodeHolder {
  return { host: hostname(), ...currentHolder(engineId) };
}

/** Only of a process on this very machine can it be known; all others are judged by the clock of the server. */
export function isDeadNeighbour(holder: Holder, self: Holder): boolean {
  return holder.bootId !== '' && holder.bootId === self.bootId && isCertainlyDead(holder, self);
}
