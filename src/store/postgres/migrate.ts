import type { RepriseError } from '../../errors.ts';
import { failure } from '../../messages/failure.ts';
import type { Connections } from './connection/connections.ts';
import { sqlState } from './connection/pg-error.ts';
import { type StoreContext, transaction } from './connection/transaction.ts';
import { MIGRATIONS, OLDEST_READER } from './schema.ts';

/** "reprise" in ASCII. Any number works if all nodes use the same. */
const LOCK = 0x7265_7072_6973;

const TABLE = `CREATE TABLE IF NOT EXISTS reprise.schema_version (
  one boolean PRIMARY KEY DEFAULT true CHECK (one),
  -- version: number of applied steps; oldest_reader: steps that a program must know to work here
  version bigint NOT NULL,
  oldest_reader bigint NOT NULL
)`;

/** Creating an index on many rows takes long, and so does waiting for the node that creates it. */
const LONG = { isLong: true };

interface VersionRow {
  readonly version: number;
  readonly oldest_reader: number;
}

/** Applies the missing steps, once even if many nodes start together. */
export async function migrate(context: StoreContext): Promise<void> {
  const { connections } = context;
  const known = await readVersion(connections);
  if (known !== undefined && isReady(known)) return;
  await prepare(context);
  await transaction(
    context,
    async (tx) => {
      if (connections.settings.advisoryLocks) tx.run('SELECT pg_advisory_xact_lock($1)', [LOCK]);
      tx.run(
        'INSERT INTO reprise.schema_version (version, oldest_reader) VALUES (0, 1) ON CONFLICT DO NOTHING',
      );
      // If advisory locks are off, this row is the lock; otherwise it costs nothing.
      const [row] = await tx.query<VersionRow>(
        'SELECT version, oldest_reader FROM reprise.schema_version FOR UPDATE',
      );
      if (row === undefined || isReady(row)) return;
      for (const step of MIGRATIONS.slice(row.version)) await tx.query(step);
      tx.run('UPDATE reprise.schema_version SET version = $1, oldest_reader = greatest(oldest_reader, $2)', [
        MIGRATIONS.length,
        OLDEST_READER,
      ]);
    },
    LONG,
  );
}

/** For read-only use: checks that the tables match this version, and reports what is missing. */
export async function assertCurrent(connections: Connections): Promise<void> {
  const known = await readVersion(connections);
  if (known === undefined) {
    throw failure('NOT_FOUND', 'postgres.noStore');
  }
  if (isReady(known)) return;
  const { version } = known;
  throw failure(
    'STORE_READ_ONLY',
    'postgres.older',
    { schema: version, known: MIGRATIONS.length },
    { details: { version, known: MIGRATIONS.length } },
  );
}

/** Two nodes that create the schema at once conflict in the catalog; that is expected and retried. */
async function prepare(context: StoreContext): Promise<void> {
  const { advisoryLocks } = context.connections.settings;
  for (let tries = 1; ; tries++) {
    try {
      await transaction(
        context,
        async (tx) => {
          if (advisoryLocks) tx.run('SELECT pg_advisory_xact_lock($1)', [LOCK]);
          tx.run('CREATE SCHEMA IF NOT EXISTS reprise');
          tx.run(TABLE);
        },
        LONG,
      );
      return;
    } catch (error) {
      const isRace = ['23505', '42P06', '42P07', 'XX000'].includes(sqlState((error as RepriseError).cause));
      if (!isRace || tries >= 5) throw error;
    }
  }
}

async function readVersion(connections: Connections): Promise<VersionRow | undefined> {
  const [found] = await connections.query<{ name: string | null }>(
    "SELECT to_regclass('reprise.schema_version')::text AS name",
  );
  if (found?.name == null) return undefined;
  const [row] = await connections.query<VersionRow>(
    'SELECT version, oldest_reader FROM reprise.schema_version',
  );
  return row;
}

/** Whether no step is missing. Throws if this program is too old for the schema. */
function isReady({ version, oldest_reader }: VersionRow): boolean {
  if (oldest_reader > MIGRATIONS.length) {
    throw failure(
      'STORE_NEWER',
      'postgres.newer',
      { schema: version, known: MIGRATIONS.length },
      { details: { version, known: MIGRATIONS.length } },
    );
  }
  return version >= MIGRATIONS.length;
}
