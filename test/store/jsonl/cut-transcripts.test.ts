import {
  copyFileSync,
  existsSync,
  readFileSync,
  renameSync,
  rmSync,
  truncateSync,
  writeFileSync,
} from 'node:fs';
import { join } from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import { describe, expect, test } from 'vitest';
import { JsonlHome, say } from '../../support/store/jsonl-home.ts';
import { until } from '../../support/store/store-faults.ts';

const TEXTS = ['one', 'two', 'three', 'four', 'five'];
const MILLION = 1_000_000;

/** A closed home with one session of five messages, all settled; answers where each line ends. */
async function seeded(home: JsonlHome): Promise<number[]> {
  await home.open();
  await home.seed('s1', ...TEXTS);
  await home.close();
  const bytes = readFileSync(home.file());
  const ends: number[] = [];
  for (let lf = bytes.indexOf(10); lf !== -1; lf = bytes.indexOf(10, lf + 1)) ends.push(lf + 1);
  return ends;
}

describe('a transcript that was cut from outside', () => {
  test('continues with what is left, and the loss is named where people look', async () => {
    await using home = new JsonlHome();
    const ends = await seeded(home);
    // In the middle of "four": the header, "one", "two" and "three" are whole.
    truncateSync(home.file(), (ends[3] ?? 0) + 20);
    await home.open();
    expect(await home.store.append('s1', [say('six')])).toEqual({ firstSeq: 6, lastSeq: 6 });
    expect(await home.texts()).toEqual(['one', 'two', 'three', 'reprise.lost', 'six']);
    const { entries } = await home.store.read('s1', { from: 5, limit: 1 });
    expect(entries[0]?.entry).toMatchObject({
      data: { firstSeq: 5, lastSeq: 6, reason: 'cut from outside' },
    });
    expect(home.quarantine().map(({ length }) => length)).toEqual([20]);
    expect(await home.store.verify()).toMatchObject({
      status: 'quarantined',
      findings: [{ kind: 'lost-lines', detail: expect.stringContaining('lines 5 to 6') }],
    });
    expect(await home.store.get('s1')).toMatchObject({ messageCount: 4, lastSeq: 6, title: 'one' });
    expect((await home.store.get('s1')).epoch).toBeGreaterThanOrEqual(MILLION);
    const exported = await home.store.exportSession('s1');
    await home.rebuild();
    expect(await home.store.exportSession('s1')).toEqual(exported);
  });

  test('S2: at every byte of its last record, every earlier record and the new one are read', async () => {
    await using home = new JsonlHome();
    await home.open();
    await home.seed('reference', 'one', 'two');
    const reference = readFileSync(home.file('reference'));
    const length = reference.length - (reference.subarray(0, -1).lastIndexOf(10) + 1);
    const ids = Array.from({ length }, (_, n) => `cut-${n + 1}`);
    const each = (work: (id: string, cut: number) => Promise<unknown>): Promise<unknown> =>
      Promise.all(ids.map((id, n) => work(id, n + 1)));
    await each((id) => home.store.create({ id, key: 'agent:main:main' }));
    for (const text of ['one', 'two'])
      await each((id) => home.store.append(id, [say(text)], { key: `key-${text}` }));
    await home.close();
    await each(async (id, cut) => truncateSync(home.file(id), readFileSync(home.file(id)).length - cut));
    await home.open();
    await each((id) => home.store.append(id, [say('new')]));
    await each(async (id, cut) => {
      // Without its LF alone the record is whole.
      const wanted = cut === 1 ? ['one', 'two', 'new'] : ['one', 'reprise.lost', 'new'];
      expect(await home.texts(id), id).toEqual(wanted);
    });
    expect((await home.store.verify()).status).toBe('quarantined');
  });

  test('while the store is open: a reader finds what is left without a write', async () => {
    await using home = new JsonlHome();
    const ends = await seeded(home);
    await home.open();
    expect(await home.texts()).toEqual(TEXTS);
    truncateSync(home.file(), ends[2] ?? 0);
    await home.texts();
    expect(await home.texts()).toEqual(['one', 'two', 'reprise.lost']);
    expect((await home.store.get('s1')).corruptAt).toBeUndefined();
  });

  test('an append that was lost with it can be sent again under the same key', async () => {
    await using home = new JsonlHome();
    const ends = await seeded(home);
    truncateSync(home.file(), ends[4] ?? 0);
    await home.open();
    await home.store.append('s1', [say('two')], { key: 'key-two' });
    expect(await home.texts()).toEqual(['one', 'two', 'three', 'four', 'reprise.lost']);
    await home.store.append('s1', [say('five')], { key: 'key-five' });
    expect(await home.texts()).toEqual(['one', 'two', 'three', 'four', 'reprise.lost', 'five']);
  });

  test('the runner that built on it is fenced', async () => {
    await using home = new JsonlHome();
    const ends = await seeded(home);
    await home.open();
    const { epoch, signal } = await home.store.lease('s1', { ttlMs: 600 });
    truncateSync(home.file(), ends[2] ?? 0);
    await expect(home.store.append('s1', [say('six')], { epoch })).rejects.toMatchObject({ code: 'FENCED' });
    await new Promise<void>((resolve) => {
      if (signal.aborted) resolve();
      signal.addEventListener('abort', () => resolve(), { once: true });
    });
    const next = await home.store.lease('s1', { waitMs: 0 });
    expect(next.epoch).toBeGreaterThan(MILLION);
    await home.store.append('s1', [say('six')], { epoch: next.epoch });
  });

  test('what the journal still has is put back', async () => {
    await using home = new JsonlHome();
    await seeded(home);
    await home.open();
    const control = new DatabaseSync(join(home.path, 'control.db'), { timeout: 5000 });
    const rowsOf = (id: string): number =>
      Number(control.prepare('SELECT count(*) AS n FROM journal WHERE session_id = ?').get(id)?.['n']);
    await home.seed('other');
    const wanted = [...TEXTS];
    // Nothing is synced while another connection has the write lock; what was, was too early for this test.
    for (let n = 0; ; n++) {
      wanted.push(`fresh ${n}`);
      for (const id of ['s1', 'other']) await home.store.append(id, [say(`fresh ${n}`)]);
      await home.followed();
      control.exec('BEGIN IMMEDIATE');
      if (rowsOf('s1') > 0 && rowsOf('other') > 0) break;
      control.exec('ROLLBACK');
    }
    // The file is replaced by what an editor had read before.
    const bytes = readFileSync(home.file());
    const older = bytes.subarray(0, bytes.indexOf(wanted.at(-1) ?? ''));
    writeFileSync(`${home.file()}.new`, older.subarray(0, older.lastIndexOf(10) + 1));
    renameSync(`${home.file()}.new`, home.file());
    control.exec('ROLLBACK');
    // The journal forgets what is synced, and not what was synced into a file that is gone.
    await until('a sweep has been', () => rowsOf('other') === 0);
    control.close();
    await home.store.append('s1', [say('last')]);
    await home.reopen();
    expect(await home.texts()).toEqual([...wanted, 'last']);
    expect(readFileSync(home.file(), 'utf8').split('\n')).toHaveLength(wanted.length + 3);
    expect(await home.store.verify()).toMatchObject({ status: 'clean' });
  });

  test('a deleted session does not come back, and an active one stays active', async () => {
    await using home = new JsonlHome();
    await home.open();
    await home.seed('s1', 'one', 'two');
    await home.seed('s2', 'one', 'two');
    await home.store.activate('agent:main:main', 's2');
    await home.store.delete('s1');
    await home.close();
    for (const id of ['s1', 's2']) {
      const lines = readFileSync(home.file(id), 'utf8').split('\n').slice(0, 3);
      writeFileSync(home.file(id), `${lines.join('\n')}\n`);
    }
    await home.open();
    await expect(home.store.append('s1', [say('three')])).rejects.toMatchObject({ code: 'SESSION_DELETED' });
    await home.store.append('s2', [say('three')]);
    await home.rebuild();
    expect(await home.store.get('s1')).toMatchObject({ status: 'deleted' });
    expect((await home.store.active('agent:main:main'))?.id).toBe('s2');
  });

  test('damage in the middle is not healed: read-only, the place named, nothing touched', async () => {
    await using home = new JsonlHome();
    const ends = await seeded(home);
    const bytes = readFileSync(home.file());
    const without = Buffer.concat([bytes.subarray(0, ends[2]), bytes.subarray(ends[3])]);
    writeFileSync(home.file(), without);
    await home.open();
    await expect(home.store.append('s1', [say('six')])).rejects.toMatchObject({
      code: 'STORE_CORRUPT',
      details: { offset: ends[2], next: expect.stringContaining('repair') },
    });
    expect(readFileSync(home.file())).toEqual(without);
    const { entries } = await home.store.read('s1');
    expect(entries.map(({ seq }) => seq)).toEqual([1, 2, 3, 5, 6]);
    await home.rebuild();
    expect((await home.store.read('s1')).entries).toEqual(entries);
    await expect(home.store.append('s1', [say('six')])).rejects.toMatchObject({ code: 'STORE_CORRUPT' });
  });
});

describe('a transcript that is gone', () => {
  test.each([
    ['removed', (home: JsonlHome) => rmSync(home.file())],
    ['emptied', (home: JsonlHome) => truncateSync(home.file(), 0)],
    ['cut in its header', (home: JsonlHome) => truncateSync(home.file(), 30)],
  ])(
    '%s: the session does not start again from nothing, and heals when it is put back',
    async (_what, take) => {
      await using home = new JsonlHome();
      await seeded(home);
      copyFileSync(home.file(), `${home.file()}.copy`);
      await home.open();
      take(home);
      const left = existsSync(home.file());
      await expect(home.store.append('s1', [say('six')])).rejects.toMatchObject({
        code: 'STORE_CORRUPT',
        outcome: 'none',
        why: { code: 'session.lostTranscript' },
        details: { file: home.file(), lines: 6, next: expect.stringContaining('reprise repair s1') },
      });
      expect(await home.store.verify('s1')).toMatchObject({ status: 'corrupt' });
      expect((await home.store.stats()).problems).toMatchObject([{ session: 's1' }]);
      expect(home.quarantine()).toEqual([]);
      expect(existsSync(home.file())).toBe(left);
      renameSync(`${home.file()}.copy`, home.file());
      await home.store.append('s1', [say('six')]);
      expect(await home.texts()).toEqual([...TEXTS, 'six']);
      expect(await home.store.verify()).toMatchObject({ status: 'clean' });
      expect((await home.store.stats()).problems).toEqual([]);
    },
  );
});

test('a transcript that an editor saved is looked into again, and unchanged it is as good as before', async () => {
  await using home = new JsonlHome();
  await seeded(home);
  await home.open();
  await home.store.append('s1', [say('six')]);
  await home.reopen();
  await home.store.append('s1', [say('seven')]);
  await home.followed();
  copyFileSync(home.file(), `${home.file()}.new`);
  renameSync(`${home.file()}.new`, home.file());
  await home.store.append('s1', [say('eight')]);
  await home.followed();
  expect(await home.texts()).toEqual([...TEXTS, 'six', 'seven', 'eight']);
  expect(readFileSync(home.file(), 'utf8')).toContain('"eight"');
  expect(await home.store.verify()).toMatchObject({ status: 'clean' });
  expect((await home.store.get('s1')).epoch).toBe(0);
});

describe('T01f a page of NULs', () => {
  const PAGE = 4096;
  const long = (n: number): string => `${n} `.padEnd(700, 'x');

  /** Wipes the page that starts here or before. */
  function wipe(home: JsonlHome, at: number): void {
    const bytes = readFileSync(home.file());
    const start = at - (at % PAGE);
    bytes.fill(0, start, Math.min(start + PAGE, bytes.length));
    writeFileSync(home.file(), bytes);
  }

  async function filled(home: JsonlHome): Promise<void> {
    await home.open();
    await home.seed('s1', ...Array.from({ length: 40 }, (_, n) => long(n)));
    await home.reopen();
  }

  test('inside the synced part makes the session read-only', async () => {
    await using home = new JsonlHome();
    await filled(home);
    wipe(home, 2 * PAGE);
    expect((await home.texts()).length).toBeLessThan(40);
    await expect(home.store.append('s1', [say('last')])).rejects.toMatchObject({ code: 'STORE_CORRUPT' });
  });

  test.each([
    ['in the middle is damage', 2 * PAGE, 'STORE_CORRUPT'],
    ['at the end is a torn tail', Number.POSITIVE_INFINITY, 'ok'],
  ])('without an index: %s', async (_what, at, expected) => {
    await using home = new JsonlHome();
    await filled(home);
    await home.close();
    wipe(home, Math.min(at, readFileSync(home.file()).length - 1));
    await home.rebuild();
    const said = await home.store.append('s1', [say('last')]).then(
      () => 'ok',
      ({ code }) => code as string,
    );
    expect(said).toBe(expected);
    expect((await home.texts()).length).toBeGreaterThan(30);
  });
});
