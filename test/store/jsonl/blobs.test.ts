import { createHash } from 'node:crypto';
import {
  existsSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  renameSync,
  rmSync,
  statSync,
  symlinkSync,
  truncateSync,
  writeFileSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import { openStore, type StoreKind } from '../../../src/config/open.ts';
import { loadBlobs } from '../../../src/exports/store.ts';
import { hydrateBlobs, parseTranscript } from '../../../src/exports/transcript.ts';
import type { Entry } from '../../../src/index.ts';
import { copyHistory } from '../../../src/store/copy/copy-history.ts';
import type { NewEntry, Store } from '../../../src/store/port/store.ts';

let home = '';
let open: Store[] = [];
beforeEach(() => {
  home = mkdtempSync(join(tmpdir(), 'reprise-blobs-'));
});
afterEach(async () => {
  for (const store of open.splice(0)) await store[Symbol.asyncDispose]();
  rmSync(home, { recursive: true, force: true });
});

async function opened(kind: StoreKind = 'jsonl'): Promise<Store> {
  const store = await openStore({ kind, home });
  open.push(store);
  return store;
}

async function close(store: Store): Promise<void> {
  open = open.filter((other) => other !== store);
  await store[Symbol.asyncDispose]();
}

const IMAGE = Buffer.alloc(100_000, 'pixels ');
const OTHER = Buffer.alloc(100_000, 'other pixels ');
const hashOf = (bytes: Buffer): string => createHash('sha256').update(bytes).digest('hex');
const picture = (image: Buffer = IMAGE): NewEntry => ({
  type: 'message',
  message: {
    role: 'user',
    content: [{ type: 'image', data: image.toString('base64'), mimeType: 'image/png' }],
  },
});
const say = (content: string): NewEntry => ({ type: 'message', message: { role: 'user', content } });
const sessions = (): string => join(home, 'agents', 'main', 'sessions');
const folder = (id = 's1'): string => join(sessions(), `${id}.blobs`);
const file = (bytes: Buffer = IMAGE): string => join(folder(), hashOf(bytes));

async function withPicture(): Promise<Store> {
  const store = await opened();
  await store.create({ id: 's1', key: 'agent:main:main' });
  await store.append('s1', [picture()]);
  return store;
}

const kinds = async (store: Store): Promise<unknown> => {
  const { status, findings } = await store.verify('s1');
  return [status, ...findings.map(({ kind }) => kind)];
};

describe('the blobs of a jsonl session', () => {
  test('are files beside the transcript that only their owner may read', async () => {
    const before = process.umask(0);
    try {
      await close(await withPicture());
    } finally {
      process.umask(before);
    }
    expect(readdirSync(folder())).toEqual([hashOf(IMAGE)]);
    expect(readFileSync(file()).equals(IMAGE)).toBe(true);
    expect([statSync(folder()).mode & 0o777, statSync(file()).mode & 0o777]).toEqual([0o700, 0o600]);
    const { entries } = parseTranscript(readFileSync(join(sessions(), 's1.jsonl')));
    expect(JSON.stringify(entries)).toContain(`sha256:${hashOf(IMAGE)}`);
  });

  test('are written once, however often they are appended', async () => {
    const store = await withPicture();
    const first = statSync(file());
    await store.append('s1', [picture(), picture(OTHER), picture(OTHER)]);
    expect(statSync(file())).toMatchObject({ ino: first.ino, mtimeMs: first.mtimeMs });
    expect(readdirSync(folder()).sort()).toEqual([hashOf(IMAGE), hashOf(OTHER)].sort());
  });

  test('are made good when what stands there is not what was kept', async () => {
    const store = await withPicture();
    writeFileSync(file(), OTHER);
    await expect(store.blob('s1', hashOf(IMAGE))).rejects.toMatchObject({ code: 'STORE_CORRUPT' });
    await store.append('s1', [picture()]);
    expect(Buffer.from(await store.blob('s1', hashOf(IMAGE))).equals(IMAGE)).toBe(true);
    expect(await kinds(store)).toEqual(['clean']);
  });

  test('are reported by verify when they are missing, altered, cut, links, or unused', async () => {
    const store = await withPicture();
    expect(await kinds(store)).toEqual(['clean']);
    writeFileSync(join(folder(), hashOf(OTHER)), OTHER);
    expect(await kinds(store)).toEqual(['clean', 'stray-blob']);
    rmSync(join(folder(), hashOf(OTHER)));
    const kept = join(home, 'kept');
    renameSync(file(), kept);
    expect(await kinds(store)).toEqual(['corrupt', 'missing-blob']);
    symlinkSync(kept, file());
    expect(await kinds(store)).toEqual(['corrupt', 'corrupt-blob']);
    await expect(store.blob('s1', hashOf(IMAGE))).rejects.toMatchObject({ code: 'NOT_FOUND' });
    rmSync(file());
    renameSync(kept, file());
    expect(await kinds(store)).toEqual(['clean']);
    truncateSync(file(), 70_000);
    expect(await kinds(store)).toEqual(['corrupt', 'corrupt-blob']);
  });

  test('are never written through a link', async () => {
    const store = await opened();
    await store.create({ id: 's1', key: 'agent:main:main' });
    const outside = join(home, 'outside');
    mkdirSync(outside);
    mkdirSync(sessions(), { recursive: true });
    symlinkSync(outside, folder());
    await expect(store.append('s1', [picture()])).rejects.toMatchObject({
      code: 'STORE_FAILED',
      outcome: 'none',
    });
    expect(readdirSync(outside)).toEqual([]);
    rmSync(folder());
    mkdirSync(folder());
    const target = join(outside, 'precious');
    writeFileSync(target, 'precious');
    symlinkSync(target, file());
    symlinkSync(target, `${file()}.${process.pid}.tmp`);
    await store.append('s1', [picture()]);
    expect(readFileSync(target, 'utf8')).toBe('precious');
    expect(Buffer.from(await store.blob('s1', hashOf(IMAGE))).equals(IMAGE)).toBe(true);
    expect(statSync(folder()).mode & 0o777).toBe(0o700);
    expect(await kinds(store)).toEqual(['clean']);
  });

  test('go with a purge, also with one that was cut short', async () => {
    const store = await withPicture();
    await store.create({ id: 's2', key: 'agent:main:main' });
    await store.append('s2', [picture()]);
    const outside = join(home, 'outside');
    mkdirSync(outside);
    writeFileSync(join(outside, 'precious'), 'precious');
    symlinkSync(outside, join(folder(), 'link'));
    const transcript = await store.exportSession('s1');
    await store.delete('s1');
    await store.purge('s1');
    expect(existsSync(folder())).toBe(false);
    expect(readdirSync(outside)).toEqual(['precious']);
    expect(readdirSync(folder('s2'))).toEqual([hashOf(IMAGE)]);
    await close(store);
    // As if the process had died between the commit and the removal.
    mkdirSync(folder());
    writeFileSync(file(), IMAGE);
    writeFileSync(join(sessions(), 's1.jsonl'), transcript);
    const again = await opened();
    // Beside the work, so not before the store is open.
    await expect.poll(() => readdirSync(sessions()).filter((name) => name.startsWith('s1'))).toEqual([]);
    await expect(again.blob('s1', hashOf(IMAGE))).rejects.toMatchObject({ code: 'GONE' });
  });

  test('survive the loss of the index, and so does the title', async () => {
    const first = await withPicture();
    await first.append('s1', [say('and then')]);
    expect(await first.get('s1')).toMatchObject({ title: 'and then', messageCount: 2 });
    await close(first);
    for (const suffix of ['', '-wal', '-shm']) rmSync(join(home, `control.db${suffix}`), { force: true });
    const store = await opened();
    expect(await store.get('s1')).toMatchObject({ title: 'and then', messageCount: 2 });
    expect(Buffer.from(await store.blob('s1', hashOf(IMAGE))).equals(IMAGE)).toBe(true);
    expect(await kinds(store)).toEqual(['clean']);
  });
});

test.each(['jsonl', 'sqlite'] as const)(
  'a %s database from before there were blobs still opens',
  async (kind) => {
    const before = await opened(kind);
    await before.create({ id: 's1', key: 'agent:main:main' });
    await close(before);
    database(kind, (db) => db.exec('DROP TABLE blobs'));
    const store = await opened(kind);
    await store.append('s1', [picture()]);
    expect(Buffer.from(await store.blob('s1', hashOf(IMAGE))).equals(IMAGE)).toBe(true);
  },
);

test('a purge leaves no bytes of a blob in the database of the sqlite store', async () => {
  const store = await opened('sqlite');
  for (const id of ['s1', 's2']) {
    await store.create({ id, key: 'agent:main:main' });
    await store.append(id, [picture()]);
  }
  await store.delete('s1');
  await store.purge('s1');
  await close(store);
  database('sqlite', (db) => {
    expect(db.prepare('SELECT session_id FROM blobs').all()).toEqual([{ session_id: 's2' }]);
  });
});

function database(kind: StoreKind, work: (db: DatabaseSync) => void): void {
  const db = new DatabaseSync(join(home, kind === 'jsonl' ? 'control.db' : 'store.db'));
  try {
    work(db);
  } finally {
    db.close();
  }
}

test.each(['jsonl', 'memory'] as const)('a copied history takes its blobs along on %s', async (kind) => {
  const store = await opened(kind);
  for (const id of ['s1', 's2', 's3']) await store.create({ id, key: 'agent:main:main' });
  const given = [
    picture(),
    say('x'),
    ...Array.from({ length: 6 }, (_, i) => picture(Buffer.alloc(70_000 + i))),
  ];
  await store.append('s1', given);
  const { entries } = parseTranscript(await store.exportSession('s1'));
  expect(await copyHistory(store, 's2', entries, { blobsFrom: { store, id: 's1' } })).toBe(8);
  await copyHistory(store, 's3', entries);
  await store.delete('s1');
  await store.purge('s1');
  const copy = parseTranscript(await store.exportSession('s2')).entries;
  const whole = hydrateBlobs(copy, await loadBlobs(store, 's2', copy));
  expect(
    whole.map(({ message }) => JSON.stringify(message)).join() ===
      given.map(({ message }) => JSON.stringify(message)).join(),
  ).toBe(true);
  // Without a source for them, the loss is reported and nothing is faked.
  expect(await store.verify()).toEqual({ status: 'clean', findings: [] });
  const [lost] = parseTranscript(await store.exportSession('s3')).entries as Entry[];
  expect(lost?.['message']).toMatchObject({
    content: [{ type: 'text', text: '[image/png, 100 kB]', lostBlob: `sha256:${hashOf(IMAGE)}` }],
  });
});
