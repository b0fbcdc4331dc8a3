import { readdir, readFile, stat } from 'node:fs/promises';
import { join } from 'node:path';
import { describe, expect, test } from 'vitest';
import type { Tool } from '../../../src/engine/tools/tool.ts';
import { overflow, say, scripted } from '../../support/engine/engine.ts';
import { compactionsOf, linesOf, messagesOf, tempHome } from '../../support/engine/profile-home.ts';

const readFileTool: Tool = {
  name: 'read_file',
  description: 'Reads a file.',
  inputSchema: { type: 'object' },
  safe: true,
  run: async () => 'file contents',
};

describe('claw0: its sessions and its guard', () => {
  const profile = 'claw0';

  test('a window of 180,000 tokens, answers of 8,096, and len // 4 as the count', async () => {
    await using home = await tempHome('jsonl');
    await using at = await home.open(scripted(['Hi!'], 1_000_000), { profile });
    await at.session.send('a'.repeat(1003)).result;
    expect(at.model.requests[0]?.maxOutputTokens).toBe(8096);
    const { tokens, window } = await at.session.context();
    expect(window).toMatchObject({ tokens: 180_000, source: 'option' });
    expect(tokens).toBe(250);
  });

  test('a smaller window of the model or the session wins', async () => {
    await using home = await tempHome('jsonl');
    await using at = await home.open(scripted([], 100_000), { profile });
    expect((await at.session.context()).window.tokens).toBe(100_000);
    await at.session.patch({ contextTokens: 50_000 });
    expect((await at.session.context()).window.tokens).toBe(50_000);
  });

  test('one file a session, calls and results in it, replayed after a restart', async () => {
    await using home = await tempHome('jsonl');
    let id = '';
    {
      const script = scripted([{ calls: [{ name: 'read_file' }] }, 'It says hello.']);
      await using at = await home.open(script, { profile, tools: [readFileTool] });
      await at.session.send('what does it say?').result;
      id = at.session.id;
    }
    const folder = join(home.path, 'agents/main/sessions');
    expect(await readdir(folder)).toContain(`${id}.jsonl`);
    expect(await readFile(join(folder, `${id}.jsonl`), 'utf8')).toContain('file contents');
    await using at = await home.open(scripted(['yes']), { profile, tools: [readFileTool] });
    await at.session.send('sure?').result;
    expect(linesOf(at.model.requests[0])).toEqual([
      'user: what does it say?',
      'assistant: (read_file)',
      'tool: file contents',
      'assistant: It says hello.',
      'user: sure?',
    ]);
  });

  test('/compact: the oldest half goes, with a summary of 2,048 tokens and the two known lines in its place', async () => {
    await using home = await tempHome('jsonl');
    const talk = Array.from({ length: 10 }, (_, i) => `answer ${i} ${'about it '.repeat(60)}`);
    {
      await using at = await home.open(scripted([...talk, 'the gist']), { profile });
      for (let i = 0; i < 10; i++) await at.session.send(`question ${i}`).result;
      expect(await at.session.compact()).toMatchObject({ coveredEntries: 10, reason: 'asked for' });
      expect(at.model.requests.at(-1)).toMatchObject({
        maxOutputTokens: 2048,
        system: expect.stringMatching(/^You are a conversation summarizer\. Be concise and factual\. /),
      });
      const [compaction] = await compactionsOf(at.session);
      const stored = await messagesOf(at.session);
      expect(compaction?.['firstKeptEntryId']).toBe(stored[10]?.id);
    }
    await using at = await home.open(scripted(['on']), { profile });
    await at.session.send('go on').result;
    const asked = linesOf(at.model.requests[0]);
    expect(asked[0]).toMatch(/^user: \[Previous conversation summary\]\nthe gist/);
    expect(asked.slice(1, 3)).toEqual(['assistant: Understood, I have the context.', 'user: question 5']);
    expect(asked).toHaveLength(2 + 10 + 1);
  });

  test.each([
    [4, 4, 4],
    [3, 2, 4],
    [2, 0, 4],
  ])('of %i turns %i messages go: at least four stay', async (turns, covered, kept) => {
    await using home = await tempHome('jsonl');
    const talk = Array.from({ length: turns }, (_, i) => `answer ${i} ${'about it '.repeat(200)}`);
    await using at = await home.open(scripted([...talk, 'gist']), { profile });
    for (let i = 0; i < turns; i++) await at.session.send(`question ${i}`).result;
    const preview = await at.session.previewCompaction();
    const total = (await messagesOf(at.session)).length;
    expect(preview?.coveredEntries ?? 0).toBe(covered);
    expect(total - (preview?.coveredEntries ?? 0)).toBe(kept);
  });

  test('/compact keeps at least four of six messages and no result without its call', async () => {
    await using home = await tempHome('jsonl');
    const script = scripted([
      { calls: [{ name: 'read_file' }] },
      'It says hello.',
      'You are welcome.',
      'gist',
    ]);
    await using at = await home.open(script, { profile, tools: [readFileTool] });
    await at.session.send(`what does it say? ${'Please look. '.repeat(200)}`).result;
    await at.session.send('thanks').result;
    expect(await messagesOf(at.session)).toHaveLength(6);
    expect(await at.session.previewCompaction()).toMatchObject({ coveredEntries: 1, splitsTurn: true });
    expect(await at.session.compact()).toMatchObject({ coveredEntries: 1 });
    at.model.push('bye');
    await at.session.send('bye').result;
    expect(linesOf(at.model.requests.at(-1)).slice(1)).toEqual([
      'assistant: Understood, I have the context.(read_file)',
      'tool: file contents',
      'assistant: It says hello.',
      'user: thanks',
      'assistant: You are welcome.',
      'user: bye',
    ]);
  });

  test('overflow, once: tool results are shortened; twice: the history is compacted; then it answers', async () => {
    await using home = await tempHome('jsonl');
    const big: Tool = { ...readFileTool, maxOutputChars: 300_000, run: async () => 'line\n'.repeat(50_000) };
    const talk = Array.from({ length: 6 }, (_, i) => `answer ${i} ${'about it '.repeat(300)}`);
    const steps = [...talk, { calls: [{ name: 'read_file' }] }, overflow(), overflow(), 'the gist', 'ok'];
    await using at = await home.open(scripted(steps), { profile, tools: [big] });
    for (let i = 0; i < 6; i++) await at.session.send(`question ${i}`).result;
    const types = (await say(at.session, 'read it')).map(({ type }) => type);
    expect(types.filter((type) => /overflow|context_truncated|compaction/.test(type))).toEqual([
      'overflow',
      'context_truncated',
      'overflow',
      'compaction_start',
      'compaction',
    ]);
    expect(linesOf(at.model.requests.at(-1))[0]).toContain('[Previous conversation summary]\nthe gist');
    at.model.assertDone();
  });
});

describe('claw0 classic: conversations that survive restarts', () => {
  const profile = 'claw0-classic';
  const key = 'main:cli:user';

  test('a three-part key, an id of 12 hex digits, and the count of earlier turns is printed', async () => {
    await using home = await tempHome('jsonl');
    let id = '';
    {
      const script = scripted([{ calls: [{ name: 'read_file' }] }, 'read', 'hello']);
      await using at = await home.open(script, { profile, key, tools: [readFileTool] });
      await at.session.send('read config.json').result;
      await at.session.send('hi').result;
      id = at.session.id;
      expect(id).toMatch(/^[0-9a-f]{12}$/);
      expect(at.session.key).toBe('agent:main:cli:direct:user');
      expect(at.model.requests[0]?.maxOutputTokens).toBe(4096);
    }
    await using at = await home.open(scripted(['yes']), { profile, key, tools: [readFileTool] });
    expect(at.session.id).toBe(id);
    // "Restored: N previous turns"
    expect((await at.session.record()).turnCount).toBe(2);
    await at.session.send('again?').result;
    expect(linesOf(at.model.requests[0])).toEqual([
      'user: read config.json',
      'assistant: (read_file)',
      'tool: file contents',
      'assistant: read',
      'user: hi',
      'assistant: hello',
      'user: again?',
    ]);
  });

  test('its transcript only grows, so that `tail -f` shows each message, and each line is one object', async () => {
    await using home = await tempHome('jsonl');
    const script = scripted([{ calls: [{ name: 'read_file' }] }, 'read', 'hello', 'the gist', 'bye']);
    await using at = await home.open(script, { profile, key, tools: [readFileTool] });
    const file = join(home.path, 'agents/main/sessions', `${at.session.id}.jsonl`);
    const inodes = new Set<number>();
    let before = '';
    const grows = async (): Promise<void> => {
      await expect.poll(async () => (await at.reprise.store.stats()).behind).toBe(0);
      const now = await readFile(file, 'utf8');
      expect(now.startsWith(before)).toBe(true);
      expect(now.length).toBeGreaterThan(before.length);
      for (const line of now.trimEnd().split('\n')) expect(JSON.parse(line)).toBeTypeOf('object');
      inodes.add((await stat(file)).ino);
      before = now;
    };
    for (const text of [`read it ${'and so on '.repeat(300)}`, 'hi']) {
      await at.session.send(text).result;
      await grows();
    }
    expect(before).toContain('file contents');
    expect(await at.session.compact()).not.toBeNull();
    await grows();
    await at.session.undo();
    await grows();
    await at.session.send('bye').result;
    await grows();
    expect(inodes.size).toBe(1);
  });

  test('another peer has a separate history', async () => {
    await using home = await tempHome('jsonl');
    await using at = await home.open(scripted(['a', 'b']), { profile, key });
    const other = await at.reprise.session('main:cli:somebody');
    await at.session.send('mine').result;
    await other.send('theirs').result;
    expect(other.id).not.toBe(at.session.id);
    expect(linesOf(at.model.requests[1])).toEqual(['user: theirs']);
  });
});
