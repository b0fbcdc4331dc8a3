import { type ChildProcess, spawn } from 'node:child_process';
import { fileURLToPath } from 'node:url';
import { type Outcome, RepriseError } from '../../src/errors.ts';
import { isObject, type JsonObject } from '../../src/transcript/json.ts';
import { createLineSplitter } from '../../src/transcript/split-lines.ts';

export interface DriverOptions {
  readonly store: string;
  readonly home: string;
  readonly url?: string;
  readonly durability?: 'disk' | 'os';
  /** A fixed clock, in ISO 8601. */
  readonly now?: string;
  /** With less free space than this, no turn begins. */
  readonly minFreeBytes?: number;
  /** Added to the environment of this process: a fault plan, for example. */
  readonly env?: Readonly<Record<string, string>>;
  /** Another program that speaks the driver protocol. */
  readonly script?: string;
}

/** An operation of the protocol with its fields; `send` adds `n`. */
export interface DriverCommand {
  readonly op: string;
  readonly [field: string]: unknown;
}

export interface Answer {
  readonly n: number | null;
  readonly ok: boolean;
  readonly code?: string;
  readonly outcome?: Outcome;
  readonly details?: JsonObject;
  readonly [field: string]: unknown;
}

/** Signals for a driver. A type of our own, so that users of these types need no Node types. */
export type DriverSignal = 'SIGKILL' | 'SIGTERM' | 'SIGINT' | 'SIGSTOP' | 'SIGCONT';

export interface DriverExit {
  readonly code: number | null;
  /** Name of the signal that ended the process. */
  readonly signal: string | null;
  readonly stderr: string;
}

export interface DriverProcess extends AsyncDisposable {
  readonly pid: number;
  /** Number of commands without an answer. */
  readonly inFlight: number;
  /** Resolves after the last line was read; never rejects. */
  readonly exited: Promise<DriverExit>;
  /** Never rejects: if the process dies with the command in flight, the answer has the outcome `unknown`. */
  send(command: DriverCommand): Promise<Answer>;
  kill(signal?: DriverSignal): void;
  /** Closes the input. Resolves when everything was answered and the process has ended. */
  stop(): Promise<DriverExit>;
}

const MAX_ANSWER_BYTES = 512 * 1024 * 1024;
const MAX_STDERR = 64 * 1024;
const START_MS = 120_000;

/** A checkout runs the source, a build the compiled file. */
const DRIVER_SCRIPT: string = fileURLToPath(
  new URL(import.meta.url.endsWith('.ts') ? '../driver.ts' : '../driver.js', import.meta.url),
);

/** Starts a driver and waits until its store is open. */
export async function startDriver(options: DriverOptions): Promise<DriverProcess> {
  const child = spawnDriver(options);
  const pending = new Map<number, (answer: Answer) => void>();
  let count = 0;
  let stderr = '';
  let gone = false;
  const ready = Promise.withResolvers<JsonObject>();

  const splitter = createLineSplitter(MAX_ANSWER_BYTES, ({ bytes, terminated }) => {
    // Ignore the incomplete line of a process that died while writing it.
    if (!terminated) return;
    const line = parseAnswer(bytes);
    if (line === undefined) {
      stderr += `not an answer: ${bytes.toString('utf8', 0, 200)}\n`;
      child.kill('SIGKILL');
      return;
    }
    if ('ready' in line) return ready.resolve(line);
    const n = typeof line['n'] === 'number' ? line['n'] : null;
    if (n === null) return;
    pending.get(n)?.({ ok: false, ...line, n });
    pending.delete(n);
  });
  child.stdout?.on('data', (chunk: Buffer) => splitter.push(chunk));
  child.stderr?.on('data', (chunk: Buffer) => {
    stderr = (stderr + chunk.toString('utf8')).slice(-MAX_STDERR);
  });
  // A process that dies during a write closes the pipe; the `close` handler below answers all pending commands.
  child.stdin?.on('error', () => {});

  const exited = new Promise<DriverExit>((resolve) => {
    const leave = (code: number | null, signal: string | null): void => {
      gone = true;
      ready.resolve({ ready: false });
      for (const [n, answer] of pending) answer(died(n));
      pending.clear();
      resolve({ code, signal, stderr });
    };
    // `close`, not `exit`: answers that reached the pipe before the process died still count.
    child.once('close', leave);
    child.once('error', (error) => {
      stderr += String(error);
      leave(null, null);
    });
  });

  const kill = (signal: DriverSignal = 'SIGKILL'): void => {
    child.kill(signal);
  };
  const stop = (): Promise<DriverExit> => {
    child.stdin?.end();
    return exited;
  };

  await opened(ready.promise, exited, kill);
  return {
    pid: child.pid ?? -1,
    get inFlight() {
      return pending.size;
    },
    exited,
    send(command) {
      count += 1;
      const n = count;
      if (gone) return Promise.resolve(died(n));
      return new Promise((resolve) => {
        pending.set(n, resolve);
        child.stdin?.write(`${JSON.stringify({ ...command, n })}\n`);
      });
    },
    kill,
    stop,
    async [Symbol.asyncDispose]() {
      kill();
      await exited;
    },
  };
}

function spawnDriver(options: DriverOptions): ChildProcess {
  const { store, home, url, durability, now, minFreeBytes, env = {}, script } = options;
  // Node 24 may hang when a process with threads exits while V8's middle compiler runs, and may crash when many
  // threads strip types.
  const args = [
    '--no-maglev',
    '--no-memory-protection-keys',
    script ?? DRIVER_SCRIPT,
    '--store',
    store,
    '--home',
    home,
  ];
  if (url !== undefined) args.push('--url', url);
  if (durability !== undefined) args.push('--durability', durability);
  if (now !== undefined) args.push('--now', now);
  if (minFreeBytes !== undefined) args.push('--min-free', String(minFreeBytes));
  const assignments = Object.entries(env).map(([name, value]) => `${name}=${value}`);
  // `env` becomes node by exec, so the pid is the driver's, and a preloaded library never enters this process.
  return assignments.length === 0
    ? spawn(process.execPath, args)
    : spawn('env', [...assignments, process.execPath, ...args]);
}

async function opened(
  ready: Promise<JsonObject>,
  exited: Promise<DriverExit>,
  kill: () => void,
): Promise<void> {
  const timer = setTimeout(kill, START_MS);
  const first = await ready;
  clearTimeout(timer);
  if (first['ready'] === true) return;
  const { code, signal, stderr } = await exited;
  throw new RepriseError('STORE_FAILED', 'the driver did not open its store', {
    details: { ...first, exit: code, signal, stderr },
  });
}

/** @returns `undefined` for anything but an object; such a program does not speak the protocol. */
function parseAnswer(bytes: Buffer): JsonObject | undefined {
  try {
    const line: unknown = JSON.parse(bytes.toString('utf8'));
    return isObject(line) ? line : undefined;
  } catch {
    // Not JSON.
    return undefined;
  }
}

function died(n: number): Answer {
  return { n, ok: false, code: 'STORE_FAILED', outcome: 'unknown', details: { died: true } };
}
