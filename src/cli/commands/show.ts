import { createReadStream, existsSync } from 'node:fs';
import { resolveRef } from '../../engine/ref.ts';
import { RepriseError } from '../../errors.ts';
import { parseTranscript, readTranscript, type Transcript } from '../../transcript/reader.ts';
import { type HistoryFormat, rebuildHistory } from '../../transcript/rebuild-history.ts';
import { historyView, renderView } from '../history-view.ts';
import { type HomeOptions, openHome } from '../home.ts';
import { escapeForTerminal, print, say } from '../print.ts';

interface ShowOptions extends HomeOptions {
  readonly json?: unknown;
  readonly format?: unknown;
  readonly leaf?: unknown;
  readonly limit?: unknown;
}

const FORMATS: readonly HistoryFormat[] = ['anthropic', 'openai', 'ai-sdk'];
/** As `verify` will answer: damage in the middle of a sealed file. */
const CORRUPT_EXIT = 6;

/** A path, or the ref of a session in the home. */
export async function show(target: string, options: ShowOptions): Promise<number> {
  const { json, format, leaf, limit } = options;
  const api = parseFormat(format);
  const count = parseLimit(limit);
  const at = typeof leaf === 'string' ? leaf : undefined;
  const transcript = await open(target, options);
  if (api !== undefined) {
    const messages = rebuildHistory(transcript.entries, { format: api, leaf: at, issues: transcript.issues });
    print(JSON.stringify(count === undefined ? messages : messages.slice(-count), null, 2));
  } else {
    const view = historyView(transcript, { leaf: at, limit: count });
    if (json === true) print(JSON.stringify(view, null, 2));
    else for (const line of renderView(view, transcript)) print(line);
  }
  return report(target, transcript);
}

async function open(target: string, options: HomeOptions): Promise<Transcript> {
  const isFile = existsSync(target) || /[/\\]|\.jsonl$/.test(target);
  if (isFile) return openFile(target);
  await using store = await openHome(options);
  const { id } = await resolveRef(store, target);
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
  if (error instanceof RepriseError) {
    const next = 'Give a transcript: JSON objects, one per line. "reprise show --help" lists the dialects.';
    return new RepriseError(error.code, `${file}: ${error.message}`, {
      details: { ...error.details, next },
      cause: error,
    });
  }
  const { code } = error as NodeJS.ErrnoException;
  if (code === 'ENOENT') {
    const next = 'Check the path; "reprise show" takes the file itself.';
    return new RepriseError('NOT_FOUND', `no file ${file}`, { details: { next }, cause: error });
  }
  if (code === undefined) return error;
  const next =
    code === 'EISDIR' ? 'That is a folder; name one .jsonl file in it.' : 'Check that it is readable.';
  return new RepriseError('INVALID_INPUT', `cannot read ${file}: ${code}`, {
    details: { next },
    cause: error,
  });
}

function parseFormat(format: unknown): HistoryFormat | undefined {
  if (format === undefined) return undefined;
  const known = FORMATS.find((name) => name === format);
  if (known !== undefined) return known;
  throw new RepriseError('INVALID_INPUT', `no format "${String(format)}"`, {
    details: { next: `Use one of: ${FORMATS.join(', ')}.` },
  });
}

function parseLimit(limit: unknown): number | undefined {
  if (limit === undefined) return undefined;
  const count = Number(limit);
  if (Number.isSafeInteger(count) && count > 0) return count;
  throw new RepriseError('INVALID_INPUT', `--limit wants a whole number above 0, not "${String(limit)}"`);
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
    `reprise: ${file} is damaged at byte ${corruptAt}; everything that still verifies is shown above (STORE_CORRUPT)`,
  );
  return CORRUPT_EXIT;
}
