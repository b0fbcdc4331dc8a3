import { closeSync, constants, openSync, readFileSync, renameSync, writeFileSync, writeSync } from 'node:fs';
import { join } from 'node:path';
import { INPUT_HISTORY_FILE } from '../../engine/history/purge-session.ts';
import { say } from '../terminal/print.ts';

const MAX_ENTRIES = 1000;
const MAX_CHARS = 4000;
/** Only to add: to nothing that somebody linked to another place, and readable by nobody else. */
const ADD = constants.O_WRONLY | constants.O_APPEND | constants.O_CREAT | constants.O_NOFOLLOW;

/**
 * What was typed before, newest first, in this run and in those before it. One JSON string per line, so that a message
 * of several lines is one entry, and so that several chats may add to the file at once.
 */
export class InputHistory {
  /** The very array that the editor walks through. */
  readonly entries: string[] = [];
  readonly #file: string | undefined;
  #isTold = false;

  /** Without a home nothing is kept. */
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
      return; // none yet, or none that can be read: the first entry that cannot be added is told
    }
    this.entries.push(...lines.flatMap(parse).slice(-MAX_ENTRIES).reverse());
    if (lines.length < 2 * MAX_ENTRIES) return;
    // Seldom, and as a whole: a chat that adds at this moment loses one line of convenience.
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
      // A chat without it is a chat all the same.
      if (!this.#isTold)
        say(`What is typed here is not remembered: ${(error as NodeJS.ErrnoException).code}.`);
      this.#isTold = true;
    }
  }
}

function parse(line: string): string[] {
  try {
    const entry: unknown = JSON.parse(line);
    return typeof entry === 'string' && entry !== '' ? [entry] : [];
  } catch {
    return []; // torn by a crash, or written by hand
  }
}
