import type { MessageTable } from '../message.ts';
import type { PostgresMessages, PostgresProblem } from '../params/params-stores.ts';

const FREE_CONNECTIONS =
  'Raise max_connections of the server, lower "pool_max" in the URL, or put a pooler in between ("pooler=true").';
const CHECK_URL = 'Check the store URL (REPRISE_STORE_URL): postgres://user:password@host:5432/database.';
const TRY_AGAIN = 'Try again; no restart is needed.';

const PROBLEMS: Readonly<Record<PostgresProblem, readonly [what: string, next?: string]>> = {
  notAllowedIn: [
    'the server does not let this user in',
    `Check its pg_hba.conf: it lists who can connect, from where, and whether TLS is required ("sslmode=verify-full"). ${CHECK_URL}`,
  ],
  badPassword: ['the server does not accept the user or the password', CHECK_URL],
  noPassword: [
    'the server asks for a password and the store URL has none',
    `Put it into the URL, or into PGPASSWORD. ${CHECK_URL}`,
  ],
  serverUnproven: [
    'the server cannot prove that it knows the password, so it may be another server',
    'Check which server answers at this address. With "sslmode=verify-full" in the store URL, its certificate is checked.',
  ],
  noLogin: ['the server and this client support no common password method', CHECK_URL],
  noDatabase: [
    'there is no such database',
    'Create it (createdb NAME), or correct the store URL. The tables are created automatically.',
  ],
  rowsChanged: ['other connections kept changing the same rows', TRY_AGAIN],
  rowsLocked: ['other connections kept locking the same rows', TRY_AGAIN],
  rowLocked: ['a row stayed locked for too long', TRY_AGAIN],
  noRights: [
    'the database user of the store lacks a privilege for this',
    'The user must have CREATE on the database, or own the schema "reprise".',
  ],
  diskFull: [
    'the disk of the database server is full',
    'Free some space on the server. Then try again; no restart is needed.',
  ],
  noMemory: ['the database server is out of memory', TRY_AGAIN],
  noConnection: ['the database server has no connection left', FREE_CONNECTIONS],
  slowStatement: ['the server canceled a statement that took too long', TRY_AGAIN],
  starting: ['the database server is starting or stopping', TRY_AGAIN],
  poolInUse: ['all connections of the pool are in use', FREE_CONNECTIONS],
  unreachable: [
    'no database server answers at this address',
    `Is the server running and reachable? ${CHECK_URL}`,
  ],
  connectionLost: ['the connection to the server was lost', TRY_AGAIN],
  client: ['the client side of the connection failed'],
  pemFile: [
    'a file that the store URL names cannot be read',
    'Correct sslrootcert, sslcert or sslkey in the store URL: each is the path of a PEM file.',
  ],
  noTls: [
    'the server does not support TLS',
    'Enable it on the server (ssl=on), or use "sslmode=disable" if the network is trusted.',
  ],
  certificateName: [
    "the server's certificate is for another name",
    'Use a name that is in the certificate as the host of the store URL.',
  ],
  certificateAuthority: [
    "the server's certificate is not signed by a trusted authority",
    'Name the file with the certificate of its authority: "sslrootcert=/path/to/ca.pem" in the store URL.',
  ],
  certificateDate: [
    "the server's certificate has expired or is not valid yet",
    'Renew it on the server, or set the clock right.',
  ],
  tls: [
    'no encrypted connection could be made',
    'Check sslmode, sslrootcert, sslcert and sslkey in the store URL. docs/stores.md describes them.',
  ],
  pooler: [
    'a transaction pooler is between this process and the server, but the store URL lacks "pooler=true"',
    'Add "pooler=true" to the store URL.',
  ],
  readOnly: [
    'the database server does not accept writes',
    'It is a replica, or set read-only: change the store URL to the primary.',
  ],
  damaged: [
    'the server found damaged data',
    'Restore the database from a backup; the server log names the file.',
  ],
  other: [
    'the database server reported an error',
    'Try again. If it fails again, the log of the database server has the details.',
  ],
};

export const ENGLISH_POSTGRES: Pick<MessageTable, keyof PostgresMessages> = {
  'postgres.failed': ({ problem, message }) => {
    const [what, next] = PROBLEMS[problem];
    const text = `the PostgreSQL store failed: ${what}${message === null ? '' : ` (${message})`}`;
    return next === undefined ? [text] : [text, next];
  },
  'postgres.newer': ({ schema, known }) => [
    `the database has schema ${schema}, but this version of Reprise supports at most ${known}`,
    'Update Reprise on this machine.',
  ],
  'postgres.older': ({ schema, known }) => [
    `the database has schema ${schema}, but this version of Reprise needs ${known}, and a command that only reads does not upgrade it`,
    'Run "reprise verify" once, which upgrades it, or use the version of Reprise that wrote it.',
  ],
  'postgres.badUrl': () => [
    'the store URL is not a valid PostgreSQL URL',
    'Write postgres://user:password@host:5432/database. In a password, write @ : / ? # % as %40 %3A %2F %3F %23 %25.',
  ],
  'postgres.noFacts': () => [
    'the database server did not report its version and encoding',
    `Check that a PostgreSQL server answers at this address. ${CHECK_URL}`,
  ],
  'postgres.rolledBack': () => ['the database server rolled the transaction back', TRY_AGAIN],
  'postgres.keyVanished': ({ key }) => [
    `the row of the idempotency key ${key} was deleted during this request`,
    'Try again. Rows of reprise.inbound_keys must not be deleted by hand.',
  ],
  'postgres.noStore': () => [
    'this database contains no store',
    'Check the store URL. This command only reads, so it does not create a store.',
  ],
  'postgres.tooOld': ({ version }) => [
    `the PostgreSQL server has version ${Math.trunc(version / 10_000)}, which is too old`,
    'Use PostgreSQL 14 or newer.',
  ],
  'postgres.encoding': ({ encoding }) => [
    `the database has the encoding ${encoding}, and a store needs UTF8`,
    "Create the database with: CREATE DATABASE … ENCODING 'UTF8' TEMPLATE template0",
  ],
  'postgres.replica': () => [
    'the database server is a replica and cannot be written',
    'Change the store URL to the primary.',
  ],
};
