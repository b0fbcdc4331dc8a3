import { existsSync, readdirSync, rmSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { RepriseError } from '../../errors.ts';
import { inactiveIndexKey } from '../../keys/index-key.ts';
import { failure } from '../../messages/failure.ts';
import { resolveDefaultSessionStorePath } from '../port/home-paths.ts';
import type { Database } from '../sqlite/database.ts';
import type { SessionRow } from '../sqlite/session-row.ts';
import { IndexDraft, type IndexFile, lookAt, NO_FILE } from '../sqlite/sessions-json-file.ts';
import { atOnce, StepRunner, type Steps } from '../sqlite/threads/steps.ts';
import { agentsIn, isHalf } from './folders.ts';

const ROWS_PER_STEP = 100;
/** Maximum delay of a change. With up to `SMALL_HOME` sessions the files have it within a second. */
const WRITE_WITHIN_MS = 500;
const SMALL_HOME = 1000;
/** In larger homes, a pass is followed by a pause of this many times its CPU time, so it uses 2 % of a core. */
const REST_PER_PASS = 49;
/** Another process writes its own changes. This one checks later, in case that process was killed. */
const CHECK_OTHERS_MS = 5000;
const RETRY_MS = 5000;
const MAX_TRIES = 5;

type IndexRow = Pick<
  SessionRow,
  | 'id'
  | 'agent_id'
  | 'key'
  | 'title'
  | 'label'
  | 'created_at'
  | 'last_at'
  | 'message_count'
  | 'token_estimate'
> & { readonly is_active: number; readonly is_taken: number };

/**
 * `is_taken`: the index key of an inactive session is the real key of another one. The unary `+` keeps SQLite from
 * using an index other than that of the ids, which would sort all sessions again for each page.
 */
const OPEN_SESSIONS = `
SELECT id, agent_id, sessions.key, title, label, created_at, last_at, message_count, token_estimate,
  active.session_id IS sessions.id AS is_active,
  EXISTS (SELECT 1 FROM active AS other WHERE other.key = sessions.key || ':session:' || sessions.id) AS is_taken
FROM sessions LEFT JOIN active ON active.key = sessions.key
WHERE id > ? AND +status = 'open' AND +seq > 0 ORDER BY id LIMIT ${ROWS_PER_STEP}`;

export interface SessionsJsonOptions {
  readonly db: Pick<Database, 'rows' | 'transaction'>;
  readonly home: string;
  /** False while the index is rebuilt: a list of half the sessions would look complete. */
  readonly isReady: () => boolean;
  /** Called after another program's changes to the file were found; the edited file was moved to this path. */
  readonly onEdited: (file: string) => void;
}

interface PassResult {
  /** Another process or an editor replaced a file during the pass. */
  readonly isReplaced: boolean;
  readonly failed: readonly IndexDraft[];
}

/**
 * Keeps `sessions.json` of each agent up to date: a list of all open sessions for people and other tools, which Reprise
 * never reads. A pass reads the sessions in steps, between the other work of the thread, and writes a temporary file.
 * It takes the lock of the database only to rename that file, so that of several processes one replaces it at a time.
 * A pass that began before another process replaced the file is discarded, so an older state never replaces a newer one.
 */
export class SessionsJson {
  readonly #options: SessionsJsonOptions;
  readonly #steps: StepRunner = new StepRunner();
  /** The files as this process last wrote or read them, by path. */
  readonly #known: Map<string, IndexFile | undefined> = new Map();
  /** A change of this process is not in the files yet. */
  #isBehind = false;
  #isRunning = false;
  #timer: NodeJS.Timeout | undefined;
  #dueAt: number | undefined;
  #restUntil = 0;

  constructor(options: SessionsJsonOptions) {
    this.#options = options;
    this.noteOthers();
  }

  /** Called after this process committed something. */
  noteChange(): void {
    this.#isBehind = true;
    this.#schedule(WRITE_WITHIN_MS);
  }

  /** Called after another process committed something. */
  noteOthers(): void {
    this.#schedule(CHECK_OTHERS_MS);
  }

  /**
   * For a purge: removes what its sessions left in files and temporary files. Other processes write their files
   * again.
   */
  erase(): void {
    this.stop();
    for (const agentId of agentsIn(this.#options.home)) {
      const folder = dirname(this.#path(agentId));
      const names = existsSync(folder) ? readdirSync(folder) : [];
      for (const name of names.filter(isHalf)) rmSync(join(folder, name), { force: true });
    }
    for (const { file, failure } of this.#writeNow()) {
      const isNone = file !== undefined && file.stamp === undefined;
      if (!isNone) throw failure;
    }
  }

  /** Writes pending changes. The files are only for convenience, so a failure must not fail the close. */
  close(): void {
    this.stop();
    try {
      if (this.#isBehind) this.#writeNow();
    } catch (error) {
      if (!(error instanceof RepriseError)) throw error;
    }
  }

  stop(): void {
    if (this.#isRunning) this.#steps.stop();
    clearTimeout(this.#timer);
    this.#dueAt = undefined;
  }

  /** Writes and syncs without a pause. @returns the drafts that could not be written. */
  #writeNow(): readonly IndexDraft[] {
    for (let tries = 0; tries < MAX_TRIES; tries++) {
      const { isReplaced, failed } = atOnce(this.#pass(true));
      if (!isReplaced) return failed;
    }
    throw failure('STORE_BUSY', 'store.indexReplaced', { times: MAX_TRIES });
  }

  #schedule(delayMs: number): void {
    const at = performance.now() + delayMs;
    if (this.#dueAt !== undefined && this.#dueAt <= at) return;
    this.#dueAt = at;
    this.#arm();
  }

  #arm(): void {
    if (this.#isRunning || this.#dueAt === undefined) return;
    clearTimeout(this.#timer);
    const wait = Math.max(this.#dueAt, this.#restUntil) - performance.now();
    this.#timer = setTimeout(() => this.#run(), Math.max(0, wait));
  }

  #run(): void {
    this.#dueAt = undefined;
    if (!this.#options.isReady()) {
      this.#schedule(WRITE_WITHIN_MS);
      return;
    }
    this.#isRunning = true;
    this.#isBehind = false;
    const end = (retryMs?: number): void => {
      this.#isRunning = false;
      if (retryMs === undefined) this.#arm();
      else {
        this.#isBehind = true;
        this.#schedule(retryMs);
      }
    };
    this.#steps.run({
      steps: this.#pass(false),
      done: (result) => {
        const { isReplaced, failed } = result as PassResult;
        end(isReplaced ? WRITE_WITHIN_MS : failed.length > 0 ? RETRY_MS : undefined);
      },
      // Locked or failing. No session data is lost; it is retried.
      failed: () => end(RETRY_MS),
    });
  }

  *#pass(sync: boolean): Steps<PassResult> {
    const { db, home } = this.#options;
    const drafts = new Map<string, IndexDraft>();
    const begin = (agentId: string, look: (path: string) => IndexFile): IndexDraft => {
      const path = this.#path(agentId);
      const draft = new IndexDraft(path, () => look(path));
      drafts.set(agentId, draft);
      return draft;
    };
    let rows = 0;
    let busyMs = 0;
    let at = cpuMs();
    try {
      // Read the files before the sessions; otherwise a file that another process writes meanwhile would count as an
      // older one. Include agents without sessions: their file may name a deleted one.
      for (const agentId of agentsIn(home)) {
        const { path, file } = begin(agentId, (each) => lookAt(each, this.#known.get(each)));
        this.#known.set(path, file);
      }
      for (let after = ''; ; ) {
        const page = db.rows<IndexRow>(OPEN_SESSIONS, after);
        for (const row of page) {
          const draft = drafts.get(row.agent_id) ?? begin(row.agent_id, () => NO_FILE);
          draft.add(keyOf(row), entryOf(row));
        }
        rows += page.length;
        if (page.length < ROWS_PER_STEP) break;
        after = page.at(-1)?.id ?? after;
        busyMs += cpuMs() - at;
        yield;
        at = cpuMs();
      }
      const changed = [...drafts.values()].filter((draft) => draft.finish(sync));
      const isReplaced = changed.length > 0 && !this.#publish(changed);
      if (sync) for (const draft of changed) draft.syncFolder();
      return { isReplaced, failed: [...drafts.values()].filter(({ failure }) => failure !== undefined) };
    } finally {
      for (const draft of drafts.values()) draft.remove();
      busyMs += cpuMs() - at;
      this.#restUntil = rows > SMALL_HOME ? performance.now() + REST_PER_PASS * busyMs : 0;
    }
  }

  /**
   * Replaces the files under the lock of the database, which excludes other processes; the database is not changed.
   */
  #publish(drafts: readonly IndexDraft[]): boolean {
    return this.#options.db.transaction(
      () =>
        drafts
          .map((draft) => {
            const isReplaced = draft.replace(this.#options.onEdited);
            if (isReplaced) this.#known.set(draft.path, draft.file);
            return isReplaced || draft.failure !== undefined;
          })
          .every(Boolean),
      { lazy: true },
    );
  }

  #path(agentId: string): string {
    return resolveDefaultSessionStorePath({ home: this.#options.home, agentId });
  }
}

/**
 * CPU time of this thread. Deno and Bun do not report it; there the wall clock is used, which is higher on a busy
 * machine.
 */
function cpuMs(): number {
  if (typeof process.threadCpuUsage !== 'function') return performance.now();
  const { user, system } = process.threadCpuUsage();
  return (user + system) / 1000;
}

function keyOf({ key, id, is_active, is_taken }: IndexRow): string {
  if (is_active === 1) return key;
  const other = inactiveIndexKey(key, id);
  return is_taken === 1 ? inactiveIndexKey(other, id) : other;
}

function entryOf(row: IndexRow): Record<string, unknown> {
  return {
    sessionId: row.id,
    sessionFile: `${row.id}.jsonl`,
    updatedAt: Date.parse(row.last_at),
    createdAt: Date.parse(row.created_at),
    title: row.title,
    ...(row.label !== null && { label: row.label }),
    messageCount: row.message_count,
    tokenEstimate: row.token_estimate,
  };
}
