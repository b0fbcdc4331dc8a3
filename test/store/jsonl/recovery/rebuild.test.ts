import {
  appendFileSync,
  copyFileSync,
  existsSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  renameSync,
  rmSync,
  writeFileSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import { openStore } from '../../../../src/config/open.ts';
import type { NewEntry, SessionRecord, Store } from '../../../../src/store/port/store.ts';
import { SCHEMA_VERSION } from '../../../../src/store/sqlite/schema.ts';
import { startDriver } from '../../../../testing/crash/driver-process.ts';
import { replay } from '../../../support/engine/replay.ts';
import { transcript, writeMany, writeTranscript } from '../../../support/engine/transcripts.ts';
import { downgradeSchema } from '../../../support/store/old-schema.ts';

const KEY = 'agent:main:main';
let home = '';
let open: Store[] = [];
beforeEach(() => {
  home = mkdtempSync(join(tmpdir(), 'reprise-rebuild-'));
});
afterEach(async () => {
  for (const store of open.splice(0)) await store[Symbol.asyncDispose]();
  rmSync(home, { recursive: true, force: true });
});

async function openHome(): Promise<Store> {
  const store = await openStore({ kind: 'jsonl', home, durability: 'os' });
  open.push(store);
  return store;
}

async function close(store: Store): Promise<void> {
  open = open.filter((other) => other !== store);
  await store[Symbol.asyncDispose]();
}

async function until(what: string, check: () => Promise<boolean>): Promise<void> {
  const deadline = Date.now() + 50_000;
  while (!(await check())) {
    if (Date.now() > deadline) throw new Error(`never: ${what}`);
    await new Promise((resolve) => setTimeout(resolve, 5));
  }
}

const rebuilt = (store: Store): Promise<void> =>
  until('the rebuild ended', async () => (await store.stats()).rebuilding === undefined);

const say = (content: string): NewEntry => ({ type: 'message', message: { role: 'user', content } });
const file = (id: string): string => join(home, 'agents', 'main', 'sessions', `${id}.jsonl`);
const control = (): string => join(home, 'control.db');

async function texts(store: Store, id: string): Promise<unknown[]> {
  const { entries } = await store.read(id);
  return entries.flatMap(({ entry }) => (entry as { message?: { content: unknown } }).message?.content ?? []);
}

function sql<T>(work: (db: DatabaseSync) => T): T {
  const db = new DatabaseSync(control(), { timeout: 5000 });
  try {
    return work(db);
  } finally {
    db.close();
  }
}

const count = (what: string): number =>
  sql((db) => Number(db.prepare(`SELECT count(*) AS n FROM ${what}`).get()?.['n']));

describe('T17 a home of 1,500 transcripts without its index', { tags: 'long' }, () => {
  beforeEach(() => {
    writeMany(home, 1500);
  });

  test('answers for every session from the beginning, and in the end has all of them', async () => {
    const store = await openHome();
    const record = await store.get('n1499');
    expect(record).toMatchObject({ id: 'n1499', title: 'first of n1499', messageCount: 2, lastSeq: 3 });
    expect(await texts(store, 'n0750')).toEqual(['first of n0750', 'second']);
    const afterwards = await store.append('n0000', [say('third')]);
    expect(afterwards).toEqual({ firstSeq: 4, lastSeq: 4 });
    await rebuilt(store);
    expect((await store.stats()).sessions).toBe(1500);
    expect(await store.verify()).toEqual({ status: 'clean', findings: [] });
  });

  test('a message for a known key arrives in its active session although that was not read yet', async () => {
    writeTranscript(home, { id: 'a', key: KEY, activation: 1 });
    writeTranscript(home, { id: 'b', key: KEY, activation: 7, texts: ['the real one'] });
    writeTranscript(home, { id: 'c', key: KEY, activation: 3 });
    const store = await openHome();
    const [receipt, active, nobody] = await Promise.all([
      store.inbox.receive({ sessionKey: KEY, source: 'tg', body: { text: 'hi' } }),
      store.active(KEY),
      store.active('agent:main:tg:direct:stranger'),
    ]);
    expect(receipt).toMatchObject({ sessionId: 'b', fresh: true });
    expect(active?.id).toBe('b');
    expect(nobody).toBeUndefined();
    // The next activation is above all that were.
    await store.activate(KEY, 'a');
    await close(store);
    expect(readFileSync(file('a'), 'utf8')).toContain('"counter":8');
  });

  test('a killed rebuild resumes where it was', async () => {
    // Again where it was over before it was killed.
    await replay('a rebuild is killed before it is over', async () => {
      rmSync(control(), { force: true });
      const driver = await startDriver({ store: 'jsonl', home, durability: 'os' });
      await until('some were taken in', async () => count('sessions WHERE seq > 0') > 100);
      driver.kill();
      await driver.exited;
      return count('sessions WHERE seq > 0') < 1500;
    });
    const store = await openHome();
    await rebuilt(store);
    expect(count('sessions')).toBe(1500);
    expect(count('append_keys')).toBe(3000);
    expect(await store.verify()).toEqual({ status: 'clean', findings: [] });
  });

  test('two processes that open it at once do the work together and agree', async () => {
    const command = {
      key: 'agent:main:tg:direct:n0777',
      source: 'tg',
      idempotencyKey: 'm1',
      body: { text: 'hi' },
    };
    const key = command.key;
    writeTranscript(home, { id: 'n0777b', key, activation: 2 });
    const drivers = await Promise.all(
      [0, 1].map(() => startDriver({ store: 'jsonl', home, durability: 'os' })),
    );
    const receipts = await Promise.all(drivers.map((driver) => driver.send({ op: 'put', ...command })));
    const records = await Promise.all(drivers.map((driver) => driver.send({ op: 'get', id: 'n1000' })));
    const reports = await Promise.all(drivers.map((driver) => driver.send({ op: 'verify' })));
    for (const driver of drivers) expect((await driver.stop()).code).toBe(0);
    expect(receipts.map(({ id }) => id)).toEqual(['n0777b', 'n0777b']);
    expect(receipts.filter(({ fresh }) => fresh === true)).toHaveLength(1);
    for (const record of records) expect(record['session']).toMatchObject({ messageCount: 2 });
    for (const report of reports) expect(report).toMatchObject({ status: 'clean' });
    expect(count('sessions WHERE seq > 0')).toBe(1501);
    expect(count('inbox')).toBe(1);
  });
});

describe('the first list after a lost index', { tags: 'long' }, () => {
  const longText = 'x'.repeat(40_000);

  test('has every session with its title and time, and marks counts as incomplete until they are known', async () => {
    writeMany(home, 1500);
    const first = await openHome();
    // A name at the end of a long file, a session in the trash, and one without a message.
    await first.create({ id: 'named', key: KEY });
    await first.append('named', [say('what is this about?'), say(longText), say(longText)]);
    await first.patch('named', {}, { title: 'A long story' });
    await first.create({ id: 'gone', key: 'agent:main:tg:direct:gone' });
    await first.append('gone', [say('throw me away')]);
    await first.delete('gone');
    await first.create({ id: 'empty', key: 'agent:main:tg:direct:empty' });
    const complete = await everySession(first);
    await close(first);
    rmSync(control());

    const store = await openHome();
    const { rebuilding } = await store.list({ limit: 1 });
    expect(rebuilding).toMatchObject({ total: 1503, listed: 1503 });
    expect(rebuilding?.done).toBeLessThan(1503);
    expect(await everySession(store)).toEqual(complete);
    expect(complete.find(({ id }) => id === 'named')).toMatchObject({ title: 'A long story' });
    expect(complete.find(({ id }) => id === 'gone')).toMatchObject({ status: 'deleted' });
    await rebuilt(store);
    expect(await everySession(store)).toEqual(complete);
    expect((await store.list({ sort: 'messages', limit: 1 })).rebuilding).toBeUndefined();
  });

  test('a title that only the middle of a file has comes with the counts', async () => {
    writeMany(home, 1500);
    const first = await openHome();
    await first.create({ id: 'named', key: KEY });
    await first.append('named', [say('what is this about?'), say(longText)]);
    await first.patch('named', {}, { title: 'In the middle' });
    await first.append('named', [say(longText), say('bye')]);
    await close(first);
    rmSync(control());
    const store = await openHome();
    await rebuilt(store);
    expect(await store.get('named')).toMatchObject({ title: 'In the middle' });
  });
});

type Listed = Pick<SessionRecord, 'id' | 'title' | 'lastAt' | 'status'>;

async function everySession(store: Store): Promise<Listed[]> {
  const found: Listed[] = [];
  for (let cursor: string | null | undefined; cursor !== null; ) {
    const page = await store.list({ status: 'any', limit: 1000, ...(cursor !== undefined && { cursor }) });
    found.push(...page.sessions.map(({ id, title, lastAt, status }) => ({ id, title, lastAt, status })));
    cursor = page.cursor;
  }
  return found;
}

describe('what only the lines say is known before it is needed', () => {
  beforeEach(() => {
    // So many that they are not read before the first request.
    writeMany(home, 1500);
  });

  test('a retry of an append is answered, not written again', async () => {
    const first = await openHome();
    await first.create({ id: 's1', key: KEY });
    await first.append('s1', [say('once')], { key: 'k1' });
    await close(first);
    rmSync(control());
    const store = await openHome();
    expect(await store.append('s1', [say('once')], { key: 'k1' })).toEqual({ firstSeq: 2, lastSeq: 2 });
    expect(await texts(store, 's1')).toEqual(['once']);
  });

  test('an id that stands in an unread transcript is taken', async () => {
    const store = await openHome();
    await expect(store.create({ id: 'n0007', key: KEY })).rejects.toMatchObject({ code: 'SESSION_EXISTS' });
    await expect(store.create({ id: 'N0008', key: KEY })).rejects.toMatchObject({ code: 'SESSION_EXISTS' });
  });

  test('a key too long for the header is known from the lines', async () => {
    const key = `agent:main:tg:direct:${'x'.repeat(600)}`;
    const first = await openHome();
    await first.create({ id: 'long', key });
    await first.activate(key, 'long');
    await close(first);
    rmSync(control());
    const store = await openHome();
    const receipt = await store.inbox.receive({ sessionKey: key, source: 'tg', body: {} });
    expect(receipt.sessionId).toBe('long');
  });

  test('a deleted session does not get its key back', async () => {
    writeTranscript(home, { id: 'old', key: KEY, activation: 1 });
    writeTranscript(home, { id: 'gone', key: KEY, activation: 2, deleted: true });
    const store = await openHome();
    expect(await store.active(KEY)).toBeUndefined();
    expect(await store.get('gone')).toMatchObject({ status: 'deleted', active: false });
    const { sessionId } = await store.inbox.receive({ sessionKey: KEY, source: 'tg', body: {} });
    expect(await store.active(KEY)).toMatchObject({ id: sessionId });
    expect(['', 'old', 'gone']).not.toContain(sessionId);
  });

  test('appends to other sessions continue while a long transcript is read', async () => {
    const long = Array.from({ length: 30 }, (_, i) => `${i}`.repeat(500_000));
    writeTranscript(home, { id: 'long', key: 'agent:main:zz:direct:long', texts: long });
    const store = await openHome();
    const reading = store.get('long');
    for (let i = 0; i < 5; i++)
      expect(await store.append('n0001', [say(`beside ${i}`)])).toMatchObject({ firstSeq: 4 + i });
    expect((await reading).messageCount).toBe(30);
    // Its end is found without reading all of it again.
    expect(count("marks WHERE session_id = 'long'")).toBeGreaterThan(10);
  });

  test('lines behind damage stay readable under their numbers', async () => {
    const path = writeTranscript(home, { id: 'hurt', key: KEY, texts: ['one', 'two', 'three'] });
    const bytes = readFileSync(path);
    bytes[bytes.indexOf('two')] = 0x54;
    writeFileSync(path, bytes);
    const store = await openHome();
    const { entries, lastSeq } = await store.read('hurt', { from: 2 });
    expect(entries.map(({ seq }) => seq)).toEqual([2, 4]);
    expect(lastSeq).toBe(4);
    await expect(store.append('hurt', [say('four')])).rejects.toMatchObject({ code: 'STORE_CORRUPT' });
  });

  test('a transcript that the disk cannot read keeps its key from a new session, and affects no other key', async () => {
    const bytes = transcript({ id: 's1', key: KEY, activation: 1 });
    writeTranscript(home, { id: 's1', key: KEY, activation: 1 });
    const first = await openHome();
    // The index must know the header: what stands in its place later is no transcript to an index that does not.
    await first.get('s1');
    await close(first);
    sql((db) => db.exec("UPDATE sessions SET seq = 0, q = 0, epoch = 0 WHERE id = 's1'; DELETE FROM active"));
    rmSync(file('s1'));
    mkdirSync(file('s1'));
    const store = await openHome();
    await expect(store.inbox.receive({ sessionKey: KEY, source: 'tg', body: {} })).rejects.toMatchObject({
      code: 'STORE_FAILED',
      outcome: 'none',
    });
    await expect(store.get('s1')).rejects.toMatchObject({ code: 'STORE_FAILED' });
    expect(await store.append('n0001', [say('fine')])).toMatchObject({ firstSeq: 4 });
    rmSync(file('s1'), { recursive: true });
    writeFileSync(file('s1'), bytes);
    expect(await store.inbox.receive({ sessionKey: KEY, source: 'tg', body: {} })).toMatchObject({
      sessionId: 's1',
    });
  });
});

describe('on an ordinary day', () => {
  test.skipIf(!existsSync('/proc/self/io'))('no transcript is read to learn that all is well', async () => {
    for (let i = 0; i < 100; i++)
      writeTranscript(home, { id: `s${i}`, key: `agent:main:tg:direct:${i}`, texts: ['x'.repeat(200_000)] });
    const bytesRead = (): number => Number(/rchar: (\d+)/.exec(readFileSync('/proc/self/io', 'utf8'))?.[1]);
    const costs: number[] = [];
    for (let round = 0; round < 2; round++) {
      const before = bytesRead();
      const store = await openHome();
      expect(await store.active(KEY)).toBeUndefined();
      await rebuilt(store);
      await close(store);
      costs.push(bytesRead() - before);
    }
    expect(costs[0]).toBeGreaterThan(20_000_000);
    expect(costs[1]).toBeLessThan(5_000_000);
  });

  test('a file of another tool is looked into once, and again when it has changed', async () => {
    writeTranscript(home, { id: 'ours', key: KEY });
    writeFileSync(file('theirs'), '{"type":"session","version":3,"id":"theirs"}\n');
    const first = await openHome();
    await rebuilt(first);
    await expect(first.get('theirs')).rejects.toMatchObject({ code: 'SESSION_NOT_FOUND' });
    await close(first);
    expect(count('strangers')).toBe(1);
    writeTranscript(home, { id: 'theirs', key: KEY, texts: ['now it is ours'] });
    const store = await openHome();
    expect(await texts(store, 'theirs')).toEqual(['now it is ours']);
  });

  test('a new transcript is noticed although another one was removed', async () => {
    writeMany(home, 3);
    await close(await openHome());
    rmSync(file('n0001'));
    writeTranscript(home, { id: 'new', key: KEY, activation: 1 });
    const store = await openHome();
    expect((await store.active(KEY))?.id).toBe('new');
  });
});

/** Another file, as a restore makes it; over the old one it would keep its inode. */
function restore(from: string): void {
  copyFileSync(from, `${control()}.restored`);
  for (const suffix of ['-wal', '-shm']) rmSync(control() + suffix, { force: true });
  renameSync(`${control()}.restored`, control());
}

describe('T17 an older copy of control.db', () => {
  test.each([
    ['put in its place', restore],
    ['written over it', (from: string): void => copyFileSync(from, control())],
  ])(
    '%s: reads see every line, keys their newest session, before anything is written',
    async (_how, putBack) => {
      const first = await openHome();
      await first.create({ id: 's1', key: KEY });
      await first.activate(KEY, 's1');
      await first.create({ id: 's2', key: KEY });
      await close(first);
      copyFileSync(control(), join(home, 'backup'));
      const later = await openHome();
      await later.append('s1', [say('since the backup')]);
      await later.activate(KEY, 's2');
      const { epoch } = await later.lease('s1');
      await close(later);
      putBack(join(home, 'backup'));
      const store = await openHome();
      const [seen, active] = await Promise.all([texts(store, 's1'), store.active(KEY)]);
      expect(seen).toEqual(['since the backup']);
      if (putBack === restore) expect(active?.id).toBe('s2');
      await rebuilt(store);
      expect((await store.active(KEY))?.id).toBe('s2');
      expect((await store.lease('s1')).epoch).toBeGreaterThan(epoch + 900_000);
      expect(await store.verify()).toMatchObject({ status: 'clean' });
    },
  );

  test.each(['jsonl', 'sqlite'] as const)(
    '%s: every grant is far above any before the copy',
    async (kind) => {
      const options = { kind, home, durability: 'os' } as const;
      const path = kind === 'jsonl' ? control() : join(home, 'store.db');
      const first = await openStore(options);
      await first.create({ id: 'quiet', key: KEY });
      await first.lease('quiet');
      await first[Symbol.asyncDispose]();
      copyFileSync(path, `${path}.copy`);
      renameSync(`${path}.copy`, path);
      for (const isHigher of [(epoch: number) => epoch > 1_000_000, (epoch: number) => epoch < 1_000_010]) {
        const store = await openStore(options);
        const { epoch } = await store.lease('quiet');
        await store[Symbol.asyncDispose]();
        expect(epoch).toSatisfy(isHigher);
      }
    },
  );
});

test('a rebuilt index knows whose each session is, and where it and its entries came from', async () => {
  const store = await openHome();
  const source = { tool: 'pi', id: 'p1' };
  const { id } = await store.create({ key: KEY, owner: 'anna', source });
  const { firstSeq } = await store.append(id, [{ ...say('one'), sourceId: 'e1' }, say('two')]);
  await store.create({ id: 'other', key: 'agent:main:session:other' });
  await close(store);
  rmSync(control());
  const again = await openHome();
  // Asked before anything was read again: the answer waits, and never says that there is no such session.
  expect((await again.sources.find(source))?.sessionId).toBe(id);
  expect((await again.create({ key: KEY, source })).id).toBe(id);
  expect((await again.get(id)).owner).toBe('anna');
  expect(await again.sources.entries(id, ['e1'])).toEqual(new Map([['e1', firstSeq]]));
  expect((await again.list({ owner: 'anna' })).sessions.map((session) => session.id)).toEqual([id]);
  expect((await again.get('other')).owner).toBeUndefined();
});

describe('a schema of another version', () => {
  beforeEach(async () => {
    const store = await openHome();
    await store.create({ id: 's1', key: KEY });
    await store.activate(KEY, 's1');
    await store.append('s1', [say('one')]);
    await store.inbox.receive({ sessionKey: KEY, source: 'tg', body: { text: 'waits' } });
    await close(store);
  });

  test('an older one is upgraded and continues', async () => {
    downgradeSchema(control());
    const store = await openHome();
    expect(existsSync(join(home, 'quarantine')), 'brought forward, not salvaged').toBe(false);
    await store.append('s1', [say('two')]);
    expect(await texts(store, 's1')).toEqual(['one', 'two']);
    expect(await store.inbox.pending()).toMatchObject([{ class: 'message', body: { text: 'waits' } }]);
    expect(count(`meta WHERE name = 'schema' AND value = '${SCHEMA_VERSION}'`)).toBe(1);
    expect(count('strangers')).toBe(0);
    expect((await store.list({ sort: 'messages' })).sessions).toMatchObject([{ id: 's1', messageCount: 2 }]);
  });

  test('T18 a newer one is read, and every write is STORE_NEWER', async () => {
    sql((db) =>
      db.exec(
        "ALTER TABLE sessions ADD COLUMN mood TEXT; UPDATE meta SET value = '99' WHERE name = 'schema'",
      ),
    );
    const before = readFileSync(control());
    const store = await openHome();
    expect(await texts(store, 's1')).toEqual(['one']);
    expect((await store.active(KEY))?.id).toBe('s1');
    expect((await store.list()).sessions).toHaveLength(1);
    expect(await store.stats()).toMatchObject({ sessions: 1 });
    expect(await store.verify()).toMatchObject({ status: 'clean' });
    const writes = [
      () => store.append('s1', [say('two')]),
      () => store.create({ key: KEY }),
      () => store.lease('s1'),
      () => store.inbox.receive({ sessionKey: KEY, source: 'tg', body: {} }),
      () => store.delete('s1'),
    ];
    for (const write of writes)
      await expect(write()).rejects.toMatchObject({ code: 'STORE_NEWER', outcome: 'none' });
    await close(store);
    expect(readFileSync(control())).toEqual(before);
  });

  test('a newer one whose tables are others is refused', async () => {
    sql((db) =>
      db.exec(
        "ALTER TABLE sessions RENAME COLUMN leaf TO tip; UPDATE meta SET value = '99' WHERE name = 'schema'",
      ),
    );
    await expect(openHome()).rejects.toMatchObject({ code: 'STORE_NEWER' });
  });
});

test('a torn end of an unread transcript goes to quarantine, whole lines stay', async () => {
  const path = writeTranscript(home, { id: 's1', key: KEY, texts: ['one', 'two'] });
  const whole = readFileSync(path);
  appendFileSync(path, '{"type":"message","id":');
  const store = await openHome();
  expect(await texts(store, 's1')).toEqual(['one', 'two']);
  expect(readFileSync(path)).toEqual(whole);
  expect(readdirSync(join(home, 'quarantine'))).toHaveLength(1);
});
