import { join } from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import { expect, test } from 'vitest';
import { openStore } from '../../../src/config/open.ts';
import { TestHome, until } from '../../support/store/store-faults.ts';

const KEY = 'agent:main:main';
const DAY_MS = 24 * 60 * 60 * 1000;
const ago = (days: number): string => new Date(Date.now() - days * DAY_MS).toISOString();

test('a message that ended loses its words after 30 days, and stays known by its key', async () => {
  using at = new TestHome();
  const options = { kind: 'jsonl', home: at.home, durability: 'os' } as const;
  const message = (
    n: number,
  ): { sessionKey: string; source: string; idempotencyKey: string; body: { text: string } } => ({
    sessionKey: KEY,
    source: 'test',
    idempotencyKey: `m${n}`,
    body: { text: `number ${n}` },
  });
  const inboxIds: string[] = [];
  {
    await using store = await openStore({ ...options, now: ago(31) });
    for (let n = 0; n < 3; n++) inboxIds.push((await store.inbox.receive(message(n))).inboxId);
    for (const inboxId of inboxIds.slice(0, 2)) await store.inbox.settle(inboxId, 'done', { seq: 7 });
  }
  {
    await using store = await openStore({ ...options, now: ago(29) });
    const { inboxId } = await store.inbox.receive(message(3));
    inboxIds.push(inboxId);
    await store.inbox.settle(inboxId, 'done');
  }
  await using store = await openStore(options);
  const bodies = (): Promise<readonly unknown[]> =>
    Promise.all(inboxIds.map(async (id) => (await store.inbox.get(id)).body));
  await until('the old words to go', async () => JSON.stringify((await bodies())[1]) === '{}');
  // The third is old but waits still; the fourth ended less than a month ago.
  expect(await bodies()).toEqual([{}, {}, { text: 'number 2' }, { text: 'number 3' }]);
  expect(await store.inbox.get(inboxIds[0] ?? '')).toMatchObject({ state: 'done', detail: { seq: 7 } });
  expect(await store.inbox.receive(message(0))).toMatchObject({ inboxId: inboxIds[0], fresh: false });
  await expect(store.inbox.receive({ ...message(0), body: { text: 'other' } })).rejects.toMatchObject({
    code: 'KEY_REUSED',
  });
});

test('thousands of old messages go a few hundred at a time, none left out', async () => {
  using at = new TestHome();
  const options = { kind: 'jsonl', home: at.home, durability: 'os' } as const;
  await (await openStore(options))[Symbol.asyncDispose]();
  const count = (): number => {
    const db = new DatabaseSync(join(at.home, 'control.db'), { timeout: 5000 });
    try {
      return Number(db.prepare("SELECT count(*) AS n FROM inbox WHERE body <> '{}'").get()?.['n']);
    } finally {
      db.close();
    }
  };
  const db = new DatabaseSync(join(at.home, 'control.db'), { timeout: 5000 });
  const insert = db.prepare(
    "INSERT INTO inbox (id, session_id, session_key, state, body, created_at) VALUES (?, 's', ?, 'done', '{\"a\":1}', ?)",
  );
  db.exec('BEGIN');
  for (let n = 0; n < 1200; n++) insert.run(`old-${n}`, KEY, ago(40));
  db.exec('COMMIT');
  db.close();
  await using _store = await openStore(options);
  await until('all of them to go', () => count() === 0);
});
