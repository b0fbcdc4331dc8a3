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
 * Writes one sessions.json and recognizes edits of it. The last entry ends with a seal: the CRC-32 of everything
 * before it. So every process can detect that another program changed the file, even without a database and after a
 * kill or a power cut. Other tools ignore the unknown field.
 */

const { O_WRONLY, O_CREAT, O_TRUNC, O_APPEND, O_NOFOLLOW } = constants;

const FLUSH_CHARS = 64 * 1024;
/** An empty file younger than this may be one that an editor is about to fill. */
const BEING_WRITTEN_MS = 2000;
const EMPTY_INDEX = '{}\n';
const EMPTY_SEAL = '';
const SEAL = /,"seal":"([0-9a-f]{8})"\}\n\}\n$/;
/** The fields of an entry before files were sealed. */
const UNSEALED_FIELDS: ReadonlySet<string> = new Set(
  'sessionId sessionFile updatedAt createdAt title label messageCount tokenEstimate'.split(' '),
);
const ASIDE = /^sessions\.json\.edited\.\d+$/;

interface Inspection {
  /** Another program wrote the file. */
  readonly isEdited: boolean;
  /** Seal of an intact file. */
  readonly seal?: string;
}

export interface IndexFile extends Inspection {
  /** Identity and change time of the file; `undefined` if it does not exist. */
  readonly stamp: string | undefined;
}

export const NO_FILE: IndexFile = { stamp: undefined, isEdited: false };

/** @param known the file as this process left it; it is read again only if it changed. */
export function lookAt(path: string, known: IndexFile | undefined): IndexFile {
  const stamp = stampOf(path);
  if (known !== undefined && known.stamp === stamp) return known;
  return stamp === undefined ? NO_FILE : { stamp, ...inspect(path) };
}

/** Changes with every write to the file and with every replacement of it. */
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
    // A power cut may leave an unsynced file empty or filled with zeros.
    if (/^\0*$/.test(text)) return { isEdited: Date.now() - found.mtimeMs < BEING_WRITTEN_MS };
    return { isEdited: !isUnsealedIndex(text) };
  } finally {
    closeSync(fd);
  }
}

/** Whether the text is exactly what older versions of Reprise wrote. */
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

/** A new sessions.json in the making: one line per session, moved to a temporary file once it is long. */
export class IndexDraft {
  readonly path: string;
  readonly #temporary: string;
  /** Unset if the file cannot be read. */
  #file: IndexFile | undefined;
  /** Why the file cannot be written: the disk is full or failing, or the folder is not writable. */
  #failure: Error | undefined;
  #seal = EMPTY_SEAL;
  #text = '';
  #crc = 0;
  #entries = 0;
  #isStarted = false;

  /** @param look reads the current file before the sessions are read. */
  constructor(path: string, look: () => IndexFile) {
    this.path = path;
    // A thread has one draft per path at a time. A file left by a kill is overwritten by the next draft of that name.
    this.#temporary = `${path}.${process.pid}-${threadId}.tmp`;
    this.#try(() => {
      this.#file = look();
    });
  }

  get failure(): Error | undefined {
    return this.#failure;
  }

  /** The current file, as found at the beginning or as this draft wrote it. */
  get file(): IndexFile | undefined {
    return this.#file;
  }

  /** Leaves the last entry open for the seal. */
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
   * Replaces the file. Only one process may call it at a time. An edited file is moved aside first.
   * @returns false if the disk failed or the file was replaced since this draft began.
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

  /** Records the first failure. One unwritable agent folder must not prevent the files of other agents. */
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
    // If a purge removed the temporary file meanwhile, do not create it again.
    const how = this.#isStarted ? O_APPEND : O_CREAT | O_TRUNC;
    const fd = openSync(this.#temporary, O_WRONLY | O_NOFOLLOW | how, 0o600);
    this.#isStarted = true;
    try {
      writeAll(fd, bytes);
      // After a power cut, the old or the new file exists, never an empty one.
      if (sync) fsyncSync(fd);
    } finally {
      closeSync(fd);
    }
  }
}

/**
 * Gives an edited file a second, unused name one folder above the transcripts, where it is cheap to find. The file
 * keeps its first name until the new one replaces it, so the path always exists.
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
      // The target is a folder, or the disk has no hard links.
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

/** Edited files that were moved aside, and those that are about to be. */
export function findEditedIndexes(home: string): string[] {
  const paths = agentsIn(home).map((agentId) => resolveDefaultSessionStorePath({ home, agentId }));
  return [...asideIn(home), ...paths.filter((path) => existsSync(path) && inspect(path).isEdited)];
}
