import { setTimeout as delay } from 'node:timers/promises';
import type { UsageOverview } from '../../client/index.ts';
import { count } from '../../engine/commands/command-context.ts';
import type { UsageSum } from '../../engine/usage-counter.ts';
import type { Options } from '../options.ts';
import { print, printPage, say, style } from '../print.ts';
import { Progress } from '../progress.ts';
import { openRemoteBackend } from '../remote-backend.ts';
import { rowJson, type StatsQuery, type StatsRow, showTables } from './stats-tables.ts';

/** A server that has not read every line yet is asked again so often. */
const AGAIN_MS = 250;

/** The sums of a server: it has them for a period, 30 days unless one is given, and what it stores for all agents alone. */
export async function remoteStats(
  url: string,
  options: Options,
  { tables, since, agentId }: StatsQuery,
): Promise<void> {
  await using backend = await openRemoteBackend(url, options);
  const { client } = backend;
  const query = { ...(since !== '' && { from: since }), ...(agentId !== undefined && { agentId }) };
  let told = await client.usage(query);
  {
    using progress = new Progress('reading lines');
    for (; !told.complete; told = await client.usage(query)) {
      progress.show(told.progress?.done ?? 0, told.progress?.total ?? 1);
      await delay(AGAIN_MS);
    }
  }
  const rows = rowsOf(told).filter(({ by }) => tables.includes(by));
  const { sessions, bytes } = await client.stats();
  const { from, to } = told;
  if (options['json'] === true) {
    const stored = { sessions, bytes };
    printPage(rows.map(rowJson), { lastId: rows.at(-1)?.name ?? null, from, to, stored });
    return;
  }
  if (since === '') say(`from ${from} to ${to}; --days names another period`);
  showTables(tables, rows);
  print(style('dim', `${count(sessions)} sessions with ${count(bytes)} bytes of transcripts in all`));
}

function rowsOf({ days, agents, models }: UsageOverview): StatsRow[] {
  const row = (by: StatsRow['by'], name: string, sum: UsageSum): StatsRow => ({ by, name, sum });
  return [
    ...days.map(({ day, ...sum }) => row('day', day, sum)),
    ...agents.map(({ agentId, ...sum }) => row('agent', agentId, sum)),
    ...models.map(({ model, ...sum }) => row('model', model, sum)),
  ];
}
