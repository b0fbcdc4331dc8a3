import { openBackend } from '../backend/backend.ts';
import { type HistoryRow, renderRow } from '../history-view.ts';
import { countOption, type Options } from '../options.ts';
import { print, printJson, say } from '../terminal/print.ts';

const INTERRUPTED = 130;
const KEEP_ALIVE_MS = 60_000;

/** `reprise tail [-f] <ref>`: the last rows, then what is stored as it is stored, until Ctrl-C. */
export async function tail(ref: string, options: Options): Promise<number> {
  const limit = countOption('--limit', options['limit']) ?? 10;
  const isJson = options['json'] === true;
  // What an engine notes for itself is no part of a conversation; programs may want it.
  const wanted = ({ role, text }: HistoryRow): boolean =>
    isJson || role !== 'custom' || !text.startsWith('reprise.');
  const write = (row: HistoryRow): void => {
    if (isJson) printJson(row);
    else for (const line of renderRow(row)) print(line);
  };
  await using backend = await openBackend(options);
  const session = await backend.find(ref);
  const rows = await backend.last(session, { limit, wanted });
  for (const row of rows) write(row);
  if (options['follow'] !== true) return 0;
  const controller = new AbortController();
  // A store that waits does not keep a process alive by itself.
  const alive = setInterval(() => undefined, KEEP_ALIVE_MS);
  process.once('SIGINT', () => controller.abort());
  if (process.stderr.isTTY) say('(waiting for more; Ctrl-C ends)');
  // The session may have gone on since it was found: what was read counts.
  const afterSeq = Math.max(session.lastSeq, rows.at(-1)?.seq ?? 0);
  for await (const row of backend.follow(session, { afterSeq, signal: controller.signal }))
    if (wanted(row)) write(row);
  clearInterval(alive);
  return controller.signal.aborted ? INTERRUPTED : 0;
}
