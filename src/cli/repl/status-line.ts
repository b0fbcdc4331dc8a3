import type { DoneEvent } from '../../engine/events.ts';
import { usageLine } from '../../engine/turn/usage-line.ts';

/** A session here, or one that a server has. */
interface Measured {
  context(): Promise<{ readonly window: { readonly tokens: number } }>;
}

/** Model, tokens, context and, where there are prices, cost of the turn that ended: one calm line. */
export async function statusLine(
  session: Measured,
  model: string,
  { usage, tokenEstimate }: Pick<DoneEvent, 'usage' | 'tokenEstimate'>,
): Promise<string> {
  const { window } = await session.context();
  const share = `context ${((tokenEstimate / window.tokens) * 100).toFixed(1)}%`;
  const name = model.replace(/^(.*):\1$/, '$1'); // `offline:offline`
  return [name, usageLine(usage, undefined, 'full') ?? '', share].join(' · ');
}
