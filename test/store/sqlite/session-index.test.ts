import {
  appendFileSync,
  cpSync,
  existsSync,
  mkdtempSync,
  readFileSync,
  rmSync,
  writeFileSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import { describe, expect, test } from 'vitest';
import { openIndex, openStore } from '../../../src/config/open.ts';
import type { ListQuery, SessionPage, Store } from '../../../src/store/port/store.ts';
import { JsonlHome, say } from '../../support/store/jsonl-home.ts';
import { takenIn, transcriptPath, writeSealedSession } from '../../support/store/sealed-home.ts';

/** As a program asks that ends afterwards. */
async function look(
  home: string,
  query: ListQuery = {},
  kind: 'jsonl' | 'sqlite' = 'jsonl',
): Promise<SessionPage | undefined> {
  using index = await openIndex({ kind, home });
  return index?.list(query);
}

const ids = (page: SessionPage | undefined): string[] | undefined => page?.sessions.map(({ id }) => id);

/** Closed in order, with two sessions. */
async function closedHome(): Promise<JsonlHome> {
  const home = new JsonlHome();
  await home.open();
  await home.seed('s1', 'one');
  await home.seed('s2', 'two');
  await home.close();
  return home;
}

function change(home: JsonlHome, sql: string): void {
  using db = new DatabaseSync(join(home.path, 'control.db'));
  db.exec(sql);
}

describe('a look at the index', () => {
  test.each(['jsonl', 'sqlite'] as const)('lists what the %s store lists, open or closed', async (kind) => {
    const home = mkdtempSync(join(tmpdir(), 'reprise-index-'));
    const queries: ListQuery[] = [
      {},
      { limit: 2 },
      { agentId: 'helper' },
      { kind: 'group' },
      { status: 'deleted' },
      { text: 'GARDEN' },
    ];
    let expected: SessionPage[];
    {
      await using store = await openStore({ kind, home });
      for (let i = 0; i < 5; i++) {
        const agent = i === 1 ? 'helper' : 'main';
        const { id } = await store.create({
          key: `agent:${agent}:telegram:${i < 3 ? 'direct' : 'group'}:${i}`,
        });
        await store.append(id, [say(i === 2 ? 'the garden' : `talk ${i}`)]);
        if (i === 4) await store.delete(id);
      }
      expected = await Promise.all(queries.map((query) => store.list(query)));
      // What is committed and not in its file yet is listed like everything else.
      for (const [i, query] of queries.entries()) expect(await look(home, query, kind)).toEqual(expected[i]);
    }
    for (const [i, query] of queries.entries()) expect(await look(home, query, kind)).toEqual(expected[i]);
    const { cursor } = expected[1] as SessionPage;
    await using store = await openStore({ kind, home });
    const next = { limit: 2, cursor: cursor ?? '' };
    expect(await look(home, next, kind)).toEqual(await store.list(next));
  });

  test('reads no transcript: a list is the same when each has other bytes of the same length', async () => {
    await using home = await closedHome();
    const before = await look(home.path);
    expect(ids(before)).toEqual(['s2', 's1']);
    for (const id of ['s1', 's2']) {
      const { length } = readFileSync(home.file(id));
      writeFileSync(home.file(id), Buffer.alloc(length));
    }
    expect(await look(home.path)).toEqual(before);
  });

  test('leaves the home as it was: the next store opens and writes', async () => {
    await using home = await closedHome();
    expect(ids(await look(home.path))).toEqual(['s2', 's1']);
    const store = await home.open();
    await store.append('s1', [say('three')]);
    expect(ids(await look(home.path))).toEqual(['s1', 's2']);
  });

  test('is no answer when the index may not be all there is, and is one again when it is', async () => {
    await using home = await closedHome();
    const database = join(home.path, 'control.db');
    const set = (name: string, value: string) => (): (() => void) => {
      using db = new DatabaseSync(database);
      const before = db.prepare('SELECT value FROM meta WHERE name = ?').get(name)?.['value'];
      db.prepare('UPDATE meta SET value = ? WHERE name = ?').run(value, name);
      return () => change(home, `UPDATE meta SET value = '${String(before)}' WHERE name = '${name}'`);
    };
    const written = (path: string, bytes: string | Buffer) => (): (() => void) => {
      const before = existsSync(path) ? readFileSync(path) : undefined;
      writeFileSync(path, bytes);
      return () => (before === undefined ? rmSync(path) : writeFileSync(path, before));
    };
    const brought = (agentId: string) => (): (() => void) => {
      writeSealedSession(home.path, { id: 'brought', messages: 2, agentId });
      return () => rmSync(transcriptPath(home.path, 'brought', agentId));
    };
    const transcript = readFileSync(home.file('s1'));
    const happenings: Readonly<Record<string, () => () => void>> = {
      'an older version made it': set('schema', '5'),
      'a newer version made it': set('schema', '99'),
      'it was copied from elsewhere': set('identity', '1:1'),
      'a rebuild was not finished': set('surveyed', ''),
      'somebody met damage in it': written(`${database}.damaged`, ''),
      'a salvaged one is to take its place': written(`${database}.salvaged`, ''),
      'a transcript was put there': brought('main'),
      'a transcript of a new agent was put there': brought('other'),
      'another tool has appended': written(home.file('s1'), `${transcript.toString()}{"type":"x"}\n`),
      'a transcript was cut': written(home.file('s1'), transcript.subarray(0, 10)),
      'a transcript has not been read': () => {
        change(home, "UPDATE sessions SET seq = 0 WHERE id = 's1'");
        return () => change(home, "UPDATE sessions SET seq = q WHERE id = 's1'");
      },
      'a transcript is gone': () => {
        rmSync(home.file('s1'));
        return () => writeFileSync(home.file('s1'), transcript);
      },
      'it is no database': written(database, 'x'.repeat(8192)),
    };
    for (const [why, happen] of Object.entries(happenings)) {
      expect(ids(await look(home.path)), `before ${why}`).toEqual(['s2', 's1']);
      const undo = happen();
      expect(await look(home.path), why).toBeUndefined();
      undo();
    }
    rmSync(database);
    expect(await look(home.path)).toBeUndefined();
  });

  test('is an answer beside a file of another tool that was inspected before', async () => {
    await using home = await closedHome();
    const stranger = home.file('stranger');
    writeFileSync(stranger, '{"type":"user","content":"hi"}\n');
    expect(await look(home.path)).toBeUndefined();
    await takenIn(await home.open());
    await home.close();
    expect(ids(await look(home.path))).toEqual(['s2', 's1']);
    appendFileSync(stranger, '{"type":"user","content":"more"}\n');
    expect(await look(home.path)).toBeUndefined();
  });

  test('a copy of a home is not answered for by the index of the first', async () => {
    await using home = await closedHome();
    const copy = mkdtempSync(join(tmpdir(), 'reprise-index-'));
    cpSync(home.path, copy, { recursive: true, preserveTimestamps: true });
    expect(await look(copy)).toBeUndefined();
    rmSync(copy, { recursive: true });
  });
});

/** Everything is read, and the sizes of all files are compared: before that nothing is remembered of folders. */
async function compared(store: Store): Promise<void> {
  await store.verify();
}

describe('a folder of many files', () => {
  const COUNT = 1000;

  test('is not read again while it is unchanged, and a file that is put there is noticed', async () => {
    await using home = new JsonlHome();
    for (let i = 0; i < COUNT; i++)
      writeSealedSession(home.path, { id: `many-${i}`, messages: 1, key: `agent:main:direct:${i}` });
    await compared(await home.open());
    await home.close();
    const stamps = (): string => {
      using db = new DatabaseSync(join(home.path, 'control.db'));
      return String(db.prepare("SELECT value FROM meta WHERE name = 'folders'").get()?.['value']);
    };
    expect(JSON.parse(stamps())).toHaveProperty('main');
    expect((await look(home.path))?.sessions).toHaveLength(50);

    // Believed: the row is gone, and only the names in the folder would say that its file is there.
    change(home, "DELETE FROM sessions WHERE id = 'many-7'");
    expect((await look(home.path))?.sessions).toHaveLength(50);
    writeFileSync(join(home.path, 'agents/main/sessions/other.txt'), '');
    expect(await look(home.path)).toBeUndefined();

    // The store takes in what the index has lost, and what it writes itself is remembered when it closes.
    const before = stamps();
    const store = await home.open();
    await compared(store);
    expect(await store.get('many-7')).toMatchObject({ messageCount: 1 });
    await store.create({ id: 'new', key: 'agent:main:main' });
    await home.close();
    expect(stamps()).not.toBe(before);
    expect(ids(await look(home.path, { limit: 1 }))).toEqual(['new']);

    cpSync(transcriptPath(home.path, 'many-7'), join(home.path, 'saved'));
    rmSync(transcriptPath(home.path, 'many-7'));
    writeFileSync(transcriptPath(home.path, 'many-7b'), readFileSync(join(home.path, 'saved')));
    expect(await look(home.path, { limit: 1 })).toBeUndefined();
  });
});
