import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';

const script = fileURLToPath(new URL('./server-driver.ts', import.meta.url));

export interface RunningServer {
  readonly child: ChildProcess;
  readonly url: string;
}

/** Servers in processes of their own, one after the other on the same home. */
export class ServerHome implements Disposable {
  readonly #home: string = mkdtempSync(join(tmpdir(), 'reprise-server-'));
  readonly #children: ChildProcess[] = [];

  /** What the model answers is in `server-driver.ts`. */
  async start(answers: readonly string[], port = 0): Promise<RunningServer> {
    const args = [script, this.#home, String(port), JSON.stringify(answers)];
    const child = spawn(process.execPath, args, { stdio: ['pipe', 'pipe', 'inherit'] });
    this.#children.push(child);
    const [line] = (await once(child.stdout, 'data')) as [Buffer];
    return { child, url: line.toString().trim() };
  }

  [Symbol.dispose](): void {
    for (const child of this.#children) child.kill('SIGKILL');
    rmSync(this.#home, { recursive: true, force: true });
  }
}

export async function killServer({ child }: RunningServer): Promise<void> {
  child.kill('SIGKILL');
  await once(child, 'exit');
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
