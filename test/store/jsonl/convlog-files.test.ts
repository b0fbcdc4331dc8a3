// @module-tag long
import {
  appendFileSync,
  existsSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  rmSync,
  statSync,
  symlinkSync,
  truncateSync,
  writeFileSync,
} from 'node:fs';
import { dirname, join, sep } from 'node:path';
import { describe, expect, test } from 'vitest';
import { logName } from '../../../src/store/jsonl/channel-log/convlog-files.ts';
import type { ConvlogLine } from '../../../src/store/port/convlog.ts';
import { CHAT, say, texts, until, useConvlogHome } from '../../support/store/convlog-home.ts';

const home = useConvlogHome();
const isThere = (text: string) => (): boolean => {
  try {
    return readFileSync(home.file(), 'utf8').includes(text);
  } catch {
    return false; // not created yet, or being rebuilt
  }
};

describe('the file of a chat', () => {
  test('has one line of the documented form for each message, while the store is open', async () => {
    const store = await home.open();
    const lines: ConvlogLine[] = [
      {
        ...CHAT,
        role: 'user',
        content: 'a\nb\0',
        sender: { id: 'u1', name: 'Ann' },
        ts: '2025-01-01T00:00:00Z',
      },
      {
        ...CHAT,
        role: 'assistant',
        content: 'c',
        ts: '2025-01-01T00:00:01Z',
        sessionId: 's',
        messageId: 'm',
      },
    ];
    await store.convlog.append(lines);
    await until('the file follows', isThere('"c"'));
    expect(readFileSync(home.file(), 'utf8')).toBe(
      `${[
        '{"ts":"2025-01-01T00:00:00.000Z","role":"user","content":"a\\nb\\u0000","channelId":"42","channelType":"telegram","sender":{"id":"u1","name":"Ann"}}',
        '{"ts":"2025-01-01T00:00:01.000Z","role":"assistant","content":"c","channelId":"42","channelType":"telegram"}',
      ].join('\n')}\n`,
    );
  });

  test('is for its owner only, and so are its folders', async () => {
    const store = await home.open();
    mkdirSync(dirname(home.file()), { recursive: true, mode: 0o755 });
    writeFileSync(home.file(), '', { mode: 0o644 });
    await store.convlog.append([say('private')]);
    await until('the file follows', isThere('private'));
    const modes = [home.file(), dirname(home.file()), dirname(dirname(home.file()))].map(
      (path) => statSync(path).mode & 0o777,
    );
    expect(modes).toEqual([0o600, 0o700, 0o700]);
  });

  test('is settled within a second or so, so that a power cut leaves it', async () => {
    const store = await home.open();
    await store.convlog.append([say('one')]);
    const settled = 'SELECT synced_number AS n, synced_size AS size FROM convlog_chats';
    await until('it is synced', () => Number(home.sql(settled)[0]?.['n']) === 1);
    expect(home.sql(settled)[0]?.['size']).toBe(statSync(home.file()).size);
  });

  test('is the same however many processes say something', async () => {
    const [one, two] = [await home.open(), await home.open()];
    for (let i = 0; i < 20; i++) {
      await one.convlog.append([say(`one ${i}`)]);
      await two.convlog.append([say(`two ${i}`)]);
    }
    await home.close(one);
    await home.close(two);
    const expected = Array.from({ length: 20 }, (_, i) => [`one ${i}`, `two ${i}`]).flat();
    expect(home.said()).toEqual(expected);
  });
});

describe('a file that is not as it was left', () => {
  const three = ['one', 'two', 'three'];

  /** A closed home whose file has three lines, of which the table says that only the first was settled. */
  async function closed(): Promise<Buffer> {
    const store = await home.open();
    await store.convlog.append(three.map((text) => say(text)));
    await home.close(store);
    const bytes = readFileSync(home.file());
    const end = bytes.indexOf('\n') + 1;
    home.sql(
      `UPDATE convlog_chats SET synced_number = 1, synced_size = ${end}, file_number = 1, file_size = ${end}`,
    );
    return bytes;
  }

  test('our own unfinished write is completed, wherever it broke off', async () => {
    const bytes = await closed();
    const end = bytes.indexOf('\n') + 1;
    const places = [
      end,
      end + 1,
      end + 20,
      bytes.indexOf('\n', end),
      bytes.indexOf('\n', end) + 1,
      bytes.length - 1,
    ];
    for (const place of places) {
      writeFileSync(home.file(), bytes.subarray(0, place));
      home.sql(
        `UPDATE convlog_chats SET synced_number = 1, synced_size = ${end}, file_number = 1, file_size = ${end}`,
      );
      await home.close(await home.open());
      expect(readFileSync(home.file()).equals(bytes), `torn at ${place}`).toBe(true);
    }
  });

  test('torn bytes that are not ours are closed, and ours come after them once', async () => {
    const bytes = await closed();
    const end = bytes.indexOf('\n') + 1;
    writeFileSync(home.file(), Buffer.concat([bytes.subarray(0, end), Buffer.from('{"ts":"20\0\0')]));
    await home.close(await home.open());
    expect(home.said()).toEqual(['one', undefined, 'two', 'three']);
  });

  test("another tool's whole line between our lines stays, and none of our lines is written twice", async () => {
    const bytes = await closed();
    const end = bytes.indexOf('\n') + 1;
    const note = Buffer.from('# a note\n');
    writeFileSync(home.file(), Buffer.concat([bytes.subarray(0, end), note, bytes.subarray(end)]));
    const store = await home.open();
    await store.convlog.append([say('four')]);
    await home.close(store);
    expect(home.said()).toEqual(['one', undefined, 'two', 'three', 'four']);
  });

  test('a line without its end gets one before the next', async () => {
    const store = await home.open();
    await store.convlog.append([say('one')]);
    await until('the file follows', isThere('one'));
    appendFileSync(home.file(), 'half a note');
    await store.convlog.append([say('two')]);
    await home.close(store);
    expect(home.said()).toEqual(['one', undefined, 'two']);
  });

  test.each(['cut', 'removed', 'emptied'])('one that was %s is written again from the table', async (how) => {
    const store = await home.open();
    await store.convlog.append(three.map((text) => say(text)));
    await until(
      'it is synced',
      () => Number(home.sql('SELECT synced_number AS n FROM convlog_chats')[0]?.['n']) === 3,
    );
    if (how === 'removed') rmSync(home.file());
    else truncateSync(home.file(), how === 'cut' ? 50 : 0);
    await store.convlog.append([say('four')]);
    await until('the file is whole', isThere('four'));
    await home.close(store);
    expect(home.said()).toEqual([...three, 'four']);
    const kept = existsSync(join(home.path, 'quarantine')) ? readdirSync(join(home.path, 'quarantine')) : [];
    expect(kept.length).toBe(how === 'cut' ? 1 : 0);
  });

  test('one that was removed while no process ran is written again when the home is opened', async () => {
    const store = await home.open();
    await store.convlog.append(three.map((text) => say(text)));
    await home.close(store);
    rmSync(home.file());
    const again = await home.open();
    await until('the file is back', isThere('three'));
    expect(await texts(again)).toEqual(three);
  });

  test.each(['file', 'folder'])(
    'a link in the place of the %s is not followed, and no request waits for it',
    async (what) => {
      const store = await home.open();
      const outside = join(home.path, 'outside');
      mkdirSync(outside);
      writeFileSync(join(outside, '42.jsonl'), '');
      const place = what === 'file' ? home.file() : dirname(home.file());
      mkdirSync(dirname(place), { recursive: true });
      symlinkSync(what === 'file' ? join(outside, '42.jsonl') : outside, place);
      await store.convlog.append([say('one')]);
      await store.convlog.append([say('elsewhere', { ...CHAT, channelType: 'web' })]);
      await until('others follow', () => existsSync(home.file('web/42.jsonl')));
      expect(readFileSync(join(outside, '42.jsonl'), 'utf8')).toBe('');
      expect(await texts(store)).toEqual(['one']);
      rmSync(place);
      await until('the file follows once the link is gone', isThere('one'));
    },
  );
});

describe('names of files', () => {
  const ids = [
    '..',
    '.',
    '../../../etc',
    'a/b',
    '/etc/passwd',
    'a\\b',
    '\0',
    'a\nb',
    '~',
    'x~',
    '%2F',
    '\u202egnp',
    '\ud800',
  ];
  ids.push(
    'x'.repeat(300),
    `${'x'.repeat(299)}y`,
    '世'.repeat(100),
    '世'.repeat(101),
    '%'.repeat(200),
    ' ',
    '-',
    'C024BE91L',
  );
  ids.push(
    `${'\ud800'.repeat(300)}`,
    `${'\ud801'.repeat(300)}`,
    `${'x'.repeat(300)}\ud800`,
    `${'x'.repeat(300)}\ud801`,
    'a',
    'A',
    'e\u0301',
    '\u00e9',
    '.hidden',
    'aux',
    '42',
    '-100123',
  );

  test.each([false, true])(
    'are plain, short and different, whatever the ids (ignoring case: %s)',
    (foldsCase) => {
      const names = ids.map((id) => logName(id, foldsCase));
      for (const name of names) {
        expect(Buffer.byteLength(name)).toBeLessThanOrEqual(200);
        expect(name).not.toMatch(/^\.|[/\\\0-\x1f\u202e\ud800-\udfff]/);
      }
      const seen = foldsCase ? names.map((name) => name.normalize('NFC').toLowerCase()) : names;
      expect(new Set(seen).size).toBe(ids.length);
      expect(logName('-100123', foldsCase)).toBe('-100123');
      expect(logName('世'.repeat(100), foldsCase)).toMatch(/^.{20,}~[0-9a-f]{32}$/su);
    },
  );

  test('keep every file of a chat inside the folder of its agent', async () => {
    const store = await home.open();
    await store.convlog.append(ids.map((id) => say(id, { ...CHAT, channelType: id, channelId: id })));
    await home.close(store);
    const root = join(home.path, 'agents', 'main', 'convlogs');
    const files = readdirSync(root, { recursive: true, withFileTypes: true }).filter((entry) =>
      entry.isFile(),
    );
    expect(files.length).toBe(ids.length);
    expect(files.every(({ parentPath }) => dirname(parentPath) === root)).toBe(true);
    expect(readdirSync(home.path).sort()).toEqual(['agents', 'control.db']);
    expect(readdirSync(dirname(root))).toEqual(
      ['convlogs', 'sessions'].filter((name) => existsSync(join(dirname(root), name))),
    );
    expect(root.split(sep).at(-1)).toBe('convlogs');
  });
});

describe('a long chat', () => {
  test('10,000 lines are paged from both ends and found by their words', async () => {
    const store = await home.open();
    const all = Array.from({ length: 10_000 }, (_, i) => `line ${i} ${i === 17 ? 'needle' : 'hay'}`);
    for (let at = 0; at < all.length; at += 1000)
      await store.convlog.append(all.slice(at, at + 1000).map((text) => say(text)));
    expect(await texts(store)).toEqual(all);
    const back = await store.convlog.read(CHAT, { direction: 'backward', limit: 100 });
    expect(back.lines.map(({ content }) => content)).toEqual(all.slice(-100).reverse());
    const found = await store.convlog.read(CHAT, {
      text: 'NEEDLE',
      direction: 'backward',
      budgetMs: 600_000,
    });
    expect(found.lines.map(({ number }) => number)).toEqual([18]);
    // Without any time a little is looked at each time, and it still ends.
    let pages = 0;
    const hits: number[] = [];
    for (let from: number | null = 1; from !== null; pages++) {
      const page = await store.convlog.read(CHAT, { text: 'needle', from, budgetMs: 0 });
      hits.push(...page.lines.map(({ number }) => number));
      from = page.next;
    }
    expect(hits).toEqual([18]);
    expect(pages).toBeGreaterThan(2);
    let looks = 0;
    let chats = 0;
    for (let cursor: string | null | undefined; cursor !== null; looks++) {
      const page = await store.convlog.list({
        text: 'needle',
        budgetMs: 0,
        ...(cursor !== undefined && { cursor }),
      });
      chats += page.chats.length;
      cursor = page.cursor;
    }
    expect([chats, looks > 2]).toEqual([1, true]);
    await home.close(store);
    expect(home.said()).toEqual(all);
  });
});
