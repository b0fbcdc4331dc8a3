import { labelOf } from '../../engine/commands/command-context.ts';
import { entryNamed } from '../../engine/commands/read-entries.ts';
import { sessionName } from '../../engine/commands/session-line.ts';
import { stopText } from '../../engine/stop-session.ts';
import type { UndoResult } from '../../engine/take-step.ts';
import { RepriseError } from '../../errors.ts';
import type { SessionRecord } from '../../store/store.ts';
import { openBackend } from '../backend.ts';
import { openLocalBackend } from '../local-backend.ts';
import { type Options, textOption } from '../options.ts';
import { escapeForTerminal, jsonText, print, printJson, say } from '../print.ts';
import { asStarted } from '../started-as.ts';

/** What was done: for programs as JSON, for people as a word about it. */
function tell(options: Options, result: object, text: string): void {
  if (options['json'] === true) printJson(result);
  else say(escapeForTerminal(text));
}

type Named = Pick<SessionRecord, 'id' | 'title' | 'label'>;

/** Which session it was: `@last` means another one after each change. */
function named(session: Named): string {
  return `"${sessionName(session)}" (${session.id})`;
}

/** `reprise rename <ref> <label>` */
export async function rename(ref: string, words: string, options: Options): Promise<void> {
  const label = labelOf(words);
  if (label === '')
    throw new RepriseError('INVALID_INPUT', 'a label has at least one letter', {
      details: { next: 'Write: reprise rename <ref> <label>' },
    });
  await using backend = await openLocalBackend(options);
  const session = await backend.session(await backend.find(ref));
  const record = await session.patch({ label });
  tell(options, record, `${record.id} is "${label}" now.`);
}

/** `reprise fork <ref> [entry]`: the new id is what was asked for. */
export async function fork(ref: string, entry: string | undefined, options: Options): Promise<void> {
  await using backend = await openLocalBackend(options);
  const session = await backend.session(await backend.find(ref));
  const made = await session.fork(entry === undefined ? {} : { at: await entryNamed(session, entry) });
  print(options['json'] === true ? jsonText(made) : made.id);
  if (options['json'] !== true) say(`A copy of ${session.id}, which stays as it is.`);
}

/** `reprise compact <ref>` */
export async function compact(ref: string, options: Options): Promise<void> {
  await using backend = await openBackend(options);
  const session = await backend.find(ref);
  if (options['dryRun'] === true) {
    const plan = await backend.previewCompaction(session);
    if (options['json'] === true) printJson({ plan });
    else if (plan === null) print('Nothing to gain by it yet.');
    else {
      const { coveredEntries, coveredTokens, keptEntries, keptTokens, firstKeptEntryId } = plan;
      const { data } = await backend.history(session, { leaf: undefined, limit: 1, at: firstKeptEntryId });
      const from = data[0]?.position === undefined ? firstKeptEntryId : `#${data[0].position}`;
      print(
        `Would compact ${coveredEntries} entries (~${coveredTokens} tokens) and keep ${keptEntries} (~${keptTokens} tokens), from ${from} on.`,
      );
    }
    return;
  }
  const focus = textOption(options['focus']);
  const interrupted = new AbortController();
  process.once('SIGINT', () => interrupted.abort());
  const done = await backend.compact(session, {
    signal: interrupted.signal,
    ...(focus !== undefined && { focus }),
  });
  const text =
    done === null
      ? `Nothing to gain by it yet in ${named(session)}.`
      : `Compacted ${named(session)}: ~${done.tokensBefore} -> ~${done.tokensAfter} tokens; ${asStarted(`"reprise undo ${session.id}"`)} undoes it.`;
  tell(options, { compaction: done }, text);
}

/** `reprise undo <ref>` */
export async function undo(ref: string, options: Options): Promise<void> {
  await using backend = await openBackend(options);
  const session = await backend.find(ref);
  const result = await backend.undo(session, { anyway: options['anyway'] === true });
  tellStep(options, session, result, 'Took back', 'undo');
}

/** `reprise redo <ref>` */
export async function redo(ref: string, options: Options): Promise<void> {
  await using backend = await openLocalBackend(options);
  const record = await backend.find(ref);
  const session = await backend.session(record);
  tellStep(options, record, await session.redo(), 'Brought back', 'redo');
}

function tellStep(
  options: Options,
  session: Named,
  { undone, sessionId }: UndoResult,
  done: string,
  verb: 'undo' | 'redo',
): void {
  const now = sessionId === undefined ? '' : ` Its key stands for ${sessionId} now.`;
  const text = undone === null ? `Nothing to ${verb} in` : `${done} the last ${undone} of`;
  const result = verb === 'undo' ? { undone } : { redone: undone };
  tell(
    options,
    { ...result, ...(sessionId !== undefined && { sessionId }) },
    `${text} ${named(session)}.${now}`,
  );
}

/** `reprise stop <ref>` */
export async function stop(ref: string, options: Options): Promise<void> {
  await using backend = await openBackend(options);
  const session = await backend.find(ref);
  const result = await backend.stop(session, { waiting: options['waiting'] === true });
  tell(options, result, `${stopText(result)} (${named(session)})`);
}
