import { createHash } from 'node:crypto';
import {
  chmodSync,
  closeSync,
  constants,
  fchmodSync,
  fstatSync,
  lstatSync,
  mkdirSync,
  openSync,
  readdirSync,
  renameSync,
} from 'node:fs';
import { open } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import { escapeKeyPart, escapeUnit, unescapeKeyPart } from '../../../keys/escape.ts';
import type { ChatNames } from '../../rules/convlog-line.ts';
import { syncFolder } from '../transcript-files.ts';

const { O_RDWR, O_RDONLY, O_APPEND, O_CREAT, O_NOFOLLOW, O_NONBLOCK } = constants;
const OPEN_TO_OTHERS = 0o077;
const MAX_NAME_BYTES = 200;
const KEPT_BYTES = 120;
const LOG_EXTENSION = '.jsonl';

/** Hidden names, `.` and `..`, the mark of a shortened name, and what another system takes for a slash. */
const NOT_IN_NAMES = /^\.|[~\\]/g;
/** What a disk that ignores case, and with it the spelling of accents, may take for something else. */
const NOT_PLAIN = /[^a-z0-9_.-]|^\./g;

/**
 * An id of a channel as a file name: another id, another name. `foldsCase`: on a disk where `A` and `a` are one file.
 */
export function logName(id: string, foldsCase: boolean): string {
  const name = foldsCase
    ? id.replace(NOT_PLAIN, escapeUnit)
    : escapeKeyPart(id).replace(NOT_IN_NAMES, escapeUnit);
  if (Buffer.byteLength(name) <= MAX_NAME_BYTES) return name;
  let kept = '';
  // Whole characters and whole escapes, or the start would be no text.
  for (const [piece] of name.matchAll(/%u[0-9A-F]{4}|%[0-9A-F]{2}|./gsu)) {
    if (Buffer.byteLength(kept + piece) > KEPT_BYTES) break;
    kept += piece;
  }
  // Of code units: as UTF-8 all lone surrogates would be the same.
  const hash = createHash('sha256').update(Buffer.from(id, 'utf16le')).digest('hex').slice(0, 32);
  return `${kept}~${hash}`;
}

/** The convlog files of a home: plain files in plain folders, 0700 and 0600, never through a link (P8). */
export class ConvlogFiles {
  readonly #home: string;
  readonly #foldsCase: boolean;

  constructor(home: string) {
    this.#home = home;
    const [own, other] = ['control.db', 'CONTROL.DB'].map(
      (name) => lstatSync(join(home, name), { throwIfNoEntry: false })?.ino,
    );
    this.#foldsCase = own !== undefined && own === other;
  }

  path(names: ChatNames): string {
    return join(this.#home, this.name(names));
  }

  /** Below the home. */
  name({ agent_id, channel_type, channel_id }: ChatNames): string {
    const [type, id] = [channel_type, channel_id].map((name) =>
      logName(unescapeKeyPart(name), this.#foldsCase),
    );
    return join('agents', agent_id, 'convlogs', type ?? '', `${id}${LOG_EXTENSION}`);
  }

  /** A descriptor for reading and appending; the file is made if there is none. */
  open(names: ChatNames): number {
    const path = this.path(names);
    this.#prepareFolders(dirname(path));
    const fd = openSync(path, O_RDWR | O_APPEND | O_CREAT | O_NOFOLLOW | O_NONBLOCK, 0o600);
    const stat = fstatSync(fd);
    if (!stat.isFile()) {
      closeSync(fd);
      throw refusal(path, 'is not a plain file', 'ENOTSUP');
    }
    if ((stat.mode & OPEN_TO_OTHERS) !== 0 && stat.uid === process.getuid?.()) fchmodSync(fd, 0o600);
    return fd;
  }

  /** The folder of the channel and the one above; whoever put a link there would read along. */
  #prepareFolders(folder: string): void {
    for (const place of [dirname(folder), folder]) {
      mkdirSync(place, { recursive: true, mode: 0o700 });
      const stat = lstatSync(place);
      if (!stat.isDirectory()) throw refusal(place, 'is not a folder', 'ENOTDIR');
      if ((stat.mode & OPEN_TO_OTHERS) !== 0 && stat.uid === process.getuid?.()) chmodSync(place, 0o700);
    }
  }

  /** Beside the thread's work: nobody waits for this. The folders up to the home too, or a new file could vanish. */
  async sync(names: ChatNames, { isNew }: { readonly isNew: boolean }): Promise<void> {
    const path = this.path(names);
    const file = await open(path, O_RDONLY | O_NOFOLLOW | O_NONBLOCK);
    try {
      await file.datasync();
    } finally {
      await file.close();
    }
    if (!isNew) return;
    for (let folder = dirname(path), i = 0; i < 5; folder = dirname(folder), i++) {
      const handle = await open(folder, O_RDONLY);
      try {
        await handle.sync();
      } finally {
        await handle.close();
      }
    }
  }

  /** What is left of a file somebody cut; nothing is thrown away (P3). */
  setAside(names: ChatNames): void {
    const folder = join(this.#home, 'quarantine');
    mkdirSync(folder, { recursive: true, mode: 0o700 });
    const stamp = new Date().toISOString().replace(/[:.]/g, '-');
    renameSync(this.path(names), join(folder, `${this.#asideName(names)}.${stamp}`));
    syncFolder(folder);
  }

  /** The files of a chat: its log, and what was set aside of it. */
  all(names: ChatNames): string[] {
    const name = this.#asideName(names);
    const aside = this.#entries('quarantine', false).filter((file) => file.startsWith(`${name}.`));
    return [this.path(names), ...aside.map((file) => join(this.#home, 'quarantine', file))];
  }

  #asideName(names: ChatNames): string {
    const hash = createHash('sha256').update(this.name(names)).digest('hex').slice(0, 16);
    return `convlog-${names.agent_id}-${hash}${LOG_EXTENSION}`;
  }

  /** Names below the home of all convlog files of an agent. */
  list(agentId: string): string[] {
    const root = join('agents', agentId, 'convlogs');
    return this.#entries(root, true).flatMap((type) =>
      this.#entries(join(root, type), false)
        .filter((file) => file.endsWith(LOG_EXTENSION))
        .map((file) => join(root, type, file)),
    );
  }

  #entries(place: string, folders: boolean): string[] {
    const path = join(this.#home, place);
    // A link is not followed to where other people's files are.
    if (lstatSync(path, { throwIfNoEntry: false })?.isDirectory() !== true) return [];
    return readdirSync(path, { withFileTypes: true })
      .filter((entry) => (folders ? entry.isDirectory() : entry.isFile()))
      .map(({ name }) => name);
  }
}

function refusal(path: string, what: string, code: string): Error {
  return Object.assign(new Error(`${path} ${what}`), { code, syscall: 'open' });
}
