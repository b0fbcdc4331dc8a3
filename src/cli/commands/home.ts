import { RepriseError } from '../../errors.ts';
import { copyHistory } from '../../store/copy-history.ts';
import type { SessionRecord, Store, VerifyStatus } from '../../store/store.ts';
import { parseTranscript, type Transcript } from '../../transcript/reader.ts';
import { type HomeOptions, homeOf, openHome } from '../home.ts';
import { escapeForTerminal, print, say, style } from '../print.ts';
import { resolveRef } from '../ref.ts';

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

function listLine(
  number: number,
  { id, title, label, lastAt, messageCount, sessionKey, active }: SessionRecord,
): string {
  const name = escapeForTerminal(label ?? title) || '(untitled)';
  const where = escapeForTerminal(sessionKey);
  const head = `${String(number).padStart(3)}${active ? '*' : ' '} ${name}`;
  return `${head}\n     ${style('dim', `${id} · ${where} · ${messageCount} messages · ${ago(lastAt)}`)}`;
}

function ago(time: string): string {
  const minutes = Math.max(0, Math.round((Date.now() - Date.parse(time)) / 60_000));
  if (minutes < 1) return 'just now';
  if (minutes < 60) return `${minutes} min ago`;
  if (minutes < 48 * 60) return `${Math.round(minutes / 60)} h ago`;
  return `${Math.round(minutes / 1440)} days ago`;
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
  const damaged = await resolveRef(store, ref);
  const { entries, corruptAt, header, issues } = await readable(store, damaged.id);
  const cwd = header?.cwd;
  const { id } = await store.create({
    key: damaged.sessionKey,
    parentId: damaged.id,
    ...(cwd !== undefined && { cwd }),
  });
  const copied = await copyHistory(store, id, entries, { blobsFrom: { store, id: damaged.id } });
  if (damaged.active) await store.activate(damaged.sessionKey, id);
  const damagedAt = damaged.corruptAt ?? corruptAt ?? issues?.examples[0]?.offset ?? null;
  const result = { repaired: id, from: damaged.id, entries: copied, damagedAt };
  if (options.json === true) print(JSON.stringify(result));
  else {
    const why = damagedAt === null ? 'no damage was found' : `damaged at byte ${damagedAt}`;
    print(`${damaged.id} (${why}) goes on as ${id} with ${copied} entries; the old one is kept`);
  }
}

/** What can still be read; of a transcript that is gone, nothing. */
async function readable(
  store: Store,
  id: string,
): Promise<Partial<Transcript> & Pick<Transcript, 'entries'>> {
  const bytes = await store.exportSession(id);
  try {
    return parseTranscript(bytes, { sessionId: id });
  } catch (error) {
    if (!(error instanceof RepriseError) || error.code !== 'INVALID_INPUT') throw error;
    return { entries: [], corruptAt: 0 };
  }
}
