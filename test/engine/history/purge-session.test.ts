import { mkdirSync, mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, expect, test } from 'vitest';
import { openStore } from '../../../src/config/open.ts';
import { conversationFolder } from '../../../src/engine/agents/workspaces.ts';
import { copiesOf, purgeSession } from '../../../src/engine/history/purge-session.ts';
import { Reprise } from '../../../src/engine/reprise.ts';
import { KEY } from '../../support/engine/engine.ts';
import { ask, call, type Family, idOf, replying } from '../../support/engine/family.ts';
import { filesHolding } from '../../support/store/home-bytes.ts';

const MARK = 'secret-of-the-child-7f3a91';
let home = '';
beforeEach(() => {
  home = mkdtempSync(join(tmpdir(), 'reprise-purge-session-'));
});
afterEach(() => rmSync(home, { recursive: true, force: true }));

/** A parent that hands its task to a child, whose answer is the secret. */
async function open(): Promise<Family> {
  const model = replying(({ text, isResult, request }) => {
    const isChild = request.system?.includes('You are a subagent') === true;
    if (isChild) return `${MARK} is the answer`;
    if (isResult || text.includes('[The subagent')) return 'noted';
    return text === 'delegate'
      ? { calls: [call('sessions_spawn', { task: 'find the answer to it all' })] }
      : 'yes';
  });
  const agents = { defaults: { subagents: {} }, main: { workspace: join(home, 'own') } };
  const store = await openStore({ kind: 'jsonl', home, durability: 'os' });
  const reprise = new Reprise({ home, store, model, agents, compaction: { background: false } });
  return { reprise, store, model, [Symbol.asyncDispose]: () => reprise[Symbol.asyncDispose]() };
}

/** The child in the trash, a fork of its history, a fork of its parent, a note, and what was typed. */
async function copied(at: Family) {
  const { reprise, store } = at;
  await ask(reprise, 'delegate');
  const [run] = await reprise.runs(await idOf(store));
  const child = run?.childSessionId ?? '';
  const parent = await idOf(store);
  await ask(reprise, `something ${MARK} else`, 'agent:main:direct:bob');
  const fork = await (await reprise.session({ id: child })).fork();
  const parentFork = await (await reprise.session({ id: parent })).fork();
  mkdirSync(join(home, 'own'), { recursive: true });
  const memory = join(home, 'own', 'MEMORY.md');
  writeFileSync(
    memory,
    `My own words.\n\n## 2026-01-01, x (${child})\n\n${MARK}\n\n## 2026-01-02, y (other)\n\nkept\n\n`,
  );
  writeFileSync(join(home, 'repl-history'), `"find the answer to it all"\n"another line"\n`);
  await store.delete(child);
  return { child, parent, fork: fork.id, parentFork: parentFork.id, memory };
}

test('a purge names the forks, the parent that got a result, and the notes that have the text', async () => {
  await using at = await open();
  const { child, parent, fork, parentFork, memory } = await copied(at);
  const report = await at.reprise.purge(child);
  const sessions = report.copies.flatMap((copy) =>
    copy.kind === 'session' ? [[copy.sessionId, copy.relation]] : [],
  );
  expect(Object.fromEntries(sessions)).toEqual({ [fork]: 'fork', [parent]: 'parent', [parentFork]: 'fork' });
  expect(report.copies.filter(({ kind }) => kind !== 'session')).toEqual([
    { kind: 'memory', file: memory, heading: `## 2026-01-01, x (${child})` },
  ]);
  expect(readFileSync(join(home, 'repl-history'), 'utf8')).toBe('"another line"\n');
  expect((await at.store.get(parent)).status).toBe('open');
});

test('a purge with copies leaves the text only in sessions that did not copy it', async () => {
  await using at = await open();
  const { child, parent, fork, parentFork, memory } = await copied(at);
  const report = await at.reprise.purge(child, { withCopies: true });
  expect(report.copies).toEqual([]);
  expect([...report.purgedToo].sort()).toEqual([parent, fork, parentFork].sort());
  expect(readFileSync(memory, 'utf8')).toBe('My own words.\n\n## 2026-01-02, y (other)\n\nkept\n\n');
  const own = await idOf(at.store, 'agent:main:direct:bob');
  await at.store.delete(own);
  await at.reprise.purge(own);
  expect(filesHolding(home, [MARK])).toEqual([]);
  expect(await at.store.active(KEY)).toBeUndefined();
});

test('a session whose transcript is damaged can be purged too', async () => {
  await using at = await open();
  await ask(at.reprise, `a text ${MARK} to lose`);
  const id = await idOf(at.store);
  await expect.poll(async () => (await at.store.stats()).behind).toBe(0);
  await at.store.delete(id);
  await expect.poll(async () => (await at.store.stats()).behind).toBe(0);
  const file = join(home, 'agents', 'main', 'sessions', `${id}.jsonl`);
  const bytes = readFileSync(file);
  bytes[bytes.indexOf(MARK) - 3] = 0x21;
  writeFileSync(file, bytes);
  expect((await at.store.verify(id)).status).not.toBe('clean');
  await at.reprise.purge(id);
  expect(filesHolding(home, [MARK])).toEqual([]);
});

test('a purge names the files with its text in the workspace of its conversation, and removes them with copies', async () => {
  const inputs = [
    { path: 'diary.txt', content: `Monday\n  what I never told: ${MARK}  \n` },
    { path: 'notes/list.txt', content: 'a short one' },
    { path: 'MEMORY.md', content: `- remember ${MARK}\n` },
  ];
  const model = replying(({ text, isResult }) => {
    if (isResult || !text.startsWith('write')) return 'fine';
    return { calls: inputs.map((input) => call('write_file', input)) };
  });
  const store = await openStore({ kind: 'jsonl', home, durability: 'os' });
  const agents = { main: { fileTools: true } };
  await using reprise = new Reprise({ home, store, model, agents, compaction: { background: false } });
  await ask(reprise, 'write it down');
  await ask(reprise, 'write it down', 'agent:main:direct:bob');
  const id = await idOf(store);
  const folder = conversationFolder(home, await store.get(id));
  const ofBob = conversationFolder(home, await store.get(await idOf(store, 'agent:main:direct:bob')));
  writeFileSync(join(folder, 'plan.txt'), 'what the owner wrote by hand');
  await store.delete(id);
  const copies = [
    { kind: 'memory', file: join(folder, 'MEMORY.md'), heading: '' },
    { kind: 'file', file: join(folder, 'diary.txt') },
  ];
  const where = { home, agents };
  expect(await copiesOf(store, await store.get(id), where)).toEqual(copies);
  expect((await purgeSession(store, id, { ...where, withCopies: true })).copies).toEqual([]);
  expect(readdirSync(folder, { recursive: true }).sort()).toEqual([
    'MEMORY.md',
    'notes',
    'notes/list.txt',
    'plan.txt',
  ]);
  expect(readFileSync(join(folder, 'MEMORY.md'), 'utf8')).toBe('');
  // The other conversation contains the same words by itself, and keeps them.
  expect(readFileSync(join(ofBob, 'diary.txt'), 'utf8')).toContain(MARK);
});

test('files of a configured workspace outside of the home are the project of its owner and stay', async () => {
  const workspace = mkdtempSync(join(tmpdir(), 'reprise-project-'));
  const model = replying(({ isResult }) =>
    isResult
      ? 'fine'
      : { calls: [call('write_file', { path: 'main.ts', content: `// ${MARK} is the code` })] },
  );
  const store = await openStore({ kind: 'jsonl', home, durability: 'os' });
  await using reprise = new Reprise({
    ...{ home, store, model, agents: { main: { workspace } } },
    compaction: { background: false },
  });
  await ask(reprise, 'write the program');
  const id = await idOf(store);
  await store.delete(id);
  expect((await reprise.purge(id, { withCopies: true })).copies).toEqual([]);
  expect(readFileSync(join(workspace, 'main.ts'), 'utf8')).toContain(MARK);
  rmSync(workspace, { recursive: true });
});
