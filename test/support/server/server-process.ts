import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { bundledProgram } from '../processes/bundled-program.ts';
import { freePort } from './free-port.ts';

const script = bundledProgram('server-driver');

export interface RunningServer {
  readonly child: ChildProcess;
  readonly url: string;
}

/** Servers in processes of their own, one after the other on the same home and at the same address. */
export class ServerHome implements AsyncDisposable {
  readonly #home: string = mkdtempSync(join(tmpdir(), 'reprise-server-'));
  readonly #children: ChildProcess[] = [];
  #port: Promise<number> | undefined;

  /** What the model answers is in `server-driver.ts`. */
  async start(answers: readonly string[]): Promise<RunningServer> {
    this.#port ??= freePort();
    const args = [script, this.#home, String(await this.#port), JSON.stringify(answers)];
    const child = spawn(process.execPath, args, { stdio: ['pipe', 'pipe', 'inherit'] });
    this.#children.push(child);
    const [line] = (await once(child.stdout, 'data')) as [Buffer];
    return { child, url: line.toString().trim() };
  }

  async [Symbol.asyncDispose](): Promise<void> {
    // Who dies may still write: its home is removed when it is dead.
    await Promise.all(this.#children.map(killed));
    rmSync(this.#home, { recursive: true, force: true });
  }
}

export async function killServer({ child }: RunningServer): Promise<void> {
  await killed(child);
}

async function killed(child: ChildProcess): Promise<void> {
  if (child.exitCode !== null || child.signalCode !== null) return;
  const gone = once(child, 'exit');
  child.kill('SIGKILL');
  await gone;
}

/** Of the process, at its highest so far; undefined where the system does not say. */
export function peakBytes({ child }: RunningServer): number | undefined {
  try {
    const [, kilobytes] =
      /^VmHWM:\s+(\d+) kB$/m.exec(readFileSync(`/proc/${child.pid}/status`, 'utf8')) ?? [];
    return kilobytes === undefined ? undefined : Number(kilobytes) * 1024;
  } catch {
    return undefined; // not Linux
  }
}
