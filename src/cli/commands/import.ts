import { setTimeout as sleep } from 'node:timers/promises';
import { storesIn } from '../../config/home-stores.ts';
import { openStore } from '../../config/open.ts';
import type { Config } from '../../config/schema.ts';
import { keyOfRoute } from '../../engine/intake/route.ts';
import { openSource } from '../../interop/import/detect.ts';
import type { OpenSource } from '../../interop/import/importer.ts';
import { mergeSources } from '../../interop/import/machine-sources.ts';
import type { PlanOptions, SessionPlan } from '../../interop/import/plan-session.ts';
import { type ImportOptions, type ImportReport, runImport } from '../../interop/import/run-import.ts';
import type { ImportSource } from '../../interop/import/source.ts';
import { type BindingSubject, resolveBoundAgent } from '../../keys/bindings.ts';
import { DEFAULT_AGENT_ID, parseAgentId } from '../../keys/ids.ts';
import { agentOfKey, parseSessionKey, type SessionKeyParts } from '../../keys/session-key.ts';
import { counted } from '../../messages/english-format.ts';
import { failure } from '../../messages/failure.ts';
import type { Store } from '../../store/port/store.ts';
import type { JsonObject } from '../../transcript/json.ts';
import { type Home, homeOf, openHomeWith } from '../backend/home.ts';
import type { Options } from '../options.ts';
import { confirm } from '../terminal/ask.ts';
import { escapeForTerminal, print, printJson, say } from '../terminal/print.ts';
import { Progress } from '../terminal/progress.ts';

export interface ImportCommandOptions extends Options {
  readonly all?: unknown;
  readonly watch?: unknown;
  readonly only?: unknown;
  readonly dryRun?: unknown;
  readonly agent?: unknown;
  readonly acceptSettings?: unknown;
  readonly yes?: unknown;
  readonly json?: unknown;
}

/** Same exit code as `verify`: a source file could not be read. */
const DAMAGED_EXIT = 6;

/** Always does a dry run first and prints the plan; then imports after a confirmation or with --yes. */
export async function importSessions(
  paths: readonly string[],
  options: ImportCommandOptions,
): Promise<number> {
  const { dryRun, yes, json } = options;
  const home = await homeOf(options);
  const chosen = planOptions(home, options);
  const source = await openPaths(paths);
  try {
    await using store = await openOrMakeHome(home, { dryRun: dryRun === true });
    const planned = await run(store, source, { ...chosen, dryRun: true });
    const agents = agentAdvice(planned, home.config);
    if (json !== true) printPlan(source, planned, agents);
    const work = planned.sessions.filter(isWork).length + planned.convlogLines;
    const goesOn = dryRun !== true && work > 0 && (await confirm('Import these sessions?', { yes }));
    const report = goesOn ? await run(store, source, { ...chosen, dryRun: false }) : planned;
    if (goesOn) await waitForIndex(store);
    if (json === true) printReport(source, report, { imported: goesOn, agents });
    say(summaryLine(report, goesOn, dryRun === true));
    if (report.sessions.some(({ settingsNotApplied }) => settingsNotApplied.length > 0))
      say('Settings of the source are not applied. To apply them, pass --accept-settings.');
    return report.sessions.some(({ action }) => action === 'unreadable') ? DAMAGED_EXIT : 0;
  } finally {
    await source[Symbol.asyncDispose]?.();
  }
}

/** By the options of the command and the rules of the configuration. */
export function planOptions({ config }: Home, { agent, acceptSettings }: ImportCommandOptions): PlanOptions {
  const keyOf: PlanOptions['keyOf'] = (from) => keyOfRoute(from, routingOf(config));
  const agentId = typeof agent === 'string' ? parseAgentId(agent) : undefined;
  return { agentId, acceptSettings: acceptSettings === true, keyOf };
}

async function openPaths(paths: readonly string[]): Promise<OpenSource> {
  const [only, ...more] = paths;
  if (only === undefined) throw failure('INVALID_INPUT', 'cli.importWhat');
  if (more.length === 0) return openSource(only);
  const sources: OpenSource[] = [];
  for (const path of paths) sources.push(await openSource(path));
  return mergeSources(sources);
}

export function isWork({ action }: SessionPlan): boolean {
  return action === 'new' || action === 'resume' || action === 'grown' || action === 'settings';
}

/** Search covers everything when the command ends. */
export async function waitForIndex(store: Store): Promise<void> {
  using bar = new Progress('indexing for search');
  for (;;) {
    const { search } = await store.stats({ search: true });
    if (search === undefined || search.problem !== undefined || search.done >= search.total) return;
    bar.show(search.done, search.total);
    await sleep(100);
  }
}

export async function run(
  store: Store,
  source: ImportSource,
  options: ImportOptions & { readonly dryRun: boolean },
): Promise<ImportReport> {
  using bar = new Progress(options.dryRun ? 'reading sessions' : 'importing sessions');
  return runImport(store, source, { ...options, onSession: (_, done, total) => bar.show(done, total) });
}

/** The configured rules that assign the next message of a conversation to a session. */
function routingOf({ session, agents }: Config): Parameters<typeof keyOfRoute>[1] {
  const own = Object.entries(agents).map(([id, agent]) => [
    id,
    agent.session ? { session: agent.session } : {},
  ]);
  return { session, agents: Object.fromEntries(own) };
}

/** A dry run must not create a home. */
export async function openOrMakeHome(home: Home, { dryRun }: { readonly dryRun: boolean }): Promise<Store> {
  const { path, kind } = home;
  if (kind === 'postgres' || storesIn(path).length > 0) return (await openHomeWith(home)).store;
  return openStore(dryRun ? { kind: 'memory' } : { kind, home: path, signals: true });
}

/** What the user must configure for the imported sessions of one agent. */
interface AgentAdvice {
  readonly agentId: string;
  readonly sessions: number;
  readonly isConfigured: boolean;
  /** Channels whose next message would reach another agent. */
  readonly unboundChannels: readonly string[];
  /** What to add to the configuration. */
  readonly configure: JsonObject;
}

/** Lists the agents of imported sessions that need configuration before they work fully. */
function agentAdvice({ sessions }: ImportReport, { agents, session }: Config): AgentAdvice[] {
  const keys = sessions.flatMap(({ action, key }) => (action === 'unreadable' ? [] : [parseSessionKey(key)]));
  const byAgent = Map.groupBy(keys, (parts) => agentOfKey(parts));
  return [...byAgent].flatMap(([agentId, own]) => {
    const isConfigured = agentId === DEFAULT_AGENT_ID || Object.hasOwn(agents, agentId);
    const channels = own.flatMap((parts) => {
      const { channel } = 'channel' in parts ? parts : {};
      return channel === undefined || resolveBoundAgent(subjectOf(parts), session) === agentId
        ? []
        : [channel];
    });
    const unboundChannels = [...new Set(channels)];
    if (isConfigured && unboundChannels.length === 0) return [];
    const bindings = unboundChannels.map((channel) => ({ agentId, match: { channel } }));
    const configure = {
      ...(!isConfigured && { agents: { [agentId]: {} } }),
      ...(bindings.length > 0 && { session: { bindings } }),
    };
    return [{ agentId, sessions: own.length, isConfigured, unboundChannels, configure }];
  });
}

function subjectOf(parts: SessionKeyParts): BindingSubject {
  if (parts.kind === 'direct') return { ...parts, peerKind: 'direct' };
  if (parts.kind === 'group' || parts.kind === 'channel')
    return { channel: parts.channel, peer: parts.id, peerKind: parts.kind };
  return {};
}

function adviceLines({ agentId, sessions, isConfigured, unboundChannels, configure }: AgentAdvice): string[] {
  const count = counted(sessions, 'session');
  const missing = `the agent ${agentId} (${count}) is not configured; it works with default settings`;
  const unbound = `new messages from ${unboundChannels.join(', ')} go to another agent than ${agentId}`;
  return [
    ...(isConfigured ? [] : [missing]),
    ...(unboundChannels.length === 0 ? [] : [unbound]),
    `to change that, add to the configuration: ${JSON.stringify(configure)}`,
  ];
}

function printPlan(
  { kind }: ImportSource,
  { sessions, convlogLines, problems }: ImportReport,
  agents: readonly AgentAdvice[],
): void {
  print(`${kind}: ${counted(sessions.length, 'session')}, ${counted(convlogLines, 'new line')} of channels`);
  for (const plan of sessions) {
    const { action, id, key, title, messages, place, notes, settingsNotApplied } = plan;
    const name = action === 'unreadable' ? place : `${id}  ${key}  ${counted(messages, 'message')}  ${title}`;
    print(escapeForTerminal(`${action.padEnd(10)} ${name}`.trimEnd()));
    // The plan goes to stdout, and these lines to stderr: each must name its session. The path is in the note itself.
    const about = action === 'unreadable' ? '' : `${id}: `;
    for (const note of notes) say(escapeForTerminal(`  note: ${about}${note}`));
    if (settingsNotApplied.length > 0)
      say(escapeForTerminal(`  ${about}settings in the file: ${settingsNotApplied.join(', ')}; not applied`));
  }
  for (const problem of problems) say(escapeForTerminal(`note: ${problem}`));
  for (const text of agents.flatMap(adviceLines)) say(escapeForTerminal(`note: ${text}`));
}

function printReport(
  { kind }: ImportSource,
  { sessions, convlogLines, problems }: ImportReport,
  { imported, agents }: { readonly imported: boolean; readonly agents: readonly AgentAdvice[] },
): void {
  const page = { data: sessions, hasMore: false, lastId: sessions.at(-1)?.id ?? null };
  printJson({ ...page, kind, imported, convlogLines, problems, agents }, 2);
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
