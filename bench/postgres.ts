import pg from 'pg';
import { openStore } from '../src/config/open.ts';
import type { Store } from '../src/store/port/store.ts';
import { startPostgres } from '../test/support/postgres/postgres-server.ts';
import { createSession, type Scale, SESSION, sessionId } from './homes.ts';
import { compareSlices, latency, rate, type Task } from './measure.ts';
import { nextTurn, transcriptBytes } from './payload.ts';

const CALLERS = 64;
const CONNECTIONS = 10;
/** The least possible work: the same two lines in one statement, which is one round trip and one commit. */
const INSERT = 'INSERT INTO raw_lines (session_id, seq, line) VALUES ($1, $2, $4), ($1, $3, $5)';

export interface Server extends AsyncDisposable {
  readonly url: string;
  readonly store: Store;
  readonly pool: pg.Pool;
}

/** A server of this run's own, with fsync on, its store and a plain pool beside it. */
export async function openServer(): Promise<Server> {
  await using stack = new AsyncDisposableStack();
  const given = process.env['REPRISE_BENCH_POSTGRES_URL'];
  let url = given ?? '';
  if (given === undefined) {
    const server = await startPostgres({ durable: true });
    stack.defer(() => server.stop());
    url = server.url;
  }
  const pool = stack.adopt(new pg.Pool({ connectionString: url, max: CONNECTIONS }), (p) => p.end());
  // The server may stop before the last of its sockets is closed here.
  pool.on('error', () => undefined);
  await pool.query('DROP TABLE IF EXISTS raw_lines; DROP SCHEMA IF EXISTS reprise CASCADE');
  await pool.query(
    'CREATE TABLE raw_lines (session_id text, seq bigint, line text, PRIMARY KEY (session_id, seq))',
  );
  const store = stack.use(await openStore({ kind: 'postgres', url }));
  for (let i = 0; i < CALLERS; i++) await createSession(store, i);
  const own = stack.move();
  return { url, store, pool, [Symbol.asyncDispose]: () => own.disposeAsync() };
}

/** A turn as two rows, by a prepared statement. */
function createRaw(pool: pg.Pool): (caller: number) => Promise<unknown> {
  const [first = '', second = ''] = transcriptBytes(2).toString().split('\n');
  let seq = 0;
  return (caller) => {
    seq += 2;
    return pool.query({
      name: 'raw',
      text: INSERT,
      values: [`session-${caller}`, seq, seq + 1, first, second],
    });
  };
}

/** What the PostgreSQL store costs beside PostgreSQL itself. */
export function postgresTasks(scale: Scale): Task[] {
  const turn = 'durable turn, awaited, one session, postgres (p50)';
  const sessions = `durable, ${CALLERS} sessions, postgres`;
  return [
    {
      work: turn,
      run: async () => {
        await using server = await openServer();
        const raw = createRaw(server.pool);
        const limit = latency('insert the same lines, one statement', () => raw(0));
        const ours = latency('append', () => server.store.append(SESSION, nextTurn()));
        return await compareSlices({ work: turn, limit, ours, goal: 3 }, scale.latency);
      },
    },
    {
      work: sessions,
      run: async () => {
        await using server = await openServer();
        const limit = rate(`the same by a pool of ${CONNECTIONS}`, 'turns', createRaw(server.pool), {
          callers: CALLERS,
        });
        const ours = rate('append', 'turns', (i) => server.store.append(sessionId(i), nextTurn()), {
          callers: CALLERS,
        });
        return await compareSlices({ work: sessions, limit, ours, goal: 0.5, better: 'higher' }, scale.rate);
      },
    },
  ];
}
