import { homedir } from 'node:os';
import { LossCounter } from '../../interop/import/loss-report.ts';
import {
  findPlaces,
  knownTools,
  type MachinePlace,
  openPlaces,
} from '../../interop/import/machine-sources.ts';
import type { SessionPlan } from '../../interop/import/plan-session.ts';
import type { ImportReport } from '../../interop/import/run-import.ts';
import { watchSources } from '../../interop/import/watch-sources.ts';
import { counted } from '../../messages/english-format.ts';
import { failure } from '../../messages/failure.ts';
import { homeOf } from '../backend/home.ts';
import { environment } from '../started-as.ts';
import { confirm } from '../terminal/ask.ts';
import { escapeForTerminal, print, printJson, say } from '../terminal/print.ts';
import { table } from '../terminal/table.ts';
import {
  type ImportCommandOptions,
  isWork,
  openOrMakeHome,
  planOptions,
  run,
  waitForIndex,
} from './import.ts';

/** Imports what every tool on this machine has written, and with --watch what they write from then on. */
export async function importAll(paths: readonly string[], options: ImportCommandOptions): Promise<number> {
  const { yes, json } = options;
  const dryRun = options.dryRun === true;
  if (paths.length > 0) throw failure('INVALID_INPUT', 'cli.importAllPath', { path: paths[0] ?? '' });
  const only = onlyOf(options.only);
  const machine = { home: homedir(), env: environment() };
  const find = (): Promise<readonly MachinePlace[]> => findPlaces(machine, only);
  const home = await homeOf(options);
  const chosen = planOptions(home, options);
  await using store = await openOrMakeHome(home, { dryRun });
  const source = await openPlaces(await find());
  try {
    // Without a question there is no need to read everything twice.
    const asks = yes !== true || dryRun;
    const planned = await run(store, source, { ...chosen, dryRun: asks, skipUnchanged: true });
    if (json !== true) printTable(planned);
    const work = planned.sessions.filter(isWork).length + planned.convlogLines;
    const goesOn = asks && !dryRun && work > 0 && (await confirm('Import these sessions?', { yes }));
    const report = goesOn
      ? await run(store, source, { ...chosen, dryRun: false, skipUnchanged: true })
      : planned;
    const isImported = goesOn || !asks;
    if (isImported) await waitForIndex(store);
    if (json === true) printJson(jsonReport(report, isImported), 2);
    else if (isImported) say(`${counted(report.sessions.filter(isWork).length, 'session')} imported`);
    else if (work === 0) say('nothing new to import');
  } finally {
    await source[Symbol.asyncDispose]?.();
  }
  if (options.watch !== true || dryRun) return 0;
  const stopping = new AbortController();
  for (const signal of ['SIGINT', 'SIGTERM'] as const) process.once(signal, () => stopping.abort());
  say('watching the folders of these tools; Ctrl+C ends it');
  await watchSources(store, {
    ...chosen,
    find,
    signal: stopping.signal,
    onReport: (report) => printNews(report, json === true),
  });
  return 0;
}

function onlyOf(value: unknown): readonly string[] | undefined {
  if (typeof value !== 'string') return undefined;
  const tools = value.split(',').map((each) => each.trim());
  const known = knownTools();
  const unknown = tools.find((each) => !known.includes(each));
  if (unknown !== undefined) throw failure('INVALID_INPUT', 'cli.importTool', { tool: unknown, known });
  return tools;
}

interface ToolRow {
  readonly tool: string;
  readonly sessions: number;
  readonly messages: number;
  readonly first: string;
  readonly last: string;
  readonly new: number;
  readonly grown: number;
  readonly unchanged: number;
  readonly unreadable: number;
  /** Records that were not imported. */
  readonly dropped: number;
}

function rowsOf({ sessions }: ImportReport): readonly ToolRow[] {
  const byTool = Map.groupBy(sessions, ({ tool }) => tool);
  return [...byTool].map(([tool, plans]) => {
    const count = (...actions: readonly SessionPlan['action'][]): number =>
      plans.filter(({ action }) => actions.includes(action)).length;
    const times = plans
      .flatMap(({ firstAt, lastAt }) => [firstAt, lastAt])
      .filter((at) => at !== '')
      .sort();
    return {
      ...{ tool, sessions: plans.length, messages: plans.reduce((sum, { messages }) => sum + messages, 0) },
      ...{ first: times[0] ?? '', last: times.at(-1) ?? '' },
      ...{
        new: count('new', 'resume'),
        grown: count('grown'),
        unchanged: count('unchanged', 'deleted', 'settings'),
      },
      ...{ unreadable: count('unreadable'), dropped: plans.reduce((sum, plan) => sum + droppedIn(plan), 0) },
    };
  });
}

function droppedIn({ loss }: SessionPlan): number {
  return Object.values(loss.dropped).reduce((sum, { count }) => sum + count, 0);
}

function printTable(report: ImportReport): void {
  const rows = rowsOf(report);
  if (rows.length === 0) {
    print('no sessions of other tools in their known folders');
    return;
  }
  const head = [
    'tool',
    'sessions',
    'messages',
    'first',
    'last',
    'new',
    'grown',
    'unchanged',
    'unreadable',
    'dropped',
  ];
  const cells = rows.map((row) => [
    ...[row.tool, row.sessions, row.messages, row.first.slice(0, 10), row.last.slice(0, 10)],
    ...[row.new, row.grown, row.unchanged, row.unreadable, row.dropped],
  ]);
  for (const line of table(head, cells)) print(line);
  for (const problem of report.problems) say(escapeForTerminal(`note: ${problem}`));
}

function jsonReport(report: ImportReport, imported: boolean): object {
  const { sessions, convlogLines, problems } = report;
  const total = new LossCounter();
  for (const { loss } of sessions) total.add(loss);
  const page = { data: sessions, hasMore: false, lastId: sessions.at(-1)?.id ?? null };
  return { ...page, tools: rowsOf(report), loss: total.report, imported, convlogLines, problems };
}

function printNews({ sessions }: ImportReport, json: boolean): void {
  for (const plan of sessions.filter(isWork)) {
    const { action, tool, id, added, title } = plan;
    if (json) printJson(plan);
    else
      print(
        escapeForTerminal(
          `${action.padEnd(7)} ${tool}  ${id}  ${`${added} new entries`}  ${title}`.trimEnd(),
        ),
      );
  }
}
