import { randomUUID } from 'node:crypto';
import { failure } from '../../messages/failure.ts';
import type { Store } from '../port/store.ts';
import { createClock } from '../shared/clock.ts';
import { Connections } from './connection/connections.ts';
import { ServerClock } from './connection/server-clock.ts';
import { ServerTimeline } from './connection/server-timeline.ts';
import type { News } from './connection/transaction.ts';
import { Wakes } from './connection/wakes.ts';
import { assertCurrent, migrate } from './migrate.ts';
import { PostgresStore } from './postgres-store.ts';
import { SearchIndexer } from './search/search-indexer.ts';
import { type PostgresOptions, parsePostgresUrl } from './settings.ts';
import { currentNode } from './write/holder.ts';

export interface PostgresStoreOptions extends PostgresOptions {
  readonly now?: string;
  readonly sessionCacheTtlMs?: number;
  readonly search?: 'index' | 'scan';
}

/** The oldest server version with all required features. */
const MIN_VERSION = 140_000;

interface ServerFacts {
  readonly version: number;
  readonly encoding: string;
  readonly is_replica: boolean;
  readonly synchronous_commit: string;
  readonly fsync: string;
  readonly now_ms: number;
}

const FACTS = `SELECT current_setting('server_version_num')::int AS version,
  current_setting('server_encoding') AS encoding, pg_is_in_recovery() AS is_replica,
  current_setting('synchronous_commit') AS synchronous_commit, current_setting('fsync') AS fsync,
  (extract(epoch FROM clock_timestamp()) * 1000)::float8 AS now_ms`;

/** Opens a store on a database that many nodes share. The first node creates the tables. */
export async function openPostgresStore({
  now,
  sessionCacheTtlMs,
  search = 'index',
  ...options
}: PostgresStoreOptions): Promise<Store> {
  const engineId = randomUUID();
  const settings = parsePostgresUrl(options);
  const { readOnly } = settings;
  const connections = new Connections(settings);
  const wakes = new Wakes({ connections, engineId });
  const clock = new ServerClock();
  const context = {
    connections,
    now: createClock(now),
    self: currentNode(engineId),
    timeline: new ServerTimeline(),
    tell: (news: News) => {
      wakes.tell(news);
      if (news.sessions.size > 0) indexer?.wake();
    },
  };
  let indexer: SearchIndexer | undefined;
  try {
    const askedAt = Date.now();
    const [server] = await connections.query<ServerFacts>(FACTS);
    assertFit(server);
    // A rough estimate, because the connection was opened in between; the first read of live events improves it.
    clock.learn(server.now_ms, askedAt, Date.now());
    await (readOnly ? assertCurrent(connections) : migrate(context));
    connections.opened();
    const isOnDisk = server.fsync === 'on' && server.synchronous_commit !== 'off';
    if (search === 'index' && !readOnly) indexer = new SearchIndexer({ context });
    return await PostgresStore.open({
      context,
      wakes,
      indexer,
      clock,
      durability: isOnDisk ? 'disk' : 'os',
      ...(sessionCacheTtlMs !== undefined && { cacheTtlMs: sessionCacheTtlMs }),
    });
  } catch (error) {
    // Close what was opened so far.
    await indexer?.[Symbol.asyncDispose]();
    await connections[Symbol.asyncDispose]();
    throw error;
  }
}

function assertFit(server: ServerFacts | undefined): asserts server is ServerFacts {
  if (server === undefined) throw failure('STORE_FAILED', 'postgres.noFacts', {}, { outcome: 'none' });
  if (server.version < MIN_VERSION) {
    throw failure(
      'STORE_FAILED',
      'postgres.tooOld',
      { version: server.version },
      { outcome: 'none', details: { version: server.version } },
    );
  }
  if (server.encoding !== 'UTF8') {
    throw failure('STORE_FAILED', 'postgres.encoding', { encoding: server.encoding }, { outcome: 'none' });
  }
  if (server.is_replica) {
    throw failure('STORE_READ_ONLY', 'postgres.replica');
  }
}
