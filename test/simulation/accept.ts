import type { Reprise } from '../../src/index.ts';
import type { Receipt } from './judge.ts';
import type { Delivery } from './traffic.ts';

/** How a channel hands a message to an engine. */
export function accept(engine: Reprise, delivery: Delivery): Promise<Receipt> {
  const { conversation, text, messageId, sender, queue } = delivery;
  const { agentId, channel, account, peer, peerKind, thread } = conversation;
  return engine.receive({
    agentId,
    channel,
    peer,
    peerKind,
    sender: { id: sender },
    messageId,
    text,
    ...(account !== undefined && { account }),
    ...(thread !== undefined && { thread }),
    ...(queue !== undefined && { queue }),
  });
}
