import { type Message, message } from '../../messages/message.ts';
import type { ContextReport } from '../window/context-report.ts';
import type { CommandHandler } from './command-context.ts';

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
  const used = Object.entries(split).map(([name, part]) => ({ name, tokens: part }));
  const kept = Math.max(0, Math.min(reserve, window.tokens - tokens));
  const free = Math.max(0, window.tokens - tokens - kept);
  const parts = [...used, { name: 'free', tokens: free }, { name: 'reserve', tokens: kept }];
  return [
    message('context.usage', { tokens, window: window.tokens, isPart }),
    message('context.bar', { parts: parts.filter((part) => part.tokens > 0), window: window.tokens }),
    ...(historyTurns === undefined
      ? []
      : [message('context.historyTurns', { turns: historyTurns, unsentMessages })]),
  ];
}
