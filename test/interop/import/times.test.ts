import { readdirSync, rmSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, test } from 'vitest';
import { lastOwn } from '../../../src/cli/repl/choose-session.ts';
import { openStore } from '../../../src/config/open.ts';
import { planMaintenance } from '../../../src/engine/admin/maintenance.ts';
import { runMaintenance } from '../../../src/engine/admin/run-maintenance.ts';
import { lastSpokenAt } from '../../../src/engine/intake/last-spoken.ts';
import { Reprise } from '../../../src/engine/reprise.ts';
import type { Store } from '../../../src/index.ts';
import { createScriptedModel } from '../../../src/models/scripted/scripted-model.ts';
import { until } from '../../support/engine/channels.ts';
import { freshFolder, freshStore, importFrom } from '../../support/store/interop-home.ts';
import {
  atHour,
  classicHome,
  claw0Home,
  DAYS,
  openClawHome,
  writeLines,
  zeroclawHome,
  zyhiveHome,
} from '../../support/store/source-homes.ts';

const DAY_MS = 86_400_000;
const zeroclaw = (root: string): string =>
  zeroclawHome(
    root,
    DAYS.map((day, i) => ({ id: `z${i}`, key: `direct:cli:me${i}`, day })),
  );

const HOMES = [
  ['OpenClaw', openClawHome, 'oc-main'],
  ['claw0', claw0Home, 'c0-aa'],
  ['claw0 classic', (root: string) => classicHome(root), '20aa22bb44cc'],
  ['ZyHive', zyhiveHome, 'ses-1708300000002'],
  ['ZeroClaw', zeroclaw, 'z2'],
] as const;

describe.each(HOMES)('after an import from %s', (_, home, newest) => {
  test('sessions are as old as their messages, and the newest one is resumed', async () => {
    const store = await freshStore();
    await importFrom(store, home(freshFolder()));
    const { sessions } = await store.list({ limit: 100 });
    expect(sessions[0]).toMatchObject({
      id: newest,
      createdAt: atHour(DAYS[2], 9),
      lastAt: atHour(DAYS[2], 10),
    });
    expect(sessions.at(-1)?.lastAt).toBe(atHour(DAYS[0], 10));
    const agentId = sessions[0]?.agentId;
    expect((await lastOwn(store, agentId))?.id).toBe(newest);
  });

  test('one that is continued here becomes the newest, and so does a fork of an old one', async () => {
    const store = await freshStore();
    await importFrom(store, home(freshFolder()));
    const oldest = (await store.list({ limit: 1, order: 'asc' })).sessions[0]?.id ?? '';
    await using reprise = new Reprise({ store, model: createScriptedModel(['fine']), run: false });
    const forked = await (await reprise.session({ id: oldest })).fork();
    expect((await store.list({ limit: 1 })).sessions[0]?.id).toBe(forked.id);
    expect(forked.lastAt > atHour(DAYS[2], 10)).toBe(true);
    expect(forked.settings['importedFrom']).toBeUndefined();
    expect((await store.get(oldest)).lastAt).toBe(atHour(DAYS[0], 10));
    await (await reprise.session({ id: oldest })).send('and now?').result;
    expect((await store.list({ limit: 1 })).sessions[0]?.id).toBe(oldest);
  });
});

function transcript(times: readonly (string | undefined)[]): string {
  const path = join(freshFolder(), 'a.jsonl');
  return writeLines(
    path,
    { type: 'session', version: 3, id: 'a', timestamp: atHour(DAYS[0]) },
    ...times.map((timestamp, i) => ({
      ...{ type: 'message', id: `e${i}`, parentId: i === 0 ? null : `e${i - 1}`, timestamp },
      message: { role: 'user', content: `text ${i}` },
    })),
  );
}

describe('the time of an imported session', () => {
  test('is never in the future, and never that of a message without a time', async () => {
    const began = new Date().toISOString();
    const [future, some, none] = [await freshStore(), await freshStore(), await freshStore()];
    await importFrom(future, transcript([atHour(DAYS[0]), '2099-01-01T00:00:00.000Z']));
    const { lastAt, createdAt } = await future.get('a');
    expect(createdAt).toBe(atHour(DAYS[0]));
    expect(lastAt >= began && lastAt <= new Date().toISOString()).toBe(true);
    await importFrom(some, transcript([undefined, atHour(DAYS[1])]));
    expect(await some.get('a')).toMatchObject({ createdAt: atHour(DAYS[1]), lastAt: atHour(DAYS[1]) });
    await importFrom(none, transcript([undefined]));
    expect((await none.get('a')).lastAt >= began).toBe(true);
  });

  test('stays when its settings are accepted later', async () => {
    const folder = openClawHome(freshFolder());
    const store = await freshStore();
    await importFrom(store, folder);
    await importFrom(store, folder, { acceptSettings: true });
    const { settings, lastAt } = await store.get('oc-group');
    expect(settings['queueMode']).toBe('collect');
    expect(lastAt).toBe(atHour(DAYS[1], 10));
  });

  test('is the time that an idle reset counts from', async () => {
    const store = await freshStore();
    await importFrom(store, classicHome(freshFolder(), ['user']));
    const record = await store.get('00aa22bb44cc');
    expect(await lastSpokenAt(store, record)).toEqual(new Date(atHour(DAYS[0], 9)));
  });

  test('is the same after the index of the home was lost and rebuilt', async () => {
    const home = freshFolder();
    const listed = async (store: Store): Promise<unknown[]> =>
      (await store.list({ limit: 100 })).sessions.map(({ id, createdAt, lastAt }) => [id, createdAt, lastAt]);
    let before: unknown[] = [];
    {
      await using store = await openStore({ kind: 'jsonl', home });
      await importFrom(store, openClawHome(freshFolder()));
      before = await listed(store);
    }
    for (const name of readdirSync(home).filter((each) => each.startsWith('control.db')))
      rmSync(join(home, name));
    await using store = await openStore({ kind: 'jsonl', home });
    await until(async () => (await store.stats()).rebuilding === undefined);
    expect(await listed(store)).toEqual(before);
    expect(before[0]).toEqual(['oc-main', atHour(DAYS[2], 9), atHour(DAYS[2], 10)]);
  });

  test('decides the order and the dates of what a search finds', async () => {
    const store = await freshStore();
    await importFrom(store, claw0Home(freshFolder()));
    await store.create({ id: 'mine', key: 'agent:main:main' });
    await store.append('mine', [
      { type: 'message', message: { role: 'user', content: 'question of today' } },
    ]);
    const { hits } = await store.search({ text: 'question' });
    expect(hits.map(({ id }) => id)).toEqual(['mine', 'c0-aa', 'c0-bb', 'c0-cc']);
    expect(hits.slice(1).map(({ at }) => at)).toEqual([...DAYS].reverse().map((day) => atHour(day)));
  });
});

describe('retention of imported sessions', () => {
  test('leaves them alone for 30 days after the import, then counts from their last message', async () => {
    const store = await freshStore();
    const folder = freshFolder();
    openClawHome(folder);
    await importFrom(store, folder);
    const imported = Date.now();
    const at = (days: number): Date => new Date(imported + days * DAY_MS);
    const rules = { ttl: '1d', maxSessions: 1, archiveAfter: '1h' };
    const plan = await planMaintenance(store, rules, at(1));
    expect(plan).toMatchObject({ delete: [], archive: [], recentImports: 5 });
    expect(await runMaintenance(store, rules, { now: () => at(29) })).toMatchObject({
      deleted: 0,
      archived: 0,
    });
    const later = await planMaintenance(store, rules, at(31));
    expect(later.delete).toHaveLength(5);
    expect(later.delete).toContainEqual(
      expect.objectContaining({ sessionId: 'oc-old', since: atHour(DAYS[0], 10), reason: 'ttl' }),
    );
    expect(later.recentImports).toBe(0);
    // Of these five only `oc-old` is not the current session of a key.
    const counts = await planMaintenance(store, { maxSessions: 0 }, at(31));
    expect(counts.delete.map(({ sessionId }) => sessionId)).toEqual(['oc-old']);
  });

  test('removes the session with the oldest message first, not the one that was imported first', async () => {
    const store = await freshStore();
    const folder = freshFolder();
    for (const [i, day] of [...DAYS].reverse().entries())
      writeLines(
        join(folder, `${i}.jsonl`),
        { type: 'session', version: 3, id: `s${i}`, key: 'agent:main:main', timestamp: atHour(day) },
        {
          ...{ type: 'message', id: 'e', parentId: null, timestamp: atHour(day) },
          message: { role: 'user', content: `on ${day}` },
        },
      );
    await importFrom(store, folder);
    const plan = await planMaintenance(store, { maxSessions: 2 }, new Date(Date.now() + 31 * DAY_MS));
    expect(plan.delete.map(({ sessionId }) => sessionId)).toEqual(['s2']);
  });
});
