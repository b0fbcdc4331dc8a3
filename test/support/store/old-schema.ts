import { DatabaseSync } from 'node:sqlite';

const LATER_STEPS = `
  DROP INDEX sessions_unread; DROP TABLE strangers;
  DROP TABLE blobs;
  DROP TABLE skipped_lines;
  DROP INDEX sessions_by_channel; DROP INDEX sessions_by_kind;
  DROP INDEX inbox_open; DROP INDEX inbox_open_groups; ALTER TABLE inbox DROP COLUMN turn_id;
  DROP TRIGGER inbox_accepted; DROP TRIGGER inbox_settled; DROP INDEX inbox_changes;
  ALTER TABLE inbox DROP COLUMN class; ALTER TABLE inbox DROP COLUMN group_name;
  ALTER TABLE inbox DROP COLUMN carries; ALTER TABLE inbox DROP COLUMN change;
  DROP TABLE convlog_lines; DROP TABLE convlog_chats; DROP TABLE convlog_members;
  DROP TRIGGER sessions_outgrown;
  DROP INDEX sessions_by_messages; DROP INDEX sessions_by_tokens; DROP INDEX sessions_grown;
  ALTER TABLE sessions DROP COLUMN grown; ALTER TABLE sessions DROP COLUMN listed_messages; ALTER TABLE sessions DROP COLUMN listed_tokens;
  DROP TABLE notes;
  DROP INDEX sessions_by_owner; ALTER TABLE sessions DROP COLUMN owner;
  ALTER TABLE sessions DROP COLUMN usage_seq; ALTER TABLE sessions DROP COLUMN usage_open;
  DROP TABLE usage; DROP TABLE outbox; DROP TABLE sources; DROP TABLE source_entries;
  CREATE INDEX inbox_waiting ON inbox (session_id, number) WHERE state IN ('accepted', 'running')`;

/** Takes a database of this version back to schema 1, with its rows. */
export function downgradeSchema(path: string): void {
  const db = new DatabaseSync(path);
  try {
    db.exec(`BEGIN; ${LATER_STEPS}; UPDATE meta SET value = '1' WHERE name = 'schema'; COMMIT`);
  } finally {
    db.close();
  }
}
