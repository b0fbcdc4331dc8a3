import { DatabaseSync, type StatementSync } from 'node:sqlite';
import { carrySummary, SUMMARY_CARRIERS } from '../../transcript/render/carrier.ts';
import type { AnthropicMessage } from '../../transcript/render/render-anthropic.ts';
import type { SessionDocument } from '../session-document.ts';
import { type Layout, skipConvlogs } from './layout.ts';
import { leftOutOf } from './left-out.ts';
import { zeroclawKey } from './original-key.ts';
import { seedHistory, type TimedMessage } from './seed-messages.ts';

const SCHEMA = `
CREATE TABLE session_index (
  session_key TEXT PRIMARY KEY,
  active_session_id TEXT NOT NULL,
  updated_at TEXT NOT NULL
);
CREATE TABLE sessions (
  session_id TEXT PRIMARY KEY,
  session_key TEXT NOT NULL,
  status TEXT NOT NULL,
  title TEXT,
  created_at TEXT NOT NULL,
  updated_at TEXT NOT NULL
);
CREATE TABLE session_messages (
  id INTEGER PRIMARY KEY AUTOINCREMENT,
  session_id TEXT NOT NULL,
  role TEXT NOT NULL,
  content TEXT NOT NULL,
  created_at TEXT NOT NULL,
  meta_json TEXT
);
CREATE INDEX idx_session_messages_session ON session_messages (session_id, id);
CREATE TABLE session_state (
  session_id TEXT NOT NULL,
  key TEXT NOT NULL,
  value TEXT NOT NULL,
  updated_at TEXT NOT NULL,
  PRIMARY KEY (session_id, key)
);
`;

/** Metadata of a summary row: the context starts here. ZeroClaw's own columns cannot express this. */
export const SUMMARY_META: string = '{"reprise":"context starts here"}';

/**
 * Writes one database with four tables. It has rows for user and assistant text only, not for tool calls and results.
 */
export const writeZeroclaw: Layout = async (input) => {
  const { documents, out, leftOut } = input;
  await out.make(['workspace', 'memory', 'sessions.db'], async (temporary) => {
    const database = new DatabaseSync(temporary);
    try {
      database.exec(`PRAGMA journal_mode = MEMORY; BEGIN; ${SCHEMA}`);
      const write = createWriter(database);
      for await (const document of documents) {
        const hasSummary = write(document);
        // Rows contain text only, so all other blocks are left out.
        leftOut.addSession(document.id, leftOutOf(document, { messages: [], hasSummary }));
      }
      database.exec('COMMIT');
    } finally {
      database.close();
    }
    await chmodPrivate(temporary);
  });
  await skipConvlogs(input);
};

async function chmodPrivate(path: string): Promise<void> {
  const { chmod } = await import('node:fs/promises');
  await chmod(path, 0o600);
}

/** @returns a function that writes a session and returns whether it has a summary. */
function createWriter(database: DatabaseSync): (document: SessionDocument) => boolean {
  const index = database.prepare('INSERT INTO session_index VALUES (?, ?, ?)');
  const session = database.prepare('INSERT INTO sessions VALUES (?, ?, ?, ?, ?, ?)');
  const message = database.prepare(
    'INSERT INTO session_messages (session_id, role, content, created_at, meta_json) VALUES (?, ?, ?, ?, ?)',
  );
  const state = database.prepare('INSERT INTO session_state VALUES (?, ?, ?, ?)');
  const indexed = new Set<string>();
  return (document) => {
    const { id, title, active, createdAt, lastAt, entries } = document;
    const original = zeroclawKey(document);
    const key = active && indexed.has(original) ? document.key : original;
    if (active) indexed.add(key);
    session.run(id, key, active ? 'active' : 'inactive', title, createdAt, lastAt);
    if (active) index.run(key, id, lastAt);
    const { covered, summary, kept, after } = seedHistory(entries);
    const boundary = writeRows(message, id, covered);
    if (summary !== undefined) {
      const [line] = carrySummary(summary.text, SUMMARY_CARRIERS.assistant);
      // ZeroClaw loads the rows after the boundary as the context, so write the boundary first, then the summary row.
      state.run(id, 'compaction_after_message_id', String(boundary), summary.at);
      if (line !== undefined) message.run(id, 'assistant', line.text, summary.at, SUMMARY_META);
    }
    writeRows(message, id, [...kept, ...after]);
    return summary !== undefined && summary.text.trim() !== '';
  };
}

/** @returns the id of the last row, or 0. */
function writeRows(insert: StatementSync, id: string, messages: readonly TimedMessage[]): number {
  let last = 0;
  for (const { message, at } of messages) {
    const text = spoken(message);
    if (text !== undefined) last = Number(insert.run(id, message.role, text, at, null).lastInsertRowid);
  }
  return last;
}

/**
 * The text of a message. Images are replaced by their names. @returns undefined if it has only tool blocks.
 */
function spoken({ content }: AnthropicMessage): string | undefined {
  if (typeof content === 'string') return content;
  const texts = content.flatMap((block) => {
    if (block.type === 'text') return [block.text];
    return block.type === 'image' ? [`[${block.source.media_type}]`] : [];
  });
  return texts.length === 0 ? undefined : texts.join('\n\n');
}
