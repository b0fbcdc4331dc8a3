import { readdir } from 'node:fs/promises';
import { join } from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import { describe, expect, test } from 'vitest';
import type { Tool } from '../../../src/engine/tools/tool.ts';
import { PROFILES } from '../../../src/exports/engine.ts';
import type { NewEntry } from '../../../src/exports/store.ts';
import { openReprise, RepriseError, type Store } from '../../../src/index.ts';
import type { ModelRequest } from '../../../src/models/model.ts';
import type { ScriptedStep } from '../../../src/models/scripted/scripted-model.ts';
import { entriesOf, KEY, overflow, say, scripted } from '../../support/engine/engine.ts';
import { compactionsOf, linesOf, messagesOf, prose, tempHome } from '../../support/engine/profile-home.ts';
import { writeLayout } from '../../support/store/interop-home.ts';

const profile = 'zeroclaw';

function lookTool(
  safe: boolean,
  onRun: () => Promise<void> = async () => undefined,
): Tool & { runs: number } {
  const tool = {
    name: 'look',
    description: 'Looks.',
    inputSchema: { type: 'object' },
    safe,
    runs: 0,
    run: async () => {
      tool.runs++;
      await onRun();
      return 'secret result';
    },
  };
  return tool;
}

const down = (): RepriseError => new RepriseError('MODEL_FAILED', 'the model is down');
const roles = (stored: readonly { role: string }[]): string[] => stored.map(({ role }) => role);

/** A message whose runner died before its pair landed. */
async function abandon(store: Store, text: string, ...left: readonly object[]): Promise<string> {
  const { inboxId, sessionId } = await store.inbox.receive({
    sessionKey: KEY,
    source: 'test',
    body: { text },
  });
  const lease = await store.lease(sessionId);
  await store.inbox.take(sessionId, { epoch: lease.epoch });
  for (const data of left)
    await store.append(sessionId, [
      { type: 'custom', customType: 'reprise.calls', data: { inboxId, ...data } },
    ]);
  await lease.release();
  return inboxId;
}

describe('zeroclaw: user and assistant, in pairs', () => {
  test('a turn with tools works, sees their results, and is stored as message and answer, in one append', async () => {
    await using home = await tempHome('sqlite');
    let during: unknown[] = [];
    const tool = lookTool(true, async () => {
      during = await messagesOf(at.session);
    });
    const script = scripted([{ text: 'Let me look. ', calls: [{ name: 'look' }] }, 'It is there.', 'Yes.']);
    await using at = await home.open(script, { profile, tools: [tool] });
    const events = await say(at.session, 'is it there?');
    expect(events.filter(({ type }) => type === 'entry')).toHaveLength(2);
    expect(during).toEqual([]);
    expect(linesOf(at.model.requests[1])).toEqual([
      'user: is it there?',
      'assistant: Let me look. (look)',
      'tool: secret result',
    ]);
    expect(await messagesOf(at.session)).toMatchObject([
      { role: 'user', text: 'is it there?' },
      { role: 'assistant', text: 'It is there.' },
    ]);
    const landed = (await entriesOf(at.session)).filter(({ seal }) => seal?.b.endsWith('/3'));
    expect(landed.map(({ type, seal }) => [type, seal?.b])).toEqual([
      ['message', '1/3'],
      ['message', '2/3'],
      ['custom', '3/3'],
    ]);
    await at.session.send('sure?').result;
    expect(linesOf(at.model.requests[2])).toEqual([
      'user: is it there?',
      'assistant: It is there.',
      'user: sure?',
    ]);
    expect(JSON.stringify(await entriesOf(at.session))).not.toContain('secret');
    at.model.assertDone();
  });

  test('explain works for a turn: its first call is proved, calls after tools are marked as not provable', async () => {
    await using home = await tempHome('sqlite');
    const script = scripted([{ calls: [{ name: 'look' }] }, 'found', 'again']);
    await using at = await home.open(script, { profile, tools: [lookTool(true)] });
    await at.session.send('look').result;
    const { calls } = await at.session.explain();
    expect(calls.map(({ verified }) => verified)).toEqual([true, false]);
    await at.session.send('and now?').result;
    expect((await at.session.explain()).calls).toMatchObject([{ verified: true }]);
  });

  test('after a restart the conversation resumes where it was', async () => {
    await using home = await tempHome('jsonl');
    {
      await using at = await home.open(scripted(['hello Ada']), { profile });
      await at.session.send('I am Ada').result;
    }
    await using at = await home.open(scripted(['Ada']), { profile });
    expect((await at.session.record()).turnCount).toBe(1);
    await at.session.send('who am I?').result;
    expect(linesOf(at.model.requests[0])).toEqual([
      'user: I am Ada',
      'assistant: hello Ada',
      'user: who am I?',
    ]);
  });

  test('the question of a failed turn is joined to the next question once, before and after a restart', async () => {
    await using home = await tempHome('sqlite');
    {
      await using at = await home.open(scripted(['one', down(), 'both']), { profile });
      await at.session.send('first').result;
      await expect(at.session.send('a').result).rejects.toMatchObject({ code: 'MODEL_FAILED' });
      await at.session.send('b').result;
      expect(linesOf(at.model.requests[2])).toEqual(['user: first', 'assistant: one', 'user: a\n\nb']);
    }
    await using at = await home.open(scripted(['on']), { profile });
    await at.session.send('c').result;
    expect(linesOf(at.model.requests[0])).toEqual([
      'user: first',
      'assistant: one',
      'user: a\n\nb',
      'assistant: both',
      'user: c',
    ]);
  });

  test('a turn that is cut off keeps the received text, without the calls', async () => {
    await using home = await tempHome('sqlite');
    const broken = { text: 'I will', calls: [{ name: 'look' }], error: down() };
    await using at = await home.open(scripted([broken]), { profile, tools: [lookTool(true)] });
    await expect(at.session.send('go').result).rejects.toMatchObject({ code: 'MODEL_FAILED' });
    expect(await messagesOf(at.session)).toMatchObject([
      { role: 'user', text: 'go' },
      { role: 'assistant', text: 'I will' },
    ]);
    expect(JSON.stringify(await entriesOf(at.session))).not.toContain('toolCall');
  });
});

/** The rows of `session_messages` in an exported database. */
async function exportedRows(store: Store): Promise<string[]> {
  const folder = await writeLayout(store, profile);
  using database = new DatabaseSync(join(folder, 'workspace/memory/sessions.db'), { readOnly: true });
  const rows = database.prepare('SELECT role, content FROM session_messages ORDER BY id').all();
  return rows.map(({ role, content }) => `${role}: ${content}`);
}

describe('zeroclaw: several user messages before one answer', () => {
  test('an unanswered message and the next one are one row in an export, and one message after a restart', async () => {
    await using home = await tempHome('sqlite');
    {
      await using at = await home.open(scripted([down(), 'both']), { profile });
      await expect(at.session.send('orphan').result).rejects.toMatchObject({ code: 'MODEL_FAILED' });
      expect(await exportedRows(at.reprise.store)).toEqual(['user: orphan']);
      await at.session.send('new').result;
      expect(linesOf(at.model.requests[1])).toEqual(['user: orphan\n\nnew']);
      expect((await messagesOf(at.session)).map(({ text }) => text)).toEqual(['orphan', 'new', 'both']);
      expect(await exportedRows(at.reprise.store)).toEqual(['user: orphan\n\nnew', 'assistant: both']);
    }
    await using at = await home.open(scripted(['on']), { profile });
    await at.session.send('go on').result;
    expect(linesOf(at.model.requests[0])).toEqual(['user: orphan\n\nnew', 'assistant: both', 'user: go on']);
  });

  test('a message that steers a turn reaches the model in it, and is merged with its question afterwards', async () => {
    await using home = await tempHome('sqlite');
    {
      const steering = lookTool(true, async () => {
        await at.session.send('only the red ones', { queueMode: 'steer' }).accepted;
      });
      const script = scripted([{ calls: [{ name: 'look' }] }, 'two red ones', 'yes']);
      await using at = await home.open(script, { profile, tools: [steering] });
      await at.session.send('count the balls').result;
      expect(linesOf(at.model.requests[1]).at(-1)).toBe('user: only the red ones');
      expect((await messagesOf(at.session)).map(({ text }) => text)).toEqual([
        'count the balls',
        'only the red ones',
        'two red ones',
      ]);
      await at.session.send('sure?').result;
      const merged = ['user: count the balls\n\nonly the red ones', 'assistant: two red ones'];
      expect(linesOf(at.model.requests[2])).toEqual([...merged, 'user: sure?']);
      expect((await exportedRows(at.reprise.store)).slice(0, 2)).toEqual(merged);
      at.model.assertDone();
    }
    await using at = await home.open(scripted(['on']), { profile });
    await at.session.send('go on').result;
    expect(linesOf(at.model.requests[0])[0]).toBe('user: count the balls\n\nonly the red ones');
  });
});

describe('zeroclaw: a process that dies', () => {
  test('before the pair is stored leaves the message to be run again, once', async () => {
    await using home = await tempHome('sqlite');
    let inboxId = '';
    {
      await using at = await home.open(scripted([]), { profile });
      inboxId = await abandon(at.reprise.store, 'pay the bill');
      expect(await messagesOf(at.session)).toEqual([]);
    }
    await using at = await home.open(scripted(['paid', 'yes']), {
      profile,
      session: { queue: { mode: 'queue' } },
    });
    await at.session.send('and?').result;
    expect(await at.reprise.inbox(inboxId)).toMatchObject({ status: 'done', reply: { text: 'paid' } });
    expect((await messagesOf(at.session)).map(({ text }) => text)).toEqual([
      'pay the bill',
      'paid',
      'and?',
      'yes',
    ]);
    at.model.assertDone();
  });

  test('after the pair is stored does not answer it twice', async () => {
    await using home = await tempHome('sqlite');
    {
      await using at = await home.open(scripted(['one', 'paid']), { profile });
      await at.session.send('first').result;
      const { inbox } = at.reprise.store;
      const { settle } = inbox;
      // The first settlement is withheld, as if its runner had died right after the append.
      inbox.settle = () => {
        inbox.settle = settle;
        return Promise.reject(new RepriseError('STORE_FAILED', 'gone'));
      };
      await at.session.send('pay the bill').result;
    }
    await using at = await home.open(scripted(['yes']), { profile });
    await at.session.send('and?').result;
    expect((await messagesOf(at.session)).map(({ text }) => text)).toEqual([
      'first',
      'one',
      'pay the bill',
      'paid',
      'and?',
      'yes',
    ]);
    at.model.assertDone();
  });

  test('in a tool with side effects never runs it twice, although calls are not stored', async () => {
    await using home = await tempHome('sqlite');
    const tool = lookTool(false);
    let inboxId = '';
    {
      const seen: unknown[] = [];
      const marking = lookTool(false, async () => void seen.push(...(await entriesOf(at.session))));
      const script = scripted([{ calls: [{ name: 'look' }] }, 'ok']);
      await using at = await home.open(script, { profile, tools: [marking] });
      await at.session.send('hi').result;
      // It is on record before the tool runs.
      expect(JSON.stringify(seen)).toContain('"reprise.calls"');
    }
    {
      await using at = await home.open(scripted([]), { profile });
      inboxId = await abandon(at.reprise.store, 'pay the bill', { names: ['look'] });
    }
    await using at = await home.open(scripted(['what next?']), { profile, tools: [tool] });
    await at.session.send('and now?').result;
    expect(tool.runs).toBe(0);
    expect(await at.reprise.inbox(inboxId)).toMatchObject({ status: 'interrupted' });
    expect(linesOf(at.model.requests[0]).at(-1)).toBe('user: pay the bill\n\nand now?');
    at.model.assertDone();
  });

  test('under another profile leaves a message that is stored, and it is not stored again', async () => {
    await using home = await tempHome('sqlite');
    {
      await using at = await home.open(scripted([]));
      const inboxId = await abandon(at.reprise.store, 'pay the bill');
      const { createdAt } = await at.reprise.store.inbox.get(inboxId);
      const message = { role: 'user', content: 'pay the bill', timestamp: Date.parse(createdAt) };
      await at.reprise.store.append(at.session.id, [{ type: 'message', message }], { key: inboxId });
    }
    await using at = await home.open(scripted(['paid', 'yes']), {
      profile,
      session: { queue: { mode: 'queue' } },
    });
    await at.session.send('and?').result;
    expect((await messagesOf(at.session)).map(({ text }) => text)).toEqual([
      'pay the bill',
      'paid',
      'and?',
      'yes',
    ]);
  });
});

describe('zeroclaw: compaction', () => {
  /** 3,000 tokens by its own count, four times: exactly its threshold. */
  const full = Array.from({ length: 4 }, () => prose(6000));

  test('starts above 12,000 tokens, covers all before the last user message, and is sent as the assistant', async () => {
    await using home = await tempHome('sqlite');
    {
      await using at = await home.open(scripted([...full, 'no', 'the gist', 'yes']), { profile });
      for (const text of full) await at.session.send(text).result;
      expect((await at.session.context()).tokens).toBe(12_000);
      // Three characters are no token: the threshold is reached, not passed.
      await at.session.send('abc').result;
      expect(await compactionsOf(at.session)).toEqual([]);
      const events = await say(at.session, 'four');
      expect(events.find(({ type }) => type === 'compaction')).toMatchObject({ reason: 'trigger' });
      const asked = linesOf(at.model.requests.at(-1));
      expect(asked.slice(-2)).toEqual([
        expect.stringMatching(/^assistant: \[Session Compaction Summary\]\nthe gist/),
        'user: four',
      ]);
      expect(asked).toHaveLength(3);
      expect((await at.session.explain()).calls).toMatchObject([{ verified: true }]);
      // The entries it keeps come after it, so it names itself, as other readers of the format expect.
      const [{ id, firstKeptEntryId } = {}] = await compactionsOf(at.session);
      expect(firstKeptEntryId).toBe(id);
      at.model.assertDone();
    }
    await using at = await home.open(scripted(['good']), { profile });
    await at.session.send('still there?').result;
    expect(linesOf(at.model.requests[0]).slice(1)).toEqual([
      expect.stringMatching(/^assistant: \[Session Compaction Summary\]\nthe gist/),
      'user: four',
      'assistant: yes',
      'user: still there?',
    ]);
  });

  test('in the middle of a turn keeps the results of its tools', async () => {
    await using home = await tempHome('sqlite');
    const big = { ...lookTool(true), maxOutputChars: 60_000, run: async () => prose(50_000) };
    const script = scripted(['hello', { calls: [{ name: 'look' }] }, 'the gist', 'done', 'and']);
    await using at = await home.open(script, { profile, tools: [big] });
    await at.session.send('hi').result;
    await at.session.send('look').result;
    const asked = linesOf(at.model.requests[3]);
    expect(asked.slice(2).map((line) => line.slice(0, 15))).toEqual([
      'user: look',
      'assistant: (loo',
      'tool: the river',
    ]);
    expect(asked[1]).toContain('[Session Compaction Summary]\nthe gist');
    await at.session.send('more').result;
    expect(linesOf(at.model.requests[4]).slice(2)).toEqual(['user: look', 'assistant: done', 'user: more']);
    at.model.assertDone();
  });

  test('of a turn that alone fills the window covers its own beginning, and the pair is still kept whole', async () => {
    await using home = await tempHome('sqlite');
    const chatty = { ...lookTool(true), run: async () => prose(3000) };
    const call = (i: number) => ({ text: `step ${i} ${prose(20_000)}`, calls: [{ name: 'look' }] });
    const asks = (request: ModelRequest, index: number): ScriptedStep =>
      request.system?.includes('summarizer') === true ? 'the gist' : index < 12 ? call(index) : 'done';
    const script = scripted(
      Array.from({ length: 14 }, () => asks),
      16_000,
    );
    await using at = await home.open(script, { profile, tools: [chatty] });
    const events = await say(at.session, 'a long job');
    expect(events.filter(({ type }) => type === 'compaction').length).toBeGreaterThan(1);
    expect(events.at(-1)).toMatchObject({ type: 'done', text: 'done' });
    for (const request of at.model.requests) expect(linesOf(request).join().length).toBeLessThan(75_000);
    expect((await messagesOf(at.session)).map(({ text }) => text)).toEqual(['a long job', 'done']);
  });

  test('after the model refused a request as too long comes before the pair, and the model is asked again', async () => {
    await using home = await tempHome('sqlite');
    const script = scripted(['one', 'two', overflow(), 'the gist', 'three']);
    {
      await using at = await home.open(script, { profile });
      await at.session.send(`first ${prose(2000)}`).result;
      await at.session.send(`second ${prose(2000)}`).result;
      const events = await say(at.session, 'third');
      expect(events.find(({ type }) => type === 'compaction')).toMatchObject({
        ...{ reason: 'overflow', coveredEntries: 4 },
      });
      expect(events.at(-1)).toMatchObject({ type: 'done', text: 'three' });
      expect(linesOf(at.model.requests.at(-1)).slice(1)).toEqual([
        expect.stringMatching(/^assistant: \[Session Compaction Summary\]\nthe gist/),
        'user: third',
      ]);
      const stored = (await entriesOf(at.session)).filter(({ type }) => /^(message|compaction)$/.test(type));
      expect(stored.slice(-3).map(({ type, message }) => message ?? type)).toMatchObject([
        'compaction',
        { role: 'user' },
        { role: 'assistant' },
      ]);
      at.model.assertDone();
    }
    await using at = await home.open(scripted(['good']), { profile });
    await at.session.send('still there?').result;
    expect(linesOf(at.model.requests[0]).slice(2)).toEqual([
      'user: third',
      'assistant: three',
      'user: still there?',
    ]);
  });

  test('a history without a user message is not compacted', async () => {
    await using home = await tempHome('sqlite');
    await using at = await home.open(scripted([]), { profile });
    const greeting = (): NewEntry => ({
      type: 'message',
      message: { role: 'assistant', content: [{ type: 'text', text: prose(30_000) }], stopReason: 'stop' },
    });
    await at.reprise.store.append(at.session.id, [greeting(), greeting()]);
    expect((await at.session.context()).tokens).toBeGreaterThan(12_000);
    expect(await at.session.previewCompaction()).toBeNull();
    expect(await at.session.compact()).toBeNull();
    expect(await compactionsOf(at.session)).toEqual([]);
    expect(at.model.requests).toEqual([]);
  });

  test('asked for between turns keeps the last exchange, also after a restart', async () => {
    await using home = await tempHome('jsonl');
    {
      const talk = ['first answer', 'last answer'].map((text) => `${text} ${prose(2000)}`);
      await using at = await home.open(scripted([...talk, 'the gist']), { profile });
      await at.session.send('first question').result;
      await at.session.send('last question').result;
      expect(await at.session.compact()).toMatchObject({ coveredEntries: 2 });
    }
    await using at = await home.open(scripted(['ok']), { profile });
    await at.session.send('go on').result;
    const asked = linesOf(at.model.requests[0]);
    expect(asked.map((line) => line.slice(0, 24))).toEqual([
      'user: [The conversation ',
      'assistant: [Session Comp',
      'user: last question',
      'assistant: last answer t',
      'user: go on',
    ]);
    expect(asked[1]).toContain('the gist');
  });

  test.each([
    ['40 messages', undefined, 40],
    ['as few as configured', { historyLimit: 6 }, 6],
  ])('keeps at most %s, whatever the cut would keep', async (_what, session, limit) => {
    expect(PROFILES.zeroclaw.historyLimit).toBe(40);
    await using home = await tempHome('sqlite');
    const talk = Array.from({ length: 30 }, (_, i) => `answer ${i}`);
    const compaction = { cut: { kind: 'keep-messages', messages: 50 } } as const;
    const configured = session === undefined ? {} : { session };
    await using at = await home.open(scripted([...talk, 'gist']), { profile, compaction, ...configured });
    for (let i = 0; i < 30; i++) await at.session.send(`question ${i}`).result;
    await at.session.compact();
    const [done] = await compactionsOf(at.session);
    const stored = await messagesOf(at.session);
    const kept = stored.slice(stored.findIndex(({ id }) => id === done?.['firstKeptEntryId']));
    expect(roles(kept)).toHaveLength(limit);
    expect(kept[0]?.role).toBe('user');
  });
});

describe('zeroclaw: session.enabled = false', () => {
  const options = { store: 'jsonl', profile, session: { enabled: false }, run: false } as const;

  test('remembers in the process, writes nothing, and is empty after a restart', async () => {
    await using home = await tempHome('jsonl');
    for (let start = 0; start < 2; start++) {
      const model = scripted(['hello', 'yes']);
      await using reprise = await openReprise({ ...options, home: home.path, model });
      const session = await reprise.session(KEY);
      await session.send('hi').result;
      await session.send('remember?').result;
      expect(linesOf(model.requests[1])).toEqual(['user: hi', 'assistant: hello', 'user: remember?']);
      expect(await readdir(home.path)).toEqual([]);
      model.assertDone();
    }
  });

  test('compacts nothing, neither above the threshold nor when asked, and still answers when the window is full', async () => {
    const talk = Array.from({ length: 30 }, () => prose(6000));
    const model = scripted(talk, 20_000);
    await using reprise = await openReprise({ ...options, model });
    const session = await reprise.session(KEY);
    const seen = new Set<string>();
    for (const text of talk) for (const { type } of await say(session, text)) seen.add(type);
    expect(await session.compact()).toBeNull();
    expect(await session.previewCompaction()).toBeNull();
    expect(seen).toContain('context_truncated');
    expect(seen).not.toContain('compaction');
    expect(seen).not.toContain('error');
    expect(await compactionsOf(session)).toEqual([]);
    model.assertDone();
  });

  test('is refused with a store that would save sessions', async () => {
    await using home = await tempHome('sqlite');
    await expect(home.open(scripted([]), { session: { enabled: false } })).rejects.toMatchObject({
      code: 'CONFIG_INVALID',
    });
  });
});
