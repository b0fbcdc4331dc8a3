import { type Message, message } from '../../messages/message.ts';
import type { ContextReport } from '../window/context-report.ts';
import type { CommandHandler } from './command-context.ts';

const BAR_CELLS = 30;

/** The context bar, its parts, and the cost of the session so far. */
export const showContext: CommandHandler = async (_args, { session }) => {
  const { turns, usage } = await session.totals();
  const cost = usage.cost === undefined ? null : (usage.cost['total'] ?? 0);
  const totals = message('context.totals', { turns, tokens: usage.totalTokens, cost });
  return { messages: [...contextMessages(await session.context()), totals] };
};

/** How full the context is, as a bar, and what it consists of. */
export function contextMessages(report: ContextReport): Message[] {
  const { tokens, window, reserve, split, isPart = false, historyTurns, unsentMessages = 0 } = report;
  const share = tokens / window.tokens;
  const cells = Math.min(BAR_CELLS, Math.floor(share * BAR_CELLS));
  const bar = `[${'#'.repeat(cells).padEnd(BAR_CELLS, '-')}] ${(share * 100).toFixed(1)}%`;
  return [
    message('context.usage', { tokens, window: window.tokens, isPart }),
    message('text', { text: bar }),
    message('context.parts', { split: { ...split, reserve } }),
    ...(historyTurns === undefined
      ? []
      : [message('context.historyTurns', { turns: historyTurns, unsentMessages })]),
  ];
}
