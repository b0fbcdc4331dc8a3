import { appendFileSync, readdirSync } from 'node:fs';
import { join } from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import { setTimeout as sleep } from 'node:timers/promises';
import { expect, test } from 'vitest';
import type { Store } from '../../../src/index.ts';
import { findPlaces, openPlaces } from '../../../src/interop/import/machine-sources.ts';
import { runImport } from '../../../src/interop/import/run-import.ts';
import { watchSources } from '../../../src/interop/import/watch-sources.ts';
import { everySession, freshFolder, freshStore } from '../../support/store/interop-home.ts';
import {
  claudeHome,
  codexHome,
  geminiHome,
  openclawDatabaseHome,
  opencodeHome,
} from '../../support/store/tool-homes.ts';

function machineWithAllTools(): { readonly home: string; readonly env: Record<string, string> } {
  const home = freshFolder();
  for (const make of [claudeHome, codexHome, geminiHome, opencodeHome, openclawDatabaseHome]) make(home);
  return { home, env: {} };
}

test('everything in the known folders of all tools is imported, and the second time nothing is read', async () => {
  const machine = machineWithAllTools();
  const store = await freshStore();
  const first = await openPlaces(await findPlaces(machine));
  const { sessions } = await runImport(store, first, { skipUnchanged: true });
  await first[Symbol.asyncDispose]?.();
  expect(sessions.map(({ tool, action }) => `${tool} ${action}`).sort()).toEqual([
    ...['claude-code new', 'codex new', 'gemini-cli new', 'openclaw new', 'opencode new'],
  ]);
  const source = await openPlaces(await findPlaces(machine));
  const unread = source.sessions.map((found) => ({
    ...found,
    read: () => Promise.reject(new Error('was read')),
  }));
  const report = await runImport(store, { ...source, sessions: unread }, { skipUnchanged: true });
  expect(report.sessions.map(({ action }) => action)).toEqual(Array(5).fill('unchanged'));
  await source[Symbol.asyncDispose]?.();
});

test('--only and the environment variables of the tools decide where it looks', async () => {
  const machine = machineWithAllTools();
  const elsewhere = freshFolder();
  codexHome(elsewhere);
  const tools = async (env: Record<string, string>, only?: string[]): Promise<string[]> =>
    (await findPlaces({ ...machine, env }, only)).map(({ path }) => path);
  expect(await tools({}, ['codex'])).toEqual([join(machine.home, '.codex', 'sessions')]);
  expect(await tools({ CODEX_HOME: join(elsewhere, '.codex') }, ['codex'])).toEqual([
    join(elsewhere, '.codex', 'sessions'),
  ]);
  expect(await findPlaces({ home: freshFolder(), env: {} })).toEqual([]);
});

async function until(isTrue: () => Promise<boolean>): Promise<void> {
  const end = Date.now() + 20_000;
  while (!(await isTrue())) {
    if (Date.now() > end) throw new Error('it did not happen');
    await sleep(20);
  }
}

const countOf = async (store: Store): Promise<number> =>
  (await everySession(store)).reduce((sum, { messageCount }) => sum + messageCount, 0);

test('a watch imports what the tools write, once, and ends with its signal', async () => {
  const machine = machineWithAllTools();
  const store = await freshStore();
  const stop = new AbortController();
  const problems: string[] = [];
  const watching = watchSources(store, {
    ...{ signal: stop.signal, pollMs: 50, find: () => findPlaces(machine, ['claude-code', 'opencode']) },
    onReport: (report) => problems.push(...report.problems),
  });
  await until(async () => (await everySession(store)).length === 2);
  const before = await countOf(store);
  const folder = join(machine.home, '.claude', 'projects', '-work');
  const [name = ''] = readdirSync(folder);
  const line = {
    ...{ parentUuid: 'u2', uuid: 'u3', type: 'user', sessionId: 's', timestamp: '2026-01-02T03:05:00.000Z' },
    message: { role: 'user', content: 'written while it watches' },
  };
  const text = `${JSON.stringify(line)}\n`;
  appendFileSync(join(folder, name), text.slice(0, 50));
  await sleep(150);
  appendFileSync(join(folder, name), text.slice(50));
  await until(async () => (await countOf(store)) === before + 1);
  const database = new DatabaseSync(join(machine.home, '.local', 'share', 'opencode', 'opencode.db'));
  database.exec(`INSERT INTO message VALUES ('msg_9', 'ses_1', 1767323046000, '{"role":"user","time":{"created":1767323046000}}');
    INSERT INTO part VALUES ('prt_9', 'msg_9', 'ses_1', 1767323046000, '{"type":"text","text":"new in the database"}')`);
  database.close();
  await until(async () => (await countOf(store)) === before + 2);
  stop.abort();
  await watching;
  expect(problems).toEqual([]);
});
