import { RepriseError } from '../../src/errors.ts';
import type { Store } from '../../src/store/port/store.ts';
import { isObject, type JsonObject } from '../../src/transcript/json.ts';
import { createLineSplitter, type RawLine } from '../../src/transcript/split-lines.ts';
import { type DriverContext, OPERATIONS, text } from './operations.ts';

/** Room for an append of several records at the record limit. A longer line is refused, not buffered. */
const MAX_COMMAND_BYTES = 256 * 1024 * 1024;

/**
 * Speaks the driver protocol for any store on stdin and stdout, until the input ends and every command is answered.
 */
export async function serveStore(store: Store): Promise<void> {
  const context: DriverContext = { store, leases: new Map() };
  const running = new Set<Promise<void>>();
  const splitter = createLineSplitter(MAX_COMMAND_BYTES, (line) => {
    if (line.length === 0) return;
    const work: Promise<void> = answer(context, line)
      .then(print)
      .finally(() => running.delete(work));
    running.add(work);
  });
  for await (const chunk of process.stdin) splitter.push(chunk as Buffer);
  splitter.end();
  await Promise.all(running);
}

function parseLine({ bytes, length }: RawLine): JsonObject {
  if (length > MAX_COMMAND_BYTES) {
    throw new RepriseError('LIMIT_EXCEEDED', 'the command is too long', {
      details: { limit: 'command', max: MAX_COMMAND_BYTES },
    });
  }
  let command: unknown;
  try {
    command = JSON.parse(bytes.toString('utf8'));
  } catch (cause) {
    throw new RepriseError('INVALID_INPUT', 'the line is not JSON', { cause });
  }
  if (isObject(command)) return command;
  throw new RepriseError('INVALID_INPUT', 'a command is a JSON object');
}

/** Never throws: every result of a command becomes its answer. */
async function answer(context: DriverContext, line: RawLine): Promise<string> {
  let n: unknown = null;
  try {
    const command = parseLine(line);
    n = command['n'] ?? null;
    const op = text(command, 'op');
    const operation = OPERATIONS.get(op);
    if (!operation) throw new RepriseError('INVALID_INPUT', `no such op: ${op}`, { details: { op } });
    return JSON.stringify({ n, ok: true, ...(await operation(context, command)) });
  } catch (error) {
    return JSON.stringify({ n, ...failure(error) });
  }
}

/** The answer for an error. */
export function failure(error: unknown): JsonObject {
  if (!(error instanceof RepriseError)) {
    // A store that throws another kind of error broke its promise; what it left behind is unknown.
    return { ok: false, code: 'STORE_FAILED', outcome: 'unknown', details: { error: String(error) } };
  }
  const { code, outcome, details } = error;
  return { ok: false, code, outcome, ...(Object.keys(details).length > 0 ? { details } : {}) };
}

/** Resolves when the line has left the process, so that an exit cannot truncate it. */
export function print(line: string): Promise<void> {
  return new Promise((resolve, reject) => {
    process.stdout.write(`${line}\n`, (error) => (error ? reject(error) : resolve()));
  });
}
