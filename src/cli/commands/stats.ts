import { count } from '../../engine/commands/command-context.ts';
import { addUsage, NO_USAGE } from '../../engine/totals.ts';
import { RepriseError } from '../../errors.ts';
import type { SessionRecord, Store } from '../../store/store.ts';
import type { Entry, Usage } from '../../transcript/entry.ts';
import { type Call, CallReader } from '../call-reader.ts';
import { openHome } from '../home.ts';
import { countOption, type Options, textOption } from '../options.ts';
import { escapeForTerminal, print, printPage, say, style } from '../print.ts';
import { Progress } from '../progress.ts';
import { type Cell, table } from '../table.ts';

const PAGE = 500;
const DAY_MS = 86_400_000;
const TABLES = ['day', 'agent', 'model'] as const;
type By = (typeof TABLES)[number];

interface Sum {
  calls: number;
  usage: Usage;
}

interface Row extends Sum {
  readonly by: By;
  readonly name: string;
}

interface Sizes {
  sessions: number;
  messages: number;
  bytes: number;
}

/** `reprise stats`: what models used and cost, by the calls on record, and what is stored. */
export async function stats(options: Options): Promise<void> {
  const tables = tablesOf(options['by']);
  const days = countOption('--days', options['days']);
  const since = days === undefined ? '' : new Date(Date.now() - days * DAY_MS).toISOString();
  const agentId = textOption(options['agent']);
  await using store = await openHome(options);
  const sums = new Map<string, Row>();
  const sizes = new Map<string, Sizes>();
  const { sessions: total, search } = await store.stats({ search: true });
  let done = 0;
  using progress = new Progress('reading sessions');
  for await (const record of sessions(store, agentId)) {
    progress.show(done++, total);
    const size = sizeOf(sizes, record);
    try {
      size.bytes += await readSession(store, record, (call) => {
        if (call.at < since) return;
        for (const [by, name] of [
          ['day', call.at.slice(0, 10)],
          ['agent', record.agentId],
          ['model', call.model],
        ] as const)
          add(sums, by, name, call);
      });
    } catch (error) {
      if (!(error instanceof RepriseError)) throw error;
      say(`${record.id} is not counted: ${escapeForTerminal(error.message)} (${error.code})`);
    }
  }
  const rows = [...sums.values()].filter(({ by }) => tables.includes(by)).sort(inOrder);
  const stored = [...sizes].map(([agent, size]) => ({ agent, ...size }));
  if (options['json'] === true) printPage(rows, { lastId: rows.at(-1)?.name ?? null, sizes: stored, search });
  else {
    show(tables, rows, stored);
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
      ...(agentId !== undefined && { agentId }),
      ...(cursor !== undefined && { cursor }),
    });
    yield* page.sessions;
    cursor = page.cursor;
  }
}

/** Answers with its bytes; a page at a time, so that a long one needs no more memory than a short one. */
async function readSession(store: Store, record: SessionRecord, take: (call: Call) => void): Promise<number> {
  const { id } = record;
  const calls = new CallReader(record);
  let bytes = 0;
  for (let from = 1; ; ) {
    const { entries, hasMore } = await store.read(id, { from, limit: PAGE });
    for (const { entry } of entries) {
      bytes += Buffer.byteLength(JSON.stringify(entry)) + 1;
      if (entry.type !== 'session') calls.take(entry as Entry).forEach(take);
    }
    const last = entries.at(-1);
    if (!hasMore || last === undefined) break;
    from = last.seq + 1;
  }
  calls.end().forEach(take);
  return bytes;
}

function sizeOf(sizes: Map<string, Sizes>, { agentId, messageCount }: SessionRecord): Sizes {
  const size = sizes.get(agentId) ?? { sessions: 0, messages: 0, bytes: 0 };
  sizes.set(agentId, size);
  size.sessions++;
  size.messages += messageCount;
  return size;
}

function add(sums: Map<string, Row>, by: By, name: string, { usage }: Call): void {
  const key = `${by} ${name}`;
  const row = sums.get(key) ?? { by, name, calls: 0, usage: NO_USAGE };
  sums.set(key, row);
  row.calls++;
  row.usage = addUsage(row.usage, usage);
}

function inOrder(a: Row, b: Row): number {
  if (a.by !== b.by) return TABLES.indexOf(a.by) - TABLES.indexOf(b.by);
  return a.by === 'day' ? a.name.localeCompare(b.name) : b.usage.totalTokens - a.usage.totalTokens;
}

function tablesOf(by: unknown): readonly By[] {
  if (by === undefined) return TABLES;
  const found = TABLES.find((name) => name === by);
  if (found !== undefined) return [found];
  throw new RepriseError('INVALID_INPUT', `no table "${String(by)}"`, {
    details: { next: `Use one of: ${TABLES.join(', ')}.` },
  });
}

function show(
  tables: readonly By[],
  rows: readonly Row[],
  sizes: readonly ({ agent: string } & Sizes)[],
): void {
  if (rows.length === 0) say('no call of a model is on record');
  for (const by of tables) {
    const own = rows.filter((row) => row.by === by);
    if (own.length === 0) continue;
    const lines = own.map(({ name, calls, usage }): Cell[] => {
      const { input, output, cacheRead, cacheWrite, cost } = usage;
      const price = cost === undefined ? '' : (cost['total'] ?? 0).toFixed(4);
      return [name, calls, input + cacheRead + cacheWrite, cacheRead, output, price];
    });
    for (const line of table([by, 'calls', 'tokens in', 'cached', 'tokens out', 'cost'], lines)) print(line);
    print('');
  }
  const stored = sizes.map(({ agent, ...size }): Cell[] => [agent, size.sessions, size.messages, size.bytes]);
  for (const line of table(['stored', 'sessions', 'messages', 'bytes'], stored)) print(line);
  const all = sizes.reduce((sum, { bytes }) => sum + bytes, 0);
  print(style('dim', `${count(all)} bytes of transcripts in all`));
}
