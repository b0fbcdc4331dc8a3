/** `npm run bench:peers`: pi's session files beside ours, same messages, same folder, same run. */
import { mkdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { parseArgs } from 'node:util';
import type { JsonObject } from '../../src/exports/transcript.ts';
import { boundContext, Homes, SESSION, scratchFolder, WINDOW } from '../homes.ts';
import { busyTime, compareSlices, latency, markdown, type Row, rate, type Slices } from '../measure.ts';
import { nextTurn } from '../payload.ts';

/** What is used of pi; it is installed only for this comparison. */
interface PiSessionManager {
  appendMessage(message: JsonObject): string;
  buildSessionContext(): { readonly messages: readonly unknown[] };
}
interface PiModule {
  readonly SessionManager: {
    create(cwd: string, sessionDir: string): PiSessionManager;
    open(path: string, sessionDir: string): PiSessionManager;
  };
}

const PI: string = '@mariozechner/pi-coding-agent';
const CALLERS = 64;
const results = join(import.meta.dirname, '..', 'results');

const { values } = parseArgs({ options: { quick: { type: 'boolean', default: false } } });
const RATE: Slices = values.quick ? { count: 3, ms: 300 } : { count: 5, ms: 1000 };
const LENGTHS = values.quick ? [1_000, 10_000] : [1_000, 10_000, 100_000];

const { SessionManager } = (await import(PI)) as PiModule;
mkdirSync(results, { recursive: true });
const folder = scratchFolder(results);

const rows: Row[] = [];
const add = async (measuring: Promise<Row>): Promise<void> => {
  const row = await measuring;
  rows.push(row);
  console.error(`${row.work}: ${row.ratio.toFixed(2)}`);
};

{
  await using homes = new Homes(folder);
  await appends(homes);
  for (const messages of LENGTHS) await opens(homes, messages);
}

const table = markdown(rows);
writeFileSync(join(results, 'peers.md'), `${table}\n`);
console.log(table);

/** pi writes on the main thread and never syncs; ours is asked for no more than that. */
async function appends(homes: Homes): Promise<void> {
  const { store } = await homes.plain({ durability: 'os' });
  const ours = (): Promise<unknown> => store.append(SESSION, nextTurn());
  // pi keeps every message in memory; a new session now and then keeps that out of the comparison.
  let session = SessionManager.create(folder, folder);
  let turns = 0;
  const pi = (): void => {
    if (++turns % 5000 === 0) session = SessionManager.create(folder, folder);
    for (const { message } of nextTurn()) session.appendMessage(message as JsonObject);
  };
  await add(
    compareSlices(
      {
        work: `append turns, not synced, ${CALLERS} callers`,
        limit: rate('pi', 'turns', pi, { callers: 1 }),
        ours: rate('append', 'turns', ours, { callers: CALLERS }),
        goal: 1.5,
        better: 'higher',
      },
      RATE,
    ),
  );
  await add(
    compareSlices(
      {
        work: `append turns, not synced, ${CALLERS} callers: main thread busy per turn`,
        limit: busyTime('pi', pi, { callers: 1 }),
        ours: busyTime('append', ours, { callers: CALLERS }),
        goal: 0.5,
      },
      RATE,
    ),
  );
}

/** Both read the same file: our transcript, compacted to the same window. */
async function opens(homes: Homes, messages: number): Promise<void> {
  const home = await homes.history(messages);
  await boundContext(home);
  const path = home.transcript(SESSION);
  const size = `${messages.toLocaleString('en')} messages`;
  const open = (): void => {
    const context = SessionManager.open(path, folder).buildSessionContext();
    // The summary of what was before, and the window.
    if (context.messages.length !== WINDOW + 1)
      throw new Error(`pi sees ${context.messages.length} messages`);
  };
  const slices = { count: messages > 10_000 ? 3 : 10, ms: 200 };
  const limit = latency('pi opens the file and builds the context', open);
  await add(
    compareSlices(
      {
        work: `open for a turn, window of ${WINDOW}, history ${size} (p50)`,
        limit,
        ours: latency('tail', () => home.store.tail(SESSION)),
        goal: 1,
      },
      slices,
    ),
  );
  await add(
    compareSlices(
      {
        work: `read everything, ${size} (p50)`,
        limit,
        ours: latency('verify', () => home.store.verify(SESSION)),
        goal: messages < 10_000 ? 1 : 0.5,
      },
      slices,
    ),
  );
}
