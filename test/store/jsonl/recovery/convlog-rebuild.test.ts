import {
  appendFileSync,
  copyFileSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  rmSync,
  writeFileSync,
} from 'node:fs';
import { dirname, join } from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import { describe, expect, test } from 'vitest';
import { openStore } from '../../../../src/config/open.ts';
import { encodeLogLine } from '../../../../src/store/rules/convlog-line.ts';
import { CHAT, say, texts, until, useConvlogHome } from '../../../support/store/convlog-home.ts';

const home = useConvlogHome();
const control = (): string => join(home.path, 'control.db');
const lose = (): void => {
  for (const suffix of ['', '-wal', '-shm']) rmSync(control() + suffix, { force: true });
};
const many = (n: number): string[] => Array.from({ length: n }, (_, i) => `line ${i}`);

describe('a home that lost its control.db', () => {
  test('reads every chat back from its file, under the ids it had', async () => {
    const ids = ['42', '..', 'a/b', '\0', '\ud800', 'x'.repeat(300), 'Chat', 'chat', '世界'.repeat(60)];
    const store = await home.open();
    for (const channelId of ids)
      await store.convlog.append(many(3).map((text) => say(`${channelId} ${text}`, { ...CHAT, channelId })));
    const before = (await store.convlog.list({ limit: 100 })).chats;
    await home.close(store);
    lose();
    const again = await home.open();
    for (const channelId of ids)
      expect(await texts(again, { ...CHAT, channelId })).toEqual(
        many(3).map((text) => `${channelId} ${text}`),
      );
    await until('all are listed', async () => (await again.convlog.list()).chats.length === ids.length);
    const byId = (chats: typeof before) => chats.toSorted((a, b) => (a.channelId < b.channelId ? -1 : 1));
    expect(byId((await again.convlog.list({ limit: 100 })).chats)).toEqual(byId(before));
  });

  test('a line that is written before a chat was read again comes after its old lines', async () => {
    const long = many(20_000);
    mkdirSync(dirname(home.file()), { recursive: true });
    const ts = '2025-01-01T00:00:00.000Z';
    writeFileSync(home.file(), long.map((text) => encodeLogLine({ ...say(text), ts })).join(''));
    const bytes = readFileSync(home.file());
    const again = await home.open();
    await again.convlog.append([say('new')]);
    expect(await texts(again)).toEqual([...long, 'new']);
    await home.close(again);
    expect(readFileSync(home.file()).subarray(0, bytes.length).equals(bytes)).toBe(true);
    expect(home.said()).toEqual([...long, 'new']);
  });

  test('a chat among thousands is known before its first new line', async () => {
    const ids = Array.from({ length: 4000 }, (_, i) => `c${i}`);
    mkdirSync(dirname(home.file()), { recursive: true });
    const ts = '2025-01-01T00:00:00.000Z';
    for (const id of ids)
      writeFileSync(
        home.file(`telegram/${id}.jsonl`),
        encodeLogLine({ ...say('old', { ...CHAT, channelId: id }), ts }),
      );
    const store = await home.open();
    const some = ids.filter((_, i) => i % 100 === 0).map((channelId) => ({ ...CHAT, channelId }));
    await Promise.all(some.map((chat) => store.convlog.append([say('new', chat)])));
    for (const chat of some) expect(await texts(store, chat)).toEqual(['old', 'new']);
  });

  test('torn and foreign lines of a file are passed by, and a whole last line without its end counts', async () => {
    const store = await home.open();
    await store.convlog.append([say('one'), say('two')]);
    await home.close(store);
    const [one, two] = readFileSync(home.file(), 'utf8').split('\n') as [string, string];
    const other = one.replace('"channelId":"42"', '"channelId":"43"');
    writeFileSync(
      home.file(),
      [one, '{"ts":"torn', '', '{"role":"user"}', other, '[]', 'null', two].join('\n'),
    );
    lose();
    const again = await home.open();
    expect(await texts(again)).toEqual(['one', 'two']);
    await again.convlog.append([say('three')]);
    await home.close(again);
    expect(home.said().filter((text) => text !== undefined)).toEqual(['one', 'one', 'two', 'three']);
    lose();
    expect(await texts(await home.open())).toEqual(['one', 'two', 'three']);
  });

  test('files that are no channel log are left alone', async () => {
    mkdirSync(dirname(home.file()), { recursive: true });
    writeFileSync(home.file(), 'not json\n'.repeat(1000));
    writeFileSync(home.file('telegram/notes.txt'), 'notes');
    const line = {
      ts: '2025-01-01T00:00:00.000Z',
      role: 'user',
      content: 'x',
      channelId: '7',
      channelType: 'telegram',
    };
    writeFileSync(home.file('telegram/8.jsonl'), `${JSON.stringify(line)}\n`);
    const store = await home.open();
    await until('it has looked', async () => (await store.stats()).rebuilding === undefined);
    expect((await store.convlog.list()).chats).toEqual([]);
    expect(home.sql('SELECT * FROM convlog_chats')).toEqual([]);
    await store.convlog.append([say('first')]);
    await home.close(store);
    expect(home.said().at(-1)).toBe('first');
    expect(readFileSync(home.file('telegram/notes.txt'), 'utf8')).toBe('notes');
  });
});

test('an older control.db is read on from where it ends', async () => {
  const store = await home.open();
  await store.convlog.append([say('one')]);
  await home.close(store);
  copyFileSync(control(), `${control()}.old`);
  const later = await home.open();
  await later.convlog.append([say('two'), say('three')]);
  await home.close(later);
  lose();
  copyFileSync(`${control()}.old`, control());
  const again = await home.open();
  await again.convlog.append([say('four')]);
  expect(await texts(again)).toEqual(['one', 'two', 'three', 'four']);
  await home.close(again);
  expect(home.said()).toEqual(['one', 'two', 'three', 'four']);
});

describe('a damaged control.db', () => {
  /** Every page of one table says nothing any more. */
  function damage(path: string, table: string): void {
    const db = new DatabaseSync(path);
    const pages = db
      .prepare('SELECT pageno FROM dbstat WHERE name = ?')
      .all(table)
      .map(({ pageno }) => Number(pageno));
    db.close();
    const bytes = readFileSync(path);
    for (const page of pages) bytes.fill(0xff, (page - 1) * 4096, page * 4096);
    writeFileSync(path, bytes);
  }

  /** Reports of what was salvaged. */
  const salvaged = (): string[] =>
    readdirSync(join(home.path, 'quarantine'))
      .filter((name) => name.endsWith('.salvage.json'))
      .map((name) => readFileSync(join(home.path, 'quarantine', name), 'utf8'));

  test('keeps lines no file has, and those of the files once', async () => {
    const store = await home.open();
    await store.convlog.append(many(40).map((text) => ({ ...say(text), sessionId: 's1', messageId: text })));
    await store.convlog.append([say('never in a file', { ...CHAT, channelType: 'web' })]);
    await home.close(store);
    rmSync(home.file('web/42.jsonl'));
    // The file has fewer lines than the table, as after a kill.
    const bytes = readFileSync(home.file());
    writeFileSync(home.file(), bytes.subarray(0, bytes.indexOf('line 30')));
    damage(control(), 'inbox_open');
    const again = await home.open();
    expect(salvaged()).toHaveLength(1);
    expect(await texts(again)).toEqual(many(40));
    const { lines } = await again.convlog.read(CHAT, { limit: 40 });
    expect(lines.map(({ messageId, sessionId }) => [messageId, sessionId])).toEqual(
      many(40).map((text) => [text, 's1']),
    );
    expect(await texts(again, { ...CHAT, channelType: 'web' })).toEqual(['never in a file']);
    await home.close(again);
    expect(home.said().filter((text) => text !== undefined)).toEqual(many(40));
    expect(home.said('web/42.jsonl')).toEqual(['never in a file']);
  });

  test('whose lines cannot be read has them from the files', async () => {
    const store = await home.open();
    await store.convlog.append(many(200).map((text) => say(text)));
    await home.close(store);
    damage(control(), 'convlog_lines');
    damage(control(), 'inbox_open');
    const again = await home.open();
    expect(await texts(again)).toEqual(many(200));
    expect(salvaged()[0]).toContain('convlog_lines');
  });

  test('of a store without files keeps every line that can be read', async () => {
    const options = { kind: 'sqlite', home: home.path, durability: 'os' } as const;
    const store = await openStore(options);
    await store.convlog.append(many(40).map((text) => say(text)));
    const before = (await store.convlog.list()).chats;
    await store[Symbol.asyncDispose]();
    damage(join(home.path, 'store.db'), 'inbox_open');
    await using again = await openStore(options);
    expect(salvaged()).toHaveLength(1);
    expect(await texts(again)).toEqual(many(40));
    expect((await again.convlog.list()).chats).toEqual(before);
    await again.convlog.append([say('more')]);
    expect(await texts(again)).toEqual([...many(40), 'more']);
  });
});

test('lines written while a file could not be read come after it, and no line is written twice', async () => {
  const store = await home.open();
  await store.convlog.append(['one', 'two', 'three'].map((text) => say(text)));
  await home.close(store);
  const bytes = readFileSync(home.file());
  const end = bytes.indexOf('\n') + 1;
  // Two and three stand in the table; of the file only the first line was read, and two is after it.
  writeFileSync(home.file(), bytes.subarray(0, bytes.indexOf('\n', end) + 1));
  home.sql(`UPDATE convlog_chats SET unread = 1, file_number = 1, file_size = ${end}`);
  const again = await home.open();
  expect(await texts(again)).toEqual(['one', 'two', 'three']);
  expect((await again.convlog.list()).chats[0]?.messages).toBe(3);
  await home.close(again);
  expect(home.said()).toEqual(['one', 'two', 'three']);
});

test('a chat whose file cannot be read accepts new lines, and its old lines stay where they are', async () => {
  mkdirSync(home.file(), { recursive: true });
  const store = await home.open();
  await store.convlog.append([say('said all the same')]);
  expect(await texts(store)).toEqual(['said all the same']);
  rmSync(home.file(), { recursive: true });
  appendFileSync(home.file(), 'an old line\n');
  await until('the file follows', () => home.said().length === 2);
  expect(home.said()).toEqual([undefined, 'said all the same']);
});
