import { resolveRef } from '../../engine/admin/ref.ts';
import { sessionName } from '../../engine/commands/session-line.ts';
import {
  copiesOf,
  type PurgeReport,
  purgeSession,
  type TextCopy,
} from '../../engine/history/purge-session.ts';
import { counted } from '../../messages/english-format.ts';
import type { SessionRecord, Store } from '../../store/port/store.ts';
import { homeOf, openHome } from '../backend/home.ts';
import type { Options } from '../options.ts';
import { cancelled, confirm } from '../terminal/ask.ts';
import { escapeForTerminal, printPage, say } from '../terminal/print.ts';

/** `reprise rm [ref...]`: a tombstone; `restore` brings it back. */
export async function rm(refs: readonly string[], options: Options): Promise<void> {
  await using store = await openHome(options);
  const chosen =
    refs.length === 0
      ? [await (await import('../terminal/pick.ts')).pickSession(store)]
      : await resolveAll(store, refs, 'open');
  if (!(await confirm(`Move ${listed(chosen)} to the trash?`, options))) throw cancelled();
  const gone: SessionRecord[] = [];
  for (const { id } of chosen) gone.push(await store.delete(id));
  tell(options, gone, ({ id }) => `moved to the trash; "reprise restore ${id}" restores it`);
}

/** `reprise restore <ref...>` */
export async function restore(refs: readonly string[], options: Options): Promise<void> {
  await using store = await openHome(options);
  const back: SessionRecord[] = [];
  for (const { id } of await resolveAll(store, refs, 'deleted')) back.push(await store.restore(id));
  tell(options, back, () => 'restored');
}

/** `reprise purge <ref...>`: only what is in the trash, and never without a yes. */
export async function purge(refs: readonly string[], options: Options): Promise<void> {
  const { path: home, config } = await homeOf(options);
  await using store = await openHome(options);
  const chosen = await resolveAll(store, refs, 'deleted');
  const withCopies = options['withCopies'] === true;
  const keepChannelLog = options['keepChannelLog'] === true;
  const where = { home, agents: config.agents };
  if (withCopies && options['json'] !== true)
    for (const record of chosen)
      for (const copy of await copiesOf(store, record, where))
        say(escapeForTerminal(`Also: ${copyLine(copy)}`));
  if (
    !(await confirm(
      `Delete ${listed(chosen)}${withCopies ? ' and all copies' : ''} permanently? This cannot be undone.`,
      options,
    ))
  )
    throw cancelled();
  const reports: PurgeReport[] = [];
  const purged = new Set<string>();
  for (const { id } of chosen) {
    // Gone already as a copy of another one.
    if (purged.has(id)) continue;
    const report = await purgeSession(store, id, { withCopies, keepChannelLog, ...where });
    for (const other of [id, ...report.purgedToo]) purged.add(other);
    reports.push(report);
  }
  if (options['json'] === true) {
    printPage(reports, { lastId: reports.at(-1)?.sessionId ?? null });
    return;
  }
  for (const { sessionId, copies, purgedToo } of reports) {
    const record = chosen.find(({ id }) => id === sessionId);
    say(escapeForTerminal(`${record === undefined ? sessionId : listed([record])} is permanently deleted`));
    for (const other of purgedToo) say(escapeForTerminal(`  also deleted: session ${other}`));
    for (const copy of copies) say(escapeForTerminal(`  a copy of its text remains: ${copyLine(copy)}`));
    if (copies.length > 0) say('  To remove copies too, pass --with-copies.');
  }
}

const RELATIONS = {
  fork: 'forked from it',
  origin: 'it was forked from this session',
  parent: 'gave it a task or received its result',
  child: 'received a task or result from it',
} as const;

function copyLine(copy: TextCopy): string {
  if (copy.kind === 'file') return copy.file;
  if (copy.kind === 'memory')
    return copy.heading === '' ? copy.file : `${copy.file}, section "${copy.heading.replace(/^## /, '')}"`;
  return `session ${copy.sessionId}${copy.title === '' ? '' : ` "${copy.title}"`} (${RELATIONS[copy.relation]})`;
}

/** All of them before any is touched: numbers move when one goes, and a wrong one must not leave half done. */
async function resolveAll(
  store: Store,
  refs: readonly string[],
  status: 'open' | 'deleted',
): Promise<SessionRecord[]> {
  const found = new Map<string, SessionRecord>();
  for (const ref of refs) {
    const record = await resolveRef(store, ref, { status });
    found.set(record.id, record);
  }
  return [...found.values()];
}

function listed(records: readonly SessionRecord[]): string {
  const [first] = records;
  if (first === undefined || records.length > 1) return counted(records.length, 'session');
  return `"${sessionName(first)}" (${first.id}, ${counted(first.messageCount, 'message')})`;
}

function tell(
  options: Options,
  records: readonly SessionRecord[],
  what: (record: SessionRecord) => string,
): void {
  if (options['json'] === true) printPage(records, { lastId: records.at(-1)?.id ?? null });
  else for (const record of records) say(escapeForTerminal(`${listed([record])} ${what(record)}`));
}
