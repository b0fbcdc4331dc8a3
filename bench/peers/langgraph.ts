/** `npm run bench:peers`: a turn of a graph that LangGraph keeps beside one of our turns, same messages, same run. */
import { mkdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { DatabaseSync, type SQLInputValue } from 'node:sqlite';
import { parseArgs } from 'node:util';
import type { Store } from '../../src/store/port/store.ts';
import { createSession, Homes, scratchFolder, sessionId } from '../homes.ts';
import { type Arm, compareSlices, latency, markdown, type Row } from '../measure.ts';
import { nextTurn } from '../payload.ts';
import { openServer } from '../postgres.ts';

/** What is used of LangGraph; it is installed only for this comparison. */
type Saver = object;
interface Graph {
  addNode(name: string, run: () => unknown): Graph;
  addEdge(from: string, to: string): Graph;
  compile(options: { readonly checkpointer: Saver }): CompiledGraph;
}
interface CompiledGraph {
  invoke(input: unknown, config: unknown): Promise<unknown>;
  updateState(config: unknown, values: unknown): Promise<unknown>;
}
type MessageClass = new (text: string) => object;

const MESSAGES: string = '@langchain/core/messages';
const GRAPH: string = '@langchain/langgraph';
const SQLITE: string = '@langchain/langgraph-checkpoint-sqlite';
const { AIMessage, HumanMessage } = (await import(MESSAGES)) as Record<
  'AIMessage' | 'HumanMessage',
  MessageClass
>;
const { END, MessagesAnnotation, START, StateGraph } = (await import(GRAPH)) as {
  readonly END: string;
  readonly START: string;
  readonly MessagesAnnotation: unknown;
  readonly StateGraph: new (state: unknown) => Graph;
};
const POSTGRES: string = '@langchain/langgraph-checkpoint-postgres';
const { SqliteSaver } = (await import(SQLITE)) as { readonly SqliteSaver: new (db: unknown) => Saver };

const { PostgresSaver } = (await import(POSTGRES)) as {
  readonly PostgresSaver: {
    fromConnString(url: string): Saver & { setup(): Promise<void>; end(): Promise<void> };
  };
};

const results = join(import.meta.dirname, '..', 'results');
const { values } = parseArgs({ options: { quick: { type: 'boolean', default: false } } });
const LENGTHS = values.quick ? [10, 100] : [10, 100, 1_000];
const SLICES = { count: 5, ms: 200 };
const TEXT = 'some words of a conversation about code, plans and what to do next, '.repeat(14);

mkdirSync(results, { recursive: true });
const folder = scratchFolder(results);
const rows: Row[] = [];
// Behind those that a home or a server begins with.
let session = 100;
{
  await using homes = new Homes(folder);
  for (const length of LENGTHS) {
    const { store } = await homes.plain({ kind: 'sqlite' });
    await compareTurns({ name: 'sqlite', length, store, saver: openSqliteSaver(length) });
  }
}
{
  await using server = await openServer();
  const saver = PostgresSaver.fromConnString(server.url);
  await saver.setup();
  for (const length of LENGTHS) await compareTurns({ name: 'postgres', length, store: server.store, saver });
  await saver.end();
}
const table = markdown(rows);
writeFileSync(join(results, 'langgraph.md'), `${table}\n`);
console.log(table);

interface Turns {
  readonly name: string;
  readonly length: number;
  readonly store: Store;
  readonly saver: Saver;
}

/** Each slice has its own thread and session: turns make it longer, and only LangGraph would pay for that. */
async function compareTurns({ name, length, store, saver }: Turns): Promise<void> {
  const row = await compareSlices(
    {
      work: `durable turn, history ${length.toLocaleString('en')} messages, ${name} (p50)`,
      limit: graphTurns(saver, length),
      ours: ourTurns(store, length),
      goal: 1,
    },
    SLICES,
  );
  rows.push(row);
  console.error(`${row.work}: ${row.ratio.toFixed(3)}`);
}

function graphTurns(saver: Saver, length: number): Arm {
  const graph = new StateGraph(MessagesAnnotation)
    .addNode('model', () => ({ messages: [new AIMessage(TEXT)] }))
    .addEdge(START, 'model')
    .addEdge('model', END)
    .compile({ checkpointer: saver });
  let thread = 0;
  const config = (): { configurable: { thread_id: string } } => ({
    configurable: { thread_id: `${length}-${thread}` },
  });
  const prepare = async (): Promise<void> => {
    thread++;
    const messages = Array.from({ length }, (_, i) => (i % 2 ? new AIMessage(TEXT) : new HumanMessage(TEXT)));
    await graph.updateState(config(), { messages });
  };
  const turn = (): Promise<unknown> => graph.invoke({ messages: [new HumanMessage(TEXT)] }, config());
  return latency('LangGraph', turn, prepare);
}

function ourTurns(store: Store, length: number): Arm {
  const prepare = async (): Promise<void> => {
    await createSession(store, ++session);
    const half = Array.from({ length: length / 2 }, nextTurn);
    await store.append(sessionId(session), half.flat());
  };
  return latency('append', () => store.append(sessionId(session), nextTurn()), prepare);
}

/**
 * LangGraph brings better-sqlite3, which has to be built for each Node; the same statements on the SQLite that Node
 * has itself, with as much durability as ours.
 */
function openSqliteSaver(length: number): Saver {
  const db = new DatabaseSync(join(folder, `langgraph-${length}.db`));
  db.exec('PRAGMA synchronous = FULL');
  // It says undefined where it means NULL.
  const filled = (args: readonly unknown[]): SQLInputValue[] =>
    args.map((arg) => (arg ?? null) as SQLInputValue);
  const prepare = (sql: string): Record<'run' | 'get' | 'all', (...args: unknown[]) => unknown> => {
    const statement = db.prepare(sql);
    return {
      run: (...args) => statement.run(...filled(args)),
      get: (...args) => statement.get(...filled(args)),
      all: (...args) => statement.all(...filled(args)),
    };
  };
  const transaction =
    (work: (...args: unknown[]) => void) =>
    (...args: unknown[]): void => {
      db.exec('BEGIN');
      work(...args);
      db.exec('COMMIT');
    };
  const pragma = (text: string): void => db.exec(`PRAGMA ${text}`);
  return new SqliteSaver({ pragma, prepare, transaction, exec: (sql: string): void => db.exec(sql) });
}
