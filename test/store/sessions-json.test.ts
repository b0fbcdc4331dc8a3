import {
  appendFileSync,
  existsSync,
  linkSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  rmSync,
  statSync,
  symlinkSync,
  utimesSync,
  writeFileSync,
} from 'node:fs';
import { dirname, join } from 'node:path';
import type { SQLInputValue } from 'node:sqlite';
import { describe, expect, test } from 'vitest';
import { openStore } from '../../src/config/open.ts';
import { parseIndexKey } from '../../src/keys/index-key.ts';
import { SessionsJson } from '../../src/store/jsonl/sessions-json.ts';
import type { Store } from '../../src/store/port/store.ts';
import { openControl } from '../../src/store/sqlite/control-file.ts';
import type { Database } from '../../src/store/sqlite/database.ts';
import { type DriverProcess, startDriver } from '../../testing/crash/driver-process.ts';
import { filesHolding } from '../support/store/home-bytes.ts';
import { JsonlHome, say } from '../support/store/jsonl-home.ts';
import { must, until } from '../support/store/store-faults.ts';

type Entry = Readonly<Record<string, unknown>>;
type Index = Readonly<Record<string, Entry>>;

const KEY = 'agent:main:main';

const fileOf = (home: string, agent = 'main'): string =>
  join(home, 'agents', agent, 'sessions', 'sessions.json');

function indexOf(home: string, agent?: string): Index {
  const file = fileOf(home, agent);
  return existsSync(file) ? (JSON.parse(readFileSync(file, 'utf8')) as Index) : {};
}

/** Each entry's session by its index key. */
const idsIn = (index: Index): Record<string, unknown> =>
  Object.fromEntries(Object.entries(index).map(([key, { sessionId }]) => [key, sessionId]));

/** Temporary files, and edited files that were moved aside. */
const besides = (home: string): string[] =>
  readdirSync(home, { recursive: true, encoding: 'utf8' })
    .filter((name) => /sessions\.json\./.test(name))
    .sort();

const ASIDE = join('agents', 'main', 'sessions.json.edited.1');

describe('sessions.json of a home that is in use', () => {
  test('lists a new session, and each change of its title, label and counts, within a second', async () => {
    await using home = new JsonlHome();
    const store = await home.open();
    const entry = () => indexOf(home.path)[KEY];
    const soon = { timeout: 5000 };
    await store.create({ id: 's1', key: KEY, activate: true });
    await expect.poll(entry, soon).toMatchObject({ sessionId: 's1', sessionFile: 's1.jsonl' });
    await store.append('s1', [say('hello')]);
    const { lastAt, createdAt } = await store.get('s1');
    const { tokenEstimate } = await store.get('s1');
    expect(tokenEstimate).toBeGreaterThan(0);
    await expect.poll(entry, soon).toMatchObject({ title: 'hello', messageCount: 1, tokenEstimate });
    expect(entry()).toMatchObject({ updatedAt: Date.parse(lastAt), createdAt: Date.parse(createdAt) });
    await store.patch('s1', { label: 'a name' });
    await expect.poll(entry, soon).toMatchObject({ label: 'a name' });
    const sizes = { tokensBefore: 80_000, tokensAfter: 5000 };
    await store.append('s1', [{ type: 'compaction', summary: 'so far', firstKeptEntryId: 'x', ...sizes }]);
    await expect.poll(entry, soon).toMatchObject({ tokenEstimate: 5000 });
    expect(besides(home.path)).toEqual([]);
  });

  test('lists every open session of a key, the active one under the key itself', async () => {
    await using home = new JsonlHome();
    const store = await home.open();
    for (const id of ['one', 'two', 'three']) {
      await store.create({ id, key: KEY });
      await store.activate(KEY, id);
    }
    await store.create({ id: 'other', key: 'agent:second:telegram:direct:ann', activate: true });
    await store.delete('two');
    await home.close();
    expect(idsIn(indexOf(home.path))).toEqual({ [KEY]: 'three', [`${KEY}:session:one`]: 'one' });
    expect(idsIn(indexOf(home.path, 'second'))).toEqual({ 'agent:second:telegram:direct:ann': 'other' });
    const again = await home.open();
    await again.restore('two');
    await home.close();
    expect(idsIn(indexOf(home.path))).toEqual({
      [KEY]: 'three',
      [`${KEY}:session:one`]: 'one',
      [`${KEY}:session:two`]: 'two',
    });
  });

  test('loses no session whose key looks like the index key of another one', async () => {
    await using home = new JsonlHome();
    const store = await home.open();
    await store.create({ id: 'old', key: KEY, activate: true });
    await store.create({ id: 'new', key: KEY });
    await store.activate(KEY, 'new');
    await store.create({ id: 'odd', key: `${KEY}:session:old`, activate: true });
    await store.create({ id: 'own', key: 'agent:main:session:own', activate: true });
    await home.close();
    const found = Object.entries(indexOf(home.path)).map(([key, { sessionId }]) => {
      return [sessionId, parseIndexKey(key, String(sessionId))];
    });
    expect(Object.fromEntries(found)).toEqual({
      old: { key: KEY, active: false },
      new: { key: KEY, active: true },
      odd: { key: `${KEY}:session:old`, active: true },
      own: { key: 'agent:main:session:own', active: true },
    });
  });

  test('is left alone while nothing changes, and is empty when the last session is deleted', async () => {
    await using home = new JsonlHome();
    await (await home.open()).create({ id: 's1', key: KEY, activate: true });
    await home.close();
    const { ino, mtimeMs } = statSync(fileOf(home.path));
    const store = await home.open();
    await store.list();
    await home.close();
    expect(statSync(fileOf(home.path))).toMatchObject({ ino, mtimeMs });
    await (await home.open()).delete('s1');
    await home.close();
    expect(readFileSync(fileOf(home.path), 'utf8')).toBe('{}\n');
  });

  test('has what another process wrote before it was killed', async () => {
    await using home = new JsonlHome();
    const store = await home.open();
    await store.create({ id: 's1', key: KEY, activate: true });
    await expect.poll(() => Object.keys(indexOf(home.path)), { timeout: 5000 }).toEqual([KEY]);
    const driver = await startDriver({ store: 'jsonl', home: home.path });
    await driver.send({ op: 'create', id: 's2', key: 'agent:main:other' });
    driver.kill('SIGKILL');
    await driver.exited;
    const ids = (): unknown[] => Object.values(idsIn(indexOf(home.path)));
    await expect.poll(ids, { timeout: 20_000 }).toEqual(['s1', 's2']);
  });
});

describe('sessions.json that something else has changed', () => {
  const edited = '{\n  "agent:main:main": {"sessionId":"s1","title":"a title of my own"}\n}\n';

  async function homeWithIndex(): Promise<JsonlHome> {
    const home = new JsonlHome();
    const store = await home.open();
    await store.create({ id: 's1', key: KEY, activate: true });
    await store.append('s1', [say('hello')]);
    await home.close();
    return home;
  }

  /** Opens the home, makes a change and closes it. @returns what the owner was warned of. */
  async function use(path: string): Promise<string[]> {
    const warnings: string[] = [];
    await using store = await openStore({
      kind: 'jsonl',
      home: path,
      onWarning: (text) => warnings.push(text),
    });
    await store.append('s1', [say('more')]);
    return warnings;
  }

  test('is moved aside and reported with the command that imports it, while the home is in use', async () => {
    await using home = await homeWithIndex();
    const warnings: string[] = [];
    await using store = await openStore({
      kind: 'jsonl',
      home: home.path,
      onWarning: (text) => warnings.push(text),
    });
    writeFileSync(fileOf(home.path), edited);
    await store.append('s1', [say('more')]);
    await expect.poll(() => warnings, { timeout: 5000 }).toHaveLength(1);
    const aside = join(home.path, ASIDE);
    expect(warnings[0]).toContain(`reprise import '${aside}'`);
    expect(readFileSync(aside, 'utf8')).toBe(edited);
    expect(indexOf(home.path)[KEY]).toMatchObject({ title: 'hello', messageCount: 2 });
  });

  test('is found by the next process that changes something, and no edited file is ever replaced', async () => {
    await using home = await homeWithIndex();
    writeFileSync(fileOf(home.path), edited);
    expect(await use(home.path)).toHaveLength(1);
    expect(await use(home.path)).toEqual([]);
    const second = readFileSync(fileOf(home.path), 'utf8').replace('hello', 'hallo');
    writeFileSync(fileOf(home.path), second);
    expect(await use(home.path)).toHaveLength(1);
    appendFileSync(fileOf(home.path), '\n');
    expect(await use(home.path)).toHaveLength(1);
    const names = [1, 2, 3].map((n) => join('agents', 'main', `sessions.json.edited.${n}`));
    expect(besides(home.path)).toEqual(names);
    const [first = '', next = ''] = names;
    expect(readFileSync(join(home.path, first), 'utf8')).toBe(edited);
    expect(readFileSync(join(home.path, next), 'utf8')).toBe(second);
    expect(indexOf(home.path)[KEY]).toMatchObject({ title: 'hello', messageCount: 5 });
  });

  test('is found without control.db too, and a file that no program changed is not reported then', async () => {
    await using home = await homeWithIndex();
    await home.rebuild();
    await home.close();
    expect(await use(home.path)).toEqual([]);
    writeFileSync(fileOf(home.path), edited);
    for (const suffix of ['', '-wal', '-shm'])
      rmSync(join(home.path, `control.db${suffix}`), { force: true });
    expect(await use(home.path)).toHaveLength(1);
    expect(readFileSync(join(home.path, ASIDE), 'utf8')).toBe(edited);
  });

  test('is kept whole when an editor is still writing it', async () => {
    await using home = await homeWithIndex();
    const file = fileOf(home.path);
    // An editor that empties the file, and fills it when Reprise has replaced it.
    const editor = join(home.path, 'editor');
    linkSync(file, editor);
    writeFileSync(editor, '');
    expect(await use(home.path)).toHaveLength(1);
    appendFileSync(editor, edited);
    expect(readFileSync(join(home.path, ASIDE), 'utf8')).toBe(edited);
  });

  test.each([
    ['an empty file, as a power cut leaves it', ''],
    ['a file of zero bytes, as a power cut leaves it', '\0'.repeat(4096)],
    [
      'a file of an older version',
      `${JSON.stringify({ [KEY]: { sessionId: 's1', sessionFile: 's1.jsonl', title: 'hello', messageCount: 1 } }, null, 2)}\n`,
    ],
  ])('%s is no edit', async (_, text) => {
    await using home = await homeWithIndex();
    writeFileSync(fileOf(home.path), text);
    const longAgo = new Date(Date.now() - 60_000);
    utimesSync(fileOf(home.path), longAgo, longAgo);
    expect(await use(home.path)).toEqual([]);
    expect(besides(home.path)).toEqual([]);
    expect(indexOf(home.path)[KEY]).toMatchObject({ messageCount: 2 });
  });

  test.each([
    ['a link', (file: string) => symlinkSync('/nowhere', file)],
    ['a folder', (file: string) => mkdirSync(join(file, 'inside'), { recursive: true })],
  ])('%s in its place is kept too', async (_, put) => {
    await using home = await homeWithIndex();
    const file = fileOf(home.path);
    rmSync(file);
    put(file);
    expect(await use(home.path)).toHaveLength(1);
    expect(besides(home.path)[0]).toBe(ASIDE);
    expect(indexOf(home.path)[KEY]).toMatchObject({ messageCount: 2 });
  });
});

test('one agent whose folder cannot be used keeps no other file from being written, and no purge from being done', async () => {
  await using home = new JsonlHome();
  mkdirSync(join(home.path, 'agents', 'side'), { recursive: true });
  symlinkSync(join(home.path, 'nowhere'), join(home.path, 'agents', 'side', 'sessions'));
  const store = await home.open();
  await store.create({ id: 's1', key: KEY, activate: true });
  await store.create({ id: 's2', key: 'agent:side:main', activate: true });
  await expect.poll(() => idsIn(indexOf(home.path)), { timeout: 5000 }).toEqual({ [KEY]: 's1' });
  await store.delete('s1');
  await store.purge('s1');
  expect(indexOf(home.path)).toEqual({});
});

/** The index of a closed home, with a database whose reads a test can watch. */
class WatchedIndex implements Disposable {
  readonly #path: string;
  readonly #db: Database;
  readonly index: SessionsJson;
  /** Called once, after the next page of sessions. */
  onPage: ((db: Database) => void) | undefined;
  onPublish: (() => void) | undefined;
  /** When each pass began, and how long its reads took. */
  readonly passes: { readonly at: number; ms: number }[] = [];

  constructor(home: string) {
    this.#path = join(home, 'control.db');
    this.#db = openControl({ path: this.#path, home, durability: 'os' }).db;
    const rows = (text: string, ...values: SQLInputValue[]): unknown[] => {
      const at = performance.now();
      if (values[0] === '') this.passes.push({ at, ms: 0 });
      const found = this.#db.rows(text, ...values);
      const pass = this.passes.at(-1);
      if (pass !== undefined) pass.ms += performance.now() - at;
      const { onPage } = this;
      this.onPage = undefined;
      onPage?.(this.#db);
      return found;
    };
    const transaction = <T>(work: () => T, options: { readonly lazy?: boolean }): T => {
      const result = this.#db.transaction(work, options);
      this.onPublish?.();
      return result;
    };
    const watched = { rows, transaction } as Pick<Database, 'rows' | 'transaction'>;
    this.index = this.other(watched);
  }

  /** As another process has it. */
  other(db: Pick<Database, 'rows' | 'transaction'> = this.#db): SessionsJson {
    const options = { home: dirname(this.#path), isReady: () => true, onEdited: () => undefined };
    return new SessionsJson({ db, ...options });
  }

  change(work: (db: Database) => void): void {
    work(this.#db);
  }

  [Symbol.dispose](): void {
    this.index.stop();
    this.#db.close();
  }
}

async function createMany(store: Store, count: number): Promise<void> {
  const ids = Array.from({ length: count }, (_, n) => `s${n}`);
  await Promise.all(ids.map((id) => store.create({ id, key: `agent:main:cli:direct:${id}` })));
}

describe('a pass over all sessions', () => {
  /** Sessions without transcripts, which would take long to make. */
  async function watchedHome(home: JsonlHome, count: number): Promise<WatchedIndex> {
    await (await home.open()).create({ id: 's0', key: KEY });
    await home.close();
    const watched = new WatchedIndex(home.path);
    watched.change((db) =>
      db.run(
        `WITH RECURSIVE numbers (n) AS (SELECT 1 UNION ALL SELECT n + 1 FROM numbers WHERE n < ?)
         INSERT INTO sessions (id, agent_id, key, kind, created_at, last_at, seq, q)
         SELECT 's' || n, agent_id, key || ':thread:' || n, kind, created_at, last_at, 1, 1 FROM sessions, numbers`,
        count - 1,
      ),
    );
    return watched;
  }

  test('never replaces what another process wrote since it began, because that is newer', async () => {
    await using home = new JsonlHome();
    using watched = await watchedHome(home, 150);
    const title = (): unknown => byId(fileOf(home.path))['s0']?.['title'];
    const seen: unknown[] = [];
    const setTitle = (db: Database, to: string): void => {
      db.run("UPDATE sessions SET title = ? WHERE id = 's0'", to);
    };
    // So that the pass has something to write.
    watched.change((db) => setTitle(db, 'old'));
    watched.onPage = (db) => {
      setTitle(db, 'new');
      const other = watched.other();
      other.erase();
      seen.push(title());
    };
    watched.onPublish = () => seen.push(title());
    watched.index.noteChange();
    // The pass is made again, and finds nothing to write then.
    await expect.poll(() => watched.passes.length, { timeout: 10_000 }).toBe(2);
    expect(seen).toEqual(['new', 'new']);
    expect(title()).toBe('new');
  });

  test('rests between passes over more than 1,000 sessions, whatever changes', async () => {
    await using home = new JsonlHome();
    using watched = await watchedHome(home, 2000);
    const change = setInterval(() => watched.index.noteChange(), 5);
    try {
      await expect.poll(() => watched.passes.length, { timeout: 60_000 }).toBeGreaterThanOrEqual(4);
    } finally {
      clearInterval(change);
    }
    const [first, , , last] = watched.passes;
    const busyMs = watched.passes.slice(0, 3).reduce((sum, { ms }) => sum + ms, 0);
    // 2 % of CPU time; wall time is longer on a busy machine. Without the rest it takes 10 %.
    expect(busyMs / ((last?.at ?? 0) - (first?.at ?? 0))).toBeLessThan(0.06);
  });
});

describe('purging a session', () => {
  test('removes its title from sessions.json at once, whatever another process is writing', async () => {
    await using home = new JsonlHome();
    await using store = await openStore({ kind: 'jsonl', home: home.path, durability: 'os' });
    await createMany(store, 120);
    await store.append('s7', [say('gone-title-7f3a91')]);
    await using other = await startDriver({ store: 'jsonl', home: home.path });
    // The other process is in the middle of a pass, or about to begin one, when the session is purged.
    const appends = Array.from({ length: 60 }, (_, n) =>
      other.send({ op: 'append', id: `s${n + 50}`, messages: [{ role: 'user', content: `hello ${n}` }] }),
    );
    await store.delete('s7');
    await store.purge('s7');
    const holding = (): string[] => filesHolding(home.path, ['gone-title-7f3a91']);
    expect(holding()).toEqual([]);
    await Promise.all(appends);
    const last = () => byId(fileOf(home.path))['s109']?.['title'];
    await expect.poll(last, { timeout: 10_000 }).toBe('hello 59');
    expect(holding()).toEqual([]);
  });

  test('lists edited files that name the session, and removes them on request', async () => {
    await using home = new JsonlHome();
    const store = await openStore({ kind: 'jsonl', home: home.path, onWarning: () => undefined });
    await store.create({ id: 's1', key: KEY, activate: true });
    await store.create({ id: 's2', key: 'agent:main:other', activate: true });
    await expect.poll(() => Object.keys(indexOf(home.path)), { timeout: 5000 }).toHaveLength(2);
    const edited = '{"agent:main:main": {"sessionId": "s1", "title": "gone-7f3a91"}}';
    writeFileSync(fileOf(home.path), edited);
    await store.delete('s1');
    // Whether it was moved aside before or by the purge.
    const { files } = await store.purge('s1');
    expect(files).toEqual([join(home.path, ASIDE)]);
    expect(readFileSync(join(home.path, ASIDE), 'utf8')).toBe(edited);
    await store.delete('s2');
    expect(await store.purge('s2')).toEqual({ files: [] });
    await store.create({ id: 's3', key: KEY });
    writeFileSync(fileOf(home.path), edited.replace('s1', 's3'));
    await store.delete('s3');
    expect(await store.purge('s3', { removeFiles: true })).toEqual({ files: [] });
    expect(besides(home.path)).toEqual([ASIDE]);
    await store[Symbol.asyncDispose]();
  });
});

describe('sessions.json of several processes', () => {
  test('is whole at every moment, and lists everything in the end', async () => {
    await using home = new JsonlHome();
    const open = (): Promise<DriverProcess> => startDriver({ store: 'jsonl', home: home.path });
    const drivers = await Promise.all([open(), open(), open()]);
    const file = fileOf(home.path);
    let isOver = false;
    let looks = 0;
    const watch = (async () => {
      let wasThere = false;
      while (!isOver) {
        // Throws at the first look that finds half a file, or none where there was one.
        wasThere ||= existsSync(file);
        if (wasThere)
          looks += Object.keys(JSON.parse(readFileSync(file, 'utf8')) as Index).length > 0 ? 1 : 0;
        await new Promise(setImmediate);
      }
    })();
    await Promise.all(
      drivers.map(async (driver, who) => {
        for (let n = 0; n < 40; n++) {
          const id = `s${who}-${n}`;
          await must(driver, { op: 'create', id, key: `agent:main:cli:direct:${id}` });
          await must(driver, { op: 'append', id, messages: [{ role: 'user', content: `hello ${id}` }] });
          if (n % 10 === 0) await until('the file is replaced', () => id in byId(file));
        }
      }),
    );
    await Promise.all(drivers.map((driver) => driver.stop()));
    isOver = true;
    await watch;
    expect(looks).toBeGreaterThan(10);
    const titles = Object.values(byId(file)).map(({ title }) => title);
    expect(titles).toHaveLength(120);
    expect(new Set(titles).size).toBe(120);
    expect(besides(home.path)).toEqual([]);
  }, 120_000);
});

function byId(file: string): Record<string, Entry> {
  if (!existsSync(file)) return {};
  const index = JSON.parse(readFileSync(file, 'utf8')) as Index;
  return Object.fromEntries(Object.values(index).map((entry) => [String(entry['sessionId']), entry]));
}
