import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { describe, expect, test } from 'vitest';
import { openStore } from '../../../src/config/open.ts';
import { AUDIT_SESSION_ID } from '../../../src/engine/admin/audit.ts';
import { planMaintenance } from '../../../src/engine/admin/maintenance.ts';
import { type MaintenanceRules, parseMaintenanceRules } from '../../../src/engine/admin/maintenance-rules.ts';
import { runMaintenance } from '../../../src/engine/admin/run-maintenance.ts';
import type { SessionRecord, Store } from '../../../src/index.ts';

const START = '2026-01-01T00:00:00.000Z';
const DAY = 86_400_000;
const later = (ms: number): Date => new Date(Date.parse(START) + ms);
const say = (content: string): { type: string; [name: string]: unknown } => ({
  type: 'message',
  message: { role: 'user', content },
});

const openMemory = async (): Promise<Store> => openStore({ kind: 'memory', now: START });

/** Sessions that are not active for a key, the oldest first. The clock of the store advances with each line. */
async function sessions(store: Store, count: number, text = 'hello'): Promise<string[]> {
  const ids: string[] = [];
  for (let i = 0; i < count; i++) {
    const { id } = await store.create({ key: `agent:main:session:s${i}`, id: `s${i}` });
    await store.append(id, [say(`${text} ${i}`)]);
    ids.push(id);
  }
  return ids;
}

async function named(store: Store, status: 'open' | 'deleted' | 'any' = 'open'): Promise<string[]> {
  const { sessions: found } = await store.list({ status, limit: 1000 });
  return found
    .map(({ id }) => id)
    .filter((id) => id !== AUDIT_SESSION_ID)
    .sort();
}

async function auditLines(store: Store): Promise<Record<string, unknown>[]> {
  const { entries } = await store.read(AUDIT_SESSION_ID, { limit: 1000 });
  return entries.flatMap(({ entry }) => {
    const { customType, data } = entry as { customType?: string; data?: Record<string, unknown> };
    return customType === 'reprise.audit' && data !== undefined ? [data] : [];
  });
}

/** The store, but for some of its methods. */
function wrap(store: Store, methods: Partial<Store>): Store {
  return new Proxy(store, {
    get: (target, name) => {
      const value: unknown = Reflect.get(name in methods ? methods : target, name);
      return typeof value === 'function' ? value.bind(target) : value;
    },
  });
}

const ids = (items: readonly { readonly sessionId: string }[]): string[] =>
  items.map(({ sessionId }) => sessionId);

describe('retention', () => {
  test('is off by default: nothing goes, and nothing is written', async () => {
    await using store = await openMemory();
    await sessions(store, 3);
    await store.delete('s0');
    const report = await runMaintenance(store, {}, { now: () => later(1000 * DAY) });
    expect(report).toMatchObject({ deleted: 0, purged: 0, archived: 0, plan: { bytes: 0, more: false } });
    expect(await named(store, 'any')).toEqual(['s0', 's1', 's2']);
    expect((await store.stats()).sessions).toBe(3);
  });

  test('what goes for good leaves the channel log as it is', async () => {
    await using store = await openMemory();
    const chat = { agentId: 'main', channelType: 'telegram', channelId: '42' };
    const line = { ...chat, role: 'user', content: 'said on the channel' } as const;
    await store.create({ key: 'agent:main:session:s0', id: 's0' });
    await store.append('s0', [say('said on the channel')], { log: [line] });
    await store.delete('s0');
    const rules = { ttl: 1, grace: 1 };
    expect(await runMaintenance(store, rules, { now: () => later(DAY) })).toMatchObject({ purged: 1 });
    await expect(store.get('s0')).rejects.toMatchObject({ code: 'GONE' });
    expect((await store.convlog.read(chat)).lines).toMatchObject([line]);
  });

  test('a dry run names what would go and how many bytes return, and changes nothing', async () => {
    await using store = await openMemory();
    await sessions(store, 2, '日本'.repeat(50));
    const image = { type: 'image', data: Buffer.alloc(90_000, 1).toString('base64'), mimeType: 'image/png' };
    await store.append('s0', [{ type: 'message', message: { role: 'user', content: [image, image] } }]);
    const before = await store.stats();
    const { plan, deleted } = await runMaintenance(
      store,
      { ttl: '30d' },
      { dryRun: true, now: () => later(31 * DAY) },
    );
    expect(deleted).toBe(0);
    expect(plan.delete).toMatchObject([
      { sessionId: 's1', reason: 'ttl', bytes: (await store.exportSession('s1')).length },
      { sessionId: 's0', reason: 'ttl', bytes: (await store.exportSession('s0')).length + 90_000 },
    ]);
    expect(plan.bytesLater).toBe(plan.delete.reduce((sum, { bytes }) => sum + bytes, 0));
    expect(plan.bytes).toBe(0);
    expect(await store.stats()).toEqual(before);
  });

  test('what is idle for too long goes to the trash, and for good only when the trash has kept it long enough', async () => {
    await using store = await openMemory();
    await sessions(store, 2);
    const rules: MaintenanceRules = { ttl: '30d', grace: '7d' };
    expect(await runMaintenance(store, rules, { now: () => later(29 * DAY) })).toMatchObject({ deleted: 0 });
    expect(await runMaintenance(store, rules, { now: () => later(31 * DAY) })).toMatchObject({
      deleted: 2,
      purged: 0,
    });
    expect(await named(store, 'deleted')).toEqual(['s0', 's1']);
    await store.restore('s1');
    expect(await runMaintenance(store, { grace: '7d' }, { now: () => later(6 * DAY) })).toMatchObject({
      purged: 0,
    });
    const last = await runMaintenance(store, { grace: '7d' }, { now: () => later(8 * DAY) });
    expect(last).toMatchObject({ purged: 1, deleted: 0 });
    expect(last.plan.bytes).toBeGreaterThan(100);
    expect(await named(store, 'any')).toEqual(['s1']);
    await expect(store.get('s0')).rejects.toMatchObject({ code: 'GONE' });
  });

  test('the oldest go first, and only as many as must', async () => {
    await using store = await openMemory();
    await sessions(store, 5);
    await store.append('s1', [say('still here')]);
    const plan = await planMaintenance(store, { maxSessions: 3 }, later(0));
    expect(ids(plan.delete)).toEqual(['s0', 's2']);
    expect(plan.delete[0]).toMatchObject({ reason: 'maxSessions' });

    const { bytes } = await store.stats();
    const one = (await store.exportSession('s0')).length;
    expect(ids((await planMaintenance(store, { maxBytes: bytes }, later(0))).delete)).toEqual([]);
    expect(ids((await planMaintenance(store, { maxBytes: bytes - one }, later(0))).delete)).toEqual(['s0']);
    expect(ids((await planMaintenance(store, { maxBytes: bytes - one - 1 }, later(0))).delete)).toEqual([
      's0',
      's2',
    ]);
    await runMaintenance(store, { maxBytes: bytes - one }, { now: () => later(0) });
    // What lies in the trash does not count again.
    expect(ids((await planMaintenance(store, { maxBytes: bytes - one }, later(0))).delete)).toEqual([]);
  });

  test('ttl and archiveAfter apply to the current session of a key too, maxSessions and maxBytes do not', async () => {
    await using store = await openMemory();
    await sessions(store, 4);
    for (const id of ['s0', 's1', 's2']) await store.activate(`agent:main:session:${id}`, id);
    const counts = { maxSessions: 0, maxBytes: 0 };
    expect(ids((await planMaintenance(store, counts, later(DAY))).delete)).toEqual(['s3']);
    // Sessions of keys do not take the place of others in a plan that is limited.
    expect(ids((await planMaintenance(store, counts, later(DAY), { limit: 1 })).delete)).toEqual(['s3']);

    expect(
      await runMaintenance(store, { archiveAfter: '10d' }, { now: () => later(11 * DAY) }),
    ).toMatchObject({ archived: 4, deleted: 0 });
    expect(await store.active('agent:main:session:s0')).toMatchObject({
      id: 's0',
      settings: { archived: true },
    });
    await store.append('s1', [say('still here')]);
    const { lastAt } = await store.get('s1');
    const at = new Date(Date.parse(lastAt) + 20 * DAY);
    await store.append('s2', [say('here too')]);
    const rules: MaintenanceRules = { ttl: at.getTime() - Date.parse(lastAt) - 1 };
    expect(await runMaintenance(store, rules, { now: () => at })).toMatchObject({ deleted: 3, spared: 0 });
    expect(await named(store)).toEqual(['s2']);
    expect(await store.active('agent:main:session:s0')).toBeUndefined();
  });

  test('never removes a session with a pending message, a held lease, or damage', async () => {
    await using store = await openMemory();
    await sessions(store, 5);
    const message = { sessionKey: 'agent:main:session:s1', source: 'test', body: { text: 'x' } };
    await store.inbox.receive({ ...message, sessionId: 's1' });
    const lease = await store.lease('s2');
    const damaged = wrap(store, {
      list: async (query) => {
        const page = await store.list(query);
        const mark = (record: SessionRecord): SessionRecord =>
          record.id === 's3' ? { ...record, corruptAt: 7 } : record;
        return { ...page, sessions: page.sessions.map(mark) };
      },
    });
    const rules: MaintenanceRules = { ttl: 1, maxSessions: 0, maxBytes: 0, archiveAfter: 1 };
    const { deleted, archived } = await runMaintenance(damaged, rules, { now: () => later(DAY) });
    expect([deleted, archived, await named(store)]).toEqual([2, 0, ['s1', 's2', 's3']]);
    await lease.release();
    expect(ids((await planMaintenance(damaged, rules, later(DAY))).delete)).toEqual(['s2']);
  });

  test('a message between the plan and the removal keeps the session', async () => {
    await using store = await openMemory();
    await sessions(store, 3);
    const busy = wrap(store, {
      delete: async (id) => {
        if (id === 's0') await store.append('s1', [say('wait')]);
        return store.delete(id);
      },
    });
    const report = await runMaintenance(busy, { ttl: '1d' }, { now: () => later(2 * DAY) });
    expect(report).toMatchObject({ deleted: 2, spared: 1 });
    expect(await named(store)).toEqual(['s1']);
  });

  test('each deletion has one line that outlives it and contains no text of the conversation', async () => {
    await using store = await openMemory();
    await sessions(store, 2, 'secret plum');
    let deaths = 0;
    const dying = wrap(store, {
      delete: async (id) => {
        if (++deaths === 1) throw new Error('the process died');
        return store.delete(id);
      },
    });
    const at = { now: () => later(40 * DAY) };
    const rules: MaintenanceRules = { ttl: '30d', grace: '90d' };
    await expect(runMaintenance(dying, rules, at)).rejects.toThrow('died');
    expect(await runMaintenance(store, rules, at)).toMatchObject({ deleted: 2 });
    expect(await runMaintenance(store, rules, at)).toMatchObject({ deleted: 0 });
    expect(await runMaintenance(store, { grace: 0 }, at)).toMatchObject({ purged: 2 });
    const lines = await auditLines(store);
    expect(lines.map(({ action, sessionId }) => [action, sessionId])).toEqual([
      ['delete', 's0'],
      ['delete', 's1'],
      ['purge', 's0'],
      ['purge', 's1'],
    ]);
    expect(lines[0]).toMatchObject({
      reason: 'ttl',
      sessionKey: 'agent:main:session:s0',
      bytes: expect.any(Number),
    });
    expect(JSON.stringify(lines)).not.toContain('plum');
    // The line itself never goes, whatever the rules are.
    await runMaintenance(store, { ttl: 1, maxSessions: 0, maxBytes: 0 }, { now: () => later(400 * DAY) });
    expect((await store.get(AUDIT_SESSION_ID)).status).toBe('open');
  });

  test('to be archived is to be kept out of the way, and no sign of life', async () => {
    await using store = await openMemory();
    await sessions(store, 2);
    const { lastAt: spoken } = await store.get('s0');
    const rules: MaintenanceRules = { archiveAfter: '10d' };
    expect(await runMaintenance(store, rules, { now: () => later(11 * DAY) })).toMatchObject({ archived: 2 });
    expect((await store.get('s0')).settings).toMatchObject({ archived: true });
    expect(await runMaintenance(store, rules, { now: () => later(12 * DAY) })).toMatchObject({ archived: 0 });
    await store.append('s1', [say('back again')]);
    const { lastAt } = await store.get('s0');
    const idleMs = Date.parse(lastAt) - Date.parse(spoken);
    const plan = await planMaintenance(store, { ttl: idleMs - 0.5 }, new Date(lastAt));
    expect(plan.delete).toMatchObject([{ sessionId: 's0', since: spoken }]);
    expect((await planMaintenance(store, { ttl: idleMs }, new Date(lastAt))).delete).toEqual([]);
  });

  test('looks at so many at a time, and says that there is more', async () => {
    await using store = await openMemory();
    await sessions(store, 5);
    const at = { now: () => later(40 * DAY), limit: 2 };
    const left: number[] = [];
    for (let more = true; more; ) {
      const { plan } = await runMaintenance(store, { ttl: '30d', grace: '90d' }, at);
      left.push((await named(store)).length);
      more = plan.more;
    }
    expect(left).toEqual([3, 1, 0]);
    expect((await auditLines(store)).map(({ sessionId }) => sessionId)).toEqual([
      's0',
      's1',
      's2',
      's3',
      's4',
    ]);
  });

  test('stops between two sessions on request', async () => {
    await using store = await openMemory();
    await sessions(store, 3);
    const report = await runMaintenance(
      store,
      { ttl: 1 },
      { now: () => later(DAY), signal: AbortSignal.abort() },
    );
    expect(report).toMatchObject({ deleted: 0, plan: { delete: { length: 3 } } });
  });

  test('works the same on files', async () => {
    const home = mkdtempSync(join(tmpdir(), 'reprise-maintenance-'));
    try {
      await using store = await openStore({ kind: 'jsonl', home, now: START, durability: 'os' });
      await sessions(store, 3);
      expect(await runMaintenance(store, { ttl: '30d' }, { now: () => later(31 * DAY) })).toMatchObject({
        deleted: 3,
      });
      const report = await runMaintenance(store, { grace: '1d' }, { now: () => later(2 * DAY) });
      expect(report).toMatchObject({ purged: 3, failed: [] });
      expect(await named(store, 'any')).toEqual([]);
      expect(await auditLines(store)).toHaveLength(6);
    } finally {
      rmSync(home, { recursive: true });
    }
  });
});

describe('retention rules', () => {
  test('durations are milliseconds or have a unit', () => {
    const { ttl, archiveAfter, grace } = parseMaintenanceRules({
      ttl: '30d',
      archiveAfter: '1.5h',
      grace: 0,
    });
    expect([ttl, archiveAfter, grace]).toEqual([30 * DAY, 5_400_000, 0]);
    expect(parseMaintenanceRules({ ttl: 5 }).grace).toBe(30 * DAY);
    expect(parseMaintenanceRules({ archiveAfter: '4w' }).grace).toBe(Number.POSITIVE_INFINITY);
  });

  test.each<[unknown, string]>([
    [{ ttl: '30 days' }, 'maintenance.ttl'],
    [{ ttl: 0 }, 'maintenance.ttl'],
    [{ ttl: -1 }, 'maintenance.ttl'],
    [{ ttl: '' }, 'maintenance.ttl'],
    [{ grace: 'soon' }, 'maintenance.grace'],
    [{ maxSessions: 1.5 }, 'maintenance.maxSessions'],
    [{ maxBytes: '1GB' }, 'maintenance.maxBytes'],
    [{ maxSession: 5 }, 'maintenance.maxSession'],
  ])('%j is refused by name, with what to do', (rules, field) => {
    const parse = (): unknown => parseMaintenanceRules(rules as MaintenanceRules);
    expect(parse).toThrow(expect.objectContaining({ code: 'CONFIG_INVALID' }));
    expect(parse).toThrow(
      expect.objectContaining({ details: expect.objectContaining({ field, next: expect.any(String) }) }),
    );
  });

  test('a bad rule is refused before anything goes', async () => {
    await using store = await openMemory();
    await sessions(store, 1);
    const rules = { ttl: 1, maxSessions: -1 };
    await expect(runMaintenance(store, rules, { now: () => later(DAY) })).rejects.toMatchObject({
      code: 'CONFIG_INVALID',
    });
    expect(await named(store)).toEqual(['s0']);
  });
});
