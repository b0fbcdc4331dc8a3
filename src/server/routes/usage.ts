import { RepriseError } from '../../errors.ts';
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
  if (begin > end) throw refusal('from is behind to', 'Give the earlier day as from.');
  if (end - begin >= MAX_DAYS)
    throw refusal(`a period has at most ${MAX_DAYS} days`, 'Ask for one part after the other.');
  return { from: dayAt(begin), to: dayAt(end) };
}

function dayAt(day: number): string {
  return new Date(day * DAY_MS).toISOString().slice(0, 10);
}

function refusal(message: string, next: string): RepriseError {
  return new RepriseError('INVALID_INPUT', message, { details: { field: 'from', next } });
}
