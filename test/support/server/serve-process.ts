import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import { COMMAND } from '../processes/bundled-command.ts';
import { cliEnv } from '../processes/cli-env.ts';
import { exitOf } from '../processes/exit-of.ts';
import { freePort } from './free-port.ts';
import { TOKEN } from './http.ts';

export interface ServeOptions {
  readonly args?: readonly string[];
  readonly env?: NodeJS.ProcessEnv;
  /** Unset: a temporary folder, removed at the end. */
  readonly home?: string;
}

/** `reprise serve` as users start it: one home, one address, many lives. */
export class ServeProcess implements AsyncDisposable {
  readonly home: string;
  readonly port: number;
  readonly #options: ServeOptions;
  #child: ChildProcess | undefined;
  #stderr = '';

  private constructor(port: number, options: ServeOptions) {
    this.port = port;
    this.#options = options;
    this.home = options.home ?? mkdtempSync(join(tmpdir(), 'reprise-serve-'));
  }

  static async start(options: ServeOptions = {}): Promise<ServeProcess> {
    const served = new ServeProcess(await freePort(), options);
    try {
      await served.start();
      return served;
    } catch (error) {
      await served[Symbol.asyncDispose]();
      throw error;
    }
  }

  get url(): string {
    return `http://127.0.0.1:${this.port}`;
  }

  get pid(): number {
    return this.#child?.pid ?? -1;
  }

  /** Of all its lives, the end of it. */
  get stderr(): string {
    return this.#stderr;
  }

  /** Null while it runs. */
  get exitCode(): number | null {
    return this.#child?.exitCode ?? null;
  }

  /** Resolves when it listens. */
  async start(): Promise<void> {
    const { args = [], env = {} } = this.#options;
    const given = ['serve', '--port', String(this.port), '--json', '--home', this.home, ...args];
    // For both see how the crash kit starts its drivers.
    const flags = ['--no-maglev', '--no-memory-protection-keys'];
    const child = spawn(process.execPath, [...flags, COMMAND, ...given], {
      stdio: ['ignore', 'pipe', 'pipe'],
      env: cliEnv({ REPRISE_TOKEN: TOKEN, ...env }),
    });
    this.#child = child;
    child.stderr.setEncoding('utf8').on('data', (text: string) => {
      this.#stderr = (this.#stderr + text).slice(-64 * 1024);
    });
    const gone = once(child, 'close').then(() => {
      throw new Error(`the server ended before it listened: ${this.#stderr}`);
    });
    await Promise.race([once(createInterface({ input: child.stdout }), 'line'), gone]);
    gone.catch(() => undefined); // reported above, if it was before it listened
  }

  /** Resolves when it is gone, within seconds, with its exit code or the signal that ended it. */
  async end(signal: NodeJS.Signals): Promise<number | string | null> {
    const child = this.#child;
    if (child === undefined) return null;
    child.kill(signal);
    return exitOf(child);
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.end('SIGKILL');
    if (this.#options.home === undefined) rmSync(this.home, { recursive: true, force: true });
  }
}
