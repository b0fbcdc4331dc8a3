import { UsageCounter, type UsageFact } from '../../../engine/admin/usage-counter.ts';
import { added, NOTHING_USED } from '../../../engine/admin/usage-sums.ts';
import { RepriseError } from '../../../errors.ts';
import { count } from '../../../messages/english-format.ts';
import { failure } from '../../../messages/failure.ts';
import { quotedValue } from '../../../messages/quoted.ts';
import type { SessionRecord, Store } from '../../../store/port/store.ts';
import type { Entry } from '../../../transcript/entry.ts';
import { openHome } from '../../backend/home.ts';
import { countOption, type Options, textOption } from '../../options.ts';
import { escapeForTerminal, print, printPage, say, style } from '../../terminal/print.ts';
import { Progress } from '../../terminal/progress.ts';
import { type Cell, table } from '../../terminal/table.ts';
import { type By, rowJson, type StatsRow, showTables, TABLES } from './stats-tables.ts';

const PAGE = 500;
const DAY_MS = 86_400_000;

interface Sizes {
  sessions: number;
  messages: number;
  bytes: number;
}

/** `reprise stats`: what models used and cost, by what is on record, the trash included, and what is stored. */
export async function stats(options: Options): Promise<void> {
  const tables = tablesOf(options['by']);
  const days = countOption('--days', options['days']);
  const since = days === undefined ? '' : dayOf(Date.now() - (days - 1) * DAY_MS);
  const agentId = textOption(options['agent']);
  const url = textOption(options['url']);
  if (url !== undefined)
    return (await import('./remote-stats.ts')).remoteStats(url, options, { tables, since, agentId });
  await using store = await openHome(options);
  const sums = new Map<string, StatsRow>();
  const sizes = new Map<string, Sizes>();
  const { sessions: total, search } = await store.stats({ search: true });
  let done = 0;
  using progress = new Progress('reading sessions');
  for await (const record of sessions(store, agentId)) {
    progress.show(done++, total);
    const size = record.status === 'open' ? sizeOf(sizes, record) : undefined;
    try {
      const bytes = await readSession(store, record, (fact) => {
        if (fact.day < since) return;
        for (const [by, name] of [
          ['day', fact.day],
          ['agent', record.agentId],
          ['model', fact.model],
        ] as const)
          if (name !== '') add(sums, by, name, fact);
      });
      if (size !== undefined) size.bytes += bytes;
    } catch (error) {
      if (!(error instanceof RepriseError)) throw error;
      say(`${record.id} is not counted: ${escapeForTerminal(error.message)} (${error.code})`);
    }
  }
  const rows = [...sums.values()].filter(({ by }) => tables.includes(by)).sort(inOrder);
  const stored = [...sizes].map(([agent, size]) => ({ agent, ...size }));
  if (options['json'] === true)
    printPage(rows.map(rowJson), { lastId: rows.at(-1)?.name ?? null, sizes: stored, search });
  else {
    showTables(tables, rows);
    showSizes(stored);
    if (search !== undefined)
      print(
        style(
          'dim',
          `${count(search.bytes)} bytes of index for searches, ${count(search.done)} of ${count(search.total)} lines`,
        ),
      );
  }
}

async function* sessions(store: Store, agentId: string | undefined): AsyncGenerator<SessionRecord> {
  for (let cursor: string | null | undefined; cursor !== null; ) {
    const page: Awaited<ReturnType<Store['list']>> = await store.list({
      limit: PAGE,
      status: 'any',
      ...(agentId !== undefined && { agentId }),
      ...(cursor !== undefined && { cursor }),
    });
    yield* page.sessions;
    cursor = page.cursor;
  }
}

/** Answers with its bytes; a page at a time, so that a long one needs no more memory than a short one. */
async function readSession(
  store: Store,
  record: SessionRecord,
  take: (fact: UsageFact) => void,
): Promise<number> {
  const { id } = record;
  const counter = new UsageCounter({ hasParent: record.parentId !== undefined });
  let bytes = 0;
  for (let from = 1; ; ) {
    const { entries, hasMore } = await store.read(id, { from, limit: PAGE });
    for (const { entry } of entries) {
      bytes += Buffer.byteLength(JSON.stringify(entry)) + 1;
      if (entry.type !== 'session') counter.take(entry as Entry).forEach(take);
    }
    const last = entries.at(-1);
    if (!hasMore || last === undefined) break;
    from = last.seq + 1;
  }
  counter.unclaimed().forEach(take);
  return bytes;
}

function sizeOf(sizes: Map<string, Sizes>, { agentId, messageCount }: SessionRecord): Sizes {
  const size = sizes.get(agentId) ?? { sessions: 0, messages: 0, bytes: 0 };
  sizes.set(agentId, size);
  size.sessions++;
  size.messages += messageCount;
  return size;
}

function add(sums: Map<string, StatsRow>, by: By, name: string, fact: UsageFact): void {
  const key = `${by} ${name}`;
  const sum = added(sums.get(key)?.sum ?? NOTHING_USED, fact.add);
  sums.set(key, { by, name, sum });
}

function dayOf(at: number): string {
  return new Date(at).toISOString().slice(0, 10);
}

function inOrder(a: StatsRow, b: StatsRow): number {
  if (a.by !== b.by) return TABLES.indexOf(a.by) - TABLES.indexOf(b.by);
  return a.by === 'day' ? a.name.localeCompare(b.name) : b.sum.totalTokens - a.sum.totalTokens;
}

function tablesOf(by: unknown): readonly By[] {
  if (by === undefined) return TABLES;
  const found = TABLES.find((name) => name === by);
  if (found !== undefined) return [found];
  throw failure('INVALID_INPUT', 'value.wrong', {
    field: '--by',
    value: quotedValue(by),
    expected: [{ is: 'oneOf', values: TABLES }],
  });
}

function showSizes(sizes: readonly ({ agent: string } & Sizes)[]): void {
  const stored = sizes.map(({ agent, ...size }): Cell[] => [agent, size.sessions, size.messages, size.bytes]);
  for (const line of table(['stored', 'sessions', 'messages', 'bytes'], stored)) print(line);
  const all = sizes.reduce((sum, { bytes }) => sum + bytes, 0);
  print(style('dim', `${count(all)} bytes of transcripts in all`));
}
