import { type ChildProcess, spawn, spawnSync } from 'node:child_process';
import { once } from 'node:events';
import { chmodSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { connect } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { freePort } from './free-port.ts';

export type ProxyKind = 'nginx' | 'caddy';

/** Why this one cannot be tried here, or undefined. */
export function cannotProxy(kind: ProxyKind): string | undefined {
  const { error, status } = spawnSync(kind, [kind === 'nginx' ? '-v' : 'version']);
  return error === undefined && status === 0 ? undefined : `no ${kind} on the PATH`;
}

/** The configurations of docs/deploy.md, word by word. */
function documented(kind: ProxyKind): string {
  const text = readFileSync(new URL('../../../docs/deploy.md', import.meta.url), 'utf8');
  const [, block] = new RegExp(`^\`\`\`${kind}\\n(.*?)^\`\`\`$`, 'ms').exec(text) ?? [];
  if (block === undefined) throw new Error(`docs/deploy.md says nothing of ${kind}`);
  return block;
}

/** What an installation of it has around that. */
function configOf(kind: ProxyKind, folder: string, port: number, target: string): string {
  const own = documented(kind).replaceAll('127.0.0.1:4747', new URL(target).host);
  if (!own.includes(new URL(target).host)) throw new Error('the documented address is another one now');
  // Without certificates: only the owner of a public name has those.
  if (kind === 'caddy')
    return `{\n  admin off\n  auto_https off\n}\n${own.replace('agents.example {', `http://agents.example:${port} {`)}`;
  return `daemon off;
pid ${folder}/pid;
error_log stderr;
events {}
http {
  access_log off;
  ${['client_body', 'proxy', 'fastcgi', 'uwsgi', 'scgi'].map((name) => `${name}_temp_path ${folder}/${name};`).join('\n  ')}
  server {
    listen 127.0.0.1:${port};
    server_name agents.example;
    ${own}
  }
}
`;
}

/** A real reverse proxy with the configuration that is documented. */
export class RealProxy implements AsyncDisposable {
  readonly port: number;
  readonly #folder: string;
  readonly #child: ChildProcess;

  private constructor(port: number, folder: string, child: ChildProcess) {
    this.port = port;
    this.#folder = folder;
    this.#child = child;
  }

  static async before(kind: ProxyKind, target: string): Promise<RealProxy> {
    const folder = mkdtempSync(join(tmpdir(), `reprise-${kind}-`));
    // Its workers run as another user.
    chmodSync(folder, 0o755);
    const port = await freePort();
    const file = join(folder, 'config');
    writeFileSync(file, configOf(kind, folder, port, target));
    const args =
      kind === 'nginx'
        ? ['-p', folder, '-e', 'stderr', '-c', file]
        : ['run', '--config', file, '--adapter', 'caddyfile'];
    const child = spawn(kind, args, {
      stdio: ['ignore', 'ignore', 'pipe'],
      // It keeps its files in a folder that only it uses.
      env: { ...process.env, HOME: folder, XDG_DATA_HOME: folder, XDG_CONFIG_HOME: folder },
    });
    const proxy = new RealProxy(port, folder, child);
    try {
      await proxy.#ready();
      return proxy;
    } catch (error) {
      await proxy[Symbol.asyncDispose]();
      throw error;
    }
  }

  async [Symbol.asyncDispose](): Promise<void> {
    if (this.#child.exitCode === null && this.#child.signalCode === null) {
      const gone = once(this.#child, 'exit');
      // Fast, and with the processes it has started.
      this.#child.kill('SIGTERM');
      await gone;
    }
    rmSync(this.#folder, { recursive: true, force: true });
  }

  async #ready(): Promise<void> {
    let said = '';
    this.#child.stderr?.on('data', (chunk: Buffer) => {
      said = (said + chunk.toString()).slice(-4000);
    });
    while (!(await this.#listens())) {
      if (this.#child.exitCode !== null) throw new Error(`the proxy ended: ${said}`);
      await new Promise((resolve) => setTimeout(resolve, 20));
    }
  }

  #listens(): Promise<boolean> {
    return new Promise((resolve) => {
      const socket = connect(this.port, '127.0.0.1');
      socket.once('connect', () => resolve(true));
      socket.once('error', () => resolve(false));
      socket.once('connect', () => socket.destroy());
    });
  }
}
