import { createReadStream, existsSync } from 'node:fs';
import { RepriseError } from '../../errors.ts';
import { failure } from '../../messages/failure.ts';
import { quotedValue } from '../../messages/quoted.ts';
import { entryAt, parsePosition } from '../../transcript/message-position.ts';
import { parseTranscript, readTranscript, type Transcript } from '../../transcript/reader.ts';
import { type HistoryFormat, rebuildHistory } from '../../transcript/render/rebuild-history.ts';
import { openLocalBackend } from '../backend/local-backend.ts';
import { historyView, renderView, type ViewOptions } from '../history-view.ts';
import { countOption, type Options, textOption } from '../options.ts';
import { escapeForTerminal, print, printJson, say } from '../terminal/print.ts';

const FORMATS: readonly HistoryFormat[] = ['anthropic', 'openai', 'ai-sdk'];
/** As `verify` answers: damage in the middle of a sealed file. */
const CORRUPT_EXIT = 6;

/** `reprise show [ref|file]`: a path, or the ref of a session in the home or on a server. */
export async function show(target: string | undefined, options: Options): Promise<number> {
  const api = parseFormat(options['format']);
  const view = {
    leaf: textOption(options['leaf']),
    limit: countOption('--limit', options['limit']),
    at: textOption(options['at']),
  };
  if (textOption(options['url']) !== undefined && !(target !== undefined && isFile(target)))
    return showRemote(target, options, view, api);
  const transcript = await open(target, options);
  const { limit } = view;
  const leaf = entryId(transcript, view.leaf);
  if (api !== undefined) {
    const messages = rebuildHistory(transcript.entries, { format: api, leaf, issues: transcript.issues });
    printJson(limit === undefined ? messages : messages.slice(-limit), 2);
  } else {
    const history = historyView(transcript, { ...view, leaf });
    if (options['json'] === true) printJson(history, 2);
    else for (const line of renderView(history, transcript)) print(line);
  }
  return report(target ?? 'the session', transcript);
}

/** The entry at a position of the current branch; an id stays what it is. */
function entryId({ entries }: Transcript, leaf: string | undefined): string | undefined {
  const position = parsePosition(leaf ?? '');
  return position === undefined ? leaf : entryAt(entries, position).id;
}

async function showRemote(
  target: string | undefined,
  options: Options,
  view: ViewOptions,
  api: HistoryFormat | undefined,
): Promise<number> {
  if (api !== undefined) throw failure('INVALID_INPUT', 'cli.homeOnly', { option: '--format' });
  if (target === undefined) throw failure('INVALID_INPUT', 'cli.noRef');
  const { openBackend } = await import('../backend/backend.ts');
  await using backend = await openBackend(options);
  const history = await backend.history(await backend.find(target), view);
  if (options['json'] === true) printJson(history, 2);
  else for (const line of renderView(history)) print(line);
  return 0;
}

function isFile(target: string): boolean {
  return existsSync(target) || /[/\\]|\.jsonl$/.test(target);
}

async function open(target: string | undefined, options: Options): Promise<Transcript> {
  if (target !== undefined && isFile(target)) return openFile(target);
  await using backend = await openLocalBackend(options);
  const { store } = backend;
  const { id } =
    target === undefined
      ? await (await import('../terminal/pick.ts')).pickSession(store)
      : await backend.find(target);
  return parseTranscript(await store.exportSession(id), { sessionId: id });
}

async function openFile(file: string): Promise<Transcript> {
  try {
    return await readTranscript(createReadStream(file));
  } catch (error) {
    throw asReadError(error, file);
  }
}

function asReadError(error: unknown, file: string): unknown {
  if (error instanceof RepriseError)
    return failure(error.code, 'cli.notTranscript', { file }, { cause: error, details: error.details });
  const { code } = error as NodeJS.ErrnoException;
  if (code === 'ENOENT') {
    return failure('NOT_FOUND', 'cli.noFile', { file }, { cause: error });
  }
  if (code === undefined) return error;
  return failure(
    'INVALID_INPUT',
    'cli.unreadableFile',
    { file, reason: code, isFolder: code === 'EISDIR' },
    { cause: error },
  );
}

function parseFormat(format: unknown): HistoryFormat | undefined {
  if (format === undefined) return undefined;
  const known = FORMATS.find((name) => name === format);
  if (known !== undefined) return known;
  throw failure('INVALID_INPUT', 'value.wrong', {
    field: '--format',
    value: quotedValue(format),
    expected: [{ is: 'oneOf', values: FORMATS }],
  });
}

/** Nothing is skipped in silence: what the reader met goes to stderr, damage also into the exit code. */
function report(file: string, { issues, corruptAt }: Transcript): number {
  for (const [kind, count] of issues.counts) {
    const first = issues.examples.find((issue) => issue.kind === kind);
    const where = first?.line === undefined ? '' : `, first at line ${first.line}, byte ${first.offset}`;
    say(`note: ${count} x ${kind}${where}: ${escapeForTerminal(first?.detail ?? '')}`);
  }
  if (corruptAt === undefined) return 0;
  say(
    `reprise: ${escapeForTerminal(file)} is damaged at byte ${corruptAt}; everything that can be verified is shown above (STORE_CORRUPT)`,
  );
  return CORRUPT_EXIT;
}
