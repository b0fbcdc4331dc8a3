import { type ChildProcessWithoutNullStreams, spawn, spawnSync } from 'node:child_process';
import { Screen } from './screen.ts';

/** Whether there is what a pseudo-terminal is made with here. */
export function hasTerminals(): boolean {
  return spawnSync('python3', ['-c', 'import pty, termios']).status === 0;
}

export interface TerminalOptions {
  readonly env: NodeJS.ProcessEnv;
  readonly columns?: number;
  readonly rows?: number;
  readonly cwd?: string;
}

const DEADLINE_MS = 60_000;

/** A real process in a real terminal, typed into by a test. */
export class Terminal implements AsyncDisposable {
  readonly #driver: ChildProcessWithoutNullStreams;
  readonly #screen: Screen;
  readonly exit: Promise<number | null>;
  /** Everything the terminal was sent. */
  raw: string = '';
  #looks: (() => void)[] = [];
  #hasEnded = false;

  constructor(command: readonly string[], { env, cwd, columns = 80, rows = 24 }: TerminalOptions) {
    const script = new URL('./terminal-driver.py', import.meta.url).pathname;
    const args = [script, String(columns), String(rows), ...command];
    this.#driver = spawn('python3', args, { env, ...(cwd !== undefined && { cwd }) });
    this.#screen = new Screen(columns);
    this.#driver.stdout.setEncoding('utf8').on('data', (text: string) => {
      this.raw += text;
      this.#screen.write(text);
      this.#look();
    });
    // What goes wrong in the driver itself is seen where the test looks.
    this.#driver.stderr.setEncoding('utf8').on('data', (text: string) => this.#screen.write(text));
    this.exit = new Promise((resolve) => {
      this.#driver.on('close', (code) => {
        this.#hasEnded = true;
        this.#look();
        resolve(code);
      });
    });
  }

  /** What a person sees, with what has scrolled away. */
  get seen(): string {
    return this.#screen.text;
  }

  type(text: string): void {
    this.#order({ type: text });
  }

  resize(columns: number, rows: number): void {
    this.#screen.columns = columns;
    this.#order({ resize: [columns, rows] });
  }

  signal(signal: number): void {
    this.#order({ signal });
  }

  async until(what: RegExp | (() => boolean)): Promise<void> {
    const isThere = typeof what === 'function' ? what : (): boolean => what.test(this.seen);
    const deadline = AbortSignal.timeout(DEADLINE_MS);
    while (!isThere()) {
      if (deadline.aborted || this.#hasEnded) throw new Error(`never seen: ${String(what)}\n${this.seen}`);
      await new Promise<void>((resolve) => {
        this.#looks.push(resolve);
        deadline.addEventListener('abort', () => resolve(), { once: true });
      });
    }
  }

  /** The prompt, empty, with the cursor after it. */
  async prompt(): Promise<void> {
    await this.until(() => this.#screen.isPrompt);
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.#driver.stdin.end();
    const late = setTimeout(() => this.#driver.kill('SIGKILL'), 10_000);
    await this.exit;
    clearTimeout(late);
  }

  #order(order: object): void {
    this.#driver.stdin.write(`${JSON.stringify(order)}\n`);
  }

  #look(): void {
    for (const look of this.#looks.splice(0)) look();
  }
}
