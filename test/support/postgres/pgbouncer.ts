import { type ChildProcess, spawn, spawnSync } from 'node:child_process';
import { once } from 'node:events';
import { chmodSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { freePort } from '../server/free-port.ts';
import { serverAccount } from './postgres-binaries.ts';

/** Why there is no real pooler here, or undefined. */
export function cannotPool(): string | undefined {
  return spawnSync('pgbouncer', ['--version']).status === 0 ? undefined : 'no pgbouncer on the PATH';
}

/** A real PgBouncer in transaction mode before the server of a URL. */
export class PgBouncer implements AsyncDisposable {
  readonly #folder: string;
  readonly #port: number;
  #child: ChildProcess | undefined;

  private constructor(folder: string, port: number) {
    this.#folder = folder;
    this.#port = port;
  }

  static async before(url: string): Promise<PgBouncer> {
    const folder = mkdtempSync(join(tmpdir(), 'reprise-pgbouncer-'));
    const { hostname, port: serverPort, username, password } = new URL(url);
    const port = await freePort();
    writeFileSync(join(folder, 'users'), `"${username}" "${decodeURIComponent(password)}"\n`);
    writeFileSync(
      join(folder, 'pgbouncer.ini'),
      `[databases]
* = host=${hostname} port=${serverPort}
[pgbouncer]
listen_addr = 127.0.0.1
listen_port = ${port}
unix_socket_dir =
auth_type = trust
auth_file = ${join(folder, 'users')}
pool_mode = transaction
; fewer than the clients, so that they have to share
default_pool_size = 4
max_client_conn = 500
`,
    );
    chmodSync(folder, 0o755);
    const pooler = new PgBouncer(folder, port);
    try {
      await pooler.start();
      return pooler;
    } catch (error) {
      await pooler[Symbol.asyncDispose]();
      throw error;
    }
  }

  /** The same URL through it. */
  through(url: string): string {
    const own = new URL(url);
    own.port = String(this.#port);
    return own.href;
  }

  /** After a kill, on the same port. */
  async start(): Promise<void> {
    // It refuses to run as root, as the server does.
    const child = spawn('pgbouncer', [join(this.#folder, 'pgbouncer.ini')], {
      ...serverAccount(),
      stdio: ['ignore', 'ignore', 'pipe'],
    });
    this.#child = child;
    let said = '';
    for await (const chunk of child.stderr) {
      said += String(chunk);
      if (/process up/.test(said)) break;
    }
    if (!/process up/.test(said)) throw new Error(`PgBouncer does not start: ${said}`);
  }

  /** kill -9, with every connection that goes through it. */
  async kill(): Promise<void> {
    const child = this.#child;
    if (child === undefined || child.exitCode !== null || child.signalCode !== null) return;
    const gone = once(child, 'exit');
    child.kill('SIGKILL');
    await gone;
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.kill();
    rmSync(this.#folder, { recursive: true, force: true });
  }
}
