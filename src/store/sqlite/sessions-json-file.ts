import {
  closeSync,
  constants,
  existsSync,
  fsyncSync,
  linkSync,
  lstatSync,
  mkdirSync,
  openSync,
  readdirSync,
  readFileSync,
  renameSync,
  rmSync,
} from 'node:fs';
import { dirname, join } from 'node:path';
import { threadId } from 'node:worker_threads';
import { crc32 } from 'node:zlib';
import { isObject } from '../../transcript/json.ts';
import { agentsIn } from '../jsonl/folders.ts';
import { openPlain, syncFolder, writeAll } from '../jsonl/transcript-files.ts';
import { resolveDefaultSessionStorePath } from '../port/home-paths.ts';

/*
 * One sessions.json: how it is written and how an edit of it is recognized. The last entry ends with a seal, the CRC-32 of
 * everything before it. So every process can see whether something else has changed the file, also without a database
 * and after a kill or a power cut. Other tools pass over a field they do not know.
 */

const { O_WRONLY, O_CREAT, O_TRUNC, O_APPEND, O_NOFOLLOW } = constants;

const FLUSH_CHARS = 64 * 1024;
/** An empty file this young may be one that an editor is about to fill. */
const BEING_WRITTEN_MS = 2000;
const EMPTY_INDEX = '{}\n';
const EMPTY_SEAL = '';
const SEAL = /,"seal":"([0-9a-f]{8})"\}\n\}\n$/;
/** What an entry had before files were sealed. */
const UNSEALED_FIELDS: ReadonlySet<string> = new Set(
  'sessionId sessionFile updatedAt createdAt title label messageCount tokenEstimate'.split(' '),
);
const ASIDE = /^sessions\.json\.edited\.\d+$/;

interface Inspection {
  /** Something else wrote it. */
  readonly isEdited: boolean;
  /** Of an intact file. */
  readonly seal?: string;
}

export interface IndexFile extends Inspection {
  /** Which file it is and when it was changed; undefined if no file exists. */
  readonly stamp: string | undefined;
}

export const NO_FILE: IndexFile = { stamp: undefined, isEdited: false };

/** @param known the file as this process left it: it is read only if it is not that any more. */
export function lookAt(path: string, known: IndexFile | undefined): IndexFile {
  const stamp = stampOf(path);
  if (known !== undefined && known.stamp === stamp) return known;
  return stamp === undefined ? NO_FILE : { stamp, ...inspect(path) };
}

/** Changes with every write to the file and with every file that is put in its place. */
function stampOf(path: string): string | undefined {
  const stat = lstatSync(path, { throwIfNoEntry: false, bigint: true });
  return stat && `${stat.dev}:${stat.ino}:${stat.size}:${stat.mtimeNs}:${stat.ctimeNs}`;
}

function inspect(path: string): Inspection {
  const found = lstatSync(path);
  // A link, a folder or a pipe.
  if (!found.isFile()) return { isEdited: true };
  const fd = openPlain(path);
  try {
    const bytes = readFileSync(fd);
    const [end, seal] = SEAL.exec(bytes.subarray(-64).toString('latin1')) ?? [];
    if (end !== undefined && seal !== undefined) {
      const crc = crc32(bytes.subarray(0, bytes.length - end.length));
      return crc === Number.parseInt(seal, 16) ? { isEdited: false, seal } : { isEdited: true };
    }
    const text = bytes.toString('utf8');
    if (text === EMPTY_INDEX) return { isEdited: false, seal: EMPTY_SEAL };
    // A power cut may leave this of a file that was not synced.
    if (/^\0*$/.test(text)) return { isEdited: Date.now() - found.mtimeMs < BEING_WRITTEN_MS };
    return { isEdited: !isUnsealedIndex(text) };
  } finally {
    closeSync(fd);
  }
}

/** As older versions of Reprise wrote it, to the byte. */
function isUnsealedIndex(text: string): boolean {
  try {
    const index: unknown = JSON.parse(text);
    const isIndex =
      isObject(index) &&
      Object.values(index).every(
        (entry) => isObject(entry) && Object.keys(entry).every((name) => UNSEALED_FIELDS.has(name)),
      );
    return isIndex && `${JSON.stringify(index, null, 2)}\n` === text;
  } catch {
    return false;
  }
}

/** A new sessions.json on its way: one line for each session, in a temporary file once it is long. */
export class IndexDraft {
  readonly path: string;
  readonly #temporary: string;
  /** Unset: it cannot be read. */
  #file: IndexFile | undefined;
  /** Why it cannot be written: the disk is full or failing, or the folder may not be written. */
  #failure: Error | undefined;
  #seal = EMPTY_SEAL;
  #text = '';
  #crc = 0;
  #entries = 0;
  #isStarted = false;

  /** @param look at the file as it is before the sessions are read. */
  constructor(path: string, look: () => IndexFile) {
    this.path = path;
    // A thread has one draft of a path at a time. What a kill leaves of it is overwritten by the next one of that name.
    this.#temporary = `${path}.${process.pid}-${threadId}.tmp`;
    this.#try(() => {
      this.#file = look();
    });
  }

  get failure(): Error | undefined {
    return this.#failure;
  }

  /** The file that stands there, as it was at the beginning or as this draft left it. */
  get file(): IndexFile | undefined {
    return this.#file;
  }

  /** The last entry stays open for the seal. */
  add(key: string, entry: Readonly<Record<string, unknown>>): void {
    const start = this.#entries++ === 0 ? '{' : '},';
    this.#text += `${start}\n  ${JSON.stringify(key)}: ${JSON.stringify(entry).slice(0, -1)}`;
    if (this.#text.length > FLUSH_CHARS) this.#try(() => this.#flush(false));
  }

  /** Completes the temporary file. @returns false if it failed, or there is nothing to write. */
  finish(sync: boolean): boolean {
    if (this.#entries > 0) {
      this.#seal = crc32(this.#text, this.#crc).toString(16).padStart(8, '0');
      this.#text += `,"seal":"${this.#seal}"}\n}\n`;
    } else this.#text = EMPTY_INDEX;
    const isEmptyAndNew = this.#entries === 0 && this.#file?.stamp === undefined;
    if (isEmptyAndNew || this.#file?.seal === this.#seal) return false;
    this.#try(() => this.#flush(sync));
    return this.#failure === undefined;
  }

  /**
   * To be called by one process at a time. An edited file is moved aside first.
   * @returns false if the disk failed, or the file was replaced since this draft was begun.
   */
  replace(onEdited: (file: string) => void): boolean {
    let isDone = false;
    this.#try(() => {
      if (stampOf(this.path) !== this.#file?.stamp) return;
      const aside = this.#file?.isEdited === true ? moveAside(this.path) : undefined;
      renameSync(this.#temporary, this.path);
      this.#file = { stamp: stampOf(this.path), seal: this.#seal, isEdited: false };
      isDone = true;
      if (aside !== undefined) onEdited(aside);
    });
    return isDone;
  }

  syncFolder(): void {
    this.#try(() => syncFolder(dirname(this.path)));
  }

  remove(): void {
    if (this.#isStarted) rmSync(this.#temporary, { force: true });
  }

  /** One agent's folder that cannot be written is no reason to leave out the files of the others. */
  #try(work: () => void): void {
    if (this.#failure !== undefined) return;
    try {
      work();
    } catch (error) {
      if ((error as NodeJS.ErrnoException).syscall === undefined) throw error;
      this.#failure = error as Error;
    }
  }

  #flush(sync: boolean): void {
    const bytes = Buffer.from(this.#text);
    this.#text = '';
    this.#crc = crc32(bytes, this.#crc);
    if (!this.#isStarted) mkdirSync(dirname(this.path), { recursive: true, mode: 0o700 });
    // One that a purge has removed meanwhile is not made again.
    const how = this.#isStarted ? O_APPEND : O_CREAT | O_TRUNC;
    const fd = openSync(this.#temporary, O_WRONLY | O_NOFOLLOW | how, 0o600);
    this.#isStarted = true;
    try {
      writeAll(fd, bytes);
      // A power cut then leaves the old file or the new one, never an empty one.
      if (sync) fsyncSync(fd);
    } finally {
      closeSync(fd);
    }
  }
}

/**
 * Gives an edited file a second name that nothing else has, one folder above the transcripts, where looking for it is
 * cheap. The file keeps its own name until the new one replaces it, so at no moment is there none.
 */
function moveAside(path: string): string {
  const folder = dirname(dirname(path));
  for (let n = 1; ; n++) {
    const aside = join(folder, `sessions.json.edited.${n}`);
    try {
      linkSync(path, aside);
      return aside;
    } catch {
      if (lstatSync(aside, { throwIfNoEntry: false }) !== undefined) continue;
      // A folder, or a disk without hard links.
      renameSync(path, aside);
      return aside;
    }
  }
}

/** Edited files that were moved aside. */
export function asideIn(home: string): string[] {
  return agentsIn(home).flatMap((agentId) => {
    const folder = join(home, 'agents', agentId);
    const names = readdirSync(folder).filter((name) => ASIDE.test(name));
    return names.sort().map((name) => join(folder, name));
  });
}

/** The same, and those that are about to be moved. */
export function findEditedIndexes(home: string): string[] {
  const paths = agentsIn(home).map((agentId) => resolveDefaultSessionStorePath({ home, agentId }));
  return [...asideIn(home), ...paths.filter((path) => existsSync(path) && inspect(path).isEdited)];
}
