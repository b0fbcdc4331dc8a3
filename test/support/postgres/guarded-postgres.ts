import { execFileSync, spawnSync } from 'node:child_process';
import { chmodSync, chownSync, mkdtempSync, rmSync, statSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import pg from 'pg';
import { type PostgresServer, startPostgres } from './postgres-server.ts';

/** What must be seen nowhere. */
export const PASSWORD = 'pa55word-of-ada';

export interface GuardedPostgres extends AsyncDisposable {
  /** The URL of a user's database; by default of one who is let in with the password. */
  url(change?: { readonly user?: string; readonly password?: string; readonly database?: string }): string;
  /** As the administrator, who is always let in. */
  admin(sql: string): Promise<pg.QueryResult>;
  /** How many have come and are not let in yet. */
  atTheDoor(): Promise<number>;
  /** With a certificate for `localhost` and nothing else, or without TLS. */
  setTls(isOn: boolean): Promise<void>;
  /** Of the authority that signed it, and of another one. */
  readonly authority: string;
  readonly otherAuthority: string;
  /** By the same authority, for who shows one herself. */
  readonly ofCarol: { readonly sslcert: string; readonly sslkey: string };
}

/** Why there can be no certificates here, or undefined. */
export function cannotMakeCertificates(): string | undefined {
  return spawnSync('openssl', ['version']).status === 0 ? undefined : 'needs openssl';
}

/**
 * `ada` proves her password, `eve` does so by TLS only, `carol` shows a certificate, `mallory` is not let in at all; databases
 * are `app` and `other`.
 */
const RULES = `host all reprise 127.0.0.1/32 trust
host app mallory 127.0.0.1/32 reject
hostssl app eve 127.0.0.1/32 scram-sha-256
hostssl app carol 127.0.0.1/32 cert
host app,missing ada,nobody_here 127.0.0.1/32 scram-sha-256
`;

/** A real server that asks who comes. */
export async function openGuardedPostgres(): Promise<GuardedPostgres> {
  // It does not close a silent connection by itself.
  const server = await startPostgres({ settings: ['authentication_timeout=10min'] });
  const folder = mkdtempSync(join(tmpdir(), 'reprise-guarded-'));
  const admin = (sql: string): Promise<pg.QueryResult> => ask(server, sql);
  const reload = async (): Promise<void> => {
    // The server rereads in its own time; a new connection shows when it did.
    const loadedAt = async (): Promise<string> =>
      String((await admin('SELECT pg_conf_load_time()::text AS at')).rows[0].at);
    const before = await loadedAt();
    await admin('SELECT pg_reload_conf()');
    while ((await loadedAt()) === before);
  };
  const { rows } = await admin("SELECT current_setting('data_directory') AS data");
  const data = String(rows[0].data);
  for (const user of ['ada', 'eve', 'carol', 'mallory'])
    await admin(`CREATE ROLE ${user} LOGIN PASSWORD '${PASSWORD}'`);
  await admin('CREATE DATABASE app OWNER ada');
  await admin('CREATE DATABASE other OWNER ada');
  writeFileSync(join(data, 'pg_hba.conf'), RULES);
  await reload();
  return {
    url({ user = 'ada', password = PASSWORD, database = 'app' } = {}) {
      const url = new URL(server.url);
      Object.assign(url, { username: user, password, pathname: `/${database}` });
      return url.href;
    },
    admin,
    async atTheDoor() {
      const { rows } = await admin(
        "SELECT count(*)::int AS n FROM pg_stat_activity WHERE backend_type = 'client backend' AND usename IS NULL",
      );
      return rows[0].n;
    },
    async setTls(isOn) {
      if (isOn) {
        makeCertificates(folder);
        const { uid, gid } = statSync(data);
        for (const name of ['server.crt', 'server.key', 'ca.crt']) {
          // The server takes no key that others may read.
          execFileSync('cp', [join(folder, name), join(data, name)]);
          chmodSync(join(data, name), 0o600);
          chownSync(join(data, name), uid, gid);
        }
      }
      await admin("ALTER SYSTEM SET ssl_ca_file = 'ca.crt'");
      await admin(`ALTER SYSTEM SET ssl = ${isOn ? 'on' : 'off'}`);
      await reload();
    },
    authority: join(folder, 'ca.crt'),
    ofCarol: { sslcert: join(folder, 'carol.crt'), sslkey: join(folder, 'carol.key') },
    otherAuthority: join(folder, 'other.crt'),
    async [Symbol.asyncDispose]() {
      await server.stop();
      rmSync(folder, { recursive: true, force: true });
    },
  };
}

async function ask({ url }: PostgresServer, sql: string): Promise<pg.QueryResult> {
  const client = new pg.Client({ connectionString: url });
  await client.connect();
  try {
    return await client.query(sql);
  } finally {
    await client.end();
  }
}

/** Two authorities, and by the first a certificate of the server and one of `carol`. */
function makeCertificates(folder: string): void {
  const run = (...args: readonly string[]): unknown =>
    execFileSync('openssl', args, { cwd: folder, stdio: 'pipe' });
  const newKey = ['-newkey', 'ec', '-pkeyopt', 'ec_paramgen_curve:prime256v1', '-nodes'];
  for (const name of ['ca', 'other'])
    run(
      ...['req', '-x509', ...newKey, '-keyout', `${name}.key`, '-out', `${name}.crt`],
      ...['-days', '2', '-subj', `/CN=${name} of a test`],
    );
  for (const [name, subject] of [
    ['server', 'localhost'],
    ['carol', 'carol'],
  ] as const) {
    run('req', ...newKey, '-keyout', `${name}.key`, '-out', `${name}.csr`, '-subj', `/CN=${subject}`);
    writeFileSync(join(folder, 'names'), `subjectAltName=DNS:${subject}\n`);
    run(
      ...['x509', '-req', '-in', `${name}.csr`, '-CA', 'ca.crt', '-CAkey', 'ca.key', '-CAcreateserial'],
      ...['-days', '2', '-extfile', 'names', '-out', `${name}.crt`],
    );
  }
}
