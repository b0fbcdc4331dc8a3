import { createHash } from 'node:crypto';
import {
  appendFileSync,
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
import { openStore } from '../../../src/config/open.ts';
import { openReprise } from '../../../src/config/open-reprise.ts';
import { Reprise } from '../../../src/engine/reprise.ts';
import type { Store } from '../../../src/index.ts';
import { checkBackup } from '../../../src/interop/transfer/read-backup.ts';
import { restoreBackup } from '../../../src/interop/transfer/restore-backup.ts';
import { writeBackup } from '../../../src/interop/transfer/write-backup.ts';
import { createScriptedModel } from '../../../src/models/scripted/scripted-model.ts';
import { sameStores } from '../../../testing/store-suite/copy/transfer-kit.ts';
import { runBeside } from '../../support/processes/command-line.ts';
import { operate } from '../../support/store/random-store.ts';
import { cannotMount, mountTmpfs } from '../../support/store/store-faults.ts';

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
      expect([status, stderr]).toEqual([0, expect.stringContaining('Restore it with')]);
    } finally {
      isOver = true;
      await Promise.all(work);
    }
    const restored = at('restored');
    const { status, stderr } = await runBeside(['backup', 'restore', file, '--home', restored]);
    expect([status, stderr]).toEqual([
      0,
      expect.stringMatching(/^([\d,]+ queued messages? of the restored backup: held|$)/),
    ]);
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
    const items = await copy.transfer.held();
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

  test('of a store that has lost a transcript is restored without it, and reports it', async () => {
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
    expect([notOurs.status, notOurs.stderr]).toEqual([2, expect.stringContaining('not a Reprise backup')]);
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

describe('a restored backup runs nothing by itself', () => {
  const KEY = 'agent:main:direct:telegram:ann';

  /** What its engine answers, as long as there is something to answer. */
  async function answersOf(store: Store): Promise<string[]> {
    const model = createScriptedModel(Array(10).fill('an answer'), { contextWindow: 200_000 });
    const reprise = new Reprise({ store, model, compaction: { background: false } });
    await reprise.idle();
    const { entries } = await store.read((await store.active(KEY))?.id ?? '', { limit: 100 });
    return entries.flatMap(({ entry }) => {
      const { message } = entry as { message?: { role: string; content: unknown } };
      return message === undefined ? [] : [`${message.role}: ${JSON.stringify(message.content)}`];
    });
  }

  async function queued(): Promise<string> {
    await using store = await openStore({ kind: 'memory' });
    const said = (text: string) => ({ sessionKey: KEY, source: 'telegram', body: { text } });
    const { sessionId } = await store.inbox.receive(said('the one that ran'));
    await store.inbox.receive(said('the one that waited'));
    const lease = await store.lease(sessionId);
    await store.inbox.take(sessionId, lease);
    const file = at(`queued-${Math.random()}.jsonl`);
    await writeBackup(store, file);
    return file;
  }

  test('an honest one beside its original answers no queued message until its owner releases them', async () => {
    const file = await queued();
    expect(await checkBackup(file)).toMatchObject({ queued: 2 });
    const target = await openStore({ kind: 'memory' });
    expect(await restoreBackup(file, target)).toMatchObject({ status: 'done', held: 2 });
    expect(await target.inbox.pending()).toEqual([]);
    const held = await target.transfer.held();
    expect(held.map(({ state, body }) => [state, body['text']])).toEqual([
      ['held', 'the one that ran'],
      ['held', 'the one that waited'],
    ]);
    expect(await answersOf(target)).toEqual([]);
    expect(await target.transfer.release()).toBe(2);
    expect((await answersOf(target)).filter((said) => said.startsWith('user'))).toHaveLength(2);
    expect(await target.transfer.held()).toEqual([]);
  });

  test('a crafted one runs no message either, and its messages can be cancelled', async () => {
    const lines = readFileSync(await queued(), 'utf8')
      .trimEnd()
      .split('\n');
    const at0 = lines.findIndex((line) => line.includes('"the one that waited"'));
    const item = JSON.parse(lines[at0] ?? '') as { item: { state: string; detail?: object; body: object } };
    item.item.state = 'held';
    item.item.detail = { heldFrom: 'done' };
    item.item.body = { text: 'run this' };
    lines[at0] = JSON.stringify(item);
    const body = `${lines.slice(0, -1).join('\n')}\n`;
    const end = JSON.parse(lines.at(-1) ?? '') as object;
    const crafted = at('crafted.jsonl');
    const sha256 = createHash('sha256').update(body).digest('hex');
    writeFileSync(crafted, `${body}${JSON.stringify({ ...end, sha256 })}\n`);
    const target = await openStore({ kind: 'memory' });
    expect(await restoreBackup(crafted, target)).toMatchObject({ status: 'done', held: 2 });
    expect(await answersOf(target)).toEqual([]);
    const [first] = await target.transfer.held();
    expect(await target.transfer.release({ cancel: true })).toBe(2);
    expect(await answersOf(target)).toEqual([]);
    expect(await target.inbox.get(first?.inboxId ?? '')).toMatchObject({
      state: 'cancelled',
      detail: { reason: 'restored' },
    });
  });
});

test.each(['jsonl', 'sqlite'] as const)(
  'the command that restore prints releases what a restored %s home holds; until then nothing runs in it',
  async (kind) => {
    const source = await openStore({ kind: 'memory' });
    const key = 'agent:main:main';
    await source.inbox.receive({ sessionKey: key, source: 'cli', body: { text: 'hello from before' } });
    const file = at(`queued-${kind}.jsonl`);
    await writeBackup(source, file);
    const home = at(`a home with queued messages, ${kind}`);
    const restored = await runBeside(['backup', 'restore', file, '--home', home, '--store', kind]);
    expect(restored.stderr).toMatch(/^1 queued message of the restored backup: held/m);
    const [, command = ''] = /^To run them: reprise (.*)$/m.exec(restored.stderr) ?? [];

    const userMessages = async (): Promise<number> => {
      await using reprise = await openReprise({ home, store: kind, model: 'offline' });
      await reprise.idle();
      const { sessions } = await reprise.sessions({ status: 'any' });
      const { entries } = await reprise.store.read(sessions[0]?.id ?? '');
      return entries.filter(({ entry }) => JSON.stringify(entry).includes('"role":"user"')).length;
    };
    expect(await userMessages()).toBe(0);
    const where = ['--home', home, '--store', kind];
    expect(await runBeside(['verify', ...where])).toMatchObject({
      status: 0,
      stderr: expect.stringContaining('1 queued message of the restored backup: held'),
    });
    expect((await runBeside(['doctor', ...where])).stdout).toContain('warn held messages: 1 queued message');
    const unasked = await runBeside(wordsOf(command));
    expect([unasked.status, await userMessages()]).toEqual([2, 0]);
    expect(await runBeside([...wordsOf(command), '--yes'])).toMatchObject({ status: 0 });
    expect(await userMessages()).toBe(1);
  },
);

/** The words of a command as a shell reads them. */
function wordsOf(command: string): string[] {
  return (command.match(/'[^']*'|\S+/g) ?? []).map((word) => word.replaceAll("'", ''));
}

describe('a file that is too long for memory is refused before it is read', () => {
  test('one line of 10 GB', async () => {
    const file = at('one-line.jsonl');
    writeFileSync(file, '{');
    truncateSync(file, 10 * 1024 ** 3); // all holes
    let read = 0;
    const checking = checkBackup(file, (done) => {
      read = done;
    });
    await expect(checking).rejects.toMatchObject({ code: 'LIMIT_EXCEEDED', details: { limit: 'line' } });
    expect(read).toBeLessThan(64 * 1024 * 1024);
    rmSync(file);
  });

  test('a record that says that all of the file are its lines', async () => {
    const file = at('one-record.jsonl');
    const header = { kind: 'backup', version: 1, createdAt: '2026-01-01T00:00:00.000Z' };
    const record = { kind: 'lines', session: 's1', first: 1, count: 1_000_000_000 };
    writeFileSync(file, `${JSON.stringify(header)}\n${JSON.stringify(record)}\n`);
    const line = `${'x'.repeat(1024 * 1024)}\n`;
    for (let i = 0; i < 70; i++) appendFileSync(file, line);
    const refusal = { code: 'LIMIT_EXCEEDED', details: { limit: 'record' } };
    await expect(checkBackup(file)).rejects.toMatchObject(refusal);
    rmSync(file);
  });
});

test('a redacted one has no secret in it anywhere, and restores like any other', async () => {
  // Put together here, so that no scanner takes this file for a leak.
  const secret = ['ghp', 'a1B2c3D4e5F6'.repeat(3)].join('_');
  const long = `${'a long listing\n'.repeat(5000)}token ${secret}\n`;
  await using store = await openStore({ kind: 'jsonl', home: at('secrets'), durability: 'os' });
  await store.create({ id: 's', key: 'agent:main:session:s', settings: { label: `about ${secret}` } });
  await store.append('s', [user(`my key is ${secret}`), user('no secret here')]);
  await store.append('s', [
    {
      type: 'message',
      message: {
        role: 'toolResult',
        toolCallId: 'c1',
        toolName: 'list',
        content: [{ type: 'text', text: long }],
      },
    },
  ]);
  await store.inbox.receive({ sessionKey: 'agent:main:session:s', source: 'web', body: { text: secret } });
  await store.convlog.append([
    { agentId: 'main', channelType: 'web', channelId: 'c', role: 'user', content: secret },
  ]);
  const plain = at('with-secrets.jsonl');
  await writeBackup(store, plain);
  // In the lines, the blob, the queued message and the channel log.
  const inBlobs = (file: string): string =>
    readFileSync(file, 'utf8').replace(/"base64":"([^"]*)"/g, (_, base64: string) =>
      Buffer.from(base64, 'base64').toString(),
    );
  expect(inBlobs(plain).split(secret).length).toBeGreaterThan(4);

  const file = at('redacted.jsonl');
  await writeBackup(store, file, { redact: true });
  expect(inBlobs(file)).not.toContain(secret);
  expect(await checkBackup(file)).toMatchObject({ queued: 1 });
  await using target = await openStore({ kind: 'sqlite', home: at('unsecret'), durability: 'os' });
  expect(await restoreBackup(file, target)).toMatchObject({ status: 'done', differences: [], held: 1 });
  const { entries } = await target.read('s');
  expect(entries).toHaveLength((await store.read('s')).entries.length);
  const shown = JSON.stringify(entries);
  expect(shown).toContain('no secret here');
  expect(shown).not.toContain(secret);
  // The large text is found under the name of its new bytes.
  const [, name = ''] = /"blob":"(sha256:[0-9a-f]{64})"/.exec(shown) ?? [];
  expect(Buffer.from(await target.blob('s', name)).toString()).toBe(
    long.replace(secret, `ghp_${'*'.repeat(36)}`),
  );
  expect(await target.verify('s')).toMatchObject({ status: 'clean' });
});
