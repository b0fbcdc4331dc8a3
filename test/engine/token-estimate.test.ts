import { rmSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, test } from 'vitest';
import { openStore } from '../../src/config/open.ts';
import type { Session } from '../../src/engine/session.ts';
import type { Store } from '../../src/index.ts';
import { entriesOf, openEngine, say, scripted } from '../support/engine/engine.ts';
import { freshFolder, importFrom } from '../support/store/interop-home.ts';
import {
  classicHome,
  claw0Home,
  openClawHome,
  writeLines,
  zeroclawHome,
  zyhiveHome,
} from '../support/store/source-homes.ts';

/** Of a list, by the rebuilt index too: the database of a home is lost and made again from its transcripts. */
async function afterRebuild(home: string): Promise<readonly number[]> {
  for (const suffix of ['', '-wal', '-shm']) rmSync(join(home, `control.db${suffix}`), { force: true });
  await using store = await openStore({ kind: 'jsonl', home });
  await store.reindex();
  // A list has titles first and counts later.
  await expect.poll(async () => (await store.stats()).rebuilding).toBeUndefined();
  return await counts(store);
}

async function counts(store: Store): Promise<readonly number[]> {
  const { sessions } = await store.list({ limit: 100, status: 'any' });
  return sessions.toSorted((a, b) => (a.id < b.id ? -1 : 1)).map(({ tokenEstimate }) => tokenEstimate);
}

const HOMES = [
  ['claw0', claw0Home],
  ['claw0 classic', (root: string) => classicHome(root)],
  ['ZeroClaw', (root: string) => zeroclawHome(root, [{ id: 'z', key: 'direct:cli:me' }])],
  ['OpenClaw', openClawHome],
  ['ZyHive', zyhiveHome],
] as const;

test.each(HOMES)('lists estimate the tokens of sessions imported from %s', async (_, home) => {
  const folder = join(freshFolder(), 'home');
  const listed = await (async () => {
    await using store = await openStore({ kind: 'jsonl', home: folder });
    await importFrom(store, home(freshFolder()));
    return await counts(store);
  })();
  // Each session is a question and an answer of a few words.
  for (const tokens of listed) expect(tokens).toSatisfy((count: number) => count > 8 && count < 40);
  expect(await afterRebuild(folder)).toEqual(listed);
});

test('an imported compaction without a size counts its summary and what it keeps', async () => {
  await using store = await openStore({ kind: 'memory' });
  const root = freshFolder();
  const say = (id: string, parentId: string | null, content: string): object => ({
    ...{ type: 'message', id, parentId, timestamp: '2026-03-01T09:00:00.000Z' },
    message: { role: 'user', content },
  });
  const words = 'one two three four five six seven eight nine ten ';
  writeLines(
    join(root, 'a.jsonl'),
    { type: 'session', version: 3, id: 'a', timestamp: '2026-03-01T09:00:00.000Z' },
    say('0000000a', null, words.repeat(1000)),
    say('0000000b', '0000000a', words.repeat(10)),
    {
      ...{ type: 'compaction', id: '0000000c', parentId: '0000000b', timestamp: '2026-03-01T10:00:00.000Z' },
      ...{ summary: words.repeat(5), firstKeptEntryId: '0000000b', tokensBefore: 10_000 },
    },
    say('0000000d', '0000000c', words),
  );
  await importFrom(store, root);
  // 160 words are left.
  expect((await store.get('a')).tokenEstimate).toSatisfy((count: number) => count > 160 && count < 240);
});

async function tokensOfTurn(session: Session, text: string): Promise<number> {
  const last = (await say(session, text)).at(-1);
  if (last?.type !== 'done') throw new Error(`no done event, but ${last?.type}`);
  return last.tokenEstimate;
}

const listed = async (session: Session): Promise<number> => (await session.record()).tokenEstimate;

describe('with a server that reports no usage', () => {
  test('the list shows what done and /context say, the answer and the system prompt included', async () => {
    const agents = { main: { systemPrompt: 'Answer like a pirate. '.repeat(40) } };
    await using at = await openEngine(scripted(['ahoy '.repeat(200), 'aye']), { agents });
    const first = await tokensOfTurn(at.session, 'What is to be done?');
    expect(await listed(at.session)).toBe(first);
    const context = await at.session.context();
    expect(first / context.tokens).toBeGreaterThan(0.8);
    expect(first / context.tokens).toBeLessThan(1.2);
    const second = await tokensOfTurn(at.session, 'And then?');
    expect(second).toBeGreaterThan(first);
    expect(await listed(at.session)).toBe(second);
  });

  test('undo and redo show the size of the context they lead to', async () => {
    const compaction = { background: false, cut: { kind: 'keep-turns', turns: 1 } } as const;
    await using at = await openEngine(scripted(['one '.repeat(4000), 'two '.repeat(2000), 'a summary']), {
      compaction,
    });
    const first = await tokensOfTurn(at.session, 'first');
    const second = await tokensOfTurn(at.session, 'second');
    const steps = [
      ['undo', first],
      ['undo', 0],
      ['redo', first],
      ['redo', second],
    ] as const;
    for (const [step, tokens] of steps) {
      await at.session[step]();
      expect(await listed(at.session)).toBe(tokens);
    }
    await at.session.compact();
    const compacted = await listed(at.session);
    expect(compacted).toBeLessThan(second);
    await at.session.undo();
    expect(await listed(at.session)).toBeGreaterThan(compacted);
    await at.session.redo();
    expect(await listed(at.session)).toBe(compacted);
  });
});

test('where usage is reported, done and the list say what was reported', async () => {
  const usage = { input: 4000, output: 100, cacheRead: 500, cacheWrite: 0, totalTokens: 4600 };
  await using at = await openEngine(scripted([{ text: 'yes', usage }]));
  expect(await tokensOfTurn(at.session, 'Is it?')).toBe(4600);
  expect(await listed(at.session)).toBe(4600);
  const turn = (await entriesOf(at.session)).find(({ customType }) => customType === 'reprise.turn');
  expect(turn?.['data']).toMatchObject({ status: 'done', tokenEstimate: 4600 });
});
