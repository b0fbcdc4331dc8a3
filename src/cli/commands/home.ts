import { existsSync } from 'node:fs';
import { resolveRef } from '../../engine/admin/ref.ts';
import { isDamaged, repairedMessage, repairSession } from '../../engine/history/repair.ts';
import { messageText } from '../../messages/english.ts';
import { failure } from '../../messages/failure.ts';
import { resolveSessionTranscriptPath } from '../../store/port/home-paths.ts';
import type { VerifyFinding, VerifyStatus } from '../../store/port/verify-report.ts';
import { homeOf, openHome, openHomeWith } from '../backend/home.ts';
import { heldText } from '../held-messages.ts';
import type { Options } from '../options.ts';
import { escapeForTerminal, jsonText, print, printPage, say } from '../terminal/print.ts';
import { Progress } from '../terminal/progress.ts';

const VERIFY_EXIT: Readonly<Record<VerifyStatus, number>> = { clean: 0, quarantined: 1, corrupt: 6 };

/** `reprise verify [ref]`: 0 clean, 1 quarantined or torn, 6 damaged. */
export async function verify(ref: string | undefined, options: Options): Promise<number> {
  await using store = await openHome(options);
  const id = ref === undefined ? undefined : (await resolveRef(store, ref)).id;
  using progress = new Progress('verifying sessions');
  const report = await store.verify(id, { onProgress: (done, total) => progress.show(done, total) });
  const { status, findings } = report;
  const held = (await store.transfer.held()).filter(
    ({ sessionId }) => id === undefined || sessionId === id,
  ).length;
  if (options['json'] === true)
    printPage(findings, { lastId: findings.at(-1)?.session ?? null, status, heldMessages: held });
  else {
    for (const { session, offset, kind, detail } of findings) {
      print(`${session} at byte ${offset}: ${kind}, ${escapeForTerminal(detail)}`);
    }
    print(status);
    if (held > 0) say(heldText(held));
    for (const step of nextSteps(findings)) say(step);
  }
  return VERIFY_EXIT[status];
}

const repairStep = (id: string): string =>
  `"reprise repair ${id}" copies what can be read into a new session; the damaged one is kept.`;
const repairWithoutBlobStep = (id: string): string =>
  `Restore the blob from a backup, or "reprise repair ${id}" copies everything else into a new session; the damaged one is kept.`;

/** What to do next, by kind of damage. */
const NEXT_STEPS: Readonly<Record<string, (id: string) => string>> = {
  corrupt: repairStep,
  'missing-lines': repairStep,
  'missing-blob': repairWithoutBlobStep,
  'corrupt-blob': repairWithoutBlobStep,
  'other-session': (id) =>
    `Restore the transcript of ${id} from a backup. The file with its name belongs to another session; it was not changed.`,
  'stray-copy': (id) =>
    `No message is lost: ${id}.jsonl is a copy that no session uses. Move it out of this folder, so that nothing mistakes it for a session.`,
  'damaged-log': (name) =>
    `The last commits in ${name} may be missing: compare with a backup. After that, remove the report in quarantine/.`,
  'newer-version': () => 'Use the version of reprise that wrote it, or a newer one.',
  'not-a-file': (id) =>
    `The transcript path of ${id} is not a regular file. Restore the file, or restore a backup.`,
};

/** Each kind of next step once, for the first session that needs it, because a home may have thousands. */
function nextSteps(findings: readonly VerifyFinding[]): string[] {
  const steps = new Map<unknown, string>();
  for (const { kind, session } of findings) {
    const step = NEXT_STEPS[kind];
    if (step !== undefined && !steps.has(step)) steps.set(step, step(session));
  }
  return [...steps.values()];
}

/** `reprise locks`: lists who holds which lease. */
export async function locks(options: Options): Promise<void> {
  await using store = await openHome(options);
  const leases = await store.leases();
  if (options['json'] === true) {
    printPage(leases, { lastId: leases.at(-1)?.sessionId ?? null });
    return;
  }
  if (leases.length === 0) say('no session is held');
  for (const { sessionId, epoch, holder, alive, lockFile } of leases) {
    const at = typeof holder['host'] === 'string' ? ` on ${escapeForTerminal(holder['host'])}` : '';
    const who = `process ${escapeForTerminal(String(holder['pid'] ?? 'unknown'))}${at}`;
    print(
      lockFile === undefined
        ? `${sessionId}  epoch ${epoch}  ${who}  ${alive ? 'alive' : 'dead: free for the next'}`
        : `${sessionId}  ${lockFile}  ${who}  ${alive ? 'alive: another tool is writing' : 'stale: ignored'}`,
    );
  }
}

/** `reprise path [ref]`: prints the path of the home, or of a session's transcript. */
export async function path(ref: string | undefined, options: Options): Promise<void> {
  const found = await homeOf(options);
  const { path: home, origin } = found;
  if (ref === undefined) {
    if (options['json'] === true) printPage([{ home, origin }]);
    else print(home);
    return;
  }
  await using store = (await openHomeWith(found)).store;
  const { id, agentId } = await resolveRef(store, ref);
  const file = resolveSessionTranscriptPath({ home, agentId, sessionId: id });
  if (!existsSync(file)) throw failure('NOT_FOUND', 'cli.noTranscriptFile', { id });
  if (options['json'] === true) printPage([{ home, file }], { lastId: id });
  else print(file);
}

/**
 * `reprise repair <ref>`: copies everything that can be verified into a new session; the damaged one stays as it is.
 */
export async function repair(ref: string, options: Options): Promise<void> {
  await using store = await openHome(options);
  const record = await resolveRef(store, ref);
  if (!(await isDamaged(store, record))) {
    const nothing = { repaired: null, from: record.id, entries: 0, damagedAt: null };
    print(options['json'] === true ? jsonText(nothing) : `Nothing to repair: ${record.id} is not damaged.`);
    return;
  }
  const result = await repairSession(store, record);
  print(options['json'] === true ? jsonText(result) : messageText(repairedMessage(result)));
}
