import { type Reprise, resolveSessionKey } from '../../src/index.ts';
import type { Receipt } from './judge.ts';
import type { Delivery } from './traffic.ts';

/** How a message gets into an engine. */
export async function accept(engine: Reprise, delivery: Delivery): Promise<Receipt> {
  const { conversation, text, messageId } = delivery;
  const reset = /^\/(new|reset) /i.exec(text);
  const receipt = await engine.store.inbox.receive({
    sessionKey: resolveSessionKey(conversation),
    source: conversation.channel,
    idempotencyKey: messageId,
    body: { text: reset === null ? text : text.slice(reset[0].length) },
    ...(reset !== null && { reset: 'asked' }),
  });
  void engine.idle().catch(() => undefined);
  return receipt;
}
