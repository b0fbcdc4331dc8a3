import { sessionFacts, sessionName } from '../../engine/commands/session-line.ts';
import { resolveRef } from '../../engine/ref.ts';
import { repairedText, repairSession } from '../../engine/repair.ts';
import type { SessionRecord, VerifyStatus } from '../../store/store.ts';
import { type HomeOptions, homeOf, openHome } from '../home.ts';
import { escapeForTerminal, print, say, style } from '../print.ts';

interface ReadOptions extends HomeOptions {
  readonly json?: unknown;
}

interface ListOptions extends ReadOptions {
  readonly limit?: unknown;
  readonly agent?: unknown;
  readonly deleted?: unknown;
}

/** `reprise ls [text]` */
export async function ls(text: string | undefined, options: ListOptions): Promise<void> {
  await using store = await openHome(options);
  const { sessions, cursor } = await store.list({
    limit: Number(options.limit ?? 50),
    ...(text !== undefined && { text }),
    ...(typeof options.agent === 'string' && { agentId: options.agent }),
    ...(options.deleted === true && { status: 'deleted' as const }),
  });
  if (options.json === true) {
    print(
      JSON.stringify(
        { data: sessions, hasMore: cursor !== null, lastId: sessions.at(-1)?.id ?? null },
        null,
        2,
      ),
    );
    return;
  }
  if (sessions.length === 0) say('no sessions');
  for (const [i, session] of sessions.entries()) print(listLine(i + 1, session));
  if (cursor !== null) say('… older ones left out; --limit shows more');
}

function listLine(number: number, record: SessionRecord): string {
  const head = `${String(number).padStart(3)}${record.active ? '*' : ' '} ${sessionName(record)}`;
  return `${escapeForTerminal(head)}\n     ${style('dim', escapeForTerminal(sessionFacts(record, new Date())))}`;
}

const VERIFY_EXIT: Readonly<Record<VerifyStatus, number>> = { clean: 0, quarantined: 1, corrupt: 6 };

/** `reprise verify [ref]`: 0 clean, 1 quarantined or torn, 6 damaged. */
export async function verify(ref: string | undefined, options: ReadOptions): Promise<number> {
  await using store = await openHome(options);
  const id = ref === undefined ? undefined : (await resolveRef(store, ref)).id;
  const report = await store.verify(id);
  if (options.json === true) print(JSON.stringify(report, null, 2));
  else {
    for (const { session, offset, kind, detail } of report.findings) {
      print(`${session} at byte ${offset}: ${kind}, ${escapeForTerminal(detail)}`);
    }
    print(report.status);
  }
  return VERIFY_EXIT[report.status];
}

/** `reprise locks`: who holds what. */
export async function locks(options: ReadOptions): Promise<void> {
  await using store = await openHome(options);
  const leases = await store.leases();
  if (options.json === true) {
    print(
      JSON.stringify({ data: leases, hasMore: false, lastId: leases.at(-1)?.sessionId ?? null }, null, 2),
    );
    return;
  }
  if (leases.length === 0) say('nobody holds a session');
  for (const { sessionId, epoch, holder, alive, lockFile } of leases) {
    const who = `process ${escapeForTerminal(String(holder['pid'] ?? 'unknown'))}`;
    print(
      lockFile === undefined
        ? `${sessionId}  epoch ${epoch}  ${who}  ${alive ? 'alive' : 'dead: free for the next'}`
        : `${sessionId}  ${lockFile}  ${who}  ${alive ? 'alive: another tool is writing' : 'stale: ignored'}`,
    );
  }
}

/** `reprise path [ref]`: the home, or the transcript of a session. */
export async function path(ref: string | undefined, options: ReadOptions): Promise<void> {
  const { path: home } = homeOf(options);
  if (ref === undefined) {
    print(options.json === true ? JSON.stringify({ home }) : home);
    return;
  }
  await using store = await openHome(options);
  const { id, agentId } = await resolveRef(store, ref);
  const file = `${home}/agents/${agentId}/sessions/${id}.jsonl`;
  print(options.json === true ? JSON.stringify({ home, file }) : file);
}

/** `reprise repair <ref>`: everything that still verifies goes on in a new session; the damaged one stays as it is. */
export async function repair(ref: string, options: ReadOptions): Promise<void> {
  await using store = await openHome(options);
  const result = await repairSession(store, await resolveRef(store, ref));
  print(options.json === true ? JSON.stringify(result) : repairedText(result));
}
