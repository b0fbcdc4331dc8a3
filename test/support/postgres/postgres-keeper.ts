/**
 * A process that runs one PostgreSQL server for as long as its standard input is open: when its starter
 * ends, kill -9 included, the server ends too and its folder goes. Lines on the input are orders ("crash", "quit", "start"),
 * a line of JSON on the output answers each and the first start.
 */
import { type ChildProcess, execFile, spawn } from 'node:child_process';
import { chmodSync, chownSync, mkdirSync, mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import { promisify } from 'node:util';
import { freePort } from '../server/free-port.ts';
import { postgresBinaries, serverAccount } from './postgres-binaries.ts';
import type { PostgresOptions } from './postgres-server.ts';
import { copyAsStandby } from './postgres-standby.ts';

const {
  durable = false,
  settings: own = [],
  disks,
  standbyOf,
} = JSON.parse(process.argv[2] ?? '{}') as PostgresOptions;
const folder = mkdtempSync(join(tmpdir(), 'reprise-postgres-'));
process.on('exit', () => rmSync(folder, { recursive: true, force: true }));
// Where the server runs as another account, that account must come this far.
chmodSync(folder, 0o755);
const data = join(disks?.data ?? folder, 'data');

/**
 * The suites ask what a store does, not what a disk keeps: without fsync they run several times faster and nothing
 * else differs. Tests that kill the server ask for a durable one.
 */
const settings: readonly string[] = [
  'listen_addresses=127.0.0.1',
  'unix_socket_directories=',
  'max_connections=300',
  'shared_buffers=64MB',
  'max_wal_size=2GB',
  'jit=off',
  ...(durable ? [] : ['fsync=off', 'full_page_writes=off', 'checkpoint_timeout=1h']),
  ...own,
].flatMap((setting) => ['-c', setting]);

let server: ChildProcess | undefined;
let said = '';

/** Resolves with whether it is ready; false when it ended before it was. */
async function start(binary: string, account: object, port: number): Promise<boolean> {
  const { promise, resolve } = Promise.withResolvers<boolean>();
  said = '';
  const child = spawn(binary, ['-D', data, '-p', String(port), ...settings], {
    ...account,
    stdio: ['ignore', 'ignore', 'pipe'],
    env: { ...process.env, LC_MESSAGES: 'C', LC_ALL: 'C' },
  });
  server = child;
  child.on('error', (error) => {
    said += String(error);
    resolve(false);
  });
  // Not by its exit: its last output has the reason, and may arrive after that.
  child.on('close', () => resolve(false));
  child.stderr?.on('data', (chunk: Buffer) => {
    said = (said + chunk.toString('utf8')).slice(-4_000);
    if (/ready to accept (?:read-only )?connections/.test(said)) resolve(true);
  });
  return promise;
}

function isRunning(child: ChildProcess | undefined): child is ChildProcess {
  return child !== undefined && child.exitCode === null && child.signalCode === null;
}

async function gone(child: ChildProcess | undefined, signal: NodeJS.Signals): Promise<void> {
  if (!isRunning(child)) return;
  const { promise, resolve } = Promise.withResolvers<void>();
  child.once('exit', () => resolve());
  child.kill(signal);
  await promise;
}

const answer = (value: object): boolean => process.stdout.write(`${JSON.stringify(value)}\n`);

async function keep(): Promise<void> {
  const account = serverAccount();
  const { initdb, postgres } = postgresBinaries(account, folder);
  for (const path of disks === undefined ? [data] : [data, join(disks.wal, 'wal')]) {
    mkdirSync(path, { mode: 0o700 });
    if ('uid' in account) chownSync(path, account.uid, account.gid);
  }
  if (standbyOf === undefined) {
    // The builtin provider reads letters of every script the same way on every system.
    const locale = ['--locale-provider=builtin', '--builtin-locale=C.UTF-8', '--locale=C', '--encoding=UTF8'];
    // A small disk is full sooner with small segments.
    const wal = disks === undefined ? [] : [`--waldir=${join(disks.wal, 'wal')}`, '--wal-segsize=1'];
    await promisify(execFile)(
      initdb,
      ['-D', data, '-U', 'reprise', '--auth=trust', ...locale, ...wal, '--no-sync', '--no-instructions'],
      account,
    );
  } else await copyAsStandby(standbyOf, data, account);
  let port = 0;
  // The port is given to no other test while the server is away; between finding and using it another process may take it.
  for (let tries = 0; ; tries++) {
    port = await freePort();
    if (await start(postgres, account, port)) break;
    if (tries === 4) throw new Error(`PostgreSQL does not start: ${said}`);
  }
  answer({ url: `postgres://reprise@127.0.0.1:${port}/postgres` });

  for await (const order of createInterface({ input: process.stdin })) {
    if (order === 'crash') {
      await gone(server, 'SIGKILL');
    } else if (order === 'quit') {
      await gone(server, 'SIGQUIT');
    } else if (order === 'start' && !isRunning(server)) {
      // The dead server's workers notice within moments that they are orphans; until then the memory is taken.
      while (!(await start(postgres, account, port))) {
        if (!/pre-existing shared memory|lock file|could not bind/.test(said)) {
          throw new Error(`PostgreSQL does not start again: ${said}`);
        }
      }
    }
    answer({ done: order });
  }
}

let failed = false;
const end = async (): Promise<void> => {
  const last = setTimeout(() => server?.kill('SIGKILL'), 5_000);
  // Fast: cuts connections and writes what it has.
  await gone(server, durable ? 'SIGINT' : 'SIGQUIT');
  clearTimeout(last);
  process.exit(failed ? 1 : 0);
};
for (const signal of ['SIGINT', 'SIGTERM', 'SIGHUP'] as const) process.on(signal, () => void end());
// The caller may be gone already; then the answer is lost.
process.stdout.on('error', () => undefined);
try {
  await keep();
} catch (error) {
  failed = true;
  answer({ error: error instanceof Error ? error.message : String(error) });
}
await end();
