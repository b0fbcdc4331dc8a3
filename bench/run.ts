/** `npm run bench`: every row is a ratio of two arms of the same run, so a busy machine does not change the verdict. */
import { mkdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { parseArgs } from 'node:util';
import { acceptTasks } from './accept.ts';
import { estimateTasks } from './estimate.ts';
import { Homes, SCALES, type Scale, scratchFolder } from './homes.ts';
import { markdown, type Row, type Task } from './measure.ts';
import { postgresTasks } from './postgres.ts';
import { postgresReadTasks } from './postgres-reads.ts';
import { searchTasks } from './search.ts';
import { serverLoadTasks } from './server-load.ts';
import { sessionMemoryTasks } from './session-memory.ts';
import { streamTasks } from './sse.ts';
import { startUpTasks } from './start-up.ts';
import { writeTasks } from './store.ts';
import { readTasks } from './store-reads.ts';
import { transcriptTasks } from './transcript.ts';
import { turnTasks } from './turn.ts';
import { webTasks } from './web.ts';

const USAGE = `npm run bench -- [--only <part of a row's name>] [--quick | --large] [--json]

  --only   rows whose name contains this, ignoring case; may be given several times
  --quick  small sizes, under a minute
  --large  100,000 sessions, which takes minutes to fill
  --json   rows as JSON; the table is written to bench/results/latest.md either way
`;
const results = join(import.meta.dirname, 'results');

const { values } = parseArgs({
  options: {
    only: { type: 'string', multiple: true, default: [] },
    quick: { type: 'boolean', default: false },
    large: { type: 'boolean', default: false },
    json: { type: 'boolean', default: false },
    help: { type: 'boolean', default: false },
  },
});

if (values.help) console.log(USAGE);
else await bench(SCALES[values.quick ? 'quick' : values.large ? 'large' : 'full']);

async function bench(scale: Scale): Promise<void> {
  mkdirSync(results, { recursive: true });
  const rows: Row[] = [];
  {
    await using homes = new Homes(scratchFolder(results));
    const tasks = [
      ...transcriptTasks(scale.scan),
      ...estimateTasks(),
      ...writeTasks(homes, scale),
      ...postgresTasks(scale),
      ...postgresReadTasks(scale),
      ...readTasks(homes, scale),
      ...searchTasks(homes.folder, scale),
      ...acceptTasks(homes.folder, scale),
      ...turnTasks(homes.folder, scale),
      ...serverLoadTasks(scale),
      ...streamTasks(),
      ...sessionMemoryTasks(),
      ...startUpTasks(homes, scale),
      ...webTasks(homes.folder, scale),
    ];
    for (const task of tasks.filter(isWanted)) rows.push(await measured(task));
  }
  const table = markdown(rows);
  writeFileSync(join(results, 'latest.md'), `${table}\n`);
  console.log(values.json ? JSON.stringify(rows, undefined, 2) : table);
}

function isWanted({ work }: Task): boolean {
  const name = work.toLowerCase();
  return values.only.length === 0 || values.only.some((part) => name.includes(part.toLowerCase()));
}

async function measured({ work, run }: Task): Promise<Row> {
  const start = performance.now();
  const row = await run();
  console.error(`${((performance.now() - start) / 1000).toFixed(1)} s  ${work}: ${row.ratio.toFixed(2)}`);
  return row;
}
