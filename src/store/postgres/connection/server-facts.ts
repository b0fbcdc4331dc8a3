import type { DatabaseServer } from '../../port/stats.ts';
import type { Connections } from './connections.ts';

interface FactRow {
  readonly version: string;
  readonly commits: string;
  readonly fsync: string;
  readonly replicas: number;
  readonly waits_for: number;
  readonly used: number;
  readonly max: number;
  readonly read_only: boolean;
}

/** Only administrators can see the state of replicas; every user can see that they exist. */
const FACTS = `SELECT current_setting('server_version') AS version,
  current_setting('synchronous_commit') AS commits, current_setting('fsync') AS fsync,
  (SELECT count(*) FROM pg_stat_replication) AS replicas,
  (SELECT count(*) FROM pg_stat_replication WHERE sync_state IN ('sync', 'quorum')) AS waits_for,
  (SELECT count(*) FROM pg_stat_activity WHERE backend_type = 'client backend') AS used,
  current_setting('max_connections')::bigint AS max,
  current_setting('transaction_read_only') = 'on' AS read_only`;

export async function serverFacts(connections: Connections): Promise<DatabaseServer | undefined> {
  const [row] = await connections.query<FactRow>(FACTS);
  if (row === undefined) return undefined;
  const { version, commits, fsync, replicas, waits_for, used, max, read_only } = row;
  const asked = performance.now();
  await connections.query('SELECT 1 AS one');
  const { poolMax, notify } = connections.settings;
  return {
    version,
    commits: fsync === 'on' ? commits : 'off',
    replicas,
    waitsFor: waits_for,
    roundTripMs: Math.round((performance.now() - asked) * 100) / 100,
    // Notifications need one more connection.
    connections: { used, max, pool: poolMax + (notify ? 1 : 0) },
    notify,
    readOnly: read_only,
  };
}
