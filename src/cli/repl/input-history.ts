import { closeSync, constants, openSync, readFileSync, renameSync, writeFileSync, writeSync } from 'node:fs';
import { join } from 'node:path';
import { INPUT_HISTORY_FILE } from '../../engine/history/purge-session.ts';
import { say } from '../terminal/print.ts';

const MAX_ENTRIES = 1000;
const MAX_CHARS = 4000;
/** Append only, readable by the owner only, and never through a symbolic link. */
const ADD = constants.O_WRONLY | constants.O_APPEND | constants.O_CREAT | constants.O_NOFOLLOW;

/**
 * Lines typed in this and earlier chats, newest first. The file has one JSON string per line, so that a message of
 * several lines is one entry and several chats can append at the same time.
 */
export class InputHistory {
  /** The same array that readline uses for the up and down keys. */
  readonly entries: string[] = [];
  readonly #file: string | undefined;
  #isTold = false;

  /** Without a home the history is not stored. */
  constructor(home: string | undefined) {
    this.#file = home === undefined ? undefined : join(home, INPUT_HISTORY_FILE);
    if (this.#file !== undefined) this.#load(this.#file);
  }

  add(entry: string): void {
    const { entries } = this;
    if (entry.trim() === '' || entry === entries[0] || entry.length > MAX_CHARS) return;
    entries.unshift(entry);
    entries.splice(MAX_ENTRIES);
    if (this.#file === undefined) return;
    this.#try(() => {
      const fd = openSync(this.#file ?? '', ADD, 0o600);
      try {
        writeSync(fd, `${JSON.stringify(entry)}\n`);
      } finally {
        closeSync(fd);
      }
    });
  }

  #load(file: string): void {
    let lines: string[] = [];
    try {
      lines = readFileSync(file, 'utf8').split('\n');
    } catch {
      return; // missing or unreadable; a failed append reports the problem
    }
    this.entries.push(...lines.flatMap(parse).slice(-MAX_ENTRIES).reverse());
    if (lines.length < 2 * MAX_ENTRIES) return;
    // Rare. A chat that appends at this moment loses one history entry.
    const kept = this.entries.toReversed().map((entry) => `${JSON.stringify(entry)}\n`);
    this.#try(() => {
      writeFileSync(`${file}.new`, kept.join(''), { mode: 0o600, flag: 'wx' });
      renameSync(`${file}.new`, file);
    });
  }

  #try(write: () => void): void {
    try {
      write();
    } catch (error) {
      // The chat works without a stored history.
      if (!this.#isTold)
        say(`Typed lines are not saved in the history file: ${(error as NodeJS.ErrnoException).code}.`);
      this.#isTold = true;
    }
  }
}

function parse(line: string): string[] {
  try {
    const entry: unknown = JSON.parse(line);
    return typeof entry === 'string' && entry !== '' ? [entry] : [];
  } catch {
    return []; // cut off by a crash, or edited by hand
  }
}
