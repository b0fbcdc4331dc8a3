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

/**
 * Hidden names, `.` and `..`, the mark of a shortened name, and the backslash, which other systems read as a slash.
 */
const NOT_IN_NAMES = /^\.|[~\\]/g;
/**
 * Characters that a file system without case sensitivity may treat as equal; such systems often also normalize
 * accents.
 */
const NOT_PLAIN = /[^a-z0-9_.-]|^\./g;

/**
 * Converts a channel id to a file name; different ids give different names. `foldsCase`: the disk treats `A` and `a`
 * as the same file.
 */
export function logName(id: string, foldsCase: boolean): string {
  const name = foldsCase
    ? id.replace(NOT_PLAIN, escapeUnit)
    : escapeKeyPart(id).replace(NOT_IN_NAMES, escapeUnit);
  if (Buffer.byteLength(name) <= MAX_NAME_BYTES) return name;
  let kept = '';
  // Cut between whole characters and escapes, so that the start stays valid text.
  for (const [piece] of name.matchAll(/%u[0-9A-F]{4}|%[0-9A-F]{2}|./gsu)) {
    if (Buffer.byteLength(kept + piece) > KEPT_BYTES) break;
    kept += piece;
  }
  // Hash the UTF-16 code units: in UTF-8 all lone surrogates would be equal.
  const hash = createHash('sha256').update(Buffer.from(id, 'utf16le')).digest('hex').slice(0, 32);
  return `${kept}~${hash}`;
}

/**
 * The channel log files of a home: plain files in plain folders with modes 0600 and 0700, never reached through a
 * link (P8).
 */
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

  /** The path relative to the home. */
  name({ agent_id, channel_type, channel_id }: ChatNames): string {
    const [type, id] = [channel_type, channel_id].map((name) =>
      logName(unescapeKeyPart(name), this.#foldsCase),
    );
    return join('agents', agent_id, 'convlogs', type ?? '', `${id}${LOG_EXTENSION}`);
  }

  /** Opens a file for reading and appending, and creates it if needed. */
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

  /**
   * Prepares the folder of the channel and its parent. Refuses links: the owner of a link's target could read the
   * log.
   */
  #prepareFolders(folder: string): void {
    for (const place of [dirname(folder), folder]) {
      mkdirSync(place, { recursive: true, mode: 0o700 });
      const stat = lstatSync(place);
      if (!stat.isDirectory()) throw refusal(place, 'is not a folder', 'ENOTDIR');
      if ((stat.mode & OPEN_TO_OTHERS) !== 0 && stat.uid === process.getuid?.()) chmodSync(place, 0o700);
    }
  }

  /**
   * Syncs a file outside the thread's work. For a new file, also syncs its parent folders up to the home, or the file
   * could vanish in a power cut.
   */
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

  /** Moves the rest of a cut file to quarantine; no bytes are deleted (P3). */
  setAside(names: ChatNames): void {
    const folder = join(this.#home, 'quarantine');
    mkdirSync(folder, { recursive: true, mode: 0o700 });
    const stamp = new Date().toISOString().replace(/[:.]/g, '-');
    renameSync(this.path(names), join(folder, `${this.#asideName(names)}.${stamp}`));
    syncFolder(folder);
  }

  /** The log file of a chat and its quarantined parts. */
  all(names: ChatNames): string[] {
    const name = this.#asideName(names);
    const aside = this.#entries('quarantine', false).filter((file) => file.startsWith(`${name}.`));
    return [this.path(names), ...aside.map((file) => join(this.#home, 'quarantine', file))];
  }

  #asideName(names: ChatNames): string {
    const hash = createHash('sha256').update(this.name(names)).digest('hex').slice(0, 16);
    return `convlog-${names.agent_id}-${hash}${LOG_EXTENSION}`;
  }

  /** Paths of all channel log files of an agent, relative to the home. */
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
    // Do not follow a link, which could lead to another user's files.
    if (lstatSync(path, { throwIfNoEntry: false })?.isDirectory() !== true) return [];
    return readdirSync(path, { withFileTypes: true })
      .filter((entry) => (folders ? entry.isDirectory() : entry.isFile()))
      .map(({ name }) => name);
  }
}

function refusal(path: string, what: string, code: string): Error {
  return Object.assign(new Error(`${path} ${what}`), { code, syscall: 'open' });
}
