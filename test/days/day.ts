import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { openReprise } from '../../src/config/open-reprise.ts';
import type { ProfileName } from '../../src/exports/engine.ts';
import type { InboundMessage } from '../../src/index.ts';
import { COMMAND } from '../support/processes/bundled-command.ts';
import { ENVIRONMENT, type Ran, reprise } from '../support/processes/command-line.ts';

/** One day of a person who brings the data of another system: a source folder, a home, and the real command line. */
export class Day implements Disposable {
  readonly source: string;
  readonly home: string;
  readonly #root: string;
  readonly profile: ProfileName;
  readonly #env: NodeJS.ProcessEnv;

  constructor(profile: ProfileName) {
    this.profile = profile;
    this.#root = mkdtempSync(join(tmpdir(), 'reprise-day-'));
    this.source = join(this.#root, 'source');
    this.home = join(this.#root, 'home');
    this.#env = { REPRISE_HOME: this.home, REPRISE_PROFILE: profile };
  }

  /** Runs `reprise` to its end. Lines of input are what the person types. */
  run(args: readonly string[], lines: readonly string[] = []): Ran {
    return reprise(args, { env: this.#env, input: lines.join('\n') });
  }

  /** The same, and the command must succeed. @returns what it printed, messages for people included. */
  succeed(args: readonly string[], lines: readonly string[] = []): string {
    const { status, stdout, stderr } = this.run(args, lines);
    if (status !== 0)
      throw new Error(`reprise ${args.join(' ')} exited with ${status}: ${stderr}\n${stdout}`);
    return `${stderr}\n${stdout}`;
  }

  json<T>(args: readonly string[]): T {
    const { status, stdout, stderr } = this.run([...args, '--json']);
    if (status !== 0) throw new Error(`reprise ${args.join(' ')} exited with ${status}: ${stderr}`);
    return JSON.parse(stdout) as T;
  }

  /** Sends a message to the slow model and kills the process as soon as the answer has started. */
  async killDuringAnswer(args: readonly string[], message: string): Promise<void> {
    const child = spawn(process.execPath, [COMMAND, ...args, '-p', message, '--model', 'offline:slow'], {
      env: { ...ENVIRONMENT, ...this.#env },
      stdio: ['ignore', 'pipe', 'ignore'],
    });
    await Promise.race([once(child.stdout, 'data'), once(child, 'exit')]);
    if (child.exitCode !== null) throw new Error('the command ended before its answer started');
    const exited = once(child, 'exit');
    child.kill('SIGKILL');
    await exited;
  }

  /** Receives a message of a channel as an adapter would, and waits for the answer. */
  async receive(message: InboundMessage): Promise<{ sessionId: string; text: string }> {
    await using engine = await openReprise({ home: this.home, model: 'offline', profile: this.profile });
    const { inboxId, sessionId } = await engine.receive(message);
    const { text } = await engine.follow(inboxId).result;
    return { sessionId, text };
  }

  sessions(): readonly Listed[] {
    return this.json<{ data: Listed[] }>(['ls']).data;
  }

  /** The texts of a session, oldest first. */
  texts(ref: string): readonly string[] {
    return this.json<{ data: { text: string }[] }>(['show', ref]).data.map(({ text }) => text);
  }

  [Symbol.dispose](): void {
    rmSync(this.#root, { recursive: true, force: true });
  }
}

export interface Listed {
  readonly id: string;
  readonly sessionKey: string;
  readonly title: string;
  readonly lastAt: string;
  readonly messageCount: number;
}

/** How often a text stands in a list. */
export function count(texts: readonly string[], text: string): number {
  return texts.filter((each) => each.includes(text)).length;
}
