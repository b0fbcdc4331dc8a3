import { DatabaseSync, type StatementSync } from 'node:sqlite';
import { carrySummary, SUMMARY_CARRIERS } from '../../transcript/render/carrier.ts';
import type { AnthropicMessage } from '../../transcript/render/render-anthropic.ts';
import type { SessionDocument } from '../session-document.ts';
import { type Layout, skipConvlogs } from './layout.ts';
import { leftOutOf } from './left-out.ts';
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

/** On a summary row: nothing before it belongs to the context, which its own rows cannot say. */
export const SUMMARY_META: string = '{"reprise":"context starts here"}';

/** One database with its four tables. Only what user and assistant said has rows there; tools leave none. */
export const writeZeroclaw: Layout = async (input) => {
  const { documents, out, leftOut } = input;
  await out.make(['workspace', 'memory', 'sessions.db'], async (temporary) => {
    const database = new DatabaseSync(temporary);
    try {
      database.exec(`PRAGMA journal_mode = MEMORY; BEGIN; ${SCHEMA}`);
      const write = createWriter(database);
      for await (const document of documents) {
        const hasSummary = write(document);
        // Rows hold text alone, so none of the blocks is there.
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

/** The function it returns writes a session and returns whether it has a summary. */
function createWriter(database: DatabaseSync): (document: SessionDocument) => boolean {
  const index = database.prepare('INSERT INTO session_index VALUES (?, ?, ?)');
  const session = database.prepare('INSERT INTO sessions VALUES (?, ?, ?, ?, ?, ?)');
  const message = database.prepare(
    'INSERT INTO session_messages (session_id, role, content, created_at, meta_json) VALUES (?, ?, ?, ?, ?)',
  );
  const state = database.prepare('INSERT INTO session_state VALUES (?, ?, ?, ?)');
  return ({ id, key, title, active, createdAt, lastAt, entries }) => {
    session.run(id, key, active ? 'active' : 'inactive', title, createdAt, lastAt);
    if (active) index.run(key, id, lastAt);
    const { covered, summary, kept, after } = seedHistory(entries);
    const boundary = writeRows(message, id, covered);
    if (summary !== undefined) {
      const [line] = carrySummary(summary.text, SUMMARY_CARRIERS.assistant);
      // The boundary first, then the summary behind it: that is what its loader reads as the context.
      state.run(id, 'compaction_after_message_id', String(boundary), summary.at);
      if (line !== undefined) message.run(id, 'assistant', line.text, summary.at, SUMMARY_META);
    }
    writeRows(message, id, [...kept, ...after]);
    return summary !== undefined && summary.text.trim() !== '';
  };
}

/** Answers the id of the last row, 0 where there is none. */
function writeRows(insert: StatementSync, id: string, messages: readonly TimedMessage[]): number {
  let last = 0;
  for (const { message, at } of messages) {
    const text = spoken(message);
    if (text !== undefined) last = Number(insert.run(id, message.role, text, at, null).lastInsertRowid);
  }
  return last;
}

/** Undefined: only tools spoke. Rows are text, so an image is named in its place. */
function spoken({ content }: AnthropicMessage): string | undefined {
  if (typeof content === 'string') return content;
  const texts = content.flatMap((block) => {
    if (block.type === 'text') return [block.text];
    return block.type === 'image' ? [`[${block.source.media_type}]`] : [];
  });
  return texts.length === 0 ? undefined : texts.join('\n\n');
}
