import { counted } from '../../engine/commands/command-context.ts';
import { sessionName } from '../../engine/commands/session-line.ts';
import { resolveRef } from '../../engine/ref.ts';
import type { SessionRecord, Store } from '../../store/store.ts';
import { cancelled, confirm } from '../ask.ts';
import { openHome } from '../home.ts';
import type { Options } from '../options.ts';
import { escapeForTerminal, printPage, say } from '../print.ts';

/** `reprise rm [ref...]`: a tombstone; `restore` brings it back. */
export async function rm(refs: readonly string[], options: Options): Promise<void> {
  await using store = await openHome(options);
  const chosen =
    refs.length === 0
      ? [await (await import('../pick.ts')).pickSession(store)]
      : await resolveAll(store, refs, 'open');
  if (!(await confirm(`Move ${listed(chosen)} to the trash?`, options))) throw cancelled();
  const gone: SessionRecord[] = [];
  for (const { id } of chosen) gone.push(await store.delete(id));
  tell(options, gone, ({ id }) => `moved to the trash; "reprise restore ${id}" brings it back`);
}

/** `reprise restore <ref...>` */
export async function restore(refs: readonly string[], options: Options): Promise<void> {
  await using store = await openHome(options);
  const back: SessionRecord[] = [];
  for (const { id } of await resolveAll(store, refs, 'deleted')) back.push(await store.restore(id));
  tell(options, back, () => 'is back');
}

/** `reprise purge <ref...>`: only what is in the trash, and never without a yes. */
export async function purge(refs: readonly string[], options: Options): Promise<void> {
  await using store = await openHome(options);
  const chosen = await resolveAll(store, refs, 'deleted');
  if (!(await confirm(`Remove ${listed(chosen)} for good? Nothing brings it back.`, options)))
    throw cancelled();
  for (const { id } of chosen) await store.purge(id);
  tell(options, chosen, () => 'is gone for good');
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
