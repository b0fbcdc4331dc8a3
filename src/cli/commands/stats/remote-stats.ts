import { setTimeout as delay } from 'node:timers/promises';
import type { UsageOverview } from '../../../client/index.ts';
import type { UsageSum } from '../../../engine/admin/usage-counter.ts';
import { count, counted } from '../../../messages/english-format.ts';
import { openRemoteBackend } from '../../backend/remote-backend.ts';
import type { Options } from '../../options.ts';
import { print, printPage, say, style } from '../../terminal/print.ts';
import { Progress } from '../../terminal/progress.ts';
import { rowJson, type StatsQuery, type StatsRow, showTables } from './stats-tables.ts';

/** A server that has not read every line yet is asked again so often. */
const AGAIN_MS = 250;
/** So many answers in a row that bring it no nearer to the end: it waits for a session that cannot be read. */
const PATIENCE = 8;

/** The sums of a server: it has them for a period, 30 days unless one is given, and what it stores for all agents alone. */
export async function remoteStats(
  url: string,
  options: Options,
  { tables, since, agentId }: StatsQuery,
): Promise<void> {
  await using backend = await openRemoteBackend(url, options);
  const { client } = backend;
  const query = { ...(since !== '' && { from: since }), ...(agentId !== undefined && { agentId }) };
  const told = await allThatCanBeTold(() => client.usage(query));
  if (!told.complete)
    say('Incomplete: the server cannot read some sessions. Run "reprise verify" on the server to list them.');
  const rows = rowsOf(told).filter(({ by }) => tables.includes(by));
  const { sessions, bytes } = await client.stats();
  const { from, to } = told;
  if (options['json'] === true) {
    const stored = { sessions, bytes };
    printPage(rows.map(rowJson), { lastId: rows.at(-1)?.name ?? null, from, to, stored });
    return;
  }
  if (since === '') say(`from ${from} to ${to}; --days selects another period`);
  showTables(tables, rows);
  print(style('dim', `${counted(sessions, 'session')} with ${count(bytes)} bytes of transcripts in all`));
}

async function allThatCanBeTold(ask: () => Promise<UsageOverview>): Promise<UsageOverview> {
  using progress = new Progress('reading lines');
  let told = await ask();
  let least = Number.POSITIVE_INFINITY;
  for (let inVain = 0; !told.complete && inVain < PATIENCE; told = await ask()) {
    const { done, total } = told.progress ?? { done: 0, total: 0 };
    progress.show(done, total || 1);
    // What is left, not what is done: on a server that is spoken to, both figures change with every answer.
    const left = total - done;
    if (total > 0 && left < least) {
      least = left;
      inVain = 0;
    } else inVain++;
    await delay(AGAIN_MS);
  }
  return told;
}

function rowsOf({ days, agents, models }: UsageOverview): StatsRow[] {
  const row = (by: StatsRow['by'], name: string, sum: UsageSum): StatsRow => ({ by, name, sum });
  return [
    ...days.map(({ day, ...sum }) => row('day', day, sum)),
    ...agents.map(({ agentId, ...sum }) => row('agent', agentId, sum)),
    ...models.map(({ model, ...sum }) => row('model', model, sum)),
  ];
}
