import { closeSync, lstatSync, readdirSync, type Stats } from 'node:fs';
import { basename, join } from 'node:path';
import { isSessionId } from '../../keys/ids.ts';
import { isObject } from '../../transcript/json.ts';
import { processStart } from '../shared/holder.ts';
import { openPlain, readRange } from './transcript-files.ts';

/** `<transcript>.lock` of another tool: a pid, or `{"pid":…,"createdAt":…}`. We read it, and never write or remove it. */
export interface ForeignLock {
  readonly sessionId: string;
  readonly file: string;
  /** Unset where the file does not say. */
  readonly pid?: number;
  readonly createdAt?: string;
  /** False: its holder is dead, or the lock is older than the process that has its number now. */
  readonly alive: boolean;
}

const SUFFIX = '.jsonl.lock';
const MAX_PAYLOAD = 4096;
/** Boot time is known in whole seconds only. */
const START_SLACK_MS = 2000;
/**
 * A lock that does not say who holds it is believed while it is this fresh: long enough to write its payload, or to
 * touch it again where touching is the heartbeat.
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

/** Every lock of another tool beside the transcripts of a home. */
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
    // A folder nobody may look into holds no lock anybody could have told us about.
    return undefined;
  }
}

/** Only a plain file of ordinary size is read: a link is not followed, and a pipe would make us wait. */
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
    // Gone again, unreadable, empty or half written: it does not say who.
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
    // No such folder, or none of ours: it holds no locks.
    return [];
  }
}

/** How long it is believed that there is no lock. */
const BELIEVED_MS = 1000;

/**
 * Locks of other tools, looked at when a file is new to us or not as recorded, and else once a second per session:
 * a tool that takes its lock is noticed within a second, not at the cost of a system call per append.
 */
export class ForeignLocks {
  /** When no live lock was found last. */
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
