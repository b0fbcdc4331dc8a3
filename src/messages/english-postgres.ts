import type { PostgresProblem } from './params-stores.ts';

const FREE_CONNECTIONS =
  'Raise max_connections of the server, lower "pool_max" in the URL, or put a pooler in between ("pooler=true").';
const CHECK_URL = 'Check the store URL (REPRISE_STORE_URL): postgres://user:password@host:5432/database.';
const TRY_AGAIN = 'Try again; no restart is needed.';

/** What failed, and what to do next. */
export const POSTGRES_PROBLEMS: Readonly<Record<PostgresProblem, readonly [what: string, next?: string]>> = {
  notAllowedIn: [
    'the server does not let this user in',
    `Its pg_hba.conf says who may connect from where, and whether only by TLS ("sslmode=verify-full"). ${CHECK_URL}`,
  ],
  badPassword: ['the server refuses the user or the password', CHECK_URL],
  noPassword: [
    'the server asks for a password and the store URL has none',
    `Put it into the URL, or into PGPASSWORD. ${CHECK_URL}`,
  ],
  serverUnproven: [
    'the server cannot prove that it knows the password, so it may not be the one that is meant',
    'Find out who answers at this address; "sslmode=verify-full" in the store URL tells them apart.',
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
    'the user of the store has no right to do this',
    'The user needs CREATE on the database, or a schema "reprise" of its own.',
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
  client: ['something went wrong on this side of the connection'],
  pemFile: [
    'a file that the store URL names cannot be read',
    'Correct sslrootcert, sslcert or sslkey in the store URL: each is the path of a PEM file.',
  ],
  noTls: [
    'the server does not support TLS',
    'Enable it on the server (ssl=on), or use "sslmode=disable" if nobody can read the traffic in between.',
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
    'Check sslmode, sslrootcert, sslcert and sslkey in the store URL; docs/stores.md says what each does.',
  ],
  pooler: [
    'there is a transaction pooler in between, and the store URL does not say so',
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
  other: ['the database server reported an error'],
};
