import { type ChildProcessWithoutNullStreams, spawn, spawnSync } from 'node:child_process';

const {
  FORCE_COLOR: _colour,
  NO_COLOR: _plain,
  REPRISE_HOME: _home,
  REPRISE_URL: _url,
  ...inherited
} = process.env;
/** What a test's command starts from: no colours, no home and no server of whoever runs it. */
export const ENVIRONMENT: NodeJS.ProcessEnv = inherited;

export interface Ran {
  readonly status: number | null;
  readonly stdout: string;
  readonly stderr: string;
}

export interface RunOptions {
  readonly env?: NodeJS.ProcessEnv;
  readonly input?: string;
  readonly cwd?: string;
}

const BIN = `${process.cwd()}/bin/reprise.cjs`;

/** The real binary with pipes, to its end. */
export function reprise(args: readonly string[], { env = {}, ...options }: RunOptions = {}): Ran {
  return spawnSync(process.execPath, [BIN, ...args], {
    encoding: 'utf8',
    env: { ...ENVIRONMENT, ...env },
    maxBuffer: 64 * 1024 * 1024,
    ...options,
  });
}

/** The real binary, still running. */
export function start(args: readonly string[]): ChildProcessWithoutNullStreams {
  return spawn(process.execPath, [BIN, ...args], { env: ENVIRONMENT });
}

/** The real binary on a pseudo-terminal: stdin, stdout and stderr are one. What is typed is sent when `prompt` is seen. */
export function onTerminal(
  args: readonly string[],
  typed: readonly { readonly prompt: string; readonly keys: string }[],
): Ran {
  const words = [process.execPath, BIN, ...args];
  return spawnSync('python3', ['-c', TERMINAL, JSON.stringify(words), JSON.stringify(typed)], {
    encoding: 'utf8',
    env: { ...ENVIRONMENT, TERM: 'xterm' },
  });
}

const TERMINAL = `
import json, os, pty, sys, select, time
words, typed = json.loads(sys.argv[1]), json.loads(sys.argv[2])
pid, fd = pty.fork()
if pid == 0:
    os.execv(words[0], words)
seen, from_ = b'', 0
deadline = time.time() + 60
while time.time() < deadline:
    ready, _, _ = select.select([fd], [], [], 0.1)
    if ready:
        try:
            data = os.read(fd, 65536)
        except OSError:
            break
        if not data:
            break
        seen += data
    if typed and typed[0]['prompt'].encode() in seen[from_:]:
        from_ = len(seen)
        os.write(fd, typed.pop(0)['keys'].encode())
_, status = os.waitpid(pid, 0)
sys.stdout.buffer.write(seen)
sys.exit(os.waitstatus_to_exitcode(status) & 255)
`;
