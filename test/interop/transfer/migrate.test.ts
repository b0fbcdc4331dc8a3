import { createHash } from 'node:crypto';
import { appendFileSync, mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import fc from 'fast-check';
import { afterAll, describe, expect, test } from 'vitest';
import { openStore, type StoreKind } from '../../../src/config/open.ts';
import type { Store } from '../../../src/index.ts';
import { migrateStore } from '../../../src/interop/transfer/migrate-store.ts';
import { digestRecords, recordsOf } from '../../../src/interop/transfer/store-digest.ts';
import { sameStores } from '../../../testing/store-suite/copy/transfer-kit.ts';
import { freshDatabase } from '../../support/postgres/postgres.ts';
import { appendForeign } from '../../support/store/foreign-lines.ts';
import { operate } from '../../support/store/random-store.ts';
import { cannotMount, mountTmpfs } from '../../support/store/store-faults.ts';

const root = mkdtempSync(join(tmpdir(), 'reprise-migrate-'));
afterAll(() => rmSync(root, { recursive: true, force: true }));
let homes = 0;
const newHome = (): string => join(root, String(++homes));

const open = (kind: StoreKind, home: string, readOnly = false): Promise<Store> =>
  openStore({ kind, home, durability: 'os', readOnly });

const user = (text: string): { type: string; message: object } => ({
  type: 'message',
  message: { role: 'user', content: text },
});

/** Every file of a home but what SQLite keeps beside a database while it is open. */
function filesOf(home: string): Record<string, string> {
  const files = readdirSync(home, { recursive: true, withFileTypes: true })
    .filter((entry) => entry.isFile() && !/-(wal|shm)$/.test(entry.name))
    .map((entry) => join(entry.parentPath, entry.name));
  return Object.fromEntries(
    files.map((file) => [file, createHash('sha256').update(readFileSync(file)).digest('hex')]),
  );
}

const [M, S, J, P] = ['memory', 'sqlite', 'jsonl', 'postgres'] as const;
const RUNS = process.env['REPRISE_PROPERTY_RUNS'];
const SEED = Number(process.env['REPRISE_PROPERTY_SEED'] ?? 7);
/** Each kind is left once and reached once; in a longer run every ordered pair of them is walked. */
const WALK: readonly StoreKind[] =
  RUNS === undefined ? [M, S, P, J, M] : [M, S, M, J, M, P, S, J, S, P, J, P, M];
const WALK_MS = 180_000 * Number(RUNS ?? 1) * (RUNS === undefined ? 1 : 5);

describe('a migration', () => {
  test('T24 I-67 whatever happened in a store is the same after any way through the others', {
    tags: 'long',
    timeout: WALK_MS,
  }, async () => {
    const lives = fc.array(fc.tuple(fc.nat(12), fc.nat(1000)), {
      minLength: 60,
      maxLength: 90,
      size: 'max',
    });
    await fc.assert(
      fc.asyncProperty(lives, async (life) => {
        await using stores = new AsyncDisposableStack();
        const first = stores.use(await open(M, newHome()));
        for (const [op, n] of life) await operate(first, op, n);
        let source = first;
        for (const kind of WALK.slice(1)) {
          const database = kind === P ? stores.use(await freshDatabase()) : undefined;
          const place = database === undefined ? { home: newHome() } : { url: database.url };
          const target = stores.use(await openStore({ kind, durability: 'os', ...place }));
          const report = await migrateStore(source, target, { run: 'walk' });
          expect(report).toMatchObject({ status: 'done', differences: [] });
          await sameStores(first, target);
          source = target;
        }
        // What is compared is what `exportSession` says, and the last of the walk can be used.
        const { sessions } = await digestRecords(recordsOf(source));
        for (const [id, { sha256 }] of sessions)
          expect(
            createHash('sha256')
              .update(await first.exportSession(id))
              .digest('hex'),
          ).toBe(sha256);
        const { id } = await source.create({ key: 'agent:main:after' });
        await source.append(id, [user('goes on')]);
      }),
      { numRuns: Number(RUNS ?? 1), endOnFailure: true, seed: SEED },
    );
  });

  test('lines of other tools keep their bytes and numbers, also when the index is rebuilt', async () => {
    const [home, files] = [newHome(), newHome()];
    {
      await using store = await open('jsonl', home);
      await store.create({ id: 's', key: 'agent:main:main' });
      await store.append('s', [user('one')]);
    }
    const path = join(home, 'agents/main/sessions/s.jsonl');
    appendForeign(path, 'message', null);
    appendForeign(path, 'unknown', null);
    appendFileSync(
      path,
      Buffer.from('{"type":"message","id":"bad","message":{"role":"user","content":"\xff\xfe"}}\n', 'latin1'),
    );
    {
      await using store = await open('jsonl', home);
      await store.append('s', [user('two')]);
      appendForeign(path, 'several', null);
      await store.append('s', [user('three')]);
      await using sqlite = await open('sqlite', newHome());
      await using jsonl = await open('jsonl', files);
      await migrateStore(store, sqlite, { run: 'a' });
      await sameStores(store, sqlite);
      await migrateStore(sqlite, jsonl, { run: 'b' });
      await sameStores(store, jsonl);
      for (const target of [sqlite, jsonl]) await target.append('s', [user('four')]);
    }
    const before = readFileSync(join(files, 'agents/main/sessions/s.jsonl'));
    for (const name of readdirSync(files)) if (name.startsWith('control.db')) rmSync(join(files, name));
    await using anew = await open('jsonl', files);
    expect(before.equals(Buffer.from(await anew.exportSession('s')))).toBe(true);
    // Bytes that are not UTF-8 are reported, as they were in the source.
    expect((await anew.verify()).findings.map(({ kind }) => kind)).toEqual(['bad-utf8']);
  });

  test('changes no byte of its source, and adds what is written there meanwhile', async () => {
    const home = newHome();
    {
      await using store = await open('jsonl', home);
      for (let n = 0; n < 60; n++) await operate(store, n, n);
    }
    const before = filesOf(home);
    {
      await using source = await open('jsonl', home, true);
      await using target = await open('sqlite', newHome());
      await migrateStore(source, target, { run: 'x' });
      await expect(source.create({ key: 'agent:main:main' })).rejects.toMatchObject({
        code: 'STORE_READ_ONLY',
      });
    }
    expect(filesOf(home)).toEqual(before);
    await using writer = await open('jsonl', home);
    await using target = await open('sqlite', newHome());
    let reads = 0;
    const source = beforeEachPass(writer, async () => {
      // After the first pass, before both are compared.
      if (++reads === 2) await writer.create({ id: 'late', key: 'agent:main:late' });
    });
    const report = await migrateStore(source, target, { run: 'y' });
    expect(report.status).toBe('done');
    await sameStores(writer, target);
    expect((await target.get('late')).id).toBe('late');
  });

  test('is refused by a source that is used, one that does not rest, and one that is half a copy', async () => {
    await using source = await open('memory', '');
    await using target = await open('memory', '');
    const { id } = await source.create({ key: 'agent:main:main' });
    const lease = await source.lease(id);
    await expect(migrateStore(source, target, { run: 'x' })).rejects.toMatchObject({ code: 'LEASE_HELD' });
    await lease.release();
    const busy = beforeEachPass(source, () => source.append(id, [user('again')]));
    const restless = migrateStore(busy, target, { run: 'x' });
    await expect(restless).rejects.toMatchObject({ code: 'STORE_BUSY' });
    await expect(migrateStore(target, source, { run: 'y' })).rejects.toMatchObject({
      code: 'STORE_READ_ONLY',
    });
    expect((await migrateStore(source, target, { run: 'x' })).status).toBe('done');
    expect((await migrateStore(source, target, { run: 'x' })).status).toBe('before');
    await target.append(id, [user('elsewhere')]);
    await expect(migrateStore(source, target, { run: 'x' })).rejects.toMatchObject({ code: 'INVALID_INPUT' });
    await sameExport(source, target, id);
  });

  test('names what its source has lost, and copies the rest', async () => {
    const home = newHome();
    {
      await using store = await open('jsonl', home);
      await store.create({ id: 's', key: 'agent:main:main' });
      for (let n = 0; n < 5; n++) await store.append('s', [user(`line ${n}`)]);
      const picture = {
        type: 'image',
        data: Buffer.alloc(90_000, 'px').toString('base64'),
        mimeType: 'image/png',
      };
      await store.append('s', [{ type: 'message', message: { role: 'user', content: [picture] } }]);
    }
    const path = join(home, 'agents/main/sessions/s.jsonl');
    writeFileSync(path, readFileSync(path, 'utf8').replace('line 2', 'lime 2'));
    const [blob = ''] = readdirSync(join(home, 'agents/main/sessions/s.blobs'));
    writeFileSync(join(home, 'agents/main/sessions/s.blobs', blob), 'other');
    await using source = await open('jsonl', home, true);
    for (const kind of ['sqlite', 'jsonl'] as const) {
      await using target = await open(kind, newHome());
      const { status, digest } = await migrateStore(source, target, { run: 'x' });
      expect(status).toBe('done');
      expect(digest.damage.map(({ detail }) => detail)).toEqual([
        `blob sha256:${blob} cannot be read`,
        'line 4 cannot be read',
      ]);
      const { entries } = await target.read('s');
      expect(entries.map(({ seq }) => seq)).toEqual([1, 2, 3, 5, 6, 7]);
      await expect(target.append('s', [user('more')])).rejects.toMatchObject({ code: 'STORE_CORRUPT' });
      expect((await target.verify()).status).toBe('corrupt');
    }
  });

  const why = cannotMount();
  test.skipIf(why !== undefined)('resumes when a disk that was full has room again', async () => {
    await using source = await open('memory', '');
    const { id } = await source.create({ key: 'agent:main:main' });
    for (let n = 0; n < 12; n++) await source.append(id, [user(String(n).repeat(300_000))]);
    const mount = mkdtempSync(join(root, 'disk-'));
    using _disk = mountTmpfs(mount, '16m');
    const filler = join(mount, 'filler');
    writeFileSync(filler, Buffer.alloc(13 * 1024 * 1024));
    await using target = await open('sqlite', join(mount, 'home'));
    await expect(migrateStore(source, target, { run: 'x' })).rejects.toMatchObject({ code: 'STORE_FULL' });
    rmSync(filler);
    expect((await migrateStore(source, target, { run: 'x' })).status).toBe('done');
    await expect(sameStores(source, target)).resolves.toBeUndefined();
  });
});

/** A store that another process changes whenever it is read from the start. */
function beforeEachPass(store: Store, work: () => Promise<unknown>): Store {
  const transfer: Store['transfer'] = {
    ...store.transfer,
    read: async (cursor) => {
      if (cursor === undefined) await work();
      return store.transfer.read(cursor);
    },
  };
  return new Proxy(store, {
    get(_, name) {
      if (name === 'transfer') return transfer;
      const member: unknown = Reflect.get(store, name);
      return typeof member === 'function' ? member.bind(store) : member;
    },
  });
}

async function sameExport(left: Store, right: Store, id: string): Promise<void> {
  const [mine, other] = [await left.exportSession(id), await right.exportSession(id)];
  expect(Buffer.from(other).subarray(0, mine.length).equals(Buffer.from(mine))).toBe(true);
}
