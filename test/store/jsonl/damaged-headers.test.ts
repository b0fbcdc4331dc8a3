import { readFileSync, rmSync, utimesSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, test } from 'vitest';
import { openIndex } from '../../../src/config/open.ts';
import { repairSession } from '../../../src/engine/history/repair.ts';
import { encodeLine } from '../../../src/transcript/line.ts';
import { startDriver } from '../../../testing/crash/driver-process.ts';
import { faultEnv, faultShimSupport } from '../../../testing/crash/fault-shim.ts';
import { JsonlHome, say } from '../../support/store/jsonl-home.ts';

const flip = (bytes: Buffer, at: number): Buffer => {
  const copy = Buffer.from(bytes);
  copy[at] = (copy[at] ?? 0) ^ 1;
  return copy;
};

/** A header that is properly sealed, of a format that does not exist yet. */
function newer(bytes: Buffer): Buffer {
  const lf = bytes.indexOf(10);
  const { seal, ...header } = JSON.parse(bytes.subarray(0, lf).toString());
  const line = encodeLine({ ...header, version: 99 }, { q: seal.q, e: seal.e, b: seal.b });
  return Buffer.concat([Buffer.from(line), bytes.subarray(lf + 1)]);
}

const DAMAGES: readonly (readonly [string, (bytes: Buffer) => Buffer, readonly string[]])[] = [
  ['a flipped bit that leaves no JSON', (bytes) => flip(bytes, 0), ['one', 'two']],
  ['a flipped bit in a value', (bytes) => flip(bytes, bytes.indexOf('agent:main') + 7), ['one', 'two']],
  ['a flipped bit in its id', (bytes) => flip(bytes, bytes.indexOf('"s1"') + 2), ['one', 'two']],
  ['a flipped bit in the word "seal"', (bytes) => flip(bytes, bytes.indexOf('"seal"') + 1), ['one', 'two']],
  ['a deleted header', (bytes) => bytes.subarray(bytes.indexOf(10) + 1), ['one', 'two']],
  ['a newer version', newer, ['one', 'two']],
  ['half a header and nothing else', (bytes) => bytes.subarray(0, 60), []],
  ['nothing at all', () => Buffer.alloc(0), []],
];

async function damagedHome(home: JsonlHome, damage: (bytes: Buffer) => Buffer): Promise<Buffer> {
  await home.open();
  await home.seed('s1', 'one', 'two');
  await home.store.create({ id: 'other', key: 'agent:main:other' });
  await home.close();
  const bytes = damage(readFileSync(home.file()));
  writeFileSync(home.file(), bytes);
  return bytes;
}

describe.each(DAMAGES)('a transcript with %s and a lost index', (_what, damage, readable) => {
  test('is listed as damaged, reported, never replaced, and can be repaired', async () => {
    await using home = new JsonlHome();
    const bytes = await damagedHome(home, damage);
    const store = await home.rebuild();
    expect(await store.verify()).toMatchObject({
      status: 'corrupt',
      findings: expect.arrayContaining([expect.objectContaining({ session: 's1' })]),
    });
    expect(await store.verify('other')).toMatchObject({ status: 'clean' });
    const { sessions } = await store.list();
    expect(sessions.map(({ id, corruptAt }) => [id, corruptAt])).toEqual(
      expect.arrayContaining([
        ['s1', 0],
        ['other', undefined],
      ]),
    );
    expect(await store.stats()).toMatchObject({ sessions: 2, damaged: 1 });
    const refusal = {
      code: 'STORE_CORRUPT',
      details: { next: expect.stringContaining('reprise repair s1') },
    };
    await expect(store.create({ id: 's1', key: 'agent:main:main' })).rejects.toMatchObject(refusal);
    await expect(store.append('s1', [say('three')])).rejects.toMatchObject(refusal);
    const { repaired } = await repairSession(store, await store.get('s1'));
    expect(await home.texts(repaired)).toEqual([...readable, 'reprise.repair']);
    await home.close();
    expect(readFileSync(home.file()).equals(bytes)).toBe(true);
    expect(home.quarantine()).toEqual([]);
    using index = await openIndex({ kind: 'jsonl', home: home.path });
    expect(index?.list({})?.sessions.find(({ id }) => id === 's1')).toMatchObject({ corruptAt: 0 });
  });
});

test('a damaged transcript that is put back from a copy is whole again', async () => {
  await using home = new JsonlHome();
  await home.open();
  await home.seed('s1', 'one', 'two');
  await home.close();
  const whole = readFileSync(home.file());
  writeFileSync(home.file(), flip(whole, 0));
  await (await home.rebuild()).verify();
  await home.close();
  writeFileSync(home.file(), whole);
  utimesSync(home.file(), 1, 1);
  const store = await home.open();
  expect(await home.texts()).toEqual(['one', 'two']);
  await store.append('s1', [say('three')]);
  expect(await store.verify()).toMatchObject({ status: 'clean' });
});

test('a damaged transcript that was put there while the store is open is reported by verify', async () => {
  await using home = new JsonlHome();
  const store = await home.open();
  await home.seed('s1', 'one');
  writeFileSync(home.file('s2'), flip(readFileSync(home.file()), 0));
  expect(await store.verify()).toMatchObject({
    status: 'corrupt',
    findings: [{ session: 's2', kind: 'corrupt' }],
  });
});

test('a file that an older version took for a foreign one is inspected again', async () => {
  await using home = new JsonlHome();
  await damagedHome(home, (bytes) => flip(bytes, 0));
  await (await home.rebuild()).verify();
  await home.close();
  const { DatabaseSync } = await import('node:sqlite');
  const db = new DatabaseSync(join(home.path, 'control.db'));
  db.exec("DELETE FROM sessions WHERE id = 's1'; DELETE FROM meta WHERE name = 'survey'");
  db.close();
  await (await home.open()).verify();
  expect((await home.store.list()).sessions).toHaveLength(2);
});

test('a session in a folder with a very long path survives the loss of the index', async () => {
  await using home = new JsonlHome();
  const store = await home.open();
  const cwd = `/${'long/'.repeat(2000)}`;
  await store.create({ id: 's1', key: 'agent:main:main', cwd });
  await store.append('s1', [say('one')]);
  await home.rebuild();
  expect(await home.texts()).toEqual(['reprise.activate', 'one']);
});

test('a fork that another tool made of our transcript is not a damaged session', async () => {
  await using home = new JsonlHome();
  await home.open();
  await home.seed('s1', 'one');
  await home.close();
  const lines = readFileSync(home.file(), 'utf8').split('\n');
  const header = { type: 'session', version: 3, id: 'fork', timestamp: '2026-01-01T00:00:00.000Z', cwd: '/' };
  writeFileSync(home.file('fork'), [JSON.stringify(header), ...lines.slice(1)].join('\n'));
  const store = await home.rebuild();
  expect(await store.verify()).toEqual({ status: 'clean', findings: [] });
  expect((await store.list()).sessions).toMatchObject([{ id: 's1' }]);
});

test('an id whose file is the transcript of another session is refused, and the file stays', async () => {
  await using home = new JsonlHome();
  await home.open();
  await home.seed('s1', 'one');
  await home.close();
  const bytes = readFileSync(home.file());
  writeFileSync(home.file('s2'), bytes);
  rmSync(home.file());
  const store = await home.rebuild();
  await expect(store.create({ id: 's2', key: 'agent:main:main' })).rejects.toMatchObject({
    code: 'SESSION_EXISTS',
    details: { next: expect.stringContaining('reprise verify') },
  });
  expect(readFileSync(home.file('s2')).equals(bytes)).toBe(true);
});

const shim = faultShimSupport();

describe.skipIf(!shim.supported)('a lost index and a transcript that the disk does not return', () => {
  test('keeps its key from a new session, is reported, and answers again when it can be read', async () => {
    await using home = new JsonlHome();
    await home.open();
    for (const id of ['s1', 's2']) {
      await home.store.create({ id, key: `agent:main:${id}` });
      await home.store.activate(`agent:main:${id}`, id);
    }
    await home.close();
    rmSync(join(home.path, 'control.db'));
    const env = faultEnv({ path: 's1.jsonl$', calls: ['open'], at: 1, count: -1, action: 'eio' });
    await using driver = await startDriver({ store: 'jsonl', home: home.path, env });
    const receive = (key: string) => driver.send({ op: 'put', key, source: 'tg', body: { text: 'hi' } });
    expect(await receive('agent:main:s1')).toMatchObject({
      ok: false,
      code: 'STORE_FAILED',
      outcome: 'none',
      details: { id: 's1', code: 'EIO' },
    });
    expect(await receive('agent:main:s2')).toMatchObject({ ok: true, id: 's2', fresh: true });
    expect(await driver.send({ op: 'verify' })).toMatchObject({
      status: 'corrupt',
      findings: [{ session: 's1', kind: 'missing-lines', detail: expect.stringContaining('EIO') }],
    });
    await driver.stop();
    const store = await home.open();
    const body = { text: 'hi' };
    expect(await store.inbox.receive({ sessionKey: 'agent:main:s1', source: 'tg', body })).toMatchObject({
      sessionId: 's1',
    });
    expect(await store.verify()).toEqual({ status: 'clean', findings: [] });
  });
});
