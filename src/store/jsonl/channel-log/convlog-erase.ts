import { closeSync, constants, fsyncSync, openSync, renameSync, rmSync } from 'node:fs';
import { dirname } from 'node:path';
import { DEFAULT_RECORD_LIMITS } from '../../../transcript/limits.ts';
import { createLineSplitter } from '../../../transcript/split-lines.ts';
import {
  addToChat,
  type ChatNames,
  decodeLogLine,
  encodeLogLine,
  type LineRow,
  namesOf,
  toLine,
} from '../../rules/convlog-line.ts';
import { searchable } from '../../search/search-text.ts';
import type { Database } from '../../sqlite/database.ts';
import type { SessionRow } from '../../sqlite/session-row.ts';
import type { Batch } from '../../sqlite/write/batch.ts';
import { openPlain, readRange, sizeOf, syncFolder, writeAll } from '../transcript-files.ts';
import type { ConvlogFiles } from './convlog-files.ts';
import { type ChatRow, findChat, OF_CHAT, saveChat, valuesOf } from './convlog-rows.ts';

const PIECE = 256 * 1024;
const MAX_LINE_BYTES = 2 * DEFAULT_RECORD_LIMITS.maxRecordBytes;
const { O_WRONLY, O_CREAT, O_TRUNC, O_NOFOLLOW } = constants;
const CHAT_COLUMNS = 'agent_id, channel_type, channel_id';

/**
 * Removes a session's lines from the channel log, inside the transaction of its purge.
 *
 * @returns the chats that had such lines; `eraseFromFiles` rewrites their files after the commit.
 */
export function eraseLog(batch: Batch, row: SessionRow): ChatNames[] {
  const { db } = batch;
  const chats = [
    ...db.rows<ChatNames>(`SELECT DISTINCT ${CHAT_COLUMNS} FROM convlog_lines WHERE session_id = ?`, row.id),
    ...eraseUnattributed(batch, row),
  ];
  db.run('DELETE FROM convlog_lines WHERE session_id = ?', row.id);
  const distinct = new Map(chats.map((names) => [valuesOf(names).join('\n'), names]));
  for (const names of distinct.values()) recount(db, names);
  return [...distinct.values()];
}

/**
 * A log that was read back from its file does not record the session of each line. A line belongs to this session if
 * its time is within the lifetime of the session and its text equals one of the session's messages.
 */
function eraseUnattributed(batch: Batch, row: SessionRow): ChatNames[] {
  const { db } = batch;
  const found = db.rows<ChatNames & { content: string; number: number }>(
    `SELECT ${CHAT_COLUMNS}, content, number FROM convlog_lines
     WHERE agent_id = ? AND session_id IS NULL AND ts BETWEEN ? AND ?`,
    row.agent_id,
    row.created_at,
    row.last_at,
  );
  if (found.length === 0) return [];
  const texts = textsOf(batch, row);
  const erased = found.filter(({ content }) => texts.has(String(JSON.parse(content)).trim()));
  for (const { number, ...names } of erased)
    db.run(`DELETE FROM convlog_lines WHERE ${OF_CHAT} AND number = ?`, ...valuesOf(names), number);
  return erased.map(({ agent_id, channel_type, channel_id }) => ({ agent_id, channel_type, channel_id }));
}

function textsOf({ source }: Batch, row: SessionRow): ReadonlySet<string> {
  const texts = new Set<string>();
  for (let from = 1; from <= row.seq; ) {
    const page = source.lines(row, { from, to: row.seq });
    for (const { entry } of page.lines) texts.add(searchable(entry)?.text.trim() ?? '');
    if (page.to < from) break;
    from = page.to + 1;
  }
  return texts;
}

/** Recomputes the rows of a chat and its members from the remaining lines. Numbers are never reused. */
function recount(db: Database, names: ChatNames): void {
  const chat = findChat(db, names);
  if (chat === undefined) return;
  const fresh: ChatRow = { ...chat, messages: 0, first_at: '', last_at: '', last_text: '' };
  const lines = db.rows<LineRow>(
    `SELECT * FROM convlog_lines WHERE ${OF_CHAT} AND number > 0 ORDER BY number`,
    ...valuesOf(names),
  );
  for (const line of lines) addToChat(fresh, line);
  db.run('DELETE FROM convlog_members WHERE chat = ?', chat.chat);
  db.run(
    `INSERT INTO convlog_members SELECT ?, sender_id, coalesce(sender_name, ''), max(number) FROM convlog_lines
     WHERE ${OF_CHAT} AND number > 0 AND sender_id IS NOT NULL GROUP BY sender_id, coalesce(sender_name, '')`,
    chat.chat,
    ...valuesOf(names),
  );
  if (lines.length > 0) saveChat(db, { ...fresh, last_number: chat.last_number });
  else db.run('DELETE FROM convlog_chats WHERE chat = ?', chat.chat);
}

/**
 * Rewrites the files of a chat without the lines that the table no longer has. Lines of other tools stay. Runs inside
 * a transaction, so that no process appends to a file that is about to be replaced. Repeating it changes nothing.
 */
export function eraseFromFiles(db: Database, files: ConvlogFiles, names: ChatNames): void {
  const ours = linesOf(db, names);
  const isErased = (bytes: Uint8Array): boolean => {
    const line = decodeLogLine(bytes, names.agent_id);
    return line !== undefined && isOf(namesOf(line), names) && !ours.has(encodeLogLine(line));
  };
  for (const path of files.all(names)) {
    const size = rewriteWithout(path, isErased);
    if (path !== files.path(names) || size === undefined) continue;
    db.run(
      `UPDATE convlog_chats SET file_size = ?1, synced_size = ?1, synced_number = file_number
       WHERE agent_id = ?2 AND channel_type = ?3 AND channel_id = ?4`,
      size,
      ...valuesOf(names),
    );
  }
}

/** @returns the new size, or `undefined` if there is no file. An empty file is removed. */
function rewriteWithout(path: string, isErased: (line: Uint8Array) => boolean): number | undefined {
  let source: number;
  try {
    source = openPlain(path);
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'ENOENT') return undefined;
    throw error;
  }
  const temporary = `${path}.erasing`;
  let size = 0;
  try {
    const target = openSync(temporary, O_WRONLY | O_CREAT | O_TRUNC | O_NOFOLLOW, 0o600);
    try {
      const splitter = createLineSplitter(MAX_LINE_BYTES, ({ bytes, terminated }) => {
        if (bytes.length === 0 || isErased(bytes)) return;
        const kept = Buffer.concat([bytes, Buffer.from(terminated ? '\n' : '')]);
        writeAll(target, kept);
        size += kept.length;
      });
      const end = sizeOf(source);
      for (let at = 0; at < end; at += PIECE) splitter.push(readRange(source, at, Math.min(at + PIECE, end)));
      splitter.end();
      fsyncSync(target);
    } finally {
      closeSync(target);
    }
  } finally {
    closeSync(source);
  }
  if (size > 0) renameSync(temporary, path);
  else for (const file of [temporary, path]) rmSync(file, { force: true });
  syncFolder(dirname(path));
  return size;
}

function linesOf(db: Database, names: ChatNames): ReadonlySet<string> {
  const rows = db.rows<LineRow>(`SELECT * FROM convlog_lines WHERE ${OF_CHAT}`, ...valuesOf(names));
  return new Set(rows.map((row) => encodeLogLine(toLine(names, row))));
}

const isOf = (a: ChatNames, b: ChatNames): boolean =>
  a.channel_type === b.channel_type && a.channel_id === b.channel_id;
