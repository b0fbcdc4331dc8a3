import { closeSync, existsSync, openSync, readdirSync, readSync, rmSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { eraseFromFiles } from '../../jsonl/channel-log/convlog-erase.ts';
import type { ConvlogFiles } from '../../jsonl/channel-log/convlog-files.ts';
import type { SessionsJson } from '../../jsonl/sessions-json.ts';
import { syncFolder, type TranscriptFiles } from '../../jsonl/transcript-files.ts';
import type { PurgeOptions, PurgeReceipt } from '../../port/purge.ts';
import type { ChatNames } from '../../rules/convlog-line.ts';
import type { Database } from '../database.ts';
import { meta, setMeta } from '../identity.ts';
import { searchPath } from '../search/search-state.ts';
import { asideIn } from '../sessions-json-file.ts';

/** A committed purge whose text may still be in files. */
export interface PendingErasure {
  readonly agentId: string;
  readonly id: string;
  /** Chats whose channel log lost lines. */
  readonly chats: readonly ChatNames[];
}

export interface ErasureOptions {
  readonly db: Database;
  readonly path: string;
  readonly files: TranscriptFiles | undefined;
  readonly logFiles: ConvlogFiles | undefined;
  readonly sessionsJson: SessionsJson | undefined;
}

export interface Erased extends PurgeReceipt {
  /** Whether the store has a search index, which another thread maintains. */
  readonly isIndexed: boolean;
}

const PENDING = 'erasing';
const RETRY_MS = 10_000;
const PIECE = 1024 * 1024;

/** Runs in the purge's transaction: if the process dies after the commit, the next one completes the erasure. */
export function noteErasure(db: Database, erasure: PendingErasure): void {
  setMeta(db, PENDING, JSON.stringify([...pendingIn(db), erasure]));
}

function pendingIn(db: Database): PendingErasure[] {
  return JSON.parse(meta(db, PENDING) ?? '[]') as PendingErasure[];
}

/**
 * Removes what a committed purge leaves: the transcript and its blobs, quarantined parts of them, lines in channel
 * log files, the title in sessions.json, and deleted rows in the database's free pages and log. Every part can be
 * repeated.
 */
export class Erasure {
  readonly #options: ErasureOptions;
  #isPending: boolean;
  #due = 0;

  constructor(options: ErasureOptions) {
    this.#options = options;
    this.#isPending = pendingIn(options.db).length > 0;
  }

  /** Call it often: completes an interrupted erasure. */
  tend(): void {
    if (!this.#isPending || performance.now() < this.#due) return;
    this.#due = performance.now() + RETRY_MS;
    try {
      this.run();
    } catch {
      // Locked, full or failing. It is retried later and at every open.
    }
  }

  run(): void {
    this.#isPending = true;
    const { db, files, path, sessionsJson } = this.#options;
    const pending = pendingIn(db);
    for (const { agentId, id } of pending) {
      files?.remove(agentId, id);
      removeSetAside(dirname(path), id);
    }
    db.transaction(() => this.#eraseLogs());
    sessionsJson?.erase();
    if (path !== ':memory:') db.scrub();
    db.transaction(() => db.run('DELETE FROM meta WHERE name = ?', PENDING), { lazy: true });
    this.#isPending = false;
  }

  /** The receipt; call it after `run`. */
  receipt({ id, removeFiles = false }: PurgeOptions & { readonly id: string }): Erased {
    const { path } = this.#options;
    if (path === ':memory:') return { files: [], isIndexed: false };
    const isIndexed = existsSync(searchPath(path));
    const files = setAsideWith(dirname(path), id);
    if (!removeFiles) return { files, isIndexed };
    for (const file of files) rmSync(file, { force: true });
    return { files: [], isIndexed };
  }

  #eraseLogs(): void {
    const { db, logFiles } = this.#options;
    if (logFiles === undefined) return;
    for (const { chats } of pendingIn(db)) for (const names of chats) eraseFromFiles(db, logFiles, names);
  }
}

/** Removes quarantined parts of the transcript: cut, torn or unreadable ones. */
function removeSetAside(home: string, id: string): void {
  const folder = join(home, 'quarantine');
  const own = namesIn(folder).filter((name) => name.startsWith(`${id}.jsonl@`));
  for (const name of own) rmSync(join(folder, name), { force: true });
  if (own.length > 0) syncFolder(folder);
}

/**
 * Whole files that were set aside and that mention the session: a damaged database, a cut channel log, an edited
 * sessions.json. They contain data of other sessions too, so they are removed only on request.
 */
function setAsideWith(home: string, id: string): string[] {
  const folder = join(home, 'quarantine');
  const beside = namesIn(home).filter((name) => /^(control|store)\.db\.\d{4}-/.test(name));
  return [
    ...namesIn(folder).map((name) => join(folder, name)),
    ...beside.map((name) => join(home, name)),
    ...asideIn(home),
  ]
    .filter((path) => holds(path, Buffer.from(id)))
    .sort();
}

function holds(path: string, text: Buffer): boolean {
  const fd = openSync(path, 'r');
  try {
    const piece = Buffer.alloc(PIECE);
    let kept = 0;
    for (;;) {
      const count = readSync(fd, piece, kept, PIECE - kept, null);
      if (piece.subarray(0, kept + count).includes(text)) return true;
      if (count === 0) return false;
      // The text may span two chunks.
      const length = Math.min(text.length - 1, kept + count);
      piece.copy(piece, 0, kept + count - length, kept + count);
      kept = length;
    }
  } finally {
    closeSync(fd);
  }
}

function namesIn(folder: string): string[] {
  try {
    return readdirSync(folder, { withFileTypes: true })
      .filter((entry) => entry.isFile())
      .map(({ name }) => name);
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'ENOENT') return [];
    throw error;
  }
}
