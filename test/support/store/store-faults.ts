import { type ChildProcess, spawn, spawnSync } from 'node:child_process';
import { existsSync, mkdirSync, mkdtempSync, readdirSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import { setTimeout as wait } from 'node:timers/promises';
import { RepriseError } from '../../../src/errors.ts';
import {
  type Answer,
  type DriverOptions,
  type DriverProcess,
  startDriver,
} from '../../../testing/crash/driver-process.ts';
import { type FaultPlan, faultEnv } from '../../../testing/crash/fault-shim.ts';
import { appendCommand, type History } from '../../../testing/crash/history.ts';
import {
  assertClean,
  type HistoryReport,
  judgeHistory,
  readSession,
  type SeenEntry,
} from '../../../testing/crash/judge.ts';
import { retryUnknown } from '../../../testing/crash/load.ts';

export const SESSION = { op: 'create', id: 's', key: 'agent:main:main' } as const;

export function say(content: string): { readonly messages: readonly object[] } {
  return { messages: [{ role: 'user', content }] };
}

/** The lines a person would read to know what a test did. */
export function told(line: string): void {
  console.log(line);
}

/** A folder for one store, and a log outside it for the faults that fired. */
export class TestHome implements Disposable {
  readonly root: string = mkdtempSync(join(tmpdir(), 'reprise-store-faults-'));
  readonly home: string = join(this.root, 'home');
  readonly log: string = join(this.root, 'faults.log');

  constructor() {
    mkdirSync(this.home, { mode: 0o700 });
  }

  get transcript(): string {
    return join(this.home, 'agents/main/sessions/s.jsonl');
  }

  /** A driver on this home; with a plan, one that meets the fault. */
  options(store: string, plan?: Omit<FaultPlan, 'log'>): DriverOptions {
    return { store, home: this.home, ...(plan && { env: faultEnv({ ...plan, log: this.log }) }) };
  }

  /** What is in quarantine, by name. */
  quarantine(): ReadonlyMap<string, Buffer> {
    const folder = join(this.home, 'quarantine');
    try {
      return new Map(readdirSync(folder).map((name) => [name, readFileSync(join(folder, name))]));
    } catch {
      // Made when it is needed.
      return new Map();
    }
  }

  /** Removes the index with everything that belongs to it. */
  dropControl(): void {
    for (const suffix of ['', '-wal', '-shm'])
      rmSync(join(this.home, `control.db${suffix}`), { force: true });
  }

  /** Asks control.db from this process, which is not the one under test. */
  query<T>(sql: string, ...values: readonly string[]): T[] {
    const db = new DatabaseSync(join(this.home, 'control.db'), { timeout: 5000 });
    try {
      return db.prepare(sql).all(...values) as T[];
    } finally {
      db.close();
    }
  }

  [Symbol.dispose](): void {
    rmSync(this.root, { recursive: true, force: true });
  }
}

export interface RunOptions {
  readonly count: number;
  readonly sizes?: readonly number[];
  /** A transcript that has each line before the next one is appended; lines appended at once would be one write. */
  readonly followed?: string;
}

/** Creates the session and appends one after the other, until done or dead; the history keeps the answers. */
export async function appendRun(
  options: DriverOptions,
  history: History,
  { count, sizes = [300], followed }: RunOptions,
): Promise<readonly Answer[]> {
  let driver: DriverProcess;
  try {
    driver = await startDriver(options);
  } catch (error) {
    // The fault may hit while the store is being opened; then nothing was asked and nothing promised.
    if (!(error instanceof RepriseError)) throw error;
    return [];
  }
  const answers: Answer[] = [];
  let isGone = false;
  void driver.exited.then(() => {
    isGone = true;
  });
  const follow = async (lines: number): Promise<void> => {
    if (followed === undefined) return;
    await until(`${lines} lines in the file, or its end`, () => isGone || linesIn(followed) >= lines);
  };
  try {
    if (!(await driver.send(SESSION)).ok) return answers;
    for (let at = 0; at < count; at++) {
      await follow(1 + at * sizes.length);
      const answer = await appendOne(driver, history, sizes);
      answers.push(answer);
      if (hasDied(answer)) return answers;
    }
    await driver.stop();
    return answers;
  } finally {
    await driver[Symbol.asyncDispose]();
  }
}

export async function appendOne(
  driver: DriverProcess,
  history: History,
  sizes: readonly number[] = [300],
): Promise<Answer> {
  const attempt = history.begin({ session: 's', sizes });
  const answer = await driver.send(appendCommand(attempt));
  history.settle(attempt.key, answer);
  return answer;
}

export const hasDied = (answer: Answer | undefined): boolean => answer?.details?.['died'] === true;

export interface Judged {
  /** Before the unknown were tried again, and after. */
  readonly before: HistoryReport;
  readonly after: HistoryReport;
  readonly seen: readonly SeenEntry[];
  readonly status: unknown;
}

/**
 * The oracle in a new process without faults: what it reads, the same after a retry of all that is unknown and of
 * some that is known, what verify says, and that the next append works. Throws at the first finding.
 */
export async function judgeFresh(options: DriverOptions, history: History): Promise<Judged> {
  await using driver = await startDriver(options);
  await must(driver, SESSION);
  const judge = async (): Promise<{ report: HistoryReport; seen: readonly SeenEntry[] }> => {
    const seen = await readSession(driver, 's');
    const report = judgeHistory(history, new Map([['s', seen]]));
    assertClean(report);
    return { report, seen };
  };
  const before = (await judge()).report;
  await retryUnknown(history, driver, { acknowledged: 3 });
  await must(driver, appendCommand(history.begin({ session: 's', sizes: [100] })), history);
  const { report: after, seen } = await judge();
  const { status } = await must(driver, { op: 'verify' });
  if (status === 'corrupt') throw new RepriseError('STORE_CORRUPT', 'verify finds damage');
  const { code, stderr } = await driver.stop();
  if (code !== 0) throw new RepriseError('STORE_FAILED', `the driver ended with ${code}: ${stderr}`);
  return { before, after, seen, status };
}

export async function must(
  driver: DriverProcess,
  command: { readonly op: string; readonly [field: string]: unknown },
  history?: History,
): Promise<Answer> {
  const answer = await driver.send(command);
  if (history) history.settle(String(command['key']), answer);
  if (answer.ok) return answer;
  throw new RepriseError('STORE_FAILED', `${command.op} failed: ${JSON.stringify(answer)}`);
}

/** The `q` and text of every line of a transcript; throws where a line is no JSON, glued or torn. */
export function transcriptLines(file: string): readonly { q: number; e: number; text: string }[] {
  const lines = readFileSync(file, 'utf8').split('\n');
  if (lines.pop() !== '') throw new RepriseError('STORE_CORRUPT', 'the transcript does not end in a newline');
  return lines.map((line) => {
    const { seal, message } = JSON.parse(line);
    return { q: seal.q, e: seal.e, text: String(message?.content ?? '') };
  });
}

/** Lines that stand whole in a file, which need not be there. */
export const linesIn = (path: string): number =>
  existsSync(path) ? readFileSync(path, 'latin1').split('\n').length - 1 : 0;

/** Polls until it is so; the value that made it so is the answer. */
export async function until<T>(what: string, probe: () => T | Promise<T>, ms = 60_000): Promise<T> {
  const deadline = performance.now() + ms;
  for (;;) {
    const value = await probe();
    if (value) return value;
    if (performance.now() > deadline) throw new RepriseError('ABORTED', `not within ${ms} ms: ${what}`);
    await wait(10);
  }
}

/** Whether a program of the system is there and did what it was asked to. */
export function succeeds(command: string, ...args: readonly string[]): boolean {
  return exitCode(command, ...args) === 0;
}

export function exitCode(command: string, ...args: readonly string[]): number | null {
  return spawnSync(command, args, { stdio: 'ignore' }).status;
}

/** A small file system in memory; throws where this host does not let us mount one. */
export function mountTmpfs(folder: string, size: string): { remount(mode: 'ro' | 'rw'): void } & Disposable {
  const run = (...args: readonly string[]): void => {
    const { status, stderr } = spawnSync(args[0] ?? '', args.slice(1), { encoding: 'utf8' });
    if (status !== 0) throw new RepriseError('STORE_FAILED', `${args.join(' ')}: ${stderr}`);
  };
  run('mount', '-t', 'tmpfs', '-o', `size=${size},mode=0700`, 'tmpfs', folder);
  return {
    remount: (mode) => run('mount', '-o', `remount,${mode},size=${size}`, folder),
    [Symbol.dispose]: () => run('umount', '-l', folder),
  };
}

/** Why mounting is not possible here, or undefined. */
export function cannotMount(): string | undefined {
  if (process.getuid?.() !== 0) return 'needs root to mount';
  using at = new TestHome();
  try {
    mountTmpfs(at.home, '64k')[Symbol.dispose]();
    return undefined;
  } catch (error) {
    return error instanceof Error ? error.message : String(error);
  }
}

/** A node process that runs the given module text; its pid is the caller's to end. */
export function runModule(source: string, ...args: readonly string[]): ChildProcess {
  return spawn(process.execPath, ['--input-type=module', '-e', source, ...args], {
    stdio: ['pipe', 'pipe', 'ignore'],
  });
}

/** Resolves with the first output that contains the word. */
export function says(child: ChildProcess, word: string): Promise<string> {
  return new Promise((resolve, reject) => {
    let output = '';
    child.stdout?.on('data', (chunk: Buffer) => {
      output += chunk.toString();
      if (output.includes(word)) resolve(output);
    });
    child.once('close', () => reject(new RepriseError('STORE_FAILED', `ended without "${word}": ${output}`)));
  });
}
