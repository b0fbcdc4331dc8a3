import { mkdirSync, readdirSync, rmSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, test } from 'vitest';
import { loadConfig } from '../../src/config/load.ts';
import { openStore, type StoreKind } from '../../src/config/open.ts';
import { openReprise } from '../../src/config/open-reprise.ts';
import { ConfigHome } from '../support/processes/config-home.ts';

async function put(home: string, ...kinds: readonly StoreKind[]): Promise<string> {
  for (const kind of kinds) {
    await using store = await openStore({ kind, home, durability: 'os' });
    await store.create({ id: kind, key: `agent:main:tg:direct:${kind}` });
  }
  return home;
}

async function sessionsOf(home: string): Promise<string[]> {
  await using reprise = await openReprise({ home, run: false });
  return (await reprise.sessions({ limit: 9 })).sessions.map(({ id }) => id);
}

describe('the kind of a home', () => {
  test.each<[readonly StoreKind[], StoreKind, string | undefined]>([
    [[], 'jsonl', undefined],
    [['jsonl'], 'jsonl', undefined],
    [['sqlite'], 'sqlite', undefined],
    [['sqlite', 'jsonl'], 'jsonl', 'store.db is not used'],
  ])('with %j is %s for settings, programs and stores alike (I-82)', async (kinds, kind, warning) => {
    using place = new ConfigHome();
    const home = await put(join(place.cwd, 'home'), ...kinds);
    const { config, origins, warnings } = await loadConfig({ env: place.env, flags: { home } });
    const file = join(home, kind === 'jsonl' ? 'control.db' : 'store.db');
    expect(config.store.kind).toBe(kind);
    expect(origins.get('store.kind')).toEqual({
      source: 'default',
      name: kinds.length === 0 ? 'default' : file,
    });
    expect(warnings).toEqual(warning === undefined ? [] : [expect.stringContaining(warning)]);
    expect(await sessionsOf(home)).toEqual(kinds.length === 0 ? [] : [kind]);
    await using store = await openStore({ home });
    expect((await store.list({ limit: 9 })).sessions.map(({ id }) => id)).toEqual(
      kinds.length === 0 ? [] : [kind],
    );
  });

  test('is that of its transcripts, also when their database is gone', async () => {
    using place = new ConfigHome();
    const home = await put(join(place.cwd, 'home'), 'jsonl');
    for (const name of readdirSync(home).filter((each) => each.startsWith('control.db')))
      rmSync(join(home, name));
    await using reprise = await openReprise({ home, run: false });
    // Lists answer from what is known so far (decision 6): the transcript is read beside them.
    await expect
      .poll(async () => (await reprise.sessions({ limit: 9 })).sessions.map(({ id }) => id))
      .toEqual(['jsonl']);
    await expect(openReprise({ home, store: 'sqlite' })).rejects.toMatchObject({ code: 'INVALID_INPUT' });
  });

  test('names transcripts that lie beside the database it uses', async () => {
    using place = new ConfigHome();
    const home = await put(join(place.cwd, 'home'), 'sqlite');
    mkdirSync(join(home, 'agents', 'main', 'workspace'), { recursive: true });
    const load = (): ReturnType<typeof loadConfig> => loadConfig({ env: place.env, flags: { home } });
    expect((await load()).warnings).toEqual([]);
    mkdirSync(join(home, 'agents', 'main', 'sessions'));
    const { config, warnings } = await load();
    expect([config.store.kind, warnings]).toEqual([
      'sqlite',
      [expect.stringContaining('transcripts in agents/')],
    ]);
  });

  test.each([
    ['sqlite', 'jsonl'],
    ['jsonl', 'sqlite'],
  ] as const)('that holds %s is not opened as %s, and nothing is made beside it', async (held, asked) => {
    using place = new ConfigHome();
    const home = await put(join(place.cwd, 'home'), held);
    const before = readdirSync(home);
    await expect(openReprise({ home, store: asked })).rejects.toMatchObject({
      code: 'INVALID_INPUT',
      message: `${home} contains a ${held} store and no ${asked} store`,
    });
    expect(readdirSync(home)).toEqual(before);
  });

  test('does not matter to a client of a server', async () => {
    using place = new ConfigHome();
    const home = await put(join(place.cwd, 'home'), 'sqlite', 'jsonl');
    const flags = { home, url: 'http://127.0.0.1:1' };
    expect((await loadConfig({ env: place.env, flags })).warnings).toEqual([]);
  });
});
