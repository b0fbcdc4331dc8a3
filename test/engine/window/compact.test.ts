import { describe, expect, test } from 'vitest';
import { RepriseError } from '../../../src/errors.ts';
import type { ScriptedModel } from '../../../src/models/scripted/scripted-model.ts';
import { openMemoryStore } from '../../../src/store/memory/open.ts';
import { entriesOf, type Opened, openEngine, scripted } from '../../support/engine/engine.ts';
import { tempHome } from '../../support/engine/profile-home.ts';

const cut = { kind: 'keep-messages', messages: 20 } as const;

describe('S4 compaction', () => {
  test('keeps twenty, leaves the originals, does nothing twice, carries the summary forward, and is undone', async () => {
    const answers = Array.from({ length: 15 }, (_, i) => `answer ${i}: ${'because '.repeat(40)}`);
    await using at = await openEngine(scripted(answers), { compaction: { background: false, cut } });
    for (let i = 0; i < 15; i++) await at.session.send(`question ${i}: ${'why '.repeat(40)}`).result;
    const originals = await entriesOf(at.session);
    expect(await at.session.previewCompaction()).toMatchObject({ coveredEntries: 10, keptEntries: 20 });

    at.model.push('SUMMARY ONE');
    expect(await at.session.compact()).toMatchObject({
      type: 'compaction',
      coveredEntries: 10,
      method: 'model',
    });
    // The summary and the first message kept are both a user's, so they share a message.
    expect((await at.session.context()).messages).toBe(20);
    const stored = await entriesOf(at.session);
    expect(stored.slice(0, originals.length)).toEqual(originals);
    const asked = at.model.requests.length;
    expect(await at.session.compact()).toBeNull();
    expect(at.model.requests).toHaveLength(asked);

    at.model.push(...Array.from({ length: 5 }, (_, i) => `later ${i} ${'so '.repeat(60)}`));
    for (let i = 0; i < 5; i++) await at.session.send(`more ${i} ${'and '.repeat(60)}`).result;
    at.model.push('SUMMARY TWO');
    expect(await at.session.compact({ focus: 'the tests' })).toMatchObject({ coveredEntries: 10 });
    const request = at.model.requests.at(-1);
    expect(JSON.stringify(request?.messages)).toContain('SUMMARY ONE');
    expect(JSON.stringify(request?.messages)).toContain('the tests');

    expect(await at.session.undo()).toEqual({ undone: 'compaction' });
    expect(await at.session.undo()).toEqual({ undone: 'turn' });
    at.model.push('go on');
    await at.session.send('still here?').result;
    expect(JSON.stringify(at.model.requests.at(-1)?.messages)).toContain('SUMMARY ONE');
    at.model.assertDone();
  });

  test('reports fewer tokens than before also if the provider counted fewer than the estimate', async () => {
    const usage = { input: 40, output: 10, cacheRead: 0, cacheWrite: 0, totalTokens: 50 };
    const answers = Array.from({ length: 12 }, () => ({ text: 'because '.repeat(40), usage }));
    const compaction = { background: false, cut } as const;
    await using at = await openEngine(scripted([...answers, 'gist']), { compaction });
    for (let i = 0; i < 12; i++) await at.session.send(`question ${i}`).result;
    const { tokensBefore = 0, tokensAfter = 0 } = (await at.session.compact()) ?? {};
    expect(tokensAfter).toBeLessThan(tokensBefore);
    expect((await at.session.context()).tokens).toBe(tokensAfter);
  });

  test('undone at once restores every original, and redone hides them again', async () => {
    const answers = Array.from({ length: 15 }, (_, i) => `answer ${i}: ${'because '.repeat(40)}`);
    await using at = await openEngine(scripted(answers), { compaction: { background: false, cut } });
    for (let i = 0; i < 15; i++) await at.session.send(`question ${i}`).result;
    at.model.push('the gist');
    await at.session.compact();
    expect(await at.session.undo()).toEqual({ undone: 'compaction' });
    expect((await at.session.context()).messages).toBe(30);
    expect(await at.session.redo()).toEqual({ undone: 'compaction' });
    expect((await at.session.context()).messages).toBe(20);
    expect(await at.session.redo()).toEqual({ undone: null });
  });

  test('requested twice at once is done once', async () => {
    const answers = Array.from({ length: 15 }, (_, i) => `answer ${i}: ${'because '.repeat(40)}`);
    await using at = await openEngine(scripted([...answers, 'the gist']), {
      compaction: { background: false, cut },
    });
    for (let i = 0; i < 15; i++) await at.session.send(`question ${i}`).result;
    const [one, two] = await Promise.all([at.session.compact(), at.session.compact()]);
    expect(one).toEqual(two);
    expect((await entriesOf(at.session)).filter(({ type }) => type === 'compaction')).toHaveLength(1);
    at.model.assertDone();
  });

  test('requested by two engines at once is done by one, and the other compacts nothing twice', async () => {
    await using home = await tempHome('jsonl');
    const options = { compaction: { background: false, cut } } as const;
    const answers = Array.from({ length: 15 }, (_, i) => `answer ${i}: ${'because '.repeat(40)}`);
    await using first = await home.open(scripted([...answers, 'the gist']), options);
    for (let i = 0; i < 15; i++) await first.session.send(`question ${i}`).result;
    await using second = await home.open(scripted(['the gist']), options);
    const done = await Promise.all([first.session.compact(), second.session.compact()]);
    expect(done.filter((event) => event !== null)).toHaveLength(1);
    expect((await entriesOf(first.session)).filter(({ type }) => type === 'compaction')).toHaveLength(1);
    const asked = [first, second]
      .flatMap(({ model }) => model.requests)
      .filter(({ system }) => system !== undefined);
    expect(asked).toHaveLength(1);
  });

  test('in the background: messages that arrive meanwhile stay after the cut', async () => {
    const filler = 'because '.repeat(300);
    let release: () => void = () => undefined;
    const held = new Promise<void>((resolve) => {
      release = resolve;
    });
    let isSummarising = false;
    const step = (request: { system?: string }): object | string => {
      if (request.system?.includes('summarizer') !== true) return `answer ${filler}`;
      isSummarising = true;
      return { wait: held, text: 'the gist of before' };
    };
    await using at = await openEngine(
      scripted(
        Array.from({ length: 60 }, () => step as never),
        16_000,
      ),
      {
        compaction: { background: 0.5 },
      },
    );
    let turns = 0;
    while (!isSummarising && turns < 40) await at.session.send(`question ${turns++} ${filler}`).result;
    expect(isSummarising).toBe(true);
    await at.session.send('said meanwhile').result;
    release();
    await at.session.send('and after').result;
    await at.reprise.idle();
    // A summary that is finished while a turn runs is written when the next one begins.
    await at.session.send('once more').result;
    const entries = await entriesOf(at.session);
    const at_ = entries.findIndex(({ type }) => type === 'compaction');
    expect(entries[at_]).toMatchObject({
      summary: expect.stringContaining('the gist of before'),
      details: { reason: 'background' },
    });
    const last = JSON.stringify(at.model.requests.findLast(({ system }) => system === undefined)?.messages);
    await at.session.send('check').result;
    const now = JSON.stringify(at.model.requests.findLast(({ system }) => system === undefined)?.messages);
    expect(last + now).toContain('said meanwhile');
    expect(now).toContain('said meanwhile');
    expect(now).toContain('the gist of before');
  });

  test('in the background loses no pin that is set meanwhile', async () => {
    const filler = 'because '.repeat(300);
    const { promise: held, resolve: release } = Promise.withResolvers<void>();
    const { promise: isAsked, resolve: asked } = Promise.withResolvers<void>();
    const step = (request: { system?: string }): object | string => {
      if (request.system?.includes('summarizer') !== true) return `answer ${filler}`;
      asked();
      return { wait: held, text: 'the gist of before' };
    };
    const steps = Array.from({ length: 60 }, () => step as never);
    await using at = await openEngine(scripted(steps, 16_000), { compaction: { background: 0.5 } });
    const isSummarising = isAsked.then(() => true);
    const says = async (): Promise<boolean> => {
      await at.session.send(`question ${filler}`).result;
      return false;
    };
    await at.session.send('the code is 1234').result;
    while (!(await Promise.race([isSummarising, says()])));
    const [first] = (await entriesOf(at.session)).filter(({ type }) => type === 'message');
    await at.session.pin(first?.id ?? '');
    release();
    await at.reprise.idle();
    const compaction = (await entriesOf(at.session)).find(({ type }) => type === 'compaction');
    expect(compaction?.['summary']).toMatch(/the gist of before[\s\S]*## Pinned\nthe code is 1234/);
    expect(await at.session.pins()).toMatchObject([{ text: 'the code is 1234' }]);
  });

  test('in the background is not waited for when the engine closes', async () => {
    const filler = 'because '.repeat(300);
    const { promise: isAsked, resolve } = Promise.withResolvers<void>();
    const step = (request: { system?: string }): object | string => {
      if (request.system?.includes('summarizer') !== true) return `answer ${filler}`;
      resolve();
      return { wait: new Promise(() => undefined), text: 'never said' };
    };
    const model = scripted(
      Array.from({ length: 60 }, () => step as never),
      16_000,
    );
    await using at = await openEngine(model, { compaction: { background: 0.5 } });
    const isSummarising = isAsked.then(() => true);
    const says = async (): Promise<boolean> => {
      await at.session.send(`question ${filler}`).result;
      return false;
    };
    while (!(await Promise.race([isSummarising, says()])));
    await at.session.send('the last words').result;
    await at.reprise[Symbol.asyncDispose]();
    await expect(at.session.record()).rejects.toMatchObject({ code: 'STORE_FAILED' });
  });
});

describe('a summary whose compaction could not be stored', () => {
  /** Five turns, and a summary of the first three that a full disk kept from being stored as a compaction. */
  async function withSummary(): Promise<Opened<ScriptedModel>> {
    const store = await openMemoryStore({});
    const append = store.append.bind(store);
    let isFull = true;
    store.append = async (id, entries, options) => {
      if (!isFull || !entries.some(({ type }) => type === 'compaction')) return append(id, entries, options);
      isFull = false;
      throw new RepriseError('STORE_FULL', 'no space left', { outcome: 'none' });
    };
    const answers = Array.from({ length: 5 }, (_, i) => `answer ${i}: ${'because '.repeat(40)}`);
    const compaction = { background: false, cut: { kind: 'keep-turns', turns: 2 } } as const;
    const at = await openEngine(scripted([...answers, 'FIRST SUMMARY']), { store, compaction });
    for (let i = 0; i < 5; i++) await at.session.send(`question ${i}`).result;
    await expect(at.session.compact()).rejects.toMatchObject({ code: 'STORE_FULL' });
    at.model.assertDone();
    return at;
  }

  const summaryIn = async ({ session }: Opened<ScriptedModel>): Promise<unknown> =>
    (await entriesOf(session)).findLast(({ type }) => type === 'compaction')?.['summary'];

  test('is stored by the next compaction of the same messages, and no model is asked', async () => {
    await using at = await withSummary();
    expect(await at.session.compact()).toMatchObject({ coveredEntries: 6, method: 'model' });
    expect(await summaryIn(at)).toContain('FIRST SUMMARY');
  });

  test('is stored with the pins of that time', async () => {
    await using at = await withSummary();
    const [first] = (await entriesOf(at.session)).filter(({ type }) => type === 'message');
    await at.session.pin(first?.id ?? '');
    await at.session.compact();
    expect(await summaryIn(at)).toMatch(/FIRST SUMMARY[\s\S]*## Pinned\nquestion 0/);
    expect(await at.session.pins()).toMatchObject([{ text: 'question 0' }]);
  });

  test('is used once: after an undo the model is asked for another one', async () => {
    await using at = await withSummary();
    await at.session.compact();
    await at.session.undo();
    at.model.push('SECOND SUMMARY');
    await at.session.compact();
    expect(await summaryIn(at)).toContain('SECOND SUMMARY');
  });

  test.each([
    [
      'turns of it were undone',
      async ({ session, model }: Opened<ScriptedModel>) => {
        for (let i = 0; i < 3; i++) await session.undo();
        for (let i = 0; i < 3; i++) {
          model.push(`other answer ${'because '.repeat(40)}`);
          await session.send(`other question ${i}`).result;
        }
      },
      {},
    ],
    [
      'a message of it was edited',
      async ({ reprise, session }: Opened<ScriptedModel>) => {
        const [first] = (await entriesOf(session)).filter(({ type }) => type === 'message');
        const replacement = { content: [{ type: 'text', text: 'other words' }] };
        await reprise.store.append(session.id, [{ type: 'context_edit', targetId: first?.id, replacement }]);
      },
      {},
    ],
    [
      'the conversation continued, so that other messages are covered',
      async ({ session, model }: Opened<ScriptedModel>) => {
        model.push(`later answer ${'because '.repeat(40)}`);
        await session.send('one more').result;
      },
      {},
    ],
    ['the summary shall keep something else', async () => undefined, { focus: 'the tests' }],
  ])('is not used when %s', async (_, change, request) => {
    await using at = await withSummary();
    await change(at);
    at.model.push('SECOND SUMMARY');
    expect(await at.session.compact(request)).toMatchObject({ method: 'model' });
    expect(await summaryIn(at)).toContain('SECOND SUMMARY');
    at.model.assertDone();
  });
});

describe('undo of turns', () => {
  test('undoes turn by turn, redoes, and ends after a new message', async () => {
    await using at = await openEngine(scripted(['one', 'two', 'three', 'other']));
    for (const text of ['a', 'b', 'c']) await at.session.send(text).result;
    const count = async (): Promise<number> => (await at.session.context()).messages;
    expect(await at.session.undo()).toEqual({ undone: 'turn' });
    expect(await at.session.undo()).toEqual({ undone: 'turn' });
    expect(await count()).toBe(2);
    expect(await at.session.redo()).toEqual({ undone: 'turn' });
    expect(await count()).toBe(4);
    await at.session.send('d').result;
    expect(await at.session.redo()).toEqual({ undone: null });
    expect(await count()).toBe(6);
    for (let i = 0; i < 3; i++) await at.session.undo();
    expect(await count()).toBe(0);
    expect(await at.session.undo()).toEqual({ undone: null });
  });

  test('a fork starts with the same history and develops separately', async () => {
    await using at = await openEngine(scripted(['one', 'two', 'in the fork', 'at home']));
    await at.session.send('a').result;
    await at.session.send('b').result;
    const made = await at.session.fork();
    const fork = await at.reprise.session({ id: made.id });
    await fork.send('c').result;
    await at.session.send('d').result;
    expect(JSON.stringify(at.model.requests[2]?.messages)).toContain('"a"');
    expect(JSON.stringify(at.model.requests[3]?.messages)).not.toContain('in the fork');
    expect(made.parentId).toBe(at.session.id);
  });

  test('a pin above a quarter of the budget is refused', async () => {
    await using at = await openEngine(scripted(['ok'], 16_000));
    await at.session.send('plum '.repeat(4000)).result;
    const [entry] = (await entriesOf(at.session)).filter(({ type }) => type === 'message');
    await expect(at.session.pin(entry?.id ?? '')).rejects.toMatchObject({ code: 'LIMIT_EXCEEDED' });
    await expect(at.session.pin('nobody')).rejects.toMatchObject({ code: 'NOT_FOUND' });
  });
});
