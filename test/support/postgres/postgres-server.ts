import { spawn } from 'node:child_process';
import { createInterface } from 'node:readline';
import { fileURLToPath } from 'node:url';

export interface PostgresServer {
  /** Of its maintenance database. */
  readonly url: string;
  /** kill -9 of the server, as a machine that fails would. */
  crash(): Promise<void>;
  /** Its own emergency brake: all its processes end at once and write nothing more. */
  quit(): Promise<void>;
  /** Starts it again, on the same port and the same data; one that runs is left alone. */
  start(): Promise<void>;
  stop(): Promise<void>;
}

export interface PostgresOptions {
  /** With fsync, for tests that crash it. */
  readonly durable?: boolean;
  /** `name=value`, as the server's own command line has them. */
  readonly settings?: readonly string[];
  /** Folders that are disks of their own, for the data and for what is written ahead. */
  readonly disks?: { readonly data: string; readonly wal: string };
  /** The URL of a server of this machine that it follows, from a copy of now on. */
  readonly standbyOf?: string;
}

/** A real PostgreSQL of this run's own. */
export async function startPostgres(options: PostgresOptions = {}): Promise<PostgresServer> {
  const keeper = spawn(
    process.execPath,
    [fileURLToPath(new URL('./postgres-keeper.ts', import.meta.url)), JSON.stringify(options)],
    // Away from the terminal's group, so that Ctrl-C does not kill it before it could clean up.
    { detached: true, stdio: ['pipe', 'pipe', 'inherit'] },
  );
  const exited = new Promise<void>((resolve) => keeper.once('exit', () => resolve()));
  const lines = createInterface({ input: keeper.stdout })[Symbol.asyncIterator]();
  const answer = async (): Promise<Record<string, string>> => {
    const { value, done } = await lines.next();
    const said = (done ? {} : JSON.parse(value as string)) as Record<string, string>;
    if (!done && said['error'] === undefined) return said;
    throw new Error(`PostgreSQL for the tests could not be started: ${said['error'] ?? 'its keeper died'}`);
  };
  const order = async (word: string): Promise<void> => {
    keeper.stdin.write(`${word}\n`);
    await answer();
  };
  const { url = '' } = await answer();
  return {
    url,
    crash: () => order('crash'),
    quit: () => order('quit'),
    start: () => order('start'),
    async stop() {
      keeper.stdin.end();
      await exited;
    },
  };
}
