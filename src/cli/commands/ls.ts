import { sessionFacts, sessionName } from '../../engine/commands/session-line.ts';
import { isListed } from '../../engine/ref.ts';
import { RepriseError } from '../../errors.ts';
import type { ListQuery, ListSort, SessionRecord } from '../../store/store.ts';
import { type Lister, openLister } from '../backend.ts';
import { countOption, type Options, textOption } from '../options.ts';
import { escapeForTerminal, print, printPage, say, style } from '../print.ts';

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
  const { sessions, hasMore } = await listed(lister, query, {
    limit,
    all: options['all'] === true,
    after: textOption(options['after']),
  });
  if (options['json'] === true) {
    printPage(sessions, { hasMore, lastId: sessions.at(-1)?.id ?? null });
    return;
  }
  if (sessions.length === 0) say(isTrash ? 'nothing is in the trash' : 'no sessions');
  const isWhole = Object.keys(query).length === 1;
  const numbered = isWhole ? sessions : await firstPage(lister, query);
  const numbers = new Map(numbered.filter(isListed).map(({ id }, i) => [id, i + 1]));
  const now = new Date();
  for (const session of sessions) print(line(numbers.get(session.id), session, now));
  if (hasMore) say(`… others left out; --limit shows more, --after ${sessions.at(-1)?.id} what follows`);
}

/** What is wrong with them is said by whoever lists, in the same words everywhere. */
function orderFrom(options: Options): Pick<ListQuery, 'sort' | 'order'> {
  const sort = textOption(options['sort']);
  return {
    ...(sort !== undefined && { sort: sort as ListSort }),
    ...(options['reverse'] === true && { order: 'asc' }),
  };
}

interface Listed {
  readonly sessions: readonly SessionRecord[];
  readonly hasMore: boolean;
}

interface Part {
  readonly limit: number;
  /** Archived ones too. */
  readonly all: boolean;
  /** The id of the one it begins behind. */
  readonly after: string | undefined;
}

/** The store knows no archived sessions apart, so pages are taken until enough are left of them. */
async function listed(lister: Lister, query: ListQuery, { limit, all, after }: Part): Promise<Listed> {
  const found: SessionRecord[] = [];
  let isBehind = after === undefined;
  for (let cursor: string | null | undefined; cursor !== null; ) {
    // Enough at once where few are archived; where many are, not a question for each of them.
    const isFirst = cursor === undefined && after === undefined;
    const page = { ...query, limit: isFirst ? Math.min(PAGE, limit + 1) : PAGE };
    const { sessions, cursor: next } = await lister.list(cursor === undefined ? page : { ...page, cursor });
    const at = isBehind ? -1 : sessions.findIndex(({ id }) => id === after);
    const rest = isBehind || at !== -1 ? sessions.slice(at + 1) : [];
    isBehind ||= at !== -1;
    found.push(...(all ? rest : rest.filter(isListed)));
    if (found.length > limit) return { sessions: found.slice(0, limit), hasMore: true };
    cursor = next;
  }
  if (!isBehind)
    throw new RepriseError('SESSION_NOT_FOUND', `no session ${after} in this list`, {
      details: { next: 'Give --after the lastId of a page of the same list.' },
    });
  return { sessions: found, hasMore: false };
}

/** A number is a place in the whole list, so a filter leaves gaps; what is further down is named by its id. */
async function firstPage(lister: Lister, { status }: ListQuery): Promise<readonly SessionRecord[]> {
  return (await lister.list({ limit: PAGE, ...(status !== undefined && { status }) })).sessions;
}

function line(number: number | undefined, record: SessionRecord, now: Date): string {
  const archived = isListed(record) ? '' : ' (archived)';
  const head = `${String(number ?? '').padStart(3)}${record.active ? '*' : ' '} ${sessionName(record)}${archived}`;
  return `${escapeForTerminal(head)}\n     ${style('dim', escapeForTerminal(sessionFacts(record, now)))}`;
}
