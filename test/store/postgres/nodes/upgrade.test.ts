import { createHash } from 'node:crypto';
import { expect, test } from 'vitest';
import { openStore } from '../../../../src/config/open.ts';
import { differences, digestRecords, recordsOf } from '../../../../src/interop/transfer/store-digest.ts';
import type { Inbound } from '../../../../src/store/port/inbox.ts';
import type { NewEntry } from '../../../../src/store/port/store.ts';
import type { TransferRecord } from '../../../../src/store/port/transfer.ts';
import { freshDatabase } from '../../../support/postgres/postgres.ts';
import { nodeOn } from '../../../support/postgres/postgres-node.ts';
import { query } from '../../../support/postgres/postgres-suite.ts';

/** Long in bytes, and short enough for an index of before; as a version that knew three steps took it. */
const PEER = `agent:main:telegram:direct:${'\u4e00\u{1f600}"\\'.repeat(150)}`;
/** As JSON fewer than 500 characters, and more than 500 bytes. */
const KEY = `"${'\u4e00'.repeat(300)}\\`;
const SOURCE = '\u4e8c'.repeat(300);

/** Back to the tables of version 3, with names and keys as they were written down then. */
const DOWNGRADE = `
DROP TABLE reprise.usage, reprise.outbox, reprise.sources, reprise.source_entries;
ALTER TABLE reprise.sessions DROP COLUMN owner, DROP COLUMN usage_seq, DROP COLUMN usage_open;
DROP INDEX reprise.inbox_open, reprise.inbox_open_groups;
ALTER TABLE reprise.inbox DROP COLUMN turn_id;
CREATE INDEX inbox_waiting ON reprise.inbox (session_id, number) WHERE state IN ('accepted', 'running');
CREATE INDEX inbox_groups ON reprise.inbox (group_name, number) WHERE group_name IS NOT NULL AND state IN ('accepted', 'running');
DROP TABLE reprise.notes;
ALTER TABLE reprise.sessions DROP COLUMN unlisted, DROP COLUMN listed_messages, DROP COLUMN listed_tokens;
DROP INDEX reprise.sessions_by_parent_start, reprise.sessions_by_channel_start;
CREATE INDEX sessions_by_parent ON reprise.sessions (parent_id) WHERE parent_id IS NOT NULL;
CREATE INDEX sessions_by_channel ON reprise.sessions (channel) WHERE channel IS NOT NULL;
ALTER TABLE reprise.active DROP CONSTRAINT active_key_length;
ALTER TABLE reprise.append_keys DROP CONSTRAINT append_key_length;
ALTER TABLE reprise.inbound_keys DROP CONSTRAINT inbound_key_length;
UPDATE reprise.active SET key = whole_key WHERE whole_key IS NOT NULL;
ALTER TABLE reprise.active DROP COLUMN whole_key;
UPDATE reprise.schema_version SET version = 3, oldest_reader = 1;`;

const say = (content: string): NewEntry => ({ type: 'message', message: { role: 'user', content } });
const inbound: Inbound = { sessionKey: PEER, source: SOURCE, idempotencyKey: KEY, body: { text: 'once' } };

test('a database of an older version continues conversations and keys whose names are long', async () => {
  await using database = await freshDatabase();
  const open = () => openStore({ kind: 'postgres', url: database.url });
  await using node = nodeOn(database.url).connections;
  const rows = (sql: string) => node.query<Record<string, unknown>>(sql);
  const before = await (async () => {
    await using store = await open();
    const { id } = await store.create({ key: PEER, activate: true });
    const receipt = await store.append(id, [say('one')], { key: KEY });
    const { inboxId } = await store.inbox.receive(inbound);
    return { id, receipt, inboxId };
  })();
  const written = {
    active: await rows('SELECT key, whole_key, session_id FROM reprise.active'),
    append: await rows('SELECT key FROM reprise.append_keys'),
    inbound: await rows('SELECT source, key FROM reprise.inbound_keys'),
  };
  await query(database.url, DOWNGRADE);
  await node.query('UPDATE reprise.append_keys SET key = $1', [JSON.stringify(KEY)]);
  await node.query('UPDATE reprise.inbound_keys SET source = $1, key = $2', [
    JSON.stringify(SOURCE),
    JSON.stringify(KEY),
  ]);
  const foreign = ['sha256:of another tool', `long ${PEER}`];
  await node.query('UPDATE reprise.lines SET entry_id = ($1::text[])[seq] WHERE seq <= 2', [foreign]);

  await using store = await open();
  expect((await store.active(PEER))?.id).toBe(before.id);
  expect((await store.list()).sessions.map(({ id, active }) => [id, active])).toEqual([[before.id, true]]);
  expect(await store.append(before.id, [say('one')], { key: KEY })).toEqual(before.receipt);
  expect(await store.inbox.receive(inbound)).toMatchObject({ inboxId: before.inboxId, fresh: false });
  expect({
    active: await rows('SELECT key, whole_key, session_id FROM reprise.active'),
    append: await rows('SELECT key FROM reprise.append_keys'),
    inbound: await rows('SELECT source, key FROM reprise.inbound_keys'),
  }).toEqual(written);
  const names = await rows('SELECT entry_id FROM reprise.lines WHERE seq <= 2 ORDER BY seq');
  expect(names.map(({ entry_id }) => entry_id)).toEqual(
    foreign.map((name) => `sha256:${createHash('sha256').update(name).digest('hex')}`),
  );
  // A node of before that is still there cannot make a second row of the old form.
  await expect(node.query('INSERT INTO reprise.active (key) VALUES ($1)', [PEER])).rejects.toMatchObject({
    outcome: 'none',
  });
  // Nor does one that knew three steps come back.
  expect(await rows('SELECT oldest_reader FROM reprise.schema_version')).toEqual([{ oldest_reader: 8 }]);
});

test.each(['postgres', 'memory'] as const)(
  'what an older version has copied out knows the same keys in the %s store, and is found to be the same',
  async (kind) => {
    await using database = await freshDatabase();
    await using source = await openStore({ kind: 'memory' });
    await source.inbox.receive(inbound);
    const asBefore = (record: TransferRecord): TransferRecord =>
      record.kind === 'inbound'
        ? { ...record, source: JSON.stringify(SOURCE), key: JSON.stringify(KEY) }
        : record;
    const records: TransferRecord[] = [];
    for await (const record of recordsOf(source)) records.push(asBefore(record));
    await using store = await openStore(kind === 'memory' ? { kind } : { kind, url: database.url });
    await store.transfer.write(records, { run: 'r', cursor: null });
    const told = await digestRecords(
      (async function* () {
        yield* records;
      })(),
    );
    expect(differences(told, await digestRecords(recordsOf(store)))).toEqual([]);
    await store.transfer.finish('r');
    expect((await store.inbox.receive(inbound)).fresh).toBe(false);
  },
);
