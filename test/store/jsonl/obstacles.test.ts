import { spawnSync } from 'node:child_process';
import {
  chmodSync,
  existsSync,
  lstatSync,
  mkdirSync,
  readFileSync,
  renameSync,
  rmSync,
  statSync,
  symlinkSync,
  utimesSync,
  writeFileSync,
} from 'node:fs';
import { dirname, join } from 'node:path';
import { describe, expect, test } from 'vitest';
import { JsonlHome, say } from '../../support/store/jsonl-home.ts';
import { succeeds, until } from '../../support/store/store-faults.ts';

const fifo = (path: string): unknown => succeeds('mkfifo', path);

describe('T85 something else stands where the transcript should be', () => {
  test.each([
    ['a link', 'ELOOP', (path: string, target: string) => symlinkSync(target, path)],
    ['a folder', 'EISDIR', (path: string) => mkdirSync(path)],
    ['a pipe', 'ENOTSUP', (path: string) => fifo(path)],
  ])(
    '%s: writing is refused and says why, the target is untouched, and it heals',
    async (_what, reason, plant) => {
      await using home = new JsonlHome();
      await home.open();
      await home.seed('s1', 'one');
      await home.seed('other', 'fine');
      await home.reopen();
      const target = join(home.path, 'target');
      writeFileSync(target, 'precious\n');
      renameSync(home.file(), `${home.file()}.away`);
      plant(home.file(), target);
      await expect(home.store.append('s1', [say('two')])).rejects.toMatchObject({
        code: 'STORE_READ_ONLY',
        outcome: 'none',
        details: { reason, file: home.file(), next: expect.stringContaining(home.file()) },
      });
      await expect(home.store.lease('s1', { waitMs: 0 })).rejects.toMatchObject({ code: 'STORE_READ_ONLY' });
      await expect(home.store.append('other', [say('still')])).resolves.toBeDefined();
      expect(await home.store.verify('s1')).toMatchObject({
        status: 'corrupt',
        findings: [{ kind: 'not-a-file' }],
      });
      expect((await home.store.stats()).problems).toMatchObject([{ session: 's1', code: reason }]);
      await expect(home.store.read('s1')).rejects.toMatchObject({ code: expect.stringMatching(/^STORE_/) });
      expect(readFileSync(target, 'utf8')).toBe('precious\n');
      rmSync(home.file(), { recursive: true });
      renameSync(`${home.file()}.away`, home.file());
      await home.store.append('s1', [say('two')]);
      expect(await home.texts()).toEqual(['one', 'two']);
      expect(await home.store.verify()).toMatchObject({ status: 'clean' });
    },
  );

  test('a session made over a link keeps its header, and verify says what is wrong', async () => {
    await using home = new JsonlHome();
    await home.open();
    const target = join(home.path, 'target');
    writeFileSync(target, 'precious\n');
    mkdirSync(dirname(home.file()), { recursive: true });
    symlinkSync(target, home.file());
    await home.store.create({ id: 's1', key: 'agent:main:main' });
    await expect(home.store.append('s1', [say('one')])).rejects.toMatchObject({ code: 'STORE_READ_ONLY' });
    expect(await home.store.verify()).toMatchObject({ findings: [{ kind: 'not-a-file' }] });
    expect(await home.store.stats()).toMatchObject({ behind: 1, problems: [{ code: 'ELOOP' }] });
    expect(readFileSync(target, 'utf8')).toBe('precious\n');
    rmSync(home.file());
    await home.store.append('s1', [say('one')]);
    expect(await home.texts()).toEqual(['one']);
  });

  test('purging it removes what stands there and not what it points to', async () => {
    await using home = new JsonlHome();
    await home.open();
    await home.seed('s1', 'one');
    await home.store.delete('s1');
    await home.followed();
    const target = join(home.path, 'target');
    writeFileSync(target, 'precious\n');
    rmSync(home.file());
    symlinkSync(target, home.file());
    await home.store.purge('s1');
    expect(existsSync(home.file())).toBe(false);
    expect(readFileSync(target, 'utf8')).toBe('precious\n');
    // A folder is not ours to remove; the store must survive it.
    await home.seed('s2', 'one');
    await home.store.delete('s2');
    await home.followed();
    rmSync(home.file('s2'));
    mkdirSync(home.file('s2'));
    await home.store.purge('s2');
    await expect(home.store.get('s2')).rejects.toMatchObject({ code: 'GONE' });
  });

  test('a file of another tool in the place of a new transcript is set aside whole', async () => {
    await using home = new JsonlHome();
    await home.open();
    // A store that is still reading names would find the file first, and then refuse the id of the session.
    await home.compared();
    mkdirSync(dirname(home.file()), { recursive: true });
    const other = '{"type":"message","id":"x","parentId":null,"timestamp":"","message":{"role":"user"}}\n';
    writeFileSync(home.file(), other);
    await home.seed('s1', 'one');
    expect(home.quarantine().map(String)).toEqual([other]);
    await home.rebuild();
    expect(await home.texts()).toEqual(['one']);
  });
});

test('T84 with a lax umask and an open file of before, folders are 0700 and transcripts 0600', async () => {
  await using home = new JsonlHome();
  const before = process.umask(0);
  try {
    mkdirSync(dirname(home.file()), { recursive: true, mode: 0o755 });
    await home.open();
    await home.seed('s1', 'one');
    await home.close();
    chmodSync(home.file(), 0o644);
    await home.open();
    await home.store.append('s1', [say('two')]);
    await home.followed();
    expect(statSync(dirname(home.file())).mode & 0o777).toBe(0o700);
    expect(statSync(home.file()).mode & 0o777).toBe(0o600);
  } finally {
    process.umask(before);
  }
});

describe('T37 the lock file of another tool', () => {
  const HOUR = 3_600_000;
  const now = (): string => new Date().toISOString();
  /** A process that lived once. */
  const dead = spawnSync(process.execPath, ['-e', '']).pid;
  const json = (pid: number, createdAt: string): string => JSON.stringify({ pid, createdAt });
  const old = new Date(Date.now() - HOUR);
  const fresh = (): void => {};

  const age = (path: string): void => utimesSync(path, old, old);
  const cases: readonly (readonly [string, boolean, (path: string) => unknown, (path: string) => void])[] = [
    ['of a live process', true, (path) => writeFileSync(path, json(process.pid, now())), fresh],
    ['a bare pid of a live process', true, (path) => writeFileSync(path, `${process.pid}\n`), fresh],
    ['of a dead process', false, (path) => writeFileSync(path, json(dead, now())), fresh],
    ['a bare pid of a dead process', false, (path) => writeFileSync(path, String(dead)), fresh],
    [
      'older than the process that has its number now',
      false,
      (path) => writeFileSync(path, json(process.pid, old.toISOString())),
      fresh,
    ],
    ['empty and fresh', true, (path) => writeFileSync(path, ''), fresh],
    ['half JSON and fresh', true, (path) => writeFileSync(path, '{"pid":12'), fresh],
    ['1 MB and fresh', true, (path) => writeFileSync(path, '1'.repeat(1_000_000)), fresh],
    ['a fresh folder', true, (path) => mkdirSync(path), fresh],
    ['a fresh pipe', true, fifo, fresh],
    ['a fresh link', true, (path) => symlinkSync('/proc/self/status', path), fresh],
    ['a pid that is none', true, (path) => writeFileSync(path, '{"pid":-1}'), fresh],
    ['empty and old', false, (path) => writeFileSync(path, ''), age],
    ['half JSON and old', false, (path) => writeFileSync(path, '{"pid"'), age],
    ['an old folder', false, (path) => mkdirSync(path), age],
    ['an old pipe', false, fifo, age],
  ];

  test('of a live holder keeps us out, of a dead one is reported and ignored, and none is removed', async () => {
    await using home = new JsonlHome();
    await home.open();
    const ids = cases.map((_, n) => `s${n}`);
    for (const id of ids) await home.seed(id, 'one');
    await home.reopen();
    for (const [n, [what, isHeld, make, touch]] of cases.entries()) {
      const id = `s${n}`;
      const lock = `${home.file(id)}.lock`;
      make(lock);
      touch(lock);
      const said = await home.store.append(id, [say('two')]).catch(({ code, outcome, details }) => ({
        code,
        outcome,
        file: details.file,
      }));
      expect(said, what).toEqual(
        isHeld ? { code: 'LEASE_HELD', outcome: 'none', file: lock } : { firstSeq: 3, lastSeq: 3 },
      );
      const listed = (await home.store.leases()).find(({ sessionId }) => sessionId === id);
      expect(listed, what).toMatchObject({ lockFile: lock, alive: isHeld });
      expect(lstatSync(lock), what).toBeDefined();
      rmSync(lock, { recursive: true });
      await home.store.append(id, [say('three')]);
      expect(await home.texts(id), what).toEqual(isHeld ? ['one', 'three'] : ['one', 'two', 'three']);
    }
  });

  test('a lock taken while the store is open is noticed and respected, by leases too', async () => {
    await using home = new JsonlHome();
    await home.open();
    await home.seed('s1', 'one');
    await home.seed('other', 'one');
    const lock = `${home.file()}.lock`;
    writeFileSync(lock, json(process.pid, now()));
    const refused = await until('the lock is seen', () =>
      home.store.append('s1', [say('before')]).then(
        () => undefined,
        (error: unknown) => error,
      ),
    );
    expect(refused).toMatchObject({ code: 'LEASE_HELD', details: { pid: process.pid, file: lock } });
    await expect(home.store.lease('s1', { waitMs: 0 })).rejects.toMatchObject({ code: 'LEASE_HELD' });
    await expect(home.store.patch('s1', { label: 'x' })).rejects.toMatchObject({ code: 'LEASE_HELD' });
    await home.store.append('other', [say('not concerned')]);
    rmSync(lock);
    await home.store.append('s1', [say('after')]);
    // On the way there may be more than a page of them.
    const { entries } = await home.store.read('s1', { direction: 'backward', limit: 1 });
    expect(JSON.stringify(entries)).toContain('after');
  });
});
