import type { ContextReport } from '../context-report.ts';
import { type CommandHandler, count, counted } from './command-context.ts';

const BAR_CELLS = 30;

/** The bar, the split, and what the session has cost so far. */
export const showContext: CommandHandler = async (_args, { session }) => {
  const { turns, usage } = await session.totals();
  const { cost } = usage;
  const price = cost === undefined ? '' : `, cost ${(cost['total'] ?? 0).toFixed(4)}`;
  const used = `used so far: ${counted(usage.totalTokens, 'token')} in ${counted(turns, 'turn')}${price}`;
  return { text: `${contextBar(await session.context())}\n${used}` };
};

export function contextBar(report: ContextReport): string {
  const { tokens, window, reserve, split, isPart, historyTurns, unsentMessages = 0 } = report;
  const share = tokens / window.tokens;
  const cells = Math.min(BAR_CELLS, Math.floor(share * BAR_CELLS));
  const parts = Object.entries({ ...split, 'kept free': reserve }).map(([part, n]) => `${part} ${count(n)}`);
  const limit =
    historyTurns === undefined
      ? ''
      : `\nhistory limit: the last ${counted(historyTurns, 'turn')} are sent, ${counted(unsentMessages, 'older message')} not`;
  return `Context usage: ${isPart === true ? 'more than ' : '~'}${count(tokens)} / ${count(window.tokens)} tokens
[${'#'.repeat(cells).padEnd(BAR_CELLS, '-')}] ${(share * 100).toFixed(1)}%
${parts.join(', ')}${limit}`;
}
