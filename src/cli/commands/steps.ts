import { labelOf } from '../../engine/commands/command-context.ts';
import { entryNamed } from '../../engine/commands/read-entries.ts';
import { sessionName } from '../../engine/commands/session-line.ts';
import { messageText } from '../../messages/english.ts';
import { failure } from '../../messages/failure.ts';
import { type Message, message } from '../../messages/message.ts';
import type { SessionRecord } from '../../store/port/store.ts';
import { openBackend } from '../backend/backend.ts';
import { openLocalBackend } from '../backend/local-backend.ts';
import { type Options, textOption } from '../options.ts';
import { asStarted } from '../started-as.ts';
import { escapeForTerminal, jsonText, print, printJson, say } from '../terminal/print.ts';

/** What was done: for programs as JSON, for people as a word about it. */
function tell(options: Options, result: object, text: string): void {
  if (options['json'] === true) printJson(result);
  else say(escapeForTerminal(text));
}

type Named = Pick<SessionRecord, 'id' | 'title' | 'label'>;

interface Result {
  /** Of a reset: the session that its key stands for now. */
  readonly sessionId?: string;
  readonly [name: string]: unknown;
}

/** Names the session, because `@last` stands for another one after each change. */
function report(options: Options, session: Named, result: Result, done: Message): void {
  const { sessionId } = result;
  const now = sessionId === undefined ? '' : ` Its key now points to ${sessionId}.`;
  tell(options, result, `"${sessionName(session)}" (${session.id}): ${messageText(done)}${now}`);
}

/** `reprise rename <ref> <label>` */
export async function rename(ref: string, words: string, options: Options): Promise<void> {
  const label = labelOf(words);
  if (label === '') throw failure('INVALID_INPUT', 'cli.noLabel');
  await using backend = await openLocalBackend(options);
  const session = await backend.session(await backend.find(ref));
  const record = await session.patch({ label });
  tell(options, record, `${record.id} is now labeled "${label}".`);
}

/** `reprise fork <ref> [entry]`: the new id is what was asked for. */
export async function fork(ref: string, entry: string | undefined, options: Options): Promise<void> {
  await using backend = await openLocalBackend(options);
  const session = await backend.session(await backend.find(ref));
  const made = await session.fork(entry === undefined ? {} : { at: await entryNamed(session, entry) });
  print(options['json'] === true ? jsonText(made) : made.id);
  if (options['json'] !== true) say(`Copied from ${session.id}, which is unchanged.`);
}

/** `reprise compact <ref>` */
export async function compact(ref: string, options: Options): Promise<void> {
  await using backend = await openBackend(options);
  const session = await backend.find(ref);
  if (options['dryRun'] === true) {
    const plan = await backend.previewCompaction(session);
    if (options['json'] === true) printJson({ plan });
    else if (plan === null) print(messageText(message('compact.nothing')));
    else {
      const { firstKeptEntryId, ...sizes } = plan;
      const { data } = await backend.history(session, { leaf: undefined, limit: 1, at: firstKeptEntryId });
      const from = data[0]?.position === undefined ? firstKeptEntryId : `#${data[0].position}`;
      print(messageText(message('compact.preview', { ...sizes, from })));
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
  if (done === null) return report(options, session, { compaction: null }, message('compact.nothing'));
  const { tokensBefore, tokensAfter } = done;
  report(options, session, { compaction: done }, message('compact.done', { tokensBefore, tokensAfter }));
  if (options['json'] !== true) say(asStarted(`Undo it with "reprise undo ${session.id}".`));
}

/** `reprise undo <ref>` */
export async function undo(ref: string, options: Options): Promise<void> {
  await using backend = await openBackend(options);
  const session = await backend.find(ref);
  const { undone, ...rest } = await backend.undo(session, { anyway: options['anyway'] === true });
  const done = undone === null ? message('undo.nothing') : message('undo.done', { what: undone });
  report(options, session, { undone, ...rest }, done);
}

/** `reprise redo <ref>` */
export async function redo(ref: string, options: Options): Promise<void> {
  await using backend = await openLocalBackend(options);
  const record = await backend.find(ref);
  const session = await backend.session(record);
  const { undone: redone, ...rest } = await session.redo();
  const done = redone === null ? message('redo.nothing') : message('redo.done', { what: redone });
  report(options, record, { redone, ...rest }, done);
}

/** `reprise stop <ref>` */
export async function stop(ref: string, options: Options): Promise<void> {
  await using backend = await openBackend(options);
  const session = await backend.find(ref);
  const { stopped, cancelled, children } = await backend.stop(session, {
    waiting: options['waiting'] === true,
  });
  const result = { stopped, cancelled, children };
  report(options, session, result, message('stop.done', result));
}
