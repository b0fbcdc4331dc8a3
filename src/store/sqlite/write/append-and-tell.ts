import type { Settlement } from '../../port/inbox.ts';
import { isForNobody } from '../../port/nobody.ts';
import type { AppendReceipt } from '../../port/store.ts';
import type { ReceiveRequest } from '../../rules/inbound.ts';
import { append, isHolder, type LoggedAppend } from './append.ts';
import type { Batch } from './batch.ts';
import { receive, settleItem } from './inbox.ts';

export interface AppendAndTellRequest extends LoggedAppend {
  readonly settle?: readonly Settlement[];
  readonly deliver?: readonly ReceiveRequest[];
}

/**
 * Appends entries and applies what follows for messages in one transaction. So a stored turn never runs again, and a
 * stored child result always reaches its parent. A retry with a known key repeats the call; each part happens only
 * once.
 */
export function appendAndTell(batch: Batch, request: AppendAndTellRequest): AppendReceipt {
  const { settle = [], deliver = [] } = request;
  if (settle.length === 0 && deliver.length === 0) return append(batch, request);
  return batch.attempt(() => {
    const receipt = append(batch, request);
    // Any caller gets the receipt of a known key, but a caller that lost the lease settles nothing (I-32).
    if (!isHolder(batch, request)) return receipt;
    for (const settlement of settle) settleItem(batch, settlement);
    for (const inbound of deliver) tell(batch, inbound);
    return receipt;
  });
}

function tell(batch: Batch, inbound: ReceiveRequest): void {
  try {
    // A running turn may end in the space that is left.
    receive(batch, inbound, { needsRoom: false });
  } catch (error) {
    if (!isForNobody(error)) throw error;
  }
}
