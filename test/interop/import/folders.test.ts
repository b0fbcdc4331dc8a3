import { cpSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, test } from 'vitest';
import { openStore } from '../../../src/config/open.ts';
import type { SessionRecord, Store } from '../../../src/index.ts';
import { openSource } from '../../../src/interop/import/detect.ts';
import { freshFolder, freshStore, importFrom } from '../../support/store/interop-home.ts';
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

const named = ({ id, sessionKey, label, title }: SessionRecord): string =>
  `${id} ${sessionKey} ${label ?? title}`;

async function imported(store: Store): Promise<string[]> {
  return (await store.list({ limit: 100 })).sessions.map(named).sort();
}

const OPENCLAW_MAIN = [
  'oc-group agent:main:telegram:group:-1001 Trip',
  'oc-main agent:main:main the roof',
  'oc-old agent:main:session:oc-old the cellar',
  'oc-topic agent:main:telegram:group:-1001:topic:42 the menu',
];
const CLAW0 = ['aa', 'bb', 'cc'].map((id, i) => `c0-${id} agent:main:session:c0-${id} Project ${2 - i}`);
const ZYHIVE = [0, 1, 2].map(
  (i) => `ses-170830000000${i} agent:xiuliu:session:ses-170830000000${i} Plan ${i}`,
);

describe('an index is found from every folder that a user may name', () => {
  test.each(['', 'agents'])('OpenClaw, all agents: %s', async (level) => {
    const store = await freshStore();
    const { problems } = await importFrom(store, join(openClawHome(freshFolder()), level));
    expect(problems).toEqual([]);
    expect(await imported(store)).toEqual([...OPENCLAW_MAIN, 'oc-work agent:work:main Invoices'].sort());
  });

  test.each(['agents/main', 'agents/main/sessions'])('OpenClaw, one agent: %s', async (level) => {
    const store = await freshStore();
    const { problems } = await importFrom(store, join(openClawHome(freshFolder()), level));
    expect(problems).toEqual([]);
    expect(await imported(store)).toEqual(OPENCLAW_MAIN);
    expect((await store.active('agent:main:main'))?.id).toBe('oc-main');
    expect((await store.get('oc-topic')).settings['subject']).toBe('Menu');
  });

  test('OpenClaw, a home with the other files of the tool: only its sessions are imported', async () => {
    const home = openClawHome(join(freshFolder(), '.openclaw'));
    writeIndex(join(home, 'openclaw.json'), { agents: { defaults: {} } });
    writeIndex(join(home, 'agents/main/agent/models.json'), { providers: {} });
    writeIndex(join(home, 'agents/main/sessions/oc-main.jsonl.lock'), { pid: 1, createdAt: DAYS[0] });
    writeIndex(join(home, 'workspace/memory/2026-03-01.md'), {});
    writeLines(join(home, 'logs/commands.jsonl'), { type: 'user', content: '/new', ts: 1 });
    const store = await freshStore();
    const { problems, sessions } = await importFrom(store, home);
    expect(problems).toEqual([]);
    expect(sessions.map(({ action }) => action)).toEqual(Array(5).fill('new'));
    expect(await imported(store)).toEqual([...OPENCLAW_MAIN, 'oc-work agent:work:main Invoices'].sort());
  });

  test('OpenClaw, settings of the index are applied only with --accept-settings', async () => {
    const folder = join(openClawHome(freshFolder()), 'agents', 'main', 'sessions');
    const [without, accepting] = [await freshStore(), await freshStore()];
    const { sessions } = await importFrom(without, folder);
    expect(sessions.find(({ id }) => id === 'oc-group')?.settingsNotApplied).toEqual(['queueMode']);
    await importFrom(accepting, folder, { acceptSettings: true });
    expect((await without.get('oc-group')).settings['queueMode']).toBeUndefined();
    expect((await without.get('oc-group')).settings['label']).toBe('Trip');
    expect((await accepting.get('oc-group')).settings).toMatchObject({ queueMode: 'collect', label: 'Trip' });
  });

  test.each([
    '',
    'workspace',
    'workspace/.sessions',
    'workspace/.sessions/agents',
    'workspace/.sessions/agents/main',
  ])('claw0: %s', async (level) => {
    const store = await freshStore();
    await importFrom(store, join(claw0Home(freshFolder()), level));
    expect(await imported(store)).toEqual(CLAW0);
  });

  test('claw0, the folder of transcripts with the index above it', async () => {
    const store = await freshStore();
    await importFrom(store, join(claw0Home(freshFolder()), 'workspace/.sessions/agents/main/sessions'));
    expect(await imported(store)).toEqual(CLAW0);
  });

  test.each(['', 'workspace', 'workspace/.sessions', 'workspace/.sessions/transcripts'])(
    'claw0 classic: %s',
    async (level) => {
      const folder = classicHome(freshFolder(), ['user']);
      rmSync(join(folder, 'workspace/.sessions/transcripts/main_cli_user_00aa22bb44cc.jsonl'));
      writeLines(
        join(folder, 'workspace/.sessions/transcripts/main_cli_user_00aa22bb44cc.jsonl'),
        { type: 'session', id: '00aa22bb44cc', created: `${DAYS[0]}T09:00:00.000Z` },
        { type: 'user', content: 'without a key of its own', ts: `${DAYS[0]}T09:00:00.000Z` },
      );
      const store = await freshStore();
      const { sessions } = await importFrom(store, join(folder, level));
      expect(sessions).toMatchObject([
        { id: '00aa22bb44cc', key: expect.stringMatching(/^agent:main:/), notes: [] },
      ]);
      expect(sessions[0]?.key).not.toContain(':session:');
    },
  );

  test.each(['', 'agents', 'agents/xiuliu'])('ZyHive, with its channel logs: %s', async (level) => {
    const store = await freshStore();
    const { convlogLines } = await importFrom(store, join(zyhiveHome(freshFolder()), level));
    expect(await imported(store)).toEqual(ZYHIVE);
    expect(convlogLines).toBe(1);
  });

  test('ZyHive, the sessions alone', async () => {
    const store = await freshStore();
    const { convlogLines } = await importFrom(
      store,
      join(zyhiveHome(freshFolder()), 'agents/xiuliu/sessions'),
    );
    expect(await imported(store)).toEqual(ZYHIVE);
    expect(convlogLines).toBe(0);
  });

  test.each(['', 'workspace', 'workspace/memory', 'workspace/memory/sessions.db'])(
    'ZeroClaw: %s',
    async (level) => {
      const store = await freshStore();
      await importFrom(
        store,
        join(zeroclawHome(freshFolder(), [{ id: 'z1', key: 'group:discord:x' }]), level),
      );
      expect((await imported(store)).map((line) => line.split(' ')[0])).toEqual(['z1']);
    },
  );

  test.each([
    ['OpenClaw', openClawHome, 'agents/work/sessions/oc-work.jsonl', 'oc-work agent:work:main Invoices'],
    [
      'a topic of OpenClaw',
      openClawHome,
      'agents/main/sessions/oc-topic-topic-42.jsonl',
      'oc-topic agent:main:telegram:group:-1001:topic:42 the menu',
    ],
    ['claw0', claw0Home, 'workspace/.sessions/agents/main/sessions/c0-aa.jsonl', CLAW0[0]],
    ['ZyHive', zyhiveHome, 'agents/xiuliu/sessions/ses-1708300000001.jsonl', ZYHIVE[1]],
  ] as const)('a single transcript of %s', async (_, home, file, expected) => {
    const folder = home(freshFolder());
    const store = await freshStore();
    const { problems } = await importFrom(store, join(folder, file));
    expect(problems).toEqual([]);
    expect(await imported(store)).toEqual([expected]);
    // The folder is imported later: the session that is here is not imported a second time.
    const { sessions } = await importFrom(store, folder);
    expect(sessions.filter(({ action }) => action === 'unchanged')).toHaveLength(1);
    expect(sessions.filter(({ conflict }) => conflict)).toEqual([]);
  });

  test('a copy of an agents folder under another name', async () => {
    const copy = join(freshFolder(), 'old-laptop');
    openClawTranscript(join(copy, 'main', 'sessions', 'a.jsonl'), 'a', 'hello', DAYS[0]);
    writeIndex(join(copy, 'main', 'sessions', 'sessions.json'), { 'agent:main:main': { sessionId: 'a' } });
    const store = await freshStore();
    await importFrom(store, copy);
    expect(await imported(store)).toEqual(['a agent:main:main hello']);
  });
});

describe('an index with faults keeps no session back, and the report names each fault', () => {
  const sessionsOf = (folder: string): string => join(folder, 'agents', 'main', 'sessions');

  test('half-written', async () => {
    const folder = openClawHome(freshFolder());
    writeFileSync(join(sessionsOf(folder), 'sessions.json'), '{"agent:main:main":{"sessionId":"oc-m');
    const store = await freshStore();
    const { problems, sessions } = await importFrom(store, sessionsOf(folder));
    expect(problems).toEqual([
      expect.stringMatching(/sessions\.json: no JSON; transcripts are imported without it/),
    ]);
    expect(sessions.map(({ action }) => action)).toEqual(['new', 'new', 'new', 'new']);
  });

  test('with entries that describe nothing, name files that are not there, or name one file twice', async () => {
    const folder = openClawHome(freshFolder());
    writeIndex(join(sessionsOf(folder), 'sessions.json'), {
      'agent:main:main': { sessionId: 'oc-main', updatedAt: 2, fieldOfTheFuture: { a: [1] } },
      'agent:main:alias': { sessionId: 'oc-main', updatedAt: 1 },
      'agent:main:gone': { sessionId: 'gone' },
      'agent:main:odd': { sessionFile: '/etc/passwd' },
      'agent:main:telegram:group:-1001': { sessionId: 'oc-group', sessionFile: 5 },
      version: 7,
      futurePart: { anything: true },
      'agent:main:broken': { sessionId: 7, sessionFile: null },
    });
    const store = await freshStore();
    const { problems, sessions } = await importFrom(store, folder);
    for (const fault of [
      'the index names oc-main.jsonl for two sessions; its entry "agent:main:alias" is ignored',
      'sessions of the index without a transcript: gone.jsonl',
      'the index names "/etc/passwd", which is no transcript',
      'entries of the index that describe no session: "version", "futurePart", "agent:main:broken"',
    ])
      expect(problems).toContain(fault);
    expect(sessions.every(({ action }) => action === 'new')).toBe(true);
    expect((await store.get('oc-main')).sessionKey).toBe('agent:main:main');
    // Its `sessionFile` is no name of a file, so the id names the transcript.
    expect((await store.get('oc-group')).sessionKey).toBe('agent:main:telegram:group:-1001');
  });

  test('a key with characters that are escaped here is translated; one that is no key is reported', async () => {
    const folder = openClawHome(freshFolder());
    writeIndex(join(sessionsOf(folder), 'sessions.json'), {
      'agent:main:signal:group:a/b+c==': { sessionId: 'oc-main' },
      'agent:main:telegram:dm:ada': { sessionId: 'oc-group' },
      'no key': { sessionId: 'oc-old' },
    });
    const store = await freshStore();
    const { sessions } = await importFrom(store, folder);
    expect((await store.get('oc-main')).sessionKey).toBe('agent:main:signal:group:a%2Fb+c==');
    expect((await store.get('oc-group')).sessionKey).toBe('agent:main:telegram:direct:ada');
    expect((await store.get('oc-old')).sessionKey).toBe('agent:main:session:oc-old');
    const notes = sessions.find(({ id }) => id === 'oc-old')?.notes;
    expect(notes).toEqual([
      expect.stringMatching(/its key "no key" cannot be used here .*; it gets a key by its id/),
    ]);
  });
});

test.each([
  ['OpenClaw', openClawHome, 'agents/main/sessions'],
  ['claw0', claw0Home, 'workspace/.sessions/agents/main'],
  ['claw0 classic', (root: string) => classicHome(root), 'workspace/.sessions'],
  ['ZyHive', zyhiveHome, 'agents/xiuliu/sessions'],
] as const)(
  'fields of an index of %s that are not known here are named in the report',
  async (_, home, at) => {
    const root = home(freshFolder());
    const path = join(root, at, 'sessions.json');
    const index = JSON.parse(readFileSync(path, 'utf8')) as Record<string, object>;
    const entries = (index['sessions'] ?? index) as Record<string, Record<string, unknown>>;
    const [first = ''] = Object.keys(entries);
    Object.assign(entries[first] ?? {}, { moonPhase: 3, __proto: {} });
    writeIndex(path, index);
    const { sessions } = await importFrom(await freshStore(), root);
    const notes = sessions.flatMap((session) => session.notes.filter((note) => note.includes('fields')));
    expect(notes).toEqual(['unknown fields of its index entry are not imported: "moonPhase", "__proto"']);
    expect(sessions.every(({ action }) => action === 'new')).toBe(true);
  },
);

describe('the sessions.json of a home of Reprise', () => {
  async function homeWithTwo(): Promise<string> {
    const home = freshFolder();
    await using store = await openStore({ kind: 'jsonl', home });
    for (const id of ['first', 'second']) {
      await store.create({ id, key: 'agent:main:main' });
      await store.append(id, [{ type: 'message', message: { role: 'user', content: `the ${id} one` } }]);
      await store.activate('agent:main:main', id);
    }
    return home;
  }

  test('gives back every session of a key, and the one that the key stands for', async () => {
    const copied = freshFolder();
    cpSync(join(await homeWithTwo(), 'agents'), join(copied, 'agents'), { recursive: true });
    const store = await freshStore();
    const { problems, sessions } = await importFrom(store, copied);
    expect([problems, sessions.flatMap(({ notes }) => notes)]).toEqual([[], []]);
    expect(await imported(store)).toEqual([
      'first agent:main:main the first one',
      'second agent:main:main the second one',
    ]);
    expect((await store.active('agent:main:main'))?.id).toBe('second');
  });

  test('is read by its path when an edit of it was moved aside, with the transcripts it names', async () => {
    const home = await homeWithTwo();
    const aside = join(home, 'agents', 'main', 'sessions.json.edited.1');
    const entry = { sessionId: 'first', sessionFile: 'first.jsonl', label: 'mine' };
    writeFileSync(aside, JSON.stringify({ 'agent:main:main': entry }));
    const store = await freshStore();
    expect((await importFrom(store, aside)).problems).toEqual([]);
    expect(await imported(store)).toEqual(['first agent:main:main mine']);
    // In the home itself the session is known again.
    await using own = await openStore({ kind: 'jsonl', home });
    const { sessions } = await importFrom(own, aside);
    expect(sessions.map(({ id, messages }) => [id, messages])).toEqual([['first', 1]]);
    expect((await own.list()).sessions).toHaveLength(2);
  });
});

test('a folder inside a home of Reprise is refused with the command that exports it', async () => {
  const home = freshFolder();
  {
    await using store = await openStore({ kind: 'jsonl', home });
    await store.create({ id: 'a', key: 'agent:main:main' });
  }
  for (const level of ['', 'agents', 'agents/main', 'agents/main/sessions'])
    await expect(openSource(join(home, level)), level).rejects.toMatchObject({
      code: 'INVALID_INPUT',
      details: { next: expect.stringContaining('reprise export --all') },
    });
});
