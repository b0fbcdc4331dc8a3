import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import { type Client, createClient } from '../../../src/client/index.ts';
import { COMMAND } from '../processes/bundled-command.ts';
import { cliEnv } from '../processes/cli-env.ts';
import { exitOf } from '../processes/exit-of.ts';
import { TOKEN } from '../server/server.ts';

export interface ClusterOptions {
  /** Of the database all of them share. */
  readonly url: string;
  readonly model: string;
  readonly env?: NodeJS.ProcessEnv;
  /** Where their logs go: to the output of the test run, unless a test reads them. */
  readonly stderr?: 'pipe';
}

export interface ClusterNode {
  readonly url: string;
  readonly child: ChildProcess;
  /** With the token, on this one. */
  request(path: string, init?: RequestInit): Promise<Response>;
  chat(body: object, headers?: Record<string, string>): Promise<Response>;
}

/** Real `reprise serve` processes on one database, with a token they share and a home each. */
export class Cluster implements AsyncDisposable {
  readonly #options: ClusterOptions;
  readonly #folder: string = mkdtempSync(join(tmpdir(), 'reprise-nodes-'));
  #nodes: ClusterNode[] = [];
  #made = 0;
  #turn = 0;

  constructor(options: ClusterOptions) {
    this.#options = options;
  }

  get nodes(): readonly ClusterNode[] {
    return this.#nodes;
  }

  /** `own`: variables of this one. */
  async start(own: NodeJS.ProcessEnv = {}): Promise<ClusterNode> {
    const { url: database, model, env = {}, stderr = 'inherit' } = this.#options;
    const home = join(this.#folder, `node-${this.#made++}`);
    const child = spawn(process.execPath, [COMMAND, 'serve', '--port', '0', '--json'], {
      env: cliEnv({
        REPRISE_HOME: home,
        REPRISE_STORE: 'postgres',
        REPRISE_STORE_URL: database,
        REPRISE_TOKEN: TOKEN,
        REPRISE_MODEL: model,
        REPRISE_LOG_LEVEL: 'fatal',
        ...env,
        ...own,
      }),
      stdio: ['ignore', 'pipe', stderr],
    });
    const gone = once(child, 'exit').then(() => Promise.reject(new Error('it did not start')));
    const line = once(createInterface({ input: child.stdout as NodeJS.ReadableStream }), 'line').then(
      ([first]) => String(first),
    );
    gone.catch(() => undefined); // later on it may
    const { url } = JSON.parse(await Promise.race([line, gone])) as { readonly url: string };
    const request: ClusterNode['request'] = (path, { headers, ...init } = {}) =>
      fetch(url + path, { ...init, headers: { authorization: `Bearer ${TOKEN}`, ...headers } });
    const chat: ClusterNode['chat'] = (body, headers = {}) =>
      request('/api/agents/main/chat', {
        method: 'POST',
        body: JSON.stringify(body),
        headers: { 'content-type': 'application/json', ...headers },
      });
    const node = { url, child, request, chat };
    this.#nodes.push(node);
    return node;
  }

  /** Gone from the list before it is gone: as a balancer that was informed. */
  async end(node: ClusterNode, signal: NodeJS.Signals): Promise<number | null> {
    this.#nodes = this.#nodes.filter((other) => other !== node);
    const ended = once(node.child, 'exit') as Promise<[number | null]>;
    node.child.kill(signal);
    return (await ended)[0];
  }

  /** A client whose every request goes to another of the servers that are there. */
  client(): Client {
    return createClient({
      url: 'http://balancer.invalid',
      token: TOKEN,
      retries: 100,
      backoffMs: 20,
      fetch: async (input, init) => {
        const node = this.#nodes[this.#turn++ % this.#nodes.length];
        if (node === undefined) throw new Error('no server is there');
        const { pathname, search } = new URL(String(input));
        return fetch(node.url + pathname + search, init);
      },
    });
  }

  async [Symbol.asyncDispose](): Promise<void> {
    // Who dies may still write: their homes are removed when they are dead.
    await Promise.all(
      this.#nodes.map(({ child }) => {
        child.kill('SIGKILL');
        return exitOf(child);
      }),
    );
    rmSync(this.#folder, { recursive: true, force: true });
  }
}
