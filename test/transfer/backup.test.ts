import { createHash } from 'node:crypto';
import {
  existsSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  rmSync,
  statSync,
  truncateSync,
  writeFileSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import fc from 'fast-check';
import { afterAll, describe, expect, test } from 'vitest';
import { openStore } from '../../src/config/open.ts';
import type { Store } from '../../src/index.ts';
import { checkBackup } from '../../src/interop/transfer/read-backup.ts';
import { restoreBackup } from '../../src/interop/transfer/restore-backup.ts';
import { writeBackup } from '../../src/interop/transfer/write-backup.ts';
import { sameStores } from '../../src/testing/store-suite/transfer-kit.ts';
import { runBeside } from '../support/command-line.ts';
import { operate } from '../support/random-store.ts';
import { cannotMount, mountTmpfs } from '../support/store-faults.ts';

fc.configureGlobal({ seed: Number(process.env['REPRISE_PROPERTY_SEED'] ?? 7) });

const root = mkdtempSync(join(tmpdir(), 'reprise-backup-'));
afterAll(() => rmSync(root, { recursive: true, force: true }));
const at = (name: string): string => join(root, name);

const user = (text: string): { type: string; message: object } => ({
  type: 'message',
  message: { role: 'user', content: text },
});

async function lively(): Promise<Store> {
  const store = await openStore({ kind: 'memory' });
  for (let n = 0; n < 80; n++) await operate(store, n, n);
  return store;
}

describe('a backup', () => {
  test('holds everything, in lines that any tool can read, for its owner only', async () => {
    await using store = await lively();
    const file = at('whole.jsonl');
    const { sha256, digest } = await writeBackup(store, file);
    expect(statSync(file).mode & 0o777).toBe(0o600);
    expect(readdirSync(root).filter((name) => name.endsWith('.tmp'))).toEqual([]);
    const bytes = readFileSync(file);
    const lines = bytes.toString('latin1').trimEnd().split('\n');
    for (const line of lines) expect(() => JSON.parse(line)).not.toThrow();
    const end = JSON.parse(lines.at(-1) ?? '') as { kind: string; sha256: string };
    const before = bytes.subarray(0, bytes.lastIndexOf('\n', bytes.length - 2) + 1);
    expect(end).toMatchObject({ kind: 'end', sha256: createHash('sha256').update(before).digest('hex') });
    expect(end.sha256).toBe(sha256);
    // The transcript stands there as it is stored.
    const [id = ''] = digest.sessions.keys();
    const [header = ''] = Buffer.from(await store.exportSession(id))
      .toString('latin1')
      .split('\n');
    expect(lines).toContain(header);
    await using target = await openStore({ kind: 'sqlite', home: at('whole'), durability: 'os' });
    expect(await restoreBackup(file, target)).toMatchObject({ status: 'done', differences: [] });
    await sameStores(store, target);
    expect((await restoreBackup(file, target)).status).toBe('before');
    await target.create({ key: 'agent:main:new' });
    await expect(writeBackup(store, file)).rejects.toMatchObject({ code: 'INVALID_INPUT' });
    await writeBackup(store, file, { force: true });
  });

  test('T28 I-68 made while three write is a whole prefix with all that was acknowledged before', async () => {
    const home = at('busy');
    await using first = await openStore({ kind: 'jsonl', home, durability: 'os' });
    await using second = await openStore({ kind: 'jsonl', home, durability: 'os' });
    await using third = await openStore({ kind: 'jsonl', home, durability: 'os' });
    const writers = [first, second, third];
    const ids = ['a', 'b', 'c'];
    const acknowledged = [0, 0, 0];
    for (const [w, store] of writers.entries())
      await store.create({ id: ids[w] ?? '', key: `agent:main:${ids[w]}`, activate: true });
    let isOver = false;
    const work = writers.map(async (store, w) => {
      for (let n = 0; !isOver; n++) {
        const pair = [user(`${w} ${n}`), user(`and ${'.'.repeat((n % 40) * 400)}`)];
        const { lastSeq } = await store.append(ids[w] ?? '', pair, { key: `k${n}` });
        acknowledged[w] = lastSeq;
        await store.inbox.receive({
          sessionKey: `agent:main:${ids[w]}`,
          source: 'test',
          idempotencyKey: `${w}-${n}`,
          body: { n },
          log: { agentId: 'main', channelType: 'web', channelId: 'c', role: 'user', content: `${w} ${n}` },
        });
      }
    });
    const file = at('busy.jsonl');
    let before: readonly number[];
    let pending: number;
    try {
      await expect.poll(() => Math.min(...acknowledged), { timeout: 60_000 }).toBeGreaterThan(20);
      before = [...acknowledged];
      pending = (await first.inbox.pending()).length;
      const { status, stderr } = await runBeside(['backup', file, '--home', home]);
      expect([status, stderr]).toEqual([0, expect.stringContaining('Bring it back')]);
    } finally {
      isOver = true;
      await Promise.all(work);
    }
    const restored = at('restored');
    const { status, stderr } = await runBeside(['backup', 'restore', file, '--home', restored]);
    expect([status, stderr]).toEqual([0, '']);
    await using copy = await openStore({ kind: 'jsonl', home: restored });
    expect(['clean', 'quarantined']).toContain((await copy.verify()).status);
    for (const [w, id] of ids.entries()) {
      const whole = Buffer.from(await first.exportSession(id));
      const prefix = Buffer.from(await copy.exportSession(id));
      expect(whole.subarray(0, prefix.length).equals(prefix)).toBe(true);
      const { lastSeq, active } = await copy.get(id);
      expect(lastSeq).toBeGreaterThanOrEqual(before[w] ?? 0);
      // Header and activation, then pairs: none is torn.
      expect((lastSeq - 2) % 2).toBe(0);
      expect(active).toBe(true);
    }
    const items = await copy.inbox.pending();
    expect(items.length).toBeGreaterThanOrEqual(pending);
    // Each message that is there is known by its key, so its sender cannot have it accepted again.
    for (const { sessionKey, inboxId, body } of items.slice(0, 20)) {
      const key = {
        sessionKey,
        source: 'test',
        idempotencyKey: `${ids.indexOf(sessionKey.slice(-1))}-${body['n']}`,
      };
      expect((await copy.inbox.known(key))?.inboxId).toBe(inboxId);
    }
  });

  test('of a store that has lost a transcript is restored without it, and tells of it', async () => {
    const home = at('lost');
    const key = 'agent:main:direct:lost';
    const ids: string[] = [];
    {
      await using store = await openStore({ home });
      for (const [n, text] of ['kept', 'lost'].entries()) {
        const { id } = await store.create({ key: n === 0 ? 'agent:main:direct:kept' : key, activate: true });
        await store.append(id, [user(text)]);
        ids.push(id);
      }
    }
    const [kept = '', lost = ''] = ids;
    rmSync(join(home, 'agents/main/sessions', `${lost}.jsonl`));
    await using store = await openStore({ home });
    const { digest } = await writeBackup(store, at('lost.jsonl'));
    expect(digest.damage).toMatchObject([{ session: lost }]);
    await using target = await openStore({ kind: 'memory' });
    expect(await restoreBackup(at('lost.jsonl'), target)).toMatchObject({ status: 'done', differences: [] });
    expect(await target.exportSession(kept)).toEqual(await store.exportSession(kept));
    expect(await target.active(key)).toBeUndefined();
  });

  test('that was cut or changed anywhere is refused, and nothing of it is restored', async () => {
    await using store = await openStore({ kind: 'memory' });
    for (let n = 0; n < 40; n++) await operate(store, n, n + 1);
    const file = at('good.jsonl');
    await writeBackup(store, file);
    const good = readFileSync(file);
    const bad = at('bad.jsonl');
    await using target = await openStore({ kind: 'memory' });
    const harms = fc.oneof(
      fc.record({ cut: fc.nat(good.length - 1) }),
      fc.record({ flip: fc.nat(good.length - 1), bit: fc.nat(7) }),
    );
    await fc.assert(
      fc.asyncProperty(harms, async (harm) => {
        const bytes = Buffer.from(good);
        if ('flip' in harm) bytes[harm.flip] = (bytes[harm.flip] ?? 0) ^ (1 << harm.bit);
        writeFileSync(bad, bytes);
        if ('cut' in harm) truncateSync(bad, harm.cut);
        const error = await restoreBackup(bad, target).then(
          () => undefined,
          (reason: unknown) => reason,
        );
        expect(error).toMatchObject({
          code: expect.stringMatching(/^(?:STORE_CORRUPT|INVALID_INPUT|STORE_NEWER)$/),
          details: { next: expect.any(String) },
        });
        expect(await target.transfer.state()).toEqual({ empty: true });
      }),
      { numRuns: Number(process.env['REPRISE_PROPERTY_RUNS'] ?? 40) },
    );
    expect((await restoreBackup(file, target)).status).toBe('done');
    await sameStores(store, target);
  });

  test('says what is wrong in one line, with a next step and an exit code', async () => {
    await using store = await lively();
    const file = at('cli.jsonl');
    await writeBackup(store, file);
    const missing = await runBeside(['backup', 'verify', at('nothing')]);
    expect([missing.status, missing.stderr]).toEqual([4, expect.stringContaining('Check the path')]);
    const other = at('other.txt');
    writeFileSync(other, 'hello\n');
    const notOurs = await runBeside(['backup', 'verify', other]);
    expect([notOurs.status, notOurs.stderr]).toEqual([2, expect.stringContaining('not a backup')]);
    const whole = await runBeside(['backup', 'verify', file, '--json']);
    expect(whole.status).toBe(0);
    expect(JSON.parse(whole.stdout)).toMatchObject({ damage: [], hasMore: false });
    const imported = await runBeside(['import', file, '--home', at('no-home'), '--yes']);
    expect([imported.status, imported.stderr]).toEqual([2, expect.stringContaining('backup restore')]);
    truncateSync(file, statSync(file).size - 10);
    const cut = await runBeside(['backup', 'restore', file, '--home', at('cut')]);
    expect([cut.status, cut.stderr]).toEqual([6, expect.stringContaining('Nothing was restored')]);
    expect(existsSync(at('cut'))).toBe(false);
    const nowhere = await runBeside(['backup', at('new.jsonl'), '--home', at('no-home')]);
    expect(nowhere.status).toBe(4);
    expect(existsSync(at('no-home'))).toBe(false);
  });

  const why = cannotMount();
  test.skipIf(why !== undefined)('leaves the last one as it is when the disk is full', async () => {
    await using store = await openStore({ kind: 'memory' });
    const { id } = await store.create({ key: 'agent:main:main' });
    const disk = mkdtempSync(join(root, 'disk-'));
    using _disk = mountTmpfs(disk, '2m');
    const file = join(disk, 'last.jsonl');
    await writeBackup(store, file);
    const last = readFileSync(file);
    for (let n = 0; n < 10; n++) await store.append(id, [user(String(n).repeat(300_000))]);
    await expect(writeBackup(store, file, { force: true })).rejects.toMatchObject({ code: 'STORE_FULL' });
    expect(readFileSync(file).equals(last)).toBe(true);
    expect(readdirSync(disk)).toEqual(['last.jsonl']);
    expect((await checkBackup(file)).digest.sessions.size).toBe(1);
  });
});
