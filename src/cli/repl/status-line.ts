import type { DoneEvent } from '../../engine/events.ts';
import type { Session } from '../../engine/session.ts';
import { usageLine } from '../../engine/usage-line.ts';

/** Model, tokens, context and, where there are prices, cost of the turn that ended: one calm line. */
export async function statusLine(
  session: Session,
  model: string,
  { usage, tokenEstimate }: DoneEvent,
): Promise<string> {
  const { window } = await session.context();
  const share = `context ${((tokenEstimate / window.tokens) * 100).toFixed(1)}%`;
  const name = model.replace(/^(.*):\1$/, '$1'); // `offline:offline`
  return [name, usageLine(usage, undefined, 'full') ?? '', share].join(' · ');
}
