import { expect, test } from 'vitest';
import { openStore } from '../../../src/config/open.ts';
import type { ConvlogLine } from '../../../src/store/port/convlog.ts';
import type { NewEntry } from '../../../src/store/port/store.ts';
import { freshDatabase } from '../../support/postgres/postgres.ts';
import { query } from '../../support/postgres/postgres-suite.ts';

const MARK = 'gone-7f3a91';
const KEY = 'agent:main:direct:telegram:ann';
const say = (content: unknown, role = 'user'): NewEntry => ({ type: 'message', message: { role, content } });
const log = (content: string, id: string): ConvlogLine => ({
  agentId: 'main',
  channelType: 'telegram',
  channelId: '42',
  role: 'user',
  content,
  sender: { id, name: `${id} ${content}` },
});

/** Every row of every table whose text, in whatever column, holds the mark. */
async function rowsHolding(url: string, mark: string): Promise<string[]> {
  const { rows: tables } = await query(
    url,
    "SELECT tablename AS name FROM pg_tables WHERE schemaname = 'reprise'",
  );
  const found: string[] = [];
  for (const { name } of tables) {
    const base64 = Buffer.from(mark).toString('hex');
    const text = `SELECT t::text AS row FROM reprise.${String(name)} AS t WHERE t::text LIKE '%${mark}%' OR t::text LIKE '%${base64}%'`;
    for (const { row } of (await query(url, text)).rows)
      found.push(`${String(name)}: ${String(row).slice(0, 120)}`);
  }
  return found;
}

test('after a purge no row of any table has text of the session, and others keep theirs', async () => {
  await using database = await freshDatabase();
  await using store = await openStore({ kind: 'postgres', url: database.url });
  const kept = await store.create({ id: 'kept', key: 'agent:main:main' });
  await store.append(kept.id, [say('something else')], { log: [log('one', 'bob')] });
  const message = { sessionKey: KEY, source: 'telegram', body: { text: MARK } };
  const { sessionId: id } = await store.inbox.receive({
    ...message,
    idempotencyKey: 'm1',
    log: log(MARK, 'ann'),
  });
  const call = { type: 'toolCall', id: 'c', name: 'find', arguments: { for: MARK } };
  await store.append(id, [say(MARK), say([{ type: 'text', text: MARK }, call], 'assistant')]);
  const data = Buffer.from(`${MARK}${'y'.repeat(70_000)}`).toString('base64');
  await store.append(id, [say([{ type: 'image', data, mimeType: 'image/png' }])]);
  await store.append(id, [{ type: 'compaction', summary: MARK, firstKeptEntryId: 'x', tokensBefore: 1 }]);
  await store.patch(id, { label: MARK }, { title: MARK });
  await store.notes.put('n', [{ id, seq: 2, value: { said: MARK } }]);
  await store.publish(id, { type: 'text', text: MARK });
  await store.inbox.receive(message);
  await store.reindex();
  expect((await rowsHolding(database.url, MARK)).length).toBeGreaterThan(7);
  await store.delete(id);
  await store.purge(id);
  expect(await rowsHolding(database.url, MARK)).toEqual([]);
  expect(await store.inbox.receive({ ...message, idempotencyKey: 'm1' })).toMatchObject({ fresh: false });
  expect((await store.convlog.list()).chats).toMatchObject([
    { messages: 1, lastText: 'one', members: [{ id: 'bob' }] },
  ]);
  expect((await store.read(kept.id)).entries).toHaveLength(2);
});
