// @module-tag long
import { mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import { openStore } from '../../src/config/open.ts';
import { openReprise } from '../../src/config/open-reprise.ts';
import { conversationFolder } from '../../src/engine/agents/workspaces.ts';
import { COMMAND } from '../support/processes/bundled-command.ts';
import { ENVIRONMENT, type Ran, reprise } from '../support/processes/command-line.ts';
import { hasTerminals, Terminal } from '../support/processes/terminal.ts';
import { filesHolding } from '../support/store/home-bytes.ts';

/** Each command is a separate process, and machines can be busy. */
const timeout = 180_000;

let home = '';
beforeEach(async () => {
  home = mkdtempSync(join(tmpdir(), 'reprise-changes-'));
  await using engine = await openReprise({ home, model: 'offline' });
  const chat = await engine.session('agent:main:main');
  for (const text of ['my name is Ada', 'what is my name?']) await chat.send(text).result;
  for (const id of ['trip-1', 'trip-2']) {
    await engine.store.create({ id, key: `agent:main:session:${id}` });
    await engine.store.append(id, [{ type: 'message', message: { role: 'user', content: `Plan ${id}` } }]);
  }
}, timeout);
afterEach(() => rmSync(home, { recursive: true }));

const run = (...args: readonly string[]): Ran => reprise([...args, '--home', home]);
/** Looked at without another process: each takes its time on a busy machine. */
async function ids(status: 'open' | 'deleted' = 'open'): Promise<string[]> {
  await using store = await openStore({ kind: 'jsonl', home });
  return (await store.list({ status })).sessions.map(({ id }) => id).sort();
}

test('rename and fork act on the session a ref names', { timeout }, async () => {
  expect(run('rename', 'trip-1', 'the', 'sea')).toMatchObject({ status: 0, stdout: '' });
  const copy = run('fork', 'THE SEA').stdout.trim();
  expect(run('fork', 'nobody')).toMatchObject({ status: 4, stdout: '' });
  await using store = await openStore({ kind: 'jsonl', home });
  expect(await store.get('trip-1')).toMatchObject({ label: 'the sea' });
  expect(await store.get(copy)).toMatchObject({ title: 'Plan trip-1', parentId: 'trip-1' });
});

test('undo undoes the last turn and redo repeats it', { timeout }, () => {
  expect(JSON.parse(run('undo', 'my name is', '--json').stdout)).toEqual({ undone: 'turn' });
  expect(run('show', 'my name is').stdout).not.toContain('your name is Ada');
  expect(JSON.parse(run('redo', 'my name is', '--json').stdout)).toEqual({ redone: 'turn' });
  run('undo', 'my name is');
  expect(run('redo', 'my name is').stderr).toContain('"my name is Ada" (');
  expect(run('show', 'my name is').stdout).toContain('your name is Ada');
  expect(run('stop', 'my name is').stderr).toContain('Nothing is running');
});

test('compact previews, compacts, and undo undoes it', { timeout }, async () => {
  {
    await using store = await openStore({ kind: 'jsonl', home });
    const content = Array.from({ length: 2000 }, (_, i) => `word${i}`).join(' ');
    for (let i = 0; i < 12; i++) {
      await store.append('trip-1', [{ type: 'message', message: { role: 'user', content } }]);
      await store.append('trip-1', [
        { type: 'message', message: { role: 'assistant', content: [{ type: 'text', text: content }] } },
      ]);
    }
  }
  const before = run('show', 'trip-1', '--json', '--format', 'openai').stdout.length;
  expect(run('compact', 'trip-1', '--dry-run').stdout).toMatch(
    /^Would compact \d+ entries .* and leave \d+ .* as they are, starting with #\d+\.$/m,
  );
  expect(run('show', 'trip-1', '--json', '--format', 'openai').stdout).toHaveLength(before);
  const { compaction } = JSON.parse(run('compact', 'trip-1', '--focus', 'words', '--json').stdout) as {
    compaction: { tokensBefore: number; tokensAfter: number };
  };
  expect(compaction.tokensAfter).toBeLessThan(compaction.tokensBefore / 2);
  expect(run('undo', 'trip-1').stderr).toContain('the last compaction');
  expect(run('show', 'trip-1', '--json', '--format', 'openai').stdout).toHaveLength(before);
  expect(run('compact', 'trip-2').stderr).toContain('Nothing to compact yet');
});

describe('the trash', () => {
  test('rm asks for confirmation, and takes all named sessions or none', { timeout }, async () => {
    expect(run('rm', 'trip-1')).toMatchObject({ status: 2, stderr: expect.stringContaining('--yes') });
    expect(run('rm', 'trip-1', 'nobody', '--yes').status).toBe(4);
    expect(await ids('deleted')).toEqual([]);
    expect(run('rm', 'trip-1', 'trip-2', '--yes')).toMatchObject({
      status: 0,
      stderr: expect.stringContaining('1 message) moved to the trash; "reprise restore trip-2" restores it'),
    });
    expect(await ids('deleted')).toEqual(['trip-1', 'trip-2']);
    expect(run('undo', 'trip-1')).toMatchObject({ status: 4, stderr: expect.stringContaining('restore') });
  });

  test('restore works, purge deletes permanently, and both only what is in the trash', {
    timeout,
  }, async () => {
    {
      await using store = await openStore({ kind: 'jsonl', home });
      await store.delete('trip-1');
      await store.delete('trip-2');
    }
    expect(run('restore', 'trip-1').status).toBe(0);
    expect(await ids()).toContain('trip-1');
    expect(run('purge', 'trip-1', '--yes').status).toBe(4);
    expect(run('purge', 'trip-2', '--yes').stderr).toContain('Plan trip-2');
    {
      await using store = await openStore({ kind: 'jsonl', home });
      const settings = { forkedFrom: { from: 'trip-1', leaf: 'x', state: 'done' } };
      await store.create({
        id: 'trip-fork',
        key: 'agent:main:session:trip-fork',
        parentId: 'trip-1',
        settings,
      });
      await store.delete('trip-1');
    }
    const report = JSON.parse(run('purge', 'trip-1', '--yes', '--json').stdout) as { data: unknown };
    expect(report.data).toEqual([
      {
        sessionId: 'trip-1',
        copies: [{ kind: 'session', sessionId: 'trip-fork', relation: 'fork', title: '' }],
        purgedToo: [],
      },
    ]);
    expect(await ids('deleted')).toEqual([]);
    expect(run('restore', 'trip-2').status).toBe(4);
  });

  test('purge removes the text from every file, except what an option keeps and the copies it names', {
    timeout,
  }, async () => {
    const mark = 'never to be seen again 7f3a91';
    const chat = { agentId: 'main', channelType: 'telegram', channelId: '42' };
    const line = { ...chat, role: 'user', content: mark } as const;
    const files: string[] = [];
    {
      await using store = await openStore({ kind: 'jsonl', home });
      for (const id of ['secret-1', 'secret-2']) {
        const key = `agent:main:direct:telegram:${id}`;
        const record = await store.create({ id, key });
        await store.append(id, [{ type: 'message', message: { role: 'user', content: mark } }], {
          log: [line],
        });
        await store.patch(id, { label: mark });
        const folder = conversationFolder(home, record);
        mkdirSync(folder, { recursive: true });
        files.push(join(folder, 'diary.txt'));
        writeFileSync(join(folder, 'diary.txt'), `${mark}\n`);
        await store.delete(id);
      }
    }
    const holding = (): string[] =>
      filesHolding(home, [mark]).map((found) => join(home, found.slice(0, found.indexOf(': '))));
    const kept = run('purge', 'secret-1', '--yes', '--keep-channel-log');
    expect(kept.stderr).toContain(`a copy of its text remains: ${files[0]}`);
    expect(kept.stderr).toContain('pass --with-copies');
    expect(run('purge', 'secret-2', '--yes', '--with-copies').stderr).toContain(`Also: ${files[1]}`);
    {
      await using store = await openStore({ kind: 'jsonl', home });
      expect((await store.convlog.read(chat)).lines).toMatchObject([{ ...line, sessionId: 'secret-1' }]);
    }
    const others = holding().filter((file) => !/control\.db|convlogs/.test(file));
    expect(others).toEqual([files[0]]);
  });

  test.skipIf(!hasTerminals())(
    'rm asks on a terminal, lets a person choose, and does nothing after a no',
    { timeout },
    async () => {
      const bin = [process.execPath, COMMAND, 'rm', '--home', home];
      {
        await using terminal = new Terminal([...bin, 'trip-1'], { env: ENVIRONMENT });
        await terminal.until(/Move "Plan trip-1"/);
        terminal.type('n');
        expect(await terminal.exit).toBe(130);
      }
      expect(await ids()).toContain('trip-1');
      {
        await using terminal = new Terminal(bin, { env: ENVIRONMENT });
        await terminal.until(/Which session\?/);
        terminal.type('trip-2');
        await terminal.until(/1 match/);
        terminal.type('\r');
        await terminal.until(/Move "Plan trip-2"/);
        terminal.type('y');
        expect(await terminal.exit).toBe(0);
      }
      expect(await ids('deleted')).toEqual(['trip-2']);
    },
  );
});

describe('prune', () => {
  test('shows what would be removed and how many bytes that frees, and does it only after a yes', {
    timeout,
  }, async () => {
    const dry = run('prune', '--max-sessions', '1');
    expect(dry).toMatchObject({ status: 0, stderr: expect.stringContaining('--yes') });
    expect(dry.stdout).toMatch(
      /to the trash +Plan trip-1\n[\s\S]*to the trash: 2, deleted permanently: 0[\s\S]*frees [\d,]+ bytes now/,
    );
    expect(await ids()).toHaveLength(3);
    const done = JSON.parse(run('prune', '--max-sessions', '1', '--yes', '--json').stdout) as {
      data: { action: string }[];
      deleted: number;
      bytesLater: number;
    };
    expect(done).toMatchObject({ dryRun: false, deleted: done.data.length });
    expect(done.bytesLater).toBeGreaterThan(0);
    expect(await ids('deleted')).toEqual(['trip-1', 'trip-2']);
  });

  test('without a rule, or with an invalid one, it is refused', () => {
    expect(run('prune')).toMatchObject({ status: 2, stderr: expect.stringContaining('--ttl') });
    expect(run('prune', '--ttl', 'soon')).toMatchObject({ status: 2 });
  });
});

test('a command in a folder with a database opens that one without an option', async () => {
  const folder = join(home, 'database');
  {
    await using store = await openStore({ kind: 'sqlite', home: folder });
    await store.create({ id: 's1', key: 'agent:main:main' });
  }
  const listed = reprise(['ls', '--json', '--home', folder]);
  expect(JSON.parse(listed.stdout)).toMatchObject({ data: [{ id: 's1' }] });
  expect(reprise(['path', 's1', '--home', folder])).toMatchObject({ status: 4 });
  expect(readFileSync(join(folder, 'store.db')).length).toBeGreaterThan(0);
});
