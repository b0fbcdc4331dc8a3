import { spawnSync } from 'node:child_process';
import { existsSync, mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import { type DriverProcess, startDriver } from '../../testing/crash/driver-process.ts';

let home = '';
beforeEach(() => {
  home = mkdtempSync(join(tmpdir(), 'reprise-driver-'));
});
afterEach(() => rmSync(home, { recursive: true }));

const start = (): Promise<DriverProcess> => startDriver({ store: 'memory', home });
const say = (content: string) => ({ role: 'user', content });
const create = { op: 'create', id: 's1', key: 'agent:main:main' } as const;

/** The lines the driver prints for these lines. */
function drive(
  lines: readonly string[],
  ...args: readonly string[]
): { status: number | null; out: unknown[] } {
  const { status, stdout } = spawnSync(process.execPath, ['testing/driver.ts', ...args], {
    input: lines.join('\n'),
    encoding: 'utf8',
  });
  const out = stdout.split('\n').filter(Boolean);
  return { status, out: out.map((line): unknown => JSON.parse(line)) };
}

describe.skipIf(!existsSync('src/store/memory/open.ts'))('the driver', () => {
  test('says it is ready, answers every line, and ends with its input', () => {
    const { status, out } = drive(
      [JSON.stringify({ n: 1, ...create }), 'not json', '[1]', '', '{"n":2,"op":"constructor"}', '{"n":"x"}'],
      ...['--store', 'memory'],
    );
    expect(status).toBe(0);
    expect(out[0]).toEqual({ ready: true });
    expect(out).toHaveLength(6);
    expect(out).toContainEqual({ n: 1, ok: true, id: 's1', key: 'agent:main:main', firstSeq: 1 });
    expect(out).toContainEqual({ n: null, ok: false, code: 'INVALID_INPUT', outcome: 'none' });
    expect(out).toContainEqual(expect.objectContaining({ n: 2, ok: false, code: 'INVALID_INPUT' }));
    expect(out).toContainEqual(expect.objectContaining({ n: 'x', ok: false, code: 'INVALID_INPUT' }));
  });

  test.each([
    ['an unknown store', ['--store', 'floppy']],
    ['an unknown durability', ['--store', 'memory', '--durability', 'hope']],
    ['an unknown argument', ['--store', 'memory', '--fast']],
  ])('says what is wrong with %s and exits 2', (_, args) => {
    const { status, out } = drive([], ...args);
    expect(status).toBe(2);
    expect(out).toEqual([expect.objectContaining({ ready: false, ok: false, code: 'INVALID_INPUT' })]);
  });

  test('appends messages and raw entries, and reads them back', async () => {
    await using driver = await start();
    expect(await driver.send(create)).toMatchObject({ ok: true, firstSeq: 1 });
    const odd = say('a\u2028b\u0000\ud83d\ude00\u0085\r\nc');
    const first = { op: 'append', id: 's1', key: 'k1', messages: [odd, say('two')] };
    expect(await driver.send(first)).toMatchObject({ ok: true, firstSeq: 2, lastSeq: 3 });
    expect(await driver.send(first)).toMatchObject({ ok: true, firstSeq: 2, lastSeq: 3 });
    expect(await driver.send({ ...first, messages: [say('other')] })).toMatchObject({ code: 'KEY_REUSED' });
    const label = { type: 'label', label: 'kept', targetId: null };
    const raw = { op: 'append', id: 's1', entries: [label] };
    expect(await driver.send(raw)).toMatchObject({ firstSeq: 4, lastSeq: 4 });
    const read = await driver.send({ op: 'read', id: 's1', from: 2, limit: 2 });
    expect(read).toMatchObject({
      entries: [
        { seq: 2, entry: { type: 'message', message: odd } },
        { seq: 3, entry: { message: say('two') } },
      ],
      lastSeq: 4,
      hasMore: true,
    });
    expect(await driver.send({ op: 'tail', id: 's1' })).toMatchObject({ ok: true, lastSeq: 4 });
    const { base64 } = await driver.send({ op: 'export', id: 's1' });
    expect(Buffer.from(String(base64), 'base64').toString('utf8').split('\n')).toHaveLength(5);
    expect(await driver.send({ op: 'append', id: 's1', messages: 'hi' })).toMatchObject({
      code: 'INVALID_INPUT',
      outcome: 'none',
    });
    expect(await driver.send({ op: 'read', id: 'nobody' })).toMatchObject({ code: 'SESSION_NOT_FOUND' });
  });

  test('remembers leases by session', async () => {
    await using driver = await start();
    await driver.send(create);
    expect(await driver.send({ op: 'release', id: 's1' })).toMatchObject({ code: 'NOT_FOUND' });
    const { epoch } = await driver.send({ op: 'lease', id: 's1', ttlMs: 5000 });
    expect(epoch).toEqual(expect.any(Number));
    expect(await driver.send({ op: 'renew', id: 's1' })).toMatchObject({ ok: true, epoch });
    const stale = { op: 'append', id: 's1', messages: [say('x')], epoch: Number(epoch) - 1 };
    expect(await driver.send(stale)).toMatchObject({ ok: false, code: 'FENCED', outcome: 'none' });
    expect(await driver.send({ ...stale, epoch })).toMatchObject({ ok: true });
    expect(await driver.send({ op: 'release', id: 's1' })).toMatchObject({ ok: true, item: null });
    expect(await driver.send({ op: 'release', id: 's1' })).toMatchObject({ code: 'NOT_FOUND' });
  });

  test('puts, takes and settles; a lease with a waiting item is not released', async () => {
    await using driver = await start();
    await driver.send(create);
    const put = { op: 'put', id: 's1', idempotencyKey: 'i1', body: { text: 'hello' } };
    const { inboxId } = await driver.send(put);
    expect(await driver.send(put)).toMatchObject({ ok: true, inboxId, fresh: false });
    await driver.send({ op: 'lease', id: 's1' });
    expect(await driver.send({ op: 'release', id: 's1' })).toMatchObject({ ok: true, item: { inboxId } });
    expect(await driver.send({ op: 'take', id: 's1' })).toMatchObject({
      item: { inboxId, state: 'running', body: { text: 'hello' } },
    });
    expect(await driver.send({ op: 'settle', inboxId, state: 'done' })).toMatchObject({ ok: true });
    expect(await driver.send({ op: 'take', id: 's1' })).toMatchObject({ ok: true, item: null });
    expect(await driver.send({ op: 'release', id: 's1' })).toMatchObject({ ok: true, item: null });
    expect(await driver.send({ op: 'put', key: 'agent:main:other' })).toMatchObject({
      ok: true,
      fresh: true,
    });
  });

  test('lists, patches, searches, verifies, deletes, restores and purges', async () => {
    await using driver = await start();
    await driver.send(create);
    await driver.send({ op: 'append', id: 's1', messages: [say('a needle in here')] });
    expect(await driver.send({ op: 'list', limit: 5, cursor: null })).toMatchObject({
      sessions: [{ id: 's1' }],
    });
    expect(await driver.send({ op: 'patch', id: 's1', settings: { model: 'm' } })).toMatchObject({
      session: { settings: { model: 'm' } },
    });
    expect(await driver.send({ op: 'search', text: 'needle' })).toMatchObject({
      hits: [{ id: 's1', seq: 2 }],
    });
    expect(await driver.send({ op: 'verify' })).toMatchObject({ status: 'clean', findings: [] });
    expect(await driver.send({ op: 'delete', id: 's1' })).toMatchObject({ session: { status: 'deleted' } });
    expect(await driver.send({ op: 'append', id: 's1', messages: [say('late')] })).toMatchObject({
      code: 'SESSION_DELETED',
    });
    expect(await driver.send({ op: 'restore', id: 's1' })).toMatchObject({ session: { status: 'open' } });
    await driver.send({ op: 'delete', id: 's1' });
    expect(await driver.send({ op: 'purge', id: 's1' })).toMatchObject({ ok: true });
    expect(await driver.send({ op: 'get', id: 's1' })).toMatchObject({ ok: false, code: 'GONE' });
  });
});
