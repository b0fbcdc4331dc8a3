import { mkdirSync, mkdtempSync, realpathSync, rmSync, symlinkSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join, relative } from 'node:path';
import { afterEach, beforeEach, expect, test } from 'vitest';
import { openStore } from '../../../src/config/open.ts';
import { createFileTools } from '../../../src/exports/engine.ts';
import type { JsonObject } from '../../../src/exports/transcript.ts';
import type { ConvlogLine } from '../../../src/store/port/convlog.ts';
import { openEngine, say, scripted } from '../../support/engine/engine.ts';

const LINE: ConvlogLine = {
  agentId: 'main',
  channelType: 'telegram',
  channelId: '42',
  role: 'user',
  content: 'a secret word',
};
let home = '';
beforeEach(() => {
  home = realpathSync(mkdtempSync(join(tmpdir(), 'reprise-convlog-')));
});
afterEach(() => rmSync(home, { recursive: true, force: true }));

/** A closed home with one logged line, and the workspace of its agent. */
async function logged(): Promise<{ readonly workspace: string; readonly convlogs: string }> {
  const store = await openStore({ kind: 'jsonl', home, durability: 'os' });
  await store.convlog.append([LINE]);
  await store[Symbol.asyncDispose]();
  const workspace = join(home, 'agents', 'main', 'workspace');
  mkdirSync(workspace);
  return { workspace, convlogs: join(home, 'agents', 'main', 'convlogs') };
}

test('an admin reads channel logs through the engine', async () => {
  await using opened = await openEngine(scripted([]));
  const { reprise } = opened;
  await reprise.store.convlog.append([LINE]);
  const { chats } = await reprise.convlog.list({ text: 'SECRET' });
  expect(chats.map(({ channelId, messages }) => [channelId, messages])).toEqual([['42', 1]]);
  const { lines, hasMore } = await reprise.convlog.read(LINE);
  expect([lines.map(({ content }) => content), hasMore]).toEqual([['a secret word'], false]);
});

test('I-30 no path and no link of a workspace leads a file tool to the convlogs', async () => {
  const { workspace, convlogs } = await logged();
  symlinkSync(convlogs, join(workspace, 'folder'));
  symlinkSync(join(convlogs, 'telegram', '42.jsonl'), join(workspace, 'file'));
  symlinkSync('folder', join(workspace, 'twice'));
  symlinkSync('..', join(workspace, 'up'));
  const file = join(convlogs, 'telegram', '42.jsonl');
  const ways = [
    file,
    relative(workspace, file),
    'folder/telegram/42.jsonl',
    'twice/telegram/42.jsonl',
    'up/convlogs/telegram/42.jsonl',
    './folder/../../convlogs/telegram/42.jsonl',
    'file',
    join(home, 'control.db'),
    '../../../control.db',
  ];
  const folders = [convlogs, '../convlogs', 'folder', 'folder/telegram', 'twice', 'up', 'up/convlogs'];
  const context = {
    session: { id: 's', key: 'agent:main:main', agentId: 'main' },
    progress: () => undefined,
    toolCallId: 'c',
    signal: new AbortController().signal,
    aside: <T>(work: () => Promise<T>): Promise<T> => work(),
  };
  const use = async (name: string, input: JsonObject): Promise<unknown> =>
    createFileTools(workspace)
      .find((tool) => tool.name === name)
      ?.run(input, context);
  for (const path of ways) {
    await expect(use('read_file', { path }), `read ${path}`).rejects.toMatchObject({ code: 'FORBIDDEN' });
    await expect(use('write_file', { path, content: '' })).rejects.toMatchObject({ code: 'FORBIDDEN' });
    await expect(
      use('edit_file', { path, old_string: 'secret', new_string: '' }),
      `edit ${path}`,
    ).rejects.toMatchObject({ code: 'FORBIDDEN' });
  }
  for (const path of folders)
    await expect(use('list_directory', { path }), path).rejects.toMatchObject({ code: 'FORBIDDEN' });
});

test('no text or tool that an agent receives contains the channel log', async () => {
  const { workspace } = await logged();
  const store = await openStore({ kind: 'jsonl', home, durability: 'os' });
  const model = scripted([{ text: 'hello' }]);
  await using opened = await openEngine(model, { store, agents: { main: { workspace } } });
  await say(opened.session, 'what do you know?');
  const asked = JSON.stringify(model.requests);
  expect(asked).toContain('what do you know?');
  expect(asked).toContain('read_file');
  expect(asked).not.toMatch(/secret|convlog/i);
  expect((await opened.reprise.search({ text: 'secret' })).hits).toEqual([]);
});
