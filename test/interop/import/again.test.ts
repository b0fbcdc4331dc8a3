import { cpSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, test } from 'vitest';
import { Reprise } from '../../../src/engine/reprise.ts';
import type { Store } from '../../../src/index.ts';
import { createScriptedModel } from '../../../src/models/scripted/scripted-model.ts';
import { breakAfter } from '../../support/store/interop-breaks.ts';
import {
  everySession,
  fillStore,
  freshFolder,
  freshStore,
  importFrom,
  writeLayout,
} from '../../support/store/interop-home.ts';
import {
  classicHome,
  claw0Home,
  DAYS,
  openClawHome,
  openClawTranscript,
  writeIndex,
  writeLines,
  zeroclawHome,
  zyhiveHome,
} from '../../support/store/source-homes.ts';

const HOMES: readonly (readonly [string, (root: string) => string])[] = [
  ['OpenClaw', openClawHome],
  ['claw0', claw0Home],
  ['claw0 classic', (root) => classicHome(root)],
  ['ZyHive', zyhiveHome],
  [
    'ZeroClaw',
    (root) =>
      zeroclawHome(root, [
        { id: 'z1', key: 'direct:telegram:alice', day: DAYS[0] },
        { id: 'z2', key: 'direct:cli:me', day: DAYS[1] },
      ]),
  ],
];

async function sizes(store: Store): Promise<string[]> {
  return (await everySession(store))
    .map(
      ({ id, sessionKey, active, lastSeq, lastAt }) => `${id} ${sessionKey} ${active} ${lastSeq} ${lastAt}`,
    )
    .sort();
}

async function continueIn(store: Store, id: string): Promise<void> {
  await store.append(id, [{ type: 'message', message: { role: 'user', content: 'continued here' } }]);
}

describe.each(HOMES)('a home of %s that is imported again', (_, home) => {
  test('adds nothing and moves nothing, also after sessions were continued, renewed and forked here', async () => {
    const folder = home(freshFolder());
    const store = await freshStore();
    const { sessions } = await importFrom(store, folder);
    await using reprise = new Reprise({ store, model: createScriptedModel([]), run: false });
    const [first] = sessions;
    const { id = '', key = '' } = first ?? {};
    await continueIn(store, id);
    await (await reprise.session({ id })).fork({ id: 'forked' });
    await reprise.renew(key);
    const before = await sizes(store);
    const again = await importFrom(store, folder);
    expect(again.sessions.map(({ action }) => action)).toEqual(sessions.map(() => 'unchanged'));
    expect(again.sessions.map((plan) => [plan.id, plan.key])).toEqual(
      sessions.map((plan) => [plan.id, plan.key]),
    );
    expect(again.convlogLines).toBe(0);
    expect(await sizes(store)).toEqual(before);
  });

  test('gives each session the same id and key after an import that was cut short at any place', async () => {
    const folder = home(freshFolder());
    const whole = await freshStore();
    await importFrom(whole, folder);
    const expected = (await sizes(whole)).map((line) => line.split(' ').slice(0, 3).join(' '));
    for (const appends of [0, 1, 2, 3, 5]) {
      const store = await freshStore();
      await importFrom(breakAfter(store, appends), folder).catch(() => undefined);
      await importFrom(store, folder);
      expect((await sizes(store)).map((line) => line.split(' ').slice(0, 3).join(' '))).toEqual(expected);
    }
  });
});

describe('an index that changed without its transcripts', () => {
  test('adds no second session: statistics, a label, a lost index', async () => {
    const folder = openClawHome(freshFolder());
    const index = join(folder, 'agents', 'main', 'sessions', 'sessions.json');
    const store = await freshStore();
    await importFrom(store, folder);
    const before = await sizes(store);
    const entries = JSON.parse(readFileSync(index, 'utf8')) as Record<string, object>;
    const main = {
      ...entries['agent:main:main'],
      totalTokens: 9999,
      updatedAt: Date.now(),
      label: 'New name',
    };
    for (const changed of [{ ...entries, 'agent:main:main': main }, {}]) {
      writeIndex(index, changed);
      expect((await importFrom(store, folder)).sessions.every(({ action }) => action === 'unchanged')).toBe(
        true,
      );
    }
    writeFileSync(index, '{"half');
    expect((await importFrom(store, folder)).sessions.every(({ action }) => action === 'unchanged')).toBe(
      true,
    );
    expect(await sizes(store)).toEqual(before);
  });

  test('is recognized in a home that an earlier version imported, by the messages', async () => {
    const folder = openClawHome(freshFolder());
    const store = await freshStore();
    await importFrom(store, folder);
    // Earlier versions mixed the index into the hash and stored no more than this.
    const data = { importedFrom: { hash: 'of the transcript and its index', state: 'done' } };
    await store.append('oc-main', [{ type: 'custom', customType: 'reprise.settings', data }]);
    const before = await sizes(store);
    expect((await importFrom(store, folder)).sessions.every(({ action }) => action === 'unchanged')).toBe(
      true,
    );
    expect(await sizes(store)).toEqual(before);
  });
});

describe('two sessions', () => {
  test('of two agents with the same id and text are both imported, once', async () => {
    const folder = openClawHome(freshFolder());
    const [main, ...copies] = ['main', 'copy', 'third'].map((agent) =>
      join(folder, 'agents', agent, 'sessions'),
    );
    for (const [i, copy] of copies.entries()) {
      cpSync(main ?? '', copy, { recursive: true });
      const index = { [`agent:${['copy', 'third'][i]}:main`]: { sessionId: 'oc-main' } };
      writeIndex(join(copy, 'sessions.json'), index);
    }
    const store = await freshStore();
    await importFrom(store, folder);
    for (const agent of ['main', 'copy', 'third'])
      expect((await store.active(`agent:${agent}:main`))?.agentId).toBe(agent);
    const before = await sizes(store);
    expect((await importFrom(store, folder)).sessions.every(({ action }) => action === 'unchanged')).toBe(
      true,
    );
    expect(await sizes(store)).toEqual(before);
  });

  test('with one key are both imported; the newer one becomes its session, and the report names both', async () => {
    const folder = freshFolder();
    const header = (id: string): object => ({
      type: 'session',
      version: 3,
      id,
      key: 'agent:main:telegram:group:7',
    });
    const text = (day: string): object => ({
      ...{ type: 'message', id: 'e1', parentId: null, timestamp: `${day}T09:00:00.000Z` },
      message: { role: 'user', content: `said on ${day}` },
    });
    writeLines(join(folder, 'a.jsonl'), header('a'), text(DAYS[0]));
    writeLines(join(folder, 'b.jsonl'), header('b'), text(DAYS[2]));
    writeLines(join(folder, 'c.jsonl'), header('c'), text(DAYS[1]));
    const store = await freshStore();
    for (const dryRun of [true, false]) {
      const { sessions } = await importFrom(store, folder, { dryRun });
      const notesOf = (wanted: string): string =>
        sessions.find(({ id }) => id === wanted)?.notes.join() ?? '';
      expect(notesOf('a')).toBe('');
      expect(notesOf('b')).toMatch(/also the key of a, which is older/);
      expect(notesOf('c')).toMatch(/has the session b, .* find this one by its id/);
    }
    expect((await store.active('agent:main:telegram:group:7'))?.id).toBe('b');
    expect((await everySession(store)).length).toBe(3);
  });

  test('with one key, of which one is here, leave the key where it is', async () => {
    const store = await freshStore();
    await store.create({ id: 'mine', key: 'agent:main:main', activate: true });
    const folder = freshFolder();
    openClawTranscript(join(folder, 'agents/main/sessions/a.jsonl'), 'a', 'hello', DAYS[0]);
    writeIndex(join(folder, 'agents/main/sessions/sessions.json'), { 'agent:main:main': { sessionId: 'a' } });
    const { sessions } = await importFrom(store, folder);
    expect(sessions[0]?.notes.join()).toContain('agent:main:main has the session mine');
    expect((await store.active('agent:main:main'))?.id).toBe('mine');
    expect((await store.get('a')).sessionKey).toBe('agent:main:main');
  });
});

test('an export that comes back to the home it left is recognized, whatever its layout changed', async () => {
  const source = await freshStore();
  await fillStore(source);
  const before = await sizes(source);
  await importFrom(source, await writeLayout(source, 'clawdbot'));
  expect(await sizes(source)).toEqual(before);
});
