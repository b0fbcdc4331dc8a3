import { type ChildProcess, spawn, spawnSync } from 'node:child_process';
import { once } from 'node:events';
import { chmodSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { serverAccount } from './postgres-binaries.ts';
import { freePort } from './serve-process.ts';

/** Why there is no real pooler here, or undefined. */
export function cannotPool(): string | undefined {
  return spawnSync('pgbouncer', ['--version']).status === 0 ? undefined : 'no pgbouncer on the PATH';
}

/** A real PgBouncer in transaction mode before the server of a URL. */
export class PgBouncer implements AsyncDisposable {
  readonly #folder: string;
  readonly #port: number;
  readonly #child: ChildProcess;

  private constructor(folder: string, port: number, child: ChildProcess) {
    this.#folder = folder;
    this.#port = port;
    this.#child = child;
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
    // It refuses to run as root, as the server does.
    const child = spawn('pgbouncer', [join(folder, 'pgbouncer.ini')], {
      ...serverAccount(),
      stdio: ['ignore', 'ignore', 'pipe'],
    });
    const pooler = new PgBouncer(folder, port, child);
    try {
      await pooler.#ready();
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

  async [Symbol.asyncDispose](): Promise<void> {
    if (this.#child.exitCode === null && this.#child.signalCode === null) {
      const gone = once(this.#child, 'exit');
      this.#child.kill('SIGKILL');
      await gone;
    }
    rmSync(this.#folder, { recursive: true, force: true });
  }

  async #ready(): Promise<void> {
    let said = '';
    for await (const chunk of this.#child.stderr ?? []) {
      said += String(chunk);
      if (/process up/.test(said)) break;
    }
    if (!/process up/.test(said)) throw new Error(`PgBouncer does not start: ${said}`);
  }
}
