import { randomBytes } from 'node:crypto';
import { appendFileSync, mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, expect, test } from 'vitest';
import { openStore } from '../../../src/config/open.ts';
import type { TransferRecord } from '../../../src/exports/store.ts';
import type { Sql } from '../../../src/store/postgres/connection/connections.ts';
import { readTransfer } from '../../../src/store/postgres/copy/transfer-read.ts';
import { writeTransfer } from '../../../src/store/postgres/copy/transfer-write.ts';
import { openSession } from '../../../src/store/postgres/sessions.ts';
import { receive } from '../../../src/store/postgres/write/inbox.ts';
import { uuidv7 } from '../../../src/store/shared/uuid.ts';
import { copyAll, sameStores, RUN as WHOLE } from '../../../testing/store-suite/copy/transfer-kit.ts';
import { freshDatabase } from '../../support/postgres/postgres.ts';
import { hold } from '../../support/postgres/postgres-node.ts';
import { query } from '../../support/postgres/postgres-suite.ts';

const home = mkdtempSync(join(tmpdir(), 'reprise-copies-'));
afterAll(() => rmSync(home, { recursive: true, force: true }));

const RUN = { run: 'r', cursor: null };
const FIRST: readonly TransferRecord[] = [{ kind: 'epoch', epoch: 7 }];

/** Until a connection waits for a lock on the table, or the work has ended without waiting. */
async function waitsOn(url: string, table: string, work: Promise<unknown>): Promise<void> {
  let isOver = false;
  const over = (): void => {
    isOver = true;
  };
  work.then(over, over);
  await expect
    .poll(async () => {
      const sql = `SELECT 1 AS one FROM pg_locks WHERE relation = 'reprise.${table}'::regclass AND NOT granted`;
      return isOver || (await query(url, sql)).rows.length > 0;
    })
    .toBe(true);
}

test('I-72 a copy waits for writers that began before it, and is refused because of what they wrote', async () => {
  await using database = await freshDatabase();
  await using target = await openStore({ kind: 'postgres', url: database.url });
  await using writer = await hold(database.url, (tx) =>
    openSession(tx, { id: 'early', key: 'agent:main:main' }),
  );
  const copy = target.transfer.write(FIRST, RUN);
  copy.catch(() => undefined);
  await waitsOn(database.url, 'copies', copy);
  await writer.end();
  await expect(copy).rejects.toMatchObject({ code: 'INVALID_INPUT', outcome: 'none' });
  expect(await target.transfer.state()).toEqual({ empty: false });
  expect((await target.get('early')).id).toBe('early');
});

test('I-72 a writer that begins while a copy begins is refused when it has begun', async () => {
  await using database = await freshDatabase();
  await using target = await openStore({ kind: 'postgres', url: database.url });
  await using copy = await hold(database.url, (tx) => writeTransfer(tx, FIRST, RUN), { isCopy: true });
  const late = target.create({ id: 'late', key: 'agent:main:main' });
  late.catch(() => undefined);
  await waitsOn(database.url, 'copies', late);
  await copy.end();
  await expect(late).rejects.toMatchObject({ code: 'STORE_READ_ONLY', outcome: 'none' });
  expect(await target.transfer.state()).toMatchObject({ empty: true, run: { finished: false } });
});

test('I-72 two who begin a copy at once come one after the other', async () => {
  await using database = await freshDatabase();
  await using one = await openStore({ kind: 'postgres', url: database.url });
  await using two = await openStore({ kind: 'postgres', url: database.url });
  const runs = Array.from({ length: 8 }, (_, i) => ({ run: `r${i}`, cursor: null }));
  const tries = await Promise.allSettled(
    runs.map((run, i) => (i % 2 ? one : two).transfer.write(FIRST, run)),
  );
  expect(tries.filter(({ status }) => status === 'fulfilled')).toHaveLength(1);
  for (const tried of tries)
    if (tried.status === 'rejected') expect(tried.reason).toMatchObject({ code: 'INVALID_INPUT' });
});

test('I-73 a message whose commit comes late is copied with its key or not at all', async () => {
  await using database = await freshDatabase();
  await using store = await openStore({ kind: 'postgres', url: database.url });
  const inbound = { sessionKey: 'agent:main:main', source: 'cli', body: { text: 'x' } };
  await store.inbox.receive({ ...inbound, idempotencyKey: 'before' });
  const request = {
    ...inbound,
    sessionKey: 'agent:main:other',
    idempotencyKey: 'late',
    inboxId: uuidv7(),
    newSessionId: uuidv7(),
  };
  await using late = await hold(database.url, (tx) => receive(tx, request));
  await store.inbox.receive({ ...inbound, idempotencyKey: 'after' });
  let looks = 0;
  const sql: Sql = {
    query: async (text, values) => {
      if (text.includes('pg_locks')) looks++;
      // At the last moment: who waits for it has looked, and who does not wait has read the keys.
      if (looks === 2 || text.includes('FROM reprise.inbox WHERE number')) await late.end();
      return await late.connections.query(text, values);
    },
  };
  const records: TransferRecord[] = [];
  for (let cursor: string | null | undefined; cursor !== null; ) {
    const page = await readTransfer(sql, cursor);
    records.push(...page.records);
    ({ cursor } = page);
  }
  const items = records.flatMap((record) => (record.kind === 'item' ? [record.item.inboxId] : []));
  const named = records.flatMap((record) => (record.kind === 'inbound' ? [record.inboxId] : []));
  expect(items.length).toBeGreaterThanOrEqual(2);
  expect(named.toSorted()).toEqual(items.toSorted());
});

test('lines of other tools may be called whatever they like, at any length', async () => {
  const said = (text: string): { type: string; message: object } => ({
    type: 'message',
    message: { role: 'user', content: text },
  });
  const id = randomBytes(3000).toString('hex');
  {
    await using made = await openStore({ kind: 'jsonl', home, durability: 'os' });
    await made.create({ id: 's', key: 'agent:main:main' });
    await made.append('s', [said('one')]);
  }
  const line = { ...said('theirs'), id, parentId: null, timestamp: '2026-01-01T00:00:00.000Z' };
  appendFileSync(join(home, 'agents/main/sessions/s.jsonl'), `${JSON.stringify(line)}\n`);
  await using source = await openStore({ kind: 'jsonl', home, durability: 'os' });
  await source.append('s', [said('two')]);
  await using database = await freshDatabase();
  await using copy = await openStore({ kind: 'postgres', url: database.url });
  await copyAll(source, copy);
  await sameStores(source, copy);
  await copy.transfer.finish(WHOLE);
  // It is found by its name, too.
  for (const store of [source, copy]) {
    await store.append('s', [{ type: 'custom', customType: 'reprise.leaf', parentId: id }]);
    expect((await store.get('s')).leaf).toBe(id);
  }
});
