import { storesIn } from '../../config/home-stores.ts';
import { openStore } from '../../config/open.ts';
import { counted } from '../../engine/commands/command-context.ts';
import { openSource } from '../../interop/import/detect.ts';
import type { PlanOptions, SessionPlan } from '../../interop/import/plan-session.ts';
import { type ImportReport, runImport } from '../../interop/import/run-import.ts';
import type { ImportSource } from '../../interop/import/source.ts';
import { parseAgentId } from '../../keys/ids.ts';
import type { Store } from '../../store/store.ts';
import { confirm } from '../ask.ts';
import { homeOf, openHome } from '../home.ts';
import type { Options } from '../options.ts';
import { escapeForTerminal, print, printJson, say } from '../print.ts';
import { Progress } from '../progress.ts';

interface ImportCommandOptions extends Options {
  readonly dryRun?: unknown;
  readonly agent?: unknown;
  readonly acceptSettings?: unknown;
  readonly yes?: unknown;
  readonly json?: unknown;
}

/** As `verify` answers: something there could not be read. */
const DAMAGED_EXIT = 6;

/** Always looks first and says what it would do; then asks, unless somebody has said yes. */
export async function importSessions(path: string, options: ImportCommandOptions): Promise<number> {
  const { dryRun, agent, yes, json } = options;
  const agentId = typeof agent === 'string' ? parseAgentId(agent) : undefined;
  const chosen = { agentId, acceptSettings: options.acceptSettings === true };
  const source = await openSource(path);
  try {
    await using store = await openOrMakeHome(options, { dryRun: dryRun === true });
    const planned = await run(store, source, { ...chosen, dryRun: true });
    if (json !== true) printPlan(source, planned);
    const work = planned.sessions.filter(isWork).length + planned.convlogLines;
    const goesOn = dryRun !== true && work > 0 && (await confirm('Import these sessions?', { yes }));
    const report = goesOn ? await run(store, source, { ...chosen, dryRun: false }) : planned;
    if (json === true) printReport(source, report, goesOn);
    say(summaryLine(report, goesOn, dryRun === true));
    if (report.sessions.some(({ settingsNotApplied }) => settingsNotApplied.length > 0))
      say('Settings of the source are not applied. To apply them, pass --accept-settings.');
    return report.sessions.some(({ action }) => action === 'unreadable') ? DAMAGED_EXIT : 0;
  } finally {
    await source[Symbol.asyncDispose]?.();
  }
}

function isWork({ action }: SessionPlan): boolean {
  return action === 'new' || action === 'resume' || action === 'settings';
}

async function run(
  store: Store,
  source: ImportSource,
  options: PlanOptions & { readonly dryRun: boolean },
): Promise<ImportReport> {
  using bar = new Progress(options.dryRun ? 'reading sessions' : 'importing sessions');
  return runImport(store, source, { ...options, onSession: (_, done, total) => bar.show(done, total) });
}

/** A look at what an import would do leaves no home behind where there was none. */
async function openOrMakeHome(options: Options, { dryRun }: { readonly dryRun: boolean }): Promise<Store> {
  const { path, kind } = await homeOf(options);
  if (kind === 'postgres') return openHome(options);
  if (storesIn(path).length > 0) return openHome(options);
  return openStore(dryRun ? { kind: 'memory' } : { kind, home: path, signals: true });
}

function printPlan({ kind, problems }: ImportSource, { sessions, convlogLines }: ImportReport): void {
  print(`${kind}: ${counted(sessions.length, 'session')}, ${counted(convlogLines, 'new line')} of channels`);
  for (const plan of sessions) {
    const { action, id, key, title, messages, place, notes, settingsNotApplied } = plan;
    const name = action === 'unreadable' ? place : `${id}  ${key}  ${counted(messages, 'message')}  ${title}`;
    print(escapeForTerminal(`${action.padEnd(10)} ${name}`.trimEnd()));
    for (const note of notes) say(escapeForTerminal(`  note: ${note}`));
    if (settingsNotApplied.length > 0)
      say(escapeForTerminal(`  settings in the file: ${settingsNotApplied.join(', ')}; not applied`));
  }
  for (const problem of problems) say(escapeForTerminal(`note: ${problem}`));
}

function printReport({ kind }: ImportSource, report: ImportReport, imported: boolean): void {
  const { sessions, convlogLines, problems } = report;
  const page = { data: sessions, hasMore: false, lastId: sessions.at(-1)?.id ?? null };
  printJson({ ...page, kind, imported, convlogLines, problems }, 2);
}

function summaryLine({ sessions, convlogLines }: ImportReport, done: boolean, dryRun: boolean): string {
  const count = sessions.filter(isWork).length;
  const rest = sessions.length - count;
  const lines = convlogLines > 0 ? ` and ${counted(convlogLines, 'line')} of channels` : '';
  const what = `${counted(count, 'session')}${lines}`;
  if (done) return `${what} imported; ${rest} left as they are`;
  if (dryRun) return `${what} would be imported; ${rest} left as they are`;
  return count + convlogLines === 0 ? 'nothing new to import' : 'nothing was imported';
}
