import { isListed } from '../../engine/admin/ref.ts';
import { minutesAgo, sessionFacts, sessionName } from '../../engine/commands/session-line.ts';
import { shortId } from '../../messages/english/english-commands.ts';
import { ago, counted } from '../../messages/english-format.ts';
import { failure } from '../../messages/failure.ts';
import { quoted } from '../../messages/quoted.ts';
import { CursorChain } from '../../store/port/cursor-chain.ts';
import type {
  ListQuery,
  ListSort,
  RebuildProgress,
  SessionPage,
  SessionRecord,
} from '../../store/port/store.ts';
import { type Lister, openLister } from '../backend/backend.ts';
import { countOption, type Options, textOption } from '../options.ts';
import { asStarted } from '../started-as.ts';
import { color } from '../terminal/colors.ts';
import { escapeForTerminal, print, printPage, say, style } from '../terminal/print.ts';
import { fitWidth, widthOf } from '../terminal/width.ts';

const PAGE = 1000;

/** `reprise ls [filter]` */
export async function ls(text: string | undefined, options: Options): Promise<void> {
  const limit = countOption('--limit', options['limit']) ?? 50;
  const isTrash = options['deleted'] === true;
  const agentId = textOption(options['agent']);
  const channel = textOption(options['channel']);
  const kind = textOption(options['kind']);
  const filter: ListQuery = {
    ...(text !== undefined && text !== '' && { text }),
    ...(agentId !== undefined && { agentId }),
    ...(channel !== undefined && { channel }),
    ...(kind !== undefined && { kind }),
  };
  await using lister = await openLister(options);
  const query: ListQuery = { ...filter, ...orderFrom(options), status: isTrash ? 'deleted' : 'open' };
  const { sessions, hasMore, rebuilding } = await listSessions(lister, query, {
    limit,
    all: options['all'] === true,
    after: textOption(options['after']),
  });
  if (options['json'] === true) {
    const lastId = sessions.at(-1)?.id ?? null;
    printPage(sessions, { hasMore, lastId, ...mark(rebuilding) });
    return;
  }
  if (sessions.length === 0) {
    const isFiltered = Object.keys(filter).length > 0 || options['after'] !== undefined;
    say(isTrash ? 'The trash is empty.' : isFiltered ? 'No sessions match.' : await noSessions(lister));
  }
  const now = new Date();
  for (const line of options['long'] === true ? longLines(sessions, now) : shortLines(sessions, now))
    print(line);
  if (rebuilding !== undefined) say(incomplete(rebuilding));
  if (hasMore) say(`… more sessions: raise --limit, or continue with --after ${sessions.at(-1)?.id}`);
}

function incomplete({ done, total, listed }: RebuildProgress): string {
  return listed < total
    ? `This list is incomplete: the index is being rebuilt, ${listed} of ${total} transcripts listed.`
    : `Message counts are incomplete: the index is being rebuilt, ${done} of ${total} transcripts counted.`;
}

async function noSessions(lister: Lister): Promise<string> {
  const { sessions } = await lister.list({ limit: 1 });
  return sessions.length > 0
    ? 'All sessions are archived. --all lists them.'
    : asStarted('No sessions yet. Start one: "reprise"');
}

/** An unknown sort order is refused by the store or server, so that the error is the same everywhere. */
function orderFrom(options: Options): Pick<ListQuery, 'sort' | 'order'> {
  const sort = textOption(options['sort']);
  return {
    ...(sort !== undefined && { sort: sort as ListSort }),
    ...(options['reverse'] === true && { order: 'asc' }),
  };
}

interface Listed extends Pick<SessionPage, 'sessions' | 'rebuilding'> {
  readonly hasMore: boolean;
}

interface Part {
  readonly limit: number;
  /** Include archived sessions. */
  readonly all: boolean;
  /** List sessions after this session id. */
  readonly after: string | undefined;
}

/** Stores do not filter archived sessions, so this reads pages until enough other sessions are found. */
export async function listSessions(
  lister: Lister,
  query: ListQuery,
  { limit, all, after }: Part,
): Promise<Listed> {
  const found: SessionRecord[] = [];
  let isBehind = after === undefined;
  const cursors = new CursorChain();
  let rebuilding: SessionPage['rebuilding'];
  for (let cursor: string | null | undefined; cursor !== null; ) {
    // The first page has only as many as needed, which is enough when few are archived. Then full pages.
    const isFirst = cursor === undefined && after === undefined;
    const page = { ...query, limit: isFirst ? Math.min(PAGE, limit + 1) : PAGE };
    const answer = await lister.list(cursor === undefined ? page : { ...page, cursor });
    const { sessions, cursor: next } = answer;
    rebuilding ??= answer.rebuilding;
    const at = isBehind ? -1 : sessions.findIndex(({ id }) => id === after);
    const rest = isBehind || at !== -1 ? sessions.slice(at + 1) : [];
    isBehind ||= at !== -1;
    found.push(...(all ? rest : rest.filter(isListed)));
    if (found.length > limit) return { sessions: found.slice(0, limit), hasMore: true, ...mark(rebuilding) };
    cursor = cursors.next(next);
  }
  if (!isBehind) throw failure('SESSION_NOT_FOUND', 'list.noSession', { session: quoted(after ?? '') });
  return { sessions: found, hasMore: false, ...mark(rebuilding) };
}

function mark(rebuilding: SessionPage['rebuilding']): Pick<SessionPage, 'rebuilding'> {
  return rebuilding === undefined ? {} : { rebuilding };
}

const DEFAULT_COLUMNS = 100;
const MAX_TITLE = 60;

/** One line for each session: age, title, messages, and as much of the id as names it. */
function shortLines(sessions: readonly SessionRecord[], now: Date): string[] {
  const rows = sessions.map((record) => ({
    mark: record.active ? '*' : ' ',
    age: ago(minutesAgo(record.lastAt, now)),
    title: escapeForTerminal(titleOf(record)),
    messages: counted(record.messageCount, 'message'),
    id: shortId(record.id),
    isDamaged: record.corruptAt !== undefined,
  }));
  const widest = (texts: readonly string[]): number => Math.max(0, ...texts.map(widthOf));
  const age = widest(rows.map((row) => row.age));
  const messages = widest(rows.map((row) => row.messages));
  const id = widest(rows.map((row) => row.id));
  const room = (process.stdout.columns ?? DEFAULT_COLUMNS) - age - messages - id - 9;
  const title = Math.max(12, Math.min(room, MAX_TITLE, widest(rows.map((row) => row.title))));
  return rows.map((row) => {
    const name = fitWidth(row.title, title);
    return [
      `${row.mark} ${row.age.padStart(age)}`,
      `${name}${' '.repeat(title - widthOf(name))}`,
      style('dim', row.messages.padStart(messages)),
      style('dim', row.id) + (row.isDamaged ? color('error', ' damaged') : ''),
    ].join('  ');
  });
}

function longLines(sessions: readonly SessionRecord[], now: Date): string[] {
  return sessions.map((record) => {
    const head = `${record.active ? '*' : ' '} ${titleOf(record)}`;
    return `${escapeForTerminal(head)}\n    ${style('dim', escapeForTerminal(sessionFacts(record, now)))}`;
  });
}

function titleOf(record: SessionRecord): string {
  return `${sessionName(record)}${isListed(record) ? '' : ' (archived)'}`;
}
