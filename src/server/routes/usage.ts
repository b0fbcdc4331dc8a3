import { failure } from '../../messages/failure.ts';
import { type UsageQueryView, usageAnswer, usageQuery } from '../../protocol/usage.ts';
import type { ServerApp, ServerContext } from '../context.ts';
import { addOperation } from '../operation.ts';

const DAY_MS = 86_400_000;
const NORMAL_DAYS = 30;
const MAX_DAYS = 366;

export function registerUsage(app: ServerApp, { reprise }: ServerContext): void {
  addOperation<unknown, UsageQueryView, unknown>(app, {
    method: 'get',
    paths: ['/api/usage'],
    id: 'getUsage',
    tag: 'meta',
    summary: 'Tokens, cost and what happened, by day, agent and model, over all sessions',
    query: usageQuery,
    answer: { schema: usageAnswer, description: 'The sums of the period' },
    run: async ({ query: { agentId, ...period }, c }) =>
      c.json(await reprise.usage({ ...daysOf(period), ...(agentId !== undefined && { agentId }) })),
  });
}

function daysOf({ from, to }: UsageQueryView): { readonly from: string; readonly to: string } {
  const last = to === undefined ? Date.now() : Date.parse(to);
  const first = from === undefined ? last - (NORMAL_DAYS - 1) * DAY_MS : Date.parse(from);
  const [begin, end] = [first, last].map((at) => Math.floor(at / DAY_MS)) as [number, number];
  const period = { from: dayAt(begin), to: dayAt(end) };
  const details = { field: 'from' };
  if (begin > end) throw failure('INVALID_INPUT', 'usage.order', period, { details });
  const days = end - begin + 1;
  if (days > MAX_DAYS) throw failure('INVALID_INPUT', 'usage.period', { days, max: MAX_DAYS }, { details });
  return period;
}

function dayAt(day: number): string {
  return new Date(day * DAY_MS).toISOString().slice(0, 10);
}
