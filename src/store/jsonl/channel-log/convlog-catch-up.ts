import { closeSync, lstatSync } from 'node:fs';
import { join } from 'node:path';
import { DEFAULT_RECORD_LIMITS } from '../../../transcript/limits.ts';
import { createLineSplitter } from '../../../transcript/split-lines.ts';
import type { ConvlogChatRef } from '../../port/convlog.ts';
import { type ChatNames, decodeLogLine, namesOf } from '../../rules/convlog-line.ts';
import type { Database } from '../../sqlite/database.ts';
import { openPlain, readRange, sizeOf, standingAt } from '../transcript-files.ts';
import { ConvlogAdoption } from './convlog-adoption.ts';
import type { ConvlogFiles } from './convlog-files.ts';
import type { ConvlogFollower } from './convlog-follower.ts';
import { type ChatRow, findChat, openChat } from './convlog-rows.ts';

export interface ConvlogCatchUpOptions {
  readonly db: Database;
  readonly home: string;
  readonly files: ConvlogFiles;
  readonly follower: ConvlogFollower;
}

/** Bytes to read for the first line of a file: enough for nearly all files, then the maximum. */
const HEADS = [64 * 1024, 2 * DEFAULT_RECORD_LIMITS.maxRecordBytes];
const NEXT_UNREAD = 'SELECT * FROM convlog_chats WHERE unread = 1 LIMIT ?';

/**
 * Synchronizes the channel log table with the files, in steps beside other work: it reads files without a chat and
 * checks files that are not as recorded. An unreadable file delays no caller: new lines are still accepted, and the
 * file stays unchanged.
 */
export class ConvlogCatchUp {
  readonly #db: Database;
  readonly #options: ConvlogCatchUpOptions;
  readonly #adoptions: Map<number, ConvlogAdoption> = new Map();
  /** Files that belong to no known chat, with their agents. */
  readonly #unknown: Map<string, string> = new Map();
  readonly #uncompared: Map<number, ChatRow> = new Map();
  /** Chats and files that the disk could not read. No caller waits for them; they are retried. */
  readonly #failed: Set<number | string> = new Set();
  #taken = 0;

  constructor(options: ConvlogCatchUpOptions) {
    this.#options = options;
    this.#db = options.db;
  }

  get taken(): number {
    return this.#taken;
  }

  get hasFailed(): boolean {
    return this.#failed.size > 0;
  }

  /** Number of chats that still have to be read. */
  left(): number {
    const unread = this.#db.row<{ n: number }>('SELECT count(*) AS n FROM convlog_chats WHERE unread = 1')?.n;
    const failed = [...this.#failed].filter((it) => typeof it === 'number').length;
    return this.#unknown.size + (unread ?? 0) - failed;
  }

  list(agentId: string): void {
    const { files } = this.#options;
    const known = new Map<string, ChatRow>();
    for (const row of this.#db.rows<ChatRow>('SELECT * FROM convlog_chats WHERE agent_id = ?', agentId))
      known.set(files.name(row), row);
    for (const name of files.list(agentId)) if (!known.has(name)) this.#unknown.set(name, agentId);
    for (const row of known.values()) this.#uncompared.set(row.chat, row);
  }

  /** Takes one step towards a chat that a caller needs. @returns true when the chat is ready. */
  advance(ref: ConvlogChatRef): boolean {
    const names = namesOf(ref);
    const row = findChat(this.#db, names);
    if (row === undefined) return !this.#identify(this.#options.files.name(names));
    if (row.unread === 1) return this.#failed.has(row.chat) || this.#adopt(row);
    return !this.#compare(row.chat);
  }

  /** Takes one step of the remaining work. @returns false when nothing is left to do. */
  advanceAll(): boolean {
    const [name] = this.#unknown.keys();
    if (name !== undefined) {
      this.#identify(name);
      return true;
    }
    const unread = this.#db
      .rows<ChatRow>(NEXT_UNREAD, this.#failed.size + 1)
      .find(({ chat }) => !this.#failed.has(chat));
    if (unread !== undefined) {
      this.#adopt(unread);
      return true;
    }
    const [chat] = this.#uncompared.keys();
    if (chat === undefined) return false;
    this.#compare(chat);
    return true;
  }

  forget(): void {
    for (const known of [this.#adoptions, this.#unknown, this.#uncompared, this.#failed]) known.clear();
  }

  /** Finds the chat of a file by its first line and its name. @returns true if there is now a chat to read. */
  #identify(name: string): boolean {
    const agentId = this.#unknown.get(name);
    if (agentId === undefined) return false;
    this.#unknown.delete(name);
    try {
      const path = join(this.#options.home, name);
      const { size, mtimeMs } = lstatSync(path);
      const known = 'SELECT 1 FROM strangers WHERE agent_id = ? AND id = ? AND size = ? AND changed_ms = ?';
      if (this.#db.row(known, agentId, name, size, mtimeMs) !== undefined) return false;
      const names = this.#ownerOf(path, name, agentId);
      if (names !== undefined) return openChat(this.#db, names, true).unread === 1;
      this.#db.run('INSERT OR REPLACE INTO strangers VALUES (?, ?, ?, ?)', agentId, name, size, mtimeMs);
    } catch (error) {
      if ((error as NodeJS.ErrnoException).syscall === undefined) throw error;
      this.#failed.add(name);
    }
    return false;
  }

  #ownerOf(path: string, name: string, agentId: string): ChatNames | undefined {
    const fd = openPlain(path);
    try {
      let owner: ChatNames | undefined;
      for (const bytes of HEADS) {
        const splitter = createLineSplitter(bytes, (line) => {
          const said = owner === undefined ? decodeLogLine(line.bytes, agentId) : undefined;
          if (said !== undefined && this.#options.files.name(namesOf(said)) === name) owner = namesOf(said);
        });
        splitter.push(readRange(fd, 0, Math.min(bytes, sizeOf(fd))));
        splitter.end();
        if (owner !== undefined || sizeOf(fd) <= bytes) break;
      }
      return owner;
    } finally {
      closeSync(fd);
    }
  }

  #adopt(row: ChatRow): boolean {
    const { files } = this.#options;
    const adoption = this.#adoptions.get(row.chat) ?? new ConvlogAdoption(this.#db, files, row);
    this.#adoptions.set(row.chat, adoption);
    try {
      if (!this.#db.attempt(() => adoption.step())) return false;
      this.#taken++;
      this.#options.follower.lookInto(row.chat);
    } catch (error) {
      if ((error as NodeJS.ErrnoException).syscall === undefined) throw error;
      this.#failed.add(row.chat);
    }
    this.#adoptions.delete(row.chat);
    return true;
  }

  /**
   * Checks a recorded chat. @returns true if its file must be read further: no line waits to be written to it, so the
   * table is older than the file, or a copy.
   */
  #compare(chat: number): boolean {
    const known = this.#uncompared.get(chat);
    if (known === undefined) return false;
    this.#uncompared.delete(chat);
    const { files, follower } = this.#options;
    const found = standingAt(files.path(known));
    const size = found.kind === 'file' ? found.size : 0;
    const row = this.#db.row<ChatRow>('SELECT * FROM convlog_chats WHERE chat = ? AND unread = 0', chat);
    if (row === undefined || size === row.file_size) return false;
    if (size < row.file_size || row.file_number !== row.last_number) {
      follower.lookInto(chat);
      return false;
    }
    this.#db.run('UPDATE convlog_chats SET unread = 1 WHERE chat = ?', chat);
    return true;
  }
}
