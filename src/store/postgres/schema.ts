/**
 * Tables of the PostgreSQL store, all in the schema `reprise`. Times are ISO 8601. JSON is stored as text, because
 * `jsonb` refuses `\u0000` and reformats numbers. Values that may be any text are escaped first, because PostgreSQL's
 * text has no NUL. Ids and times compare byte by byte (collation "C"), as in every other store. `session_id` comes
 * first in every key that has one.
 */
const CORE = `
CREATE TABLE reprise.sessions (
  id text COLLATE "C" PRIMARY KEY,
  -- ids that differ only in case count as equal: other stores would use one file for both
  folded text COLLATE "C" GENERATED ALWAYS AS (lower(id COLLATE "C")) STORED UNIQUE,
  agent_id text COLLATE "C" NOT NULL,
  key text COLLATE "C" NOT NULL,
  kind text COLLATE "C" NOT NULL,
  channel text COLLATE "C",
  parent_id text COLLATE "C",
  title text COLLATE "C" NOT NULL DEFAULT '',
  label text COLLATE "C",
  status text COLLATE "C" NOT NULL DEFAULT 'open',
  created_at text COLLATE "C" NOT NULL,
  last_at text COLLATE "C" NOT NULL,
  -- last_at to the second, for the indexes: a busy session moves in them once a second, not with every turn
  recent text COLLATE "C" NOT NULL,
  message_count bigint NOT NULL DEFAULT 0,
  turn_count bigint NOT NULL DEFAULT 0,
  token_estimate bigint NOT NULL DEFAULT 0,
  settings text NOT NULL DEFAULT '{}',
  -- seq counts all lines, q our own; they differ if another tool had appended lines before the session was copied
  -- here
  seq bigint NOT NULL,
  q bigint NOT NULL,
  leaf text COLLATE "C",
  epoch bigint NOT NULL DEFAULT 0,
  -- the epoch of its row in leases, 0 without a lease: a transaction that has locked the session need not read leases
  lease_epoch bigint NOT NULL DEFAULT 0,
  -- the first seq that the context needs, and the compaction that set it (0: none, or its branch was left)
  context_seq bigint NOT NULL DEFAULT 1,
  context_compaction bigint NOT NULL DEFAULT 0,
  -- of all lines with their LFs
  bytes bigint NOT NULL DEFAULT 0,
  corrupt_at bigint
) WITH (fillfactor = 70);
CREATE INDEX sessions_recent ON reprise.sessions (status, recent DESC);
CREATE INDEX sessions_recent_by_agent ON reprise.sessions (agent_id, status, recent DESC);
CREATE INDEX sessions_by_parent ON reprise.sessions (parent_id) WHERE parent_id IS NOT NULL;
CREATE INDEX sessions_by_channel ON reprise.sessions (channel) WHERE channel IS NOT NULL;
CREATE INDEX sessions_by_kind ON reprise.sessions (kind);

-- A transaction that changes the active session of a key locks the key's row first, and inserts it if it is missing.
CREATE TABLE reprise.active (
  key text COLLATE "C" PRIMARY KEY,
  session_id text COLLATE "C" NOT NULL DEFAULT '',
  counter bigint NOT NULL DEFAULT 0
);

-- The stored lines without their LF, byte for byte the same as in every other store.
CREATE TABLE reprise.lines (
  session_id text COLLATE "C" NOT NULL,
  seq bigint NOT NULL,
  -- null for the header, and for a line of another tool that reuses an earlier id
  entry_id text COLLATE "C",
  line text COLLATE "C" NOT NULL,
  PRIMARY KEY (session_id, seq),
  UNIQUE (session_id, entry_id)
);

CREATE TABLE reprise.append_keys (
  session_id text COLLATE "C" NOT NULL,
  key text COLLATE "C" NOT NULL,
  hash text COLLATE "C" NOT NULL,
  first_seq bigint NOT NULL,
  last_seq bigint NOT NULL,
  PRIMARY KEY (session_id, key)
);

CREATE TABLE reprise.blobs (
  session_id text COLLATE "C" NOT NULL,
  hash text COLLATE "C" NOT NULL,
  bytes bytea NOT NULL,
  PRIMARY KEY (session_id, hash)
);
-- images and similar data do not compress
ALTER TABLE reprise.blobs ALTER COLUMN bytes SET STORAGE EXTERNAL;

CREATE TABLE reprise.leases (
  session_id text COLLATE "C" PRIMARY KEY,
  epoch bigint NOT NULL,
  holder text NOT NULL,
  ttl_ms bigint NOT NULL,
  -- by the server's clock, the only one that all nodes share
  expires_at timestamptz NOT NULL
) WITH (fillfactor = 70);

-- Folded ids of purged sessions; these rows are permanent.
CREATE TABLE reprise.purged (id text COLLATE "C" PRIMARY KEY);

CREATE TABLE reprise.inbox (
  session_id text COLLATE "C" NOT NULL,
  number bigint GENERATED ALWAYS AS IDENTITY,
  id text COLLATE "C" NOT NULL UNIQUE,
  session_key text COLLATE "C" NOT NULL,
  state text COLLATE "C" NOT NULL,
  class text COLLATE "C" NOT NULL DEFAULT 'message',
  group_name text COLLATE "C",
  body text NOT NULL,
  detail text,
  -- ids of dropped rows that are summarized in this one, as JSON
  carries text,
  attempts bigint NOT NULL DEFAULT 0,
  created_at text COLLATE "C" NOT NULL,
  -- the transaction that last accepted or settled the row, for watchers; see inbox-changes.ts
  changed_by xid8 NOT NULL DEFAULT pg_current_xact_id(),
  PRIMARY KEY (session_id, number)
) WITH (fillfactor = 80);
CREATE INDEX inbox_waiting ON reprise.inbox (session_id, number) WHERE state IN ('accepted', 'running');
CREATE INDEX inbox_groups ON reprise.inbox (group_name, number) WHERE group_name IS NOT NULL AND state IN ('accepted', 'running');
CREATE INDEX inbox_changes ON reprise.inbox (changed_by);
-- for copies, which read the rows of all sessions in order
CREATE INDEX inbox_numbers ON reprise.inbox (number);

-- A trigger, so that no statement can forget the update. A row that starts to run does not count as a change.
CREATE FUNCTION reprise.note_change() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
  NEW.changed_by := pg_current_xact_id();
  RETURN NEW;
END $$;
CREATE TRIGGER inbox_settled BEFORE UPDATE OF state ON reprise.inbox
  FOR EACH ROW WHEN (NEW.state <> 'running') EXECUTE FUNCTION reprise.note_change();

-- Rows that have ended and still have their text, by arrival time.
CREATE INDEX inbox_spoken ON reprise.inbox (created_at) WHERE state NOT IN ('accepted', 'running') AND body <> '{}';

-- A transaction that counts the members of a group before it adds one locks the group's row.
CREATE TABLE reprise.inbox_group_locks (name text COLLATE "C" PRIMARY KEY);

-- These rows survive reset, delete and purge, so that a message is never accepted twice.
CREATE TABLE reprise.inbound_keys (
  agent_id text COLLATE "C" NOT NULL,
  source text COLLATE "C" NOT NULL,
  key text COLLATE "C" NOT NULL,
  hash text COLLATE "C" NOT NULL,
  inbox_id text COLLATE "C" NOT NULL,
  PRIMARY KEY (agent_id, source, key)
);

-- The channel log, which does not depend on the sessions. Names are escaped, contents are JSON.
CREATE TABLE reprise.convlog_chats (
  chat bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
  -- hash of the three names, which may be longer than an index allows
  name_hash text COLLATE "C" NOT NULL UNIQUE,
  agent_id text COLLATE "C" NOT NULL,
  channel_type text COLLATE "C" NOT NULL,
  channel_id text COLLATE "C" NOT NULL,
  messages bigint NOT NULL DEFAULT 0,
  last_number bigint NOT NULL DEFAULT 0,
  first_at text COLLATE "C" NOT NULL DEFAULT '',
  last_at text COLLATE "C" NOT NULL DEFAULT '',
  last_text text COLLATE "C" NOT NULL DEFAULT ''
) WITH (fillfactor = 80);
CREATE INDEX convlog_by_time ON reprise.convlog_chats (last_at DESC, chat DESC);
CREATE INDEX convlog_by_agent ON reprise.convlog_chats (agent_id, last_at DESC, chat DESC);
CREATE INDEX convlog_by_messages ON reprise.convlog_chats (messages DESC, chat DESC);

CREATE TABLE reprise.convlog_lines (
  chat bigint NOT NULL,
  -- counts the lines of a chat
  number bigint NOT NULL,
  ts text COLLATE "C" NOT NULL,
  role text COLLATE "C" NOT NULL,
  content text NOT NULL,
  sender_id text COLLATE "C",
  sender_name text COLLATE "C",
  session_id text COLLATE "C",
  message_id text COLLATE "C",
  PRIMARY KEY (chat, number)
);

-- The senders of each chat with the names they used.
CREATE TABLE reprise.convlog_members (
  chat bigint NOT NULL,
  -- hash of id and name
  name_hash text COLLATE "C" NOT NULL,
  sender_id text COLLATE "C" NOT NULL,
  sender_name text COLLATE "C" NOT NULL,
  last_number bigint NOT NULL,
  PRIMARY KEY (chat, name_hash)
);
CREATE INDEX convlog_members_recent ON reprise.convlog_members (chat, last_number DESC);

-- Live events on their way to other nodes. Unlogged: after a crash no listener needs them.
CREATE UNLOGGED TABLE reprise.live_events (
  session_id text COLLATE "C" NOT NULL,
  number bigint GENERATED ALWAYS AS IDENTITY,
  -- the store that published the event; it has already notified its own listeners
  engine text COLLATE "C" NOT NULL,
  event text NOT NULL,
  -- number of events of this session that were dropped immediately before this one
  missed bigint NOT NULL DEFAULT 0,
  made_by xid8 NOT NULL DEFAULT pg_current_xact_id(),
  made_at timestamptz NOT NULL DEFAULT clock_timestamp(),
  PRIMARY KEY (session_id, number)
);
`;

/** Since version 2: the search index, derived from the lines and rebuilt by `reindex`. */
const SEARCH = `
-- The last indexed seq. Stored beside the session's seq, so that no line can be missed, in whatever order
-- transactions commit.
ALTER TABLE reprise.sessions ADD COLUMN indexed_seq bigint NOT NULL DEFAULT 0;
-- A separate column: with seq in the index's condition, every append would write to all indexes of the table.
ALTER TABLE reprise.sessions ADD COLUMN unindexed boolean NOT NULL GENERATED ALWAYS AS (seq > indexed_seq) STORED;
CREATE INDEX sessions_unindexed ON reprise.sessions (id) WHERE unindexed;

-- Grams of the texts of consecutive lines; see search-grams.ts.
CREATE TABLE reprise.search_blocks (
  session_id text COLLATE "C" NOT NULL,
  first_seq bigint NOT NULL,
  last_seq bigint NOT NULL,
  -- of the texts, and of the lines
  chars bigint NOT NULL,
  bytes bigint NOT NULL,
  -- times of the messages in milliseconds
  oldest bigint NOT NULL,
  newest bigint NOT NULL,
  grams int4[] NOT NULL,
  PRIMARY KEY (session_id, first_seq)
);
-- hashes do not compress
ALTER TABLE reprise.search_blocks ALTER COLUMN grams SET STORAGE EXTERNAL;
CREATE INDEX search_grams ON reprise.search_blocks USING gin (grams);

-- Always uses the index: the planner ignores the cost of decompressing arrays and would read all rows.
CREATE FUNCTION reprise.search_candidates(asked int4[])
  RETURNS TABLE (session_id text, first_seq bigint, last_seq bigint, bytes bigint, oldest bigint, newest bigint)
  LANGUAGE sql STABLE SET enable_seqscan = off AS $$
    SELECT session_id, first_seq, last_seq, bytes, oldest, newest FROM reprise.search_blocks WHERE grams @> asked
  $$;

-- The one node that indexes now. If it dies, its claim expires by the server's clock.
CREATE TABLE reprise.search_claim (
  one boolean PRIMARY KEY DEFAULT true CHECK (one),
  holder text COLLATE "C" NOT NULL,
  expires_at timestamptz NOT NULL
);
`;

/** Since version 3: the state of a copy of another store into this one, kept after it is finished. */
const COPIES = `
CREATE TABLE reprise.copies (
  one boolean PRIMARY KEY DEFAULT true CHECK (one),
  run text NOT NULL,
  cursor text,
  finished boolean NOT NULL DEFAULT false,
  -- the highest epoch in the copied records, and the lower limit for new leases
  epoch bigint NOT NULL DEFAULT 0,
  epoch_floor bigint NOT NULL DEFAULT 0,
  session text
);
`;

/**
 * Since version 4: no index contains text of unlimited length, because such an index would refuse values that other
 * stores accept. Existing long values are converted to the form in which they are now looked up (short-name.ts,
 * key-text.ts). An older node would look for the old form and insert a second row; the constraints refuse that, and
 * such a node cannot open the database again.
 */
const NAMES = `
CREATE INDEX sessions_by_parent_start ON reprise.sessions (left(parent_id, 200)) WHERE parent_id IS NOT NULL;
DROP INDEX reprise.sessions_by_parent;
CREATE INDEX sessions_by_channel_start ON reprise.sessions (left(channel, 200)) WHERE channel IS NOT NULL;
DROP INDEX reprise.sessions_by_channel;

CREATE FUNCTION reprise.text_hash(name text) RETURNS text LANGUAGE sql IMMUTABLE AS $$
  SELECT 'sha256:' || encode(sha256(convert_to(name, 'UTF8')), 'hex')
$$;
-- set where \`key\` is a hash; see short-name.ts
ALTER TABLE reprise.active ADD COLUMN whole_key text COLLATE "C";
UPDATE reprise.active SET key = reprise.text_hash(key), whole_key = key WHERE octet_length(key) > 1000;
ALTER TABLE reprise.active ADD CONSTRAINT active_key_length CHECK (octet_length(key) <= 1000);
UPDATE reprise.lines SET entry_id = reprise.text_hash(entry_id)
  WHERE octet_length(entry_id) > 1000 OR starts_with(entry_id, 'sha256:');
UPDATE reprise.append_keys SET key = reprise.text_hash(key) WHERE octet_length(key) > 500;
ALTER TABLE reprise.append_keys ADD CONSTRAINT append_key_length CHECK (octet_length(key) <= 500);
UPDATE reprise.inbound_keys SET
    source = CASE WHEN octet_length(source) > 500 THEN reprise.text_hash(source) ELSE source END,
    key = CASE WHEN octet_length(key) > 500 THEN reprise.text_hash(key) ELSE key END
  WHERE octet_length(source) > 500 OR octet_length(key) > 500;
ALTER TABLE reprise.inbound_keys ADD CONSTRAINT inbound_key_length
  CHECK (octet_length(source) <= 500 AND octet_length(key) <= 500);
DROP FUNCTION reprise.text_hash(text);
`;

/** Since version 5: lists sorted by messages and tokens; see listed.ts. */
const LISTED = `
ALTER TABLE reprise.sessions ADD COLUMN listed_messages bigint NOT NULL DEFAULT 0;
ALTER TABLE reprise.sessions ADD COLUMN listed_tokens bigint NOT NULL DEFAULT 0;
UPDATE reprise.sessions SET listed_messages = message_count, listed_tokens = token_estimate;
-- A separate column: an indexed column that changes with every turn would make every append write to all indexes.
ALTER TABLE reprise.sessions ADD COLUMN unlisted boolean NOT NULL
  GENERATED ALWAYS AS (message_count <> listed_messages OR token_estimate <> listed_tokens) STORED;
CREATE INDEX sessions_unlisted ON reprise.sessions (id) WHERE unlisted;
CREATE INDEX sessions_by_messages ON reprise.sessions (status, listed_messages, folded);
CREATE INDEX sessions_by_tokens ON reprise.sessions (status, listed_tokens, folded);
`;

/** Since version 6: cached values computed from sessions, and the last seq that each covers. */
const NOTES = `
CREATE TABLE reprise.notes (
  session_id text COLLATE "C" NOT NULL,
  name text COLLATE "C" NOT NULL,
  seq bigint NOT NULL,
  value text NOT NULL,
  PRIMARY KEY (session_id, name)
);
CREATE INDEX notes_by_name ON reprise.notes (name, session_id);
`;

/**
 * Since version 7: a copied message counts with the time of its original, so lines in an existing block may be older
 * than the block says. Such a block is always searched, whatever the requested time, until it is rebuilt.
 */
const SAID = `
UPDATE reprise.search_blocks SET oldest = 0;
`;

/**
 * Since version 8: who owns a session and where it was imported from, turns that wait for a person, answers on their
 * way to a channel, and usage as sums. Nodes of an older version that are open keep working; they cannot open the
 * database again, because they would show sessions to users who do not own them.
 */
const TURNS = `
-- the user that the session belongs to; null: the owner of the store
ALTER TABLE reprise.sessions ADD COLUMN owner text COLLATE "C";
CREATE INDEX sessions_by_owner ON reprise.sessions (owner) WHERE owner IS NOT NULL;
-- how far usage is counted, and calls that no turn has claimed yet, as JSON
ALTER TABLE reprise.sessions ADD COLUMN usage_seq bigint NOT NULL DEFAULT 0;
ALTER TABLE reprise.sessions ADD COLUMN usage_open text NOT NULL DEFAULT '[]';

CREATE TABLE reprise.usage (
  session_id text COLLATE "C" NOT NULL,
  day text COLLATE "C" NOT NULL,
  -- provider:model, shortened to an index's length; empty for what no model call caused
  model text COLLATE "C" NOT NULL,
  turns bigint NOT NULL DEFAULT 0,
  failed bigint NOT NULL DEFAULT 0,
  calls bigint NOT NULL DEFAULT 0,
  input bigint NOT NULL DEFAULT 0,
  output bigint NOT NULL DEFAULT 0,
  cache_read bigint NOT NULL DEFAULT 0,
  cache_write bigint NOT NULL DEFAULT 0,
  total_tokens bigint NOT NULL DEFAULT 0,
  cost double precision NOT NULL DEFAULT 0,
  guard_steps bigint NOT NULL DEFAULT 0,
  compactions bigint NOT NULL DEFAULT 0,
  repairs bigint NOT NULL DEFAULT 0,
  PRIMARY KEY (session_id, day, model)
) WITH (fillfactor = 70);
CREATE INDEX usage_by_day ON reprise.usage (day);

-- the turn that the row belongs to while it runs or waits for a person
ALTER TABLE reprise.inbox ADD COLUMN turn_id text COLLATE "C";
CREATE INDEX inbox_open ON reprise.inbox (session_id, number) WHERE state IN ('accepted', 'running', 'waiting');
DROP INDEX reprise.inbox_waiting;
CREATE INDEX inbox_open_groups ON reprise.inbox (group_name, number)
  WHERE group_name IS NOT NULL AND state IN ('accepted', 'running', 'waiting');
DROP INDEX reprise.inbox_groups;

-- Answers on their way to channels, in order for each conversation. Texts are escaped.
CREATE TABLE reprise.outbox (
  number bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
  session_id text COLLATE "C" NOT NULL,
  channel text COLLATE "C" NOT NULL,
  conversation text COLLATE "C" NOT NULL,
  -- the same at every attempt
  key text COLLATE "C" NOT NULL UNIQUE CHECK (octet_length(key) <= 1000),
  payload text NOT NULL,
  -- queued, sent or parked
  state text COLLATE "C" NOT NULL DEFAULT 'queued',
  attempts bigint NOT NULL DEFAULT 0,
  next_at timestamptz NOT NULL,
  created_at text COLLATE "C" NOT NULL,
  parked_reason text
) WITH (fillfactor = 80);
CREATE INDEX outbox_queued ON reprise.outbox (left(channel, 200), left(conversation, 200), number) WHERE state = 'queued';
CREATE INDEX outbox_parked ON reprise.outbox (number) WHERE state = 'parked';
CREATE INDEX outbox_by_session ON reprise.outbox (session_id);

-- Where imported sessions come from. The transcript has tool and source_id; path and mark only save work.
CREATE TABLE reprise.sources (
  session_id text COLLATE "C" PRIMARY KEY,
  tool text COLLATE "C" NOT NULL,
  source_id text COLLATE "C" NOT NULL,
  path text,
  mark text,
  UNIQUE (tool, source_id)
);

-- The newest entry with each id of the source.
CREATE TABLE reprise.source_entries (
  session_id text COLLATE "C" NOT NULL,
  source_id text COLLATE "C" NOT NULL,
  seq bigint NOT NULL,
  PRIMARY KEY (session_id, source_id)
);
`;

/**
 * Migrations only go forward. A released step is never changed. It keeps the schema usable for older nodes, which
 * continue to work while newer ones start: new columns have a default, and only objects that they do not name
 * (indexes) are dropped. If that is impossible, the step makes the database refuse what an older node would do wrong,
 * and raises `OLDEST_READER`.
 */
export const MIGRATIONS: readonly string[] = [CORE, SEARCH, COPIES, NAMES, LISTED, NOTES, SAID, TURNS];

/**
 * The number of steps that a program must know to work with this schema. Raised by a step that older programs cannot
 * handle.
 */
export const OLDEST_READER: number = MIGRATIONS.indexOf(TURNS) + 1;
