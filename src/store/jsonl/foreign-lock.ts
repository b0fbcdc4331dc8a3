import { closeSync, lstatSync, readdirSync, type Stats } from 'node:fs';
import { basename, join } from 'node:path';
import { isSessionId } from '../../keys/ids.ts';
import { isObject } from '../../transcript/json.ts';
import { processStart } from '../shared/holder.ts';
import { openPlain, readRange } from './transcript-files.ts';

/**
 * `<transcript>.lock` of another tool: a pid, or `{"pid":…,"createdAt":…}`. Reprise reads it and never writes or
 * removes it.
 */
export interface ForeignLock {
  readonly sessionId: string;
  readonly file: string;
  /** Unset if the file does not contain it. */
  readonly pid?: number;
  readonly createdAt?: string;
  /** False if its holder is dead, or if the lock is older than the process that has its pid now. */
  readonly alive: boolean;
}

const SUFFIX = '.jsonl.lock';
const MAX_PAYLOAD = 4096;
/** Boot time is only known in whole seconds. */
const START_SLACK_MS = 2000;
/**
 * A lock without a holder counts while it is younger than this: long enough for a tool to write the content, or to
 * touch the file again as a heartbeat.
 */
const NAMELESS_MS = 10_000;

function readForeignLock(file: string): ForeignLock | undefined {
  const found = statOf(file);
  if (found === undefined) return undefined;
  const lock = { sessionId: basename(file).slice(0, -SUFFIX.length), file };
  const { pid, createdAt } = payloadOf(file, found);
  if (pid === undefined) return { ...lock, alive: Math.abs(Date.now() - found.mtimeMs) < NAMELESS_MS };
  const made = createdAt === undefined ? Number.NaN : new Date(createdAt).getTime();
  const madeAt = Number.isNaN(made) ? found.mtimeMs : made;
  const started = processStart(pid);
  const alive = started !== null && (started === undefined || madeAt + START_SLACK_MS >= started);
  return { ...lock, pid, createdAt: new Date(madeAt).toISOString(), alive };
}

/** All locks of other tools beside the transcripts of a home. */
export function foreignLocksIn(home: string): ForeignLock[] {
  const agents = join(home, 'agents');
  return namesIn(agents).flatMap((agentId) =>
    namesIn(join(agents, agentId, 'sessions'))
      .filter((name) => name.endsWith(SUFFIX) && isSessionId(name.slice(0, -SUFFIX.length)))
      .flatMap((name) => readForeignLock(join(agents, agentId, 'sessions', name)) ?? []),
  );
}

function statOf(file: string): Stats | undefined {
  try {
    return lstatSync(file, { throwIfNoEntry: false });
  } catch {
    // A lock in an unreadable folder cannot be found.
    return undefined;
  }
}

/** Reads only a small plain file: links are not followed, and a pipe would block. */
function payloadOf(file: string, found: Stats): { pid?: number; createdAt?: string | number } {
  if (!found.isFile() || found.size > MAX_PAYLOAD) return {};
  let value: unknown;
  try {
    const fd = openPlain(file);
    try {
      value = JSON.parse(readRange(fd, 0, MAX_PAYLOAD).toString());
    } finally {
      closeSync(fd);
    }
  } catch {
    // Gone, unreadable, empty or half written: the holder is unknown.
    return {};
  }
  const { pid, createdAt } = isObject(value) ? value : { pid: value };
  if (typeof pid !== 'number' || !Number.isSafeInteger(pid) || pid < 1) return {};
  return typeof createdAt === 'string' || typeof createdAt === 'number' ? { pid, createdAt } : { pid };
}

function namesIn(folder: string): string[] {
  try {
    return readdirSync(folder).sort();
  } catch {
    // The folder does not exist or is not readable, so no locks are found.
    return [];
  }
}

/** How long the result "no lock" stays valid. */
const BELIEVED_MS = 1000;

/**
 * Locks of other tools. They are checked when a file is new or not as recorded, and otherwise once a second per
 * session, so a new lock is noticed within a second without a system call per append.
 */
export class ForeignLocks {
  /** When each transcript was last found without a live lock. */
  readonly #free: Map<string, number> = new Map();

  /** The lock of a live process, if any. */
  holder(transcript: string, { now = false }: { readonly now?: boolean } = {}): ForeignLock | undefined {
    const free = this.#free.get(transcript);
    if (!now && free !== undefined && performance.now() - free < BELIEVED_MS) return undefined;
    const lock = readForeignLock(`${transcript}.lock`);
    if (lock?.alive === true) this.#free.delete(transcript);
    else this.#free.set(transcript, performance.now());
    return lock?.alive === true ? lock : undefined;
  }

  forget(transcript: string): void {
    this.#free.delete(transcript);
  }
}
