import { isForNobody } from '../../port/nobody.ts';
import type { AppendReceipt, Settlement } from '../../port/store.ts';
import type { ReceiveRequest } from '../../rules/inbound.ts';
import { append, isHolder, type LoggedAppend } from './append.ts';
import type { Batch } from './batch.ts';
import { receive, settleItem } from './inbox.ts';

export interface AppendAndTellRequest extends LoggedAppend {
  readonly settle?: readonly Settlement[];
  readonly deliver?: readonly ReceiveRequest[];
}

/**
 * An append and what follows from it for messages, in one step: a turn cannot be stored and its message run again, and
 * a child's result cannot be stored and its parent not told. A known key says it again, and each part holds once.
 */
export function appendAndTell(batch: Batch, request: AppendAndTellRequest): AppendReceipt {
  const { settle = [], deliver = [] } = request;
  if (settle.length === 0 && deliver.length === 0) return append(batch, request);
  return batch.attempt(() => {
    const receipt = append(batch, request);
    // A known key is answered whoever asks, but who lost the session ends nothing in it (I-32).
    if (!isHolder(batch, request)) return receipt;
    for (const settlement of settle) settleItem(batch, settlement);
    for (const inbound of deliver) tell(batch, inbound);
    return receipt;
  });
}

function tell(batch: Batch, inbound: ReceiveRequest): void {
  try {
    // A turn that goes on may end on the space that is left.
    receive(batch, inbound, { needsRoom: false });
  } catch (error) {
    if (!isForNobody(error)) throw error;
  }
}
