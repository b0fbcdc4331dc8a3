import {
  closeSync,
  copyFileSync,
  cpSync,
  existsSync,
  mkdirSync,
  mkdtempSync,
  openSync,
  readdirSync,
  readFileSync,
  renameSync,
  rmSync,
  statSync,
  symlinkSync,
  writeFileSync,
  writeSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import { afterAll, beforeAll, beforeEach, describe, expect, test } from 'vitest';
import { openStore } from '../../../../src/config/open.ts';
import type { NewEntry, Store } from '../../../../src/store/port/store.ts';
import { openControl } from '../../../../src/store/sqlite/control-file.ts';
import { startDriver } from '../../../../testing/crash/driver-process.ts';
import { createRandom } from '../../../../testing/crash/random.ts';

const PAGE = 4096;
const KEY = 'agent:main:main';
const LINES = 60;
const MESSAGES = 40;
const folder = mkdtempSync(join(tmpdir(), 'reprise-salvage-'));
afterAll(() => rmSync(folder, { recursive: true, force: true }));

const say = (content: string): NewEntry => ({ type: 'message', message: { role: 'user', content } });
const message = (i: number): { readonly text: string } => ({ text: `message ${i} `.repeat(20) });
const line = (i: number): string => `line ${i} `.repeat(20);
const receive = (store: Store, i: number) =>
  store.inbox.receive({
    sessionKey: KEY,
    source: 'tg',
    idempotencyKey: `m${i}`,
    body: message(i),
    ...(i % 4 === 1 && { class: 'system', group: { name: 'children' } }),
    ...(i % 4 === 2 && { class: 'command' }),
  });

/** A closed home: one session in its file, one in the journal only, messages that wait, and an id that was purged. */
async function seed(home: string): Promise<void> {
  // A link to nowhere where a folder should be: its lines stay in the journal.
  const blocked = join(home, 'agents', 'side', 'sessions');
  mkdirSync(dirname(blocked), { recursive: true });
  symlinkSync(join(home, 'nowhere'), blocked);
  const store = await openStore({ kind: 'jsonl', home, durability: 'os' });
  await store.create({ id: 's0', key: KEY });
  await store.activate(KEY, 's0');
  await store.create({ id: 's1', key: 'agent:side:tg:direct:bob' });
  for (let i = 0; i < LINES; i++) await store.append('s1', [say(line(i))], { key: `k${i}` });
  for (let i = 0; i < MESSAGES; i++) await receive(store, i);
  await store.create({ id: 's9', key: 'agent:main:tg:direct:eve' });
  await store.delete('s9');
  await store.purge('s9');
  await store.lease('s0');
  await store[Symbol.asyncDispose]();
  rmSync(blocked);
}

const base = join(folder, 'base');
beforeAll(() => seed(base));
let home = '';
let homes = 0;
beforeEach(() => {
  home = join(folder, `home-${homes++}`);
});
const control = (): string => join(home, 'control.db');

function overwrite(path: string, offset: number, bytes: Buffer): void {
  const fd = openSync(path, 'r+');
  writeSync(fd, bytes, 0, bytes.length, offset);
  closeSync(fd);
}

function query(path: string, text: string): Record<string, unknown>[] {
  const db = new DatabaseSync(path, { readOnly: true });
  try {
    return db.prepare(text).all();
  } finally {
    db.close();
  }
}

const CONTENTS = {
  journal: 'SELECT session_id, first_seq, last_seq, hex(bytes) AS bytes FROM journal',
  inbox: 'SELECT id, session_id, state, body, attempts, class, group_name, carries FROM inbox',
  inbound_keys: 'SELECT source, key, inbox_id FROM inbound_keys',
  purged: 'SELECT id FROM purged',
} as const;
type Contents = Readonly<Record<keyof typeof CONTENTS, readonly string[]>>;

function contents(path: string): Contents {
  const read = (text: string): string[] => query(path, text).map((row) => JSON.stringify(row));
  const { journal, inbox, inbound_keys, purged } = CONTENTS;
  return {
    journal: read(journal),
    inbox: read(inbox),
    inbound_keys: read(inbound_keys),
    purged: read(purged),
  };
}

interface Report {
  readonly kept: Readonly<Record<string, number>>;
  readonly lost: readonly string[];
}

function reports(of = home): Report[] {
  const quarantine = join(of, 'quarantine');
  if (!existsSync(quarantine)) return [];
  return readdirSync(quarantine)
    .filter((name) => name.endsWith('.salvage.json'))
    .map((name) => JSON.parse(readFileSync(join(quarantine, name), 'utf8')) as Report);
}

/** Opens the home; damage that did not show by itself is searched, as after a request met it. */
function mend(): void {
  const options = { path: control(), home, durability: 'os' } as const;
  openControl(options).db.close();
  writeFileSync(`${control()}.damaged`, '');
  openControl(options).db.close();
  expect(existsSync(`${control()}.damaged`)).toBe(false);
  expect(query(control(), 'PRAGMA integrity_check')).toEqual([{ integrity_check: 'ok' }]);
}

const rootOf = (path: string, table: string): number =>
  Number(query(path, `SELECT rootpage FROM sqlite_schema WHERE name = '${table}'`)[0]?.['rootpage']);

test('answers that are on their way to a channel are kept', async () => {
  cpSync(base, home, { recursive: true });
  const db = new DatabaseSync(control());
  db.exec(`INSERT INTO outbox (session_id, channel, conversation, key, payload, next_at, created_at)
    VALUES ('s1', 'tg', 'bob', 'k1', '{"text":"hi"}', '2026-01-01T00:00:00.000Z', '2026-01-01T00:00:00.000Z')`);
  const [{ pageno = 0 } = {}] = db.prepare("SELECT pageno FROM dbstat WHERE name = 'inbox_open'").all();
  db.close();
  overwrite(control(), (Number(pageno) - 1) * PAGE, Buffer.alloc(PAGE, 0xff));
  const store = await openStore({ kind: 'jsonl', home, durability: 'os' });
  await store[Symbol.asyncDispose]();
  expect(readdirSync(join(home, 'quarantine')).filter((name) => name.endsWith('.salvage.json'))).toHaveLength(
    1,
  );
  expect(query(control(), 'SELECT key, payload, state FROM outbox')).toEqual([
    { key: 'k1', payload: '{"text":"hi"}', state: 'queued' },
  ]);
});

describe('T17 damage anywhere in control.db', () => {
  test('a page of zeros, whichever: what can be read is kept, what is missing is reported', {
    tags: 'long',
  }, () => {
    const before = contents(join(base, 'control.db'));
    expect([before.journal.length, before.inbox.length, before.inbound_keys.length]).toEqual([
      LINES + 1,
      40,
      40,
    ]);
    const pages = statSync(join(base, 'control.db')).size / PAGE;
    let whole = 0;
    for (let page = 0; page < pages; page++) {
      home = join(folder, `page-${page}`);
      mkdirSync(home);
      copyFileSync(join(base, 'control.db'), control());
      overwrite(control(), page * PAGE, Buffer.alloc(PAGE));
      mend();
      const after = contents(control());
      const lost = reports().flatMap((report) => report.lost);
      for (const table of Object.keys(CONTENTS) as (keyof Contents)[]) {
        const missing = before[table].filter((row) => !after[table].includes(row));
        if (missing.length > 0 && !lost.some((text) => text.startsWith(`${table}:`)))
          throw new Error(`page ${page}: ${missing.length} rows of ${table} are gone and nobody says so`);
        // One page is the damage, and not much more than its rows may go with it.
        if (missing.length === 0) whole++;
      }
      rmSync(home, { recursive: true });
    }
    // Most pages concern one table or none.
    expect(whole).toBeGreaterThan(pages * 3);
  });

  test('changed bytes, wherever: it opens, and nothing is gone without a word', () => {
    const random = createRandom(20260102);
    const size = statSync(join(base, 'control.db')).size;
    for (let round = 0; round < 40; round++) {
      home = join(folder, `flip-${round}`);
      mkdirSync(home);
      copyFileSync(join(base, 'control.db'), control());
      for (let n = random.integer(1, 20); n > 0; n--)
        overwrite(control(), random.integer(0, size - 1), Buffer.from([random.integer(0, 255)]));
      mend();
      const after = contents(control());
      const lost = reports().flatMap((report) => report.lost);
      const [lines, items] = [after.journal.length, after.inbox.length];
      if (lines < LINES + 1) expect(lost.join(), `round ${round}`).toContain('journal:');
      if (items < MESSAGES) expect(lost.join(), `round ${round}`).toContain('inbox:');
      rmSync(home, { recursive: true });
    }
  });

  test('the first page, by which everything is found: all is kept', () => {
    mkdirSync(home);
    copyFileSync(join(base, 'control.db'), control());
    overwrite(control(), 0, Buffer.alloc(PAGE, 0x5a));
    mend();
    expect(contents(control())).toEqual(contents(join(base, 'control.db')));
    expect(reports()).toMatchObject([{ kept: { journal: LINES + 1, inbox: MESSAGES, purged: 1 }, lost: [] }]);
  });
});

/** What a person does: meets damage, stops, starts again. */
async function openMended(kind: 'jsonl' | 'sqlite'): Promise<Store> {
  const store = await openStore({ kind, home, durability: 'os' });
  try {
    await store.verify();
    await store.list();
    return store;
  } catch (error) {
    expect(error).toMatchObject({ code: 'STORE_CORRUPT' });
    await store[Symbol.asyncDispose]();
    return openStore({ kind, home, durability: 'os' });
  }
}

async function texts(store: Store, id: string): Promise<unknown[]> {
  const { entries } = await store.read(id, { limit: 1000 });
  return entries.flatMap(({ entry }) => (entry as { message?: { content: unknown } }).message?.content ?? []);
}

describe('after damage to its index a home continues', () => {
  test('lines that stood in the journal only, waiting messages, keys and purged ids are there', async () => {
    cpSync(base, home, { recursive: true });
    overwrite(control(), (rootOf(control(), 'sessions') - 1) * PAGE, Buffer.alloc(PAGE));
    await using store = await openMended('jsonl');
    const all = Array.from({ length: LINES }, (_, i) => line(i));
    expect(await texts(store, 's1')).toEqual(all);
    expect(await store.append('s1', [say(line(7))], { key: 'k7' })).toMatchObject({
      firstSeq: 9,
      lastSeq: 9,
    });
    expect(await store.append('s1', [say('more')])).toMatchObject({ firstSeq: LINES + 2 });
    const pending = await store.inbox.pending('s0');
    expect(pending.map(({ body }) => body)).toEqual(Array.from({ length: MESSAGES }, (_, i) => message(i)));
    expect(await receive(store, 3)).toMatchObject({ fresh: false, sessionId: 's0' });
    expect(await receive(store, 99)).toMatchObject({ fresh: true, sessionId: 's0' });
    await expect(store.get('s9')).rejects.toMatchObject({ code: 'GONE' });
    expect((await store.lease('s0')).epoch).toBeGreaterThan(1_000_000);
    expect(await store.verify()).toEqual({ status: 'clean', findings: [] });
    expect(reports()).toMatchObject([{ lost: [] }]);
  });

  test('two processes that meet it at once salvage it once', async () => {
    cpSync(base, home, { recursive: true });
    overwrite(control(), 0, Buffer.alloc(100));
    const drivers = await Promise.all([0, 1].map(() => startDriver({ store: 'jsonl', home })));
    const answers = await Promise.all(
      drivers.map((driver, i) =>
        driver.send({ op: 'append', id: 's1', entries: [say(`by ${i}`)], key: `by ${i}` }),
      ),
    );
    for (const driver of drivers) expect((await driver.stop()).code).toBe(0);
    expect(answers.map(({ ok }) => ok)).toEqual([true, true]);
    expect(reports()).toHaveLength(1);
    await using store = await openStore({ kind: 'jsonl', home });
    expect((await texts(store, 's1')).slice(LINES).sort()).toEqual(['by 0', 'by 1']);
  });

  test('a salvage that was killed between its two renames is finished', async () => {
    cpSync(base, home, { recursive: true });
    renameSync(control(), `${control()}.salvaged`);
    writeFileSync(`${control()}.salvaging`, 'half of one');
    await using store = await openStore({ kind: 'jsonl', home, durability: 'os' });
    expect(await texts(store, 's1')).toHaveLength(LINES);
    expect(await store.inbox.pending()).toHaveLength(MESSAGES);
    expect(existsSync(`${control()}.salvaged`)).toBe(false);
  });

  test('a log whose database was removed is kept, not deleted', async () => {
    cpSync(base, home, { recursive: true });
    const first = await openStore({ kind: 'jsonl', home, durability: 'os' });
    await first.append('s1', [say('in the log')]);
    const log = readFileSync(`${control()}-wal`);
    await first[Symbol.asyncDispose]();
    rmSync(control());
    writeFileSync(`${control()}-wal`, log);
    await using store = await openStore({ kind: 'jsonl', home, durability: 'os' });
    expect((await texts(store, 's1')).at(-1)).toBe('in the log');
    const kept = readdirSync(join(home, 'quarantine')).find((name) => name.startsWith('control.db-wal'));
    expect(readFileSync(join(home, 'quarantine', kept ?? ''))).toEqual(log);
    expect(reports()).toHaveLength(1);
  });
});

describe('the sqlite store, which has no transcripts', () => {
  const SESSIONS = 12;
  const path = (): string => join(home, 'store.db');
  const sqliteBase = join(folder, 'sqlite-base');
  beforeAll(async () => {
    await using store = await openStore({ kind: 'sqlite', home: sqliteBase, durability: 'os' });
    for (let n = 0; n < SESSIONS; n++) {
      await store.create({
        id: `s${n}`,
        key: `agent:main:tg:direct:${n}`,
        settings: { label: `label ${n}` },
      });
      await store.activate(`agent:main:tg:direct:${n}`, `s${n}`);
      for (let i = 0; i < 12; i++) await store.append(`s${n}`, [say(`${n}: ${line(i)}`)]);
    }
  });

  const expected = (n: number): string[] => Array.from({ length: 12 }, (_, i) => `${n}: ${line(i)}`);

  test('sessions are made again from their lines', async () => {
    cpSync(sqliteBase, home, { recursive: true });
    overwrite(path(), (rootOf(path(), 'sessions') - 1) * PAGE, Buffer.alloc(PAGE));
    await using store = await openMended('sqlite');
    for (let n = 0; n < SESSIONS; n++) {
      expect(await texts(store, `s${n}`)).toEqual(expected(n));
      expect(await store.active(`agent:main:tg:direct:${n}`)).toMatchObject({
        id: `s${n}`,
        label: `label ${n}`,
      });
    }
    expect(await store.append('s3', [say('on')])).toMatchObject({ firstSeq: 16 });
    expect(await store.verify()).toEqual({ status: 'clean', findings: [] });
  });

  test('where lines are lost their session says so, and the others are whole', async () => {
    cpSync(sqliteBase, home, { recursive: true });
    const at = readFileSync(path()).indexOf(`5: ${line(6)}`);
    overwrite(path(), Math.floor(at / PAGE) * PAGE, Buffer.alloc(PAGE));
    await using store = await openMended('sqlite');
    const lost = reports().flatMap((report) => report.lost);
    expect(lost.some((text) => text.startsWith('journal: session s5 from line'))).toBe(true);
    const named = new Set(lost.flatMap((text) => /session (s\d+)/.exec(text)?.[1] ?? []));
    for (let n = 0; n < SESSIONS; n++) {
      if (!named.has(`s${n}`)) expect(await texts(store, `s${n}`)).toEqual(expected(n));
    }
    expect(named.size).toBeLessThan(4);
    const rest = await texts(store, 's5');
    expect(rest.length).toBeLessThan(12);
    expect(expected(5)).toEqual(expect.arrayContaining(rest));
    await expect(store.append('s5', [say('on')])).rejects.toMatchObject({ code: 'STORE_CORRUPT' });
  });
});
