/**
 * Tables of control.db. Times are ISO 8601, JSON is stored as text, positions in transcripts are seqs and byte
 * offsets.
 */
const SCHEMA = `
CREATE TABLE meta (name TEXT PRIMARY KEY, value TEXT NOT NULL) STRICT;

CREATE TABLE sessions (
  id TEXT PRIMARY KEY COLLATE NOCASE,
  agent_id TEXT NOT NULL,
  key TEXT NOT NULL,
  kind TEXT NOT NULL,
  channel TEXT,
  parent_id TEXT,
  title TEXT NOT NULL DEFAULT '',
  label TEXT,
  status TEXT NOT NULL DEFAULT 'open',
  created_at TEXT NOT NULL,
  last_at TEXT NOT NULL,
  -- last_at to the second, for the indexes: a busy session moves in them once a second, not with every turn
  recent TEXT NOT NULL DEFAULT '',
  message_count INTEGER NOT NULL DEFAULT 0,
  turn_count INTEGER NOT NULL DEFAULT 0,
  token_estimate INTEGER NOT NULL DEFAULT 0,
  settings TEXT NOT NULL DEFAULT '{}',
  -- seq counts all lines, q our own; they differ where another tool has appended
  seq INTEGER NOT NULL,
  q INTEGER NOT NULL,
  leaf TEXT,
  epoch INTEGER NOT NULL DEFAULT 0,
  -- the first seq the context needs, and the compaction that said so (0: none, or its branch was left)
  context_seq INTEGER NOT NULL DEFAULT 1,
  context_compaction INTEGER NOT NULL DEFAULT 0,
  -- how much of the journal stands in the transcript file, and how much of that survives a power cut
  file_seq INTEGER NOT NULL DEFAULT 0,
  file_size INTEGER NOT NULL DEFAULT 0,
  synced_seq INTEGER NOT NULL DEFAULT 0,
  synced_size INTEGER NOT NULL DEFAULT 0,
  corrupt_at INTEGER
) STRICT;
CREATE INDEX sessions_recent ON sessions (status, recent DESC);
CREATE INDEX sessions_recent_by_agent ON sessions (agent_id, status, recent DESC);
CREATE INDEX sessions_by_parent ON sessions (parent_id) WHERE parent_id IS NOT NULL;

CREATE TABLE active (key TEXT PRIMARY KEY, session_id TEXT NOT NULL, counter INTEGER NOT NULL) STRICT;

-- One row per session and batch: the sealed lines, exactly as the transcript file has or will have them.
CREATE TABLE journal (
  session_id TEXT NOT NULL,
  first_seq INTEGER NOT NULL,
  last_seq INTEGER NOT NULL,
  bytes BLOB NOT NULL,
  UNIQUE (session_id, first_seq)
) STRICT;

CREATE TABLE append_keys (
  session_id TEXT NOT NULL,
  key TEXT NOT NULL,
  hash TEXT NOT NULL,
  first_seq INTEGER NOT NULL,
  last_seq INTEGER NOT NULL,
  PRIMARY KEY (session_id, key)
) STRICT, WITHOUT ROWID;

-- Known offsets of seqs, to find a seq in a file without reading it from the start; see marks.ts.
CREATE TABLE marks (
  session_id TEXT NOT NULL,
  seq INTEGER NOT NULL,
  offset INTEGER NOT NULL,
  PRIMARY KEY (session_id, seq)
) STRICT, WITHOUT ROWID;

-- Lines of other tools in our transcripts, in the order in which they were found.
CREATE TABLE foreign_lines (
  session_id TEXT NOT NULL,
  seq INTEGER NOT NULL,
  entry_id TEXT NOT NULL,
  PRIMARY KEY (session_id, seq)
) STRICT, WITHOUT ROWID;
CREATE INDEX foreign_by_id ON foreign_lines (session_id, entry_id);

CREATE TABLE leases (
  session_id TEXT PRIMARY KEY,
  epoch INTEGER NOT NULL,
  holder TEXT NOT NULL,
  beat INTEGER NOT NULL,
  ttl_ms INTEGER NOT NULL
) STRICT;

CREATE TABLE inbox (
  number INTEGER PRIMARY KEY,
  id TEXT NOT NULL UNIQUE,
  session_id TEXT NOT NULL,
  session_key TEXT NOT NULL,
  state TEXT NOT NULL,
  body TEXT NOT NULL,
  detail TEXT,
  attempts INTEGER NOT NULL DEFAULT 0,
  created_at TEXT NOT NULL
) STRICT;
CREATE INDEX inbox_waiting ON inbox (session_id, number) WHERE state IN ('accepted', 'running');

-- These rows survive reset, delete and purge, so that a message is never accepted twice.
CREATE TABLE inbound_keys (
  agent_id TEXT NOT NULL,
  source TEXT NOT NULL,
  key TEXT NOT NULL,
  hash TEXT NOT NULL,
  inbox_id TEXT NOT NULL,
  PRIMARY KEY (agent_id, source, key)
) STRICT, WITHOUT ROWID;

-- The last commit of each open engine, to look up whether a commit with a lost answer happened.
CREATE TABLE commits (engine TEXT PRIMARY KEY, number INTEGER NOT NULL) STRICT, WITHOUT ROWID;

CREATE TABLE purged (id TEXT PRIMARY KEY COLLATE NOCASE) STRICT;
`;

/** Since version 2: sessions that a rebuild still has to read, and files that it need not open again. */
const UNREAD = `
-- Sessions known only by their header; no line has been read yet.
CREATE INDEX sessions_unread ON sessions (key) WHERE seq = 0;

-- Files in our folders that are not transcripts, with their size and time when they were inspected.
CREATE TABLE strangers (
  agent_id TEXT NOT NULL,
  id TEXT NOT NULL,
  size INTEGER NOT NULL,
  changed_ms REAL NOT NULL,
  PRIMARY KEY (agent_id, id)
) STRICT, WITHOUT ROWID;
`;

/** Since version 3: large parts of lines, for stores without files. */
const BLOBS = `
CREATE TABLE blobs (
  session_id TEXT NOT NULL,
  hash TEXT NOT NULL,
  bytes BLOB NOT NULL,
  UNIQUE (session_id, hash)
) STRICT;
`;

/** Since version 4: offsets that readers skip. */
const SKIPPED = `
-- Offsets of lines without a number in our transcripts: blank, or left unfinished by another tool.
CREATE TABLE skipped_lines (
  session_id TEXT NOT NULL,
  offset INTEGER NOT NULL,
  PRIMARY KEY (session_id, offset)
) STRICT, WITHOUT ROWID;
`;

/**
 * Since version 5: indexes without the time, so that an append does not change them. They find rare values; the query
 * sorts the result.
 */
const RARE = `
CREATE INDEX sessions_by_channel ON sessions (channel) WHERE channel IS NOT NULL;
CREATE INDEX sessions_by_kind ON sessions (kind);
`;

/** Since version 6: the class and group of a message, and the order in which rows were accepted and settled. */
const CLASSES = `
ALTER TABLE inbox ADD COLUMN class TEXT NOT NULL DEFAULT 'message';
ALTER TABLE inbox ADD COLUMN group_name TEXT;
-- ids of dropped rows as JSON, for the one that stands for them
ALTER TABLE inbox ADD COLUMN carries TEXT;
ALTER TABLE inbox ADD COLUMN change INTEGER NOT NULL DEFAULT 0;
CREATE INDEX inbox_groups ON inbox (group_name, number) WHERE group_name IS NOT NULL AND state IN ('accepted', 'running');
CREATE INDEX inbox_changes ON inbox (change, session_id) WHERE change > 0;

-- A trigger, so that no statement can forget the update. A row that starts to run does not count as a change.
CREATE TRIGGER inbox_accepted AFTER INSERT ON inbox BEGIN
  UPDATE inbox SET change = 1 + (SELECT coalesce(max(change), 0) FROM inbox WHERE change > 0) WHERE number = new.number;
END;
CREATE TRIGGER inbox_settled AFTER UPDATE OF state ON inbox WHEN new.state <> 'running' BEGIN
  UPDATE inbox SET change = 1 + (SELECT coalesce(max(change), 0) FROM inbox WHERE change > 0) WHERE number = new.number;
END;
`;

/**
 * Since version 7: the channel log, which does not depend on the sessions. Names are escaped; see convlog-rows.ts.
 */
const CONVLOG = `
CREATE TABLE convlog_lines (
  agent_id TEXT NOT NULL,
  channel_type TEXT NOT NULL,
  channel_id TEXT NOT NULL,
  -- counts the lines of a chat; below 0: salvaged, and waiting to be matched with the chat's file
  number INTEGER NOT NULL,
  ts TEXT NOT NULL,
  role TEXT NOT NULL,
  -- JSON, which keeps what UTF-8 cannot
  content TEXT NOT NULL,
  sender_id TEXT,
  sender_name TEXT,
  session_id TEXT,
  message_id TEXT,
  UNIQUE (agent_id, channel_type, channel_id, number)
) STRICT;

CREATE TABLE convlog_chats (
  chat INTEGER PRIMARY KEY,
  agent_id TEXT NOT NULL,
  channel_type TEXT NOT NULL,
  channel_id TEXT NOT NULL,
  messages INTEGER NOT NULL DEFAULT 0,
  last_number INTEGER NOT NULL DEFAULT 0,
  first_at TEXT NOT NULL DEFAULT '',
  last_at TEXT NOT NULL DEFAULT '',
  last_text TEXT NOT NULL DEFAULT '',
  -- how much of it stands in its file, and how much of that survives a power cut
  file_number INTEGER NOT NULL DEFAULT 0,
  file_size INTEGER NOT NULL DEFAULT 0,
  synced_number INTEGER NOT NULL DEFAULT 0,
  synced_size INTEGER NOT NULL DEFAULT 0,
  -- its file is being read, and has been up to file_size
  unread INTEGER NOT NULL DEFAULT 0,
  UNIQUE (agent_id, channel_type, channel_id)
) STRICT;
CREATE INDEX convlog_by_time ON convlog_chats (last_at DESC, chat DESC);
CREATE INDEX convlog_by_agent ON convlog_chats (agent_id, last_at DESC, chat DESC);
CREATE INDEX convlog_by_messages ON convlog_chats (messages DESC, chat DESC);
CREATE INDEX convlog_behind ON convlog_chats (chat) WHERE unread = 0 AND file_number < last_number;
CREATE INDEX convlog_unsynced ON convlog_chats (chat) WHERE unread = 0 AND synced_number < file_number;
CREATE INDEX convlog_unread ON convlog_chats (chat) WHERE unread = 1;

-- The senders of each chat with the names they used.
CREATE TABLE convlog_members (
  chat INTEGER NOT NULL,
  sender_id TEXT NOT NULL,
  sender_name TEXT NOT NULL,
  last_number INTEGER NOT NULL,
  PRIMARY KEY (chat, sender_id, sender_name)
) STRICT, WITHOUT ROWID;
CREATE INDEX convlog_members_recent ON convlog_members (chat, last_number DESC);
`;

/**
 * Since version 8: lists sorted by messages and tokens. Both change with every turn; the indexes follow later
 * (listed.ts).
 */
const LISTED = `
ALTER TABLE sessions ADD COLUMN listed_messages INTEGER NOT NULL DEFAULT 0;
ALTER TABLE sessions ADD COLUMN listed_tokens INTEGER NOT NULL DEFAULT 0;
-- whether it counts more by now; a column of its own, or every append would write to the index
ALTER TABLE sessions ADD COLUMN grown INTEGER NOT NULL DEFAULT 0;
UPDATE sessions SET listed_messages = message_count, listed_tokens = token_estimate;
CREATE INDEX sessions_by_messages ON sessions (status, listed_messages, id);
CREATE INDEX sessions_by_tokens ON sessions (status, listed_tokens, id);
CREATE INDEX sessions_grown ON sessions (id) WHERE grown = 1;
-- For an older version that was open during this migration and keeps writing. This version sets grown first
-- (session-row.ts).
CREATE TRIGGER sessions_outgrown AFTER UPDATE OF message_count, token_estimate ON sessions
WHEN new.grown = 0 AND (new.message_count <> new.listed_messages OR new.token_estimate <> new.listed_tokens) BEGIN
  UPDATE sessions SET grown = 1 WHERE id = new.id;
END;
`;

/** Since version 9: cached values computed from sessions, and the last seq that each covers. */
const NOTES = `
CREATE TABLE notes (
  name TEXT NOT NULL,
  session_id TEXT NOT NULL,
  seq INTEGER NOT NULL,
  value TEXT NOT NULL,
  PRIMARY KEY (name, session_id)
) STRICT, WITHOUT ROWID;
`;

/**
 * Since version 10: who owns a session and where it was imported from, turns that wait for a person, answers on their
 * way to a channel, and usage as sums. An older version that was open during this migration keeps working: it names
 * none of this, and its reads find the inbox without the two dropped indexes, more slowly.
 */
const TURNS = `
-- the user that the session belongs to; null: the owner of the home
ALTER TABLE sessions ADD COLUMN owner TEXT;
CREATE INDEX sessions_by_owner ON sessions (owner) WHERE owner IS NOT NULL;
-- how far usage is counted, and calls that no turn has claimed yet, as JSON
ALTER TABLE sessions ADD COLUMN usage_seq INTEGER NOT NULL DEFAULT 0;
ALTER TABLE sessions ADD COLUMN usage_open TEXT NOT NULL DEFAULT '[]';

CREATE TABLE usage (
  session_id TEXT NOT NULL,
  day TEXT NOT NULL,
  -- provider:model; empty for what no model call caused
  model TEXT NOT NULL,
  turns INTEGER NOT NULL DEFAULT 0,
  failed INTEGER NOT NULL DEFAULT 0,
  calls INTEGER NOT NULL DEFAULT 0,
  input INTEGER NOT NULL DEFAULT 0,
  output INTEGER NOT NULL DEFAULT 0,
  cache_read INTEGER NOT NULL DEFAULT 0,
  cache_write INTEGER NOT NULL DEFAULT 0,
  total_tokens INTEGER NOT NULL DEFAULT 0,
  cost REAL NOT NULL DEFAULT 0,
  guard_steps INTEGER NOT NULL DEFAULT 0,
  compactions INTEGER NOT NULL DEFAULT 0,
  repairs INTEGER NOT NULL DEFAULT 0,
  PRIMARY KEY (session_id, day, model)
) STRICT, WITHOUT ROWID;
CREATE INDEX usage_by_day ON usage (day);

-- the turn that the row belongs to while it runs or waits for a person
ALTER TABLE inbox ADD COLUMN turn_id TEXT;
DROP INDEX inbox_waiting;
CREATE INDEX inbox_open ON inbox (session_id, number) WHERE state IN ('accepted', 'running', 'waiting');
DROP INDEX inbox_groups;
CREATE INDEX inbox_open_groups ON inbox (group_name, number)
  WHERE group_name IS NOT NULL AND state IN ('accepted', 'running', 'waiting');

-- Answers on their way to channels, in order for each conversation.
CREATE TABLE outbox (
  number INTEGER PRIMARY KEY,
  session_id TEXT NOT NULL,
  channel TEXT NOT NULL,
  conversation TEXT NOT NULL,
  -- the same at every attempt
  key TEXT NOT NULL UNIQUE,
  payload TEXT NOT NULL,
  -- queued, sent or parked
  state TEXT NOT NULL DEFAULT 'queued',
  attempts INTEGER NOT NULL DEFAULT 0,
  next_at TEXT NOT NULL,
  created_at TEXT NOT NULL,
  parked_reason TEXT
) STRICT;
CREATE INDEX outbox_queued ON outbox (channel, conversation, number) WHERE state = 'queued';
CREATE INDEX outbox_parked ON outbox (number) WHERE state = 'parked';
CREATE INDEX outbox_by_session ON outbox (session_id);

-- Where imported sessions come from. The transcript has tool and source_id; path and mark only save work.
CREATE TABLE sources (
  session_id TEXT PRIMARY KEY,
  tool TEXT NOT NULL,
  source_id TEXT NOT NULL,
  path TEXT,
  mark TEXT,
  UNIQUE (tool, source_id)
) STRICT;

-- The newest entry with each id of the source.
CREATE TABLE source_entries (
  session_id TEXT NOT NULL,
  source_id TEXT NOT NULL,
  seq INTEGER NOT NULL,
  PRIMARY KEY (session_id, source_id)
) STRICT, WITHOUT ROWID;
`;

/**
 * Migrations only go forward and run in the transaction that opens the database: a new database takes all steps, an
 * older one the missing ones. A released step is never changed; salvage relies on the root pages of the first tables.
 */
export const MIGRATIONS: readonly string[] = [
  SCHEMA,
  UNREAD,
  BLOBS,
  SKIPPED,
  RARE,
  CLASSES,
  CONVLOG,
  LISTED,
  NOTES,
  TURNS,
];
export const SCHEMA_VERSION: number = MIGRATIONS.length;
export const CONVLOG_VERSION: number = MIGRATIONS.indexOf(CONVLOG) + 1;
