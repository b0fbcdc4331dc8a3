import { describe, expect, test } from 'vitest';
import type { Tool } from '../../../src/engine/tools/tool.ts';
import { estimateMessagesTokens, estimateTextTokens } from '../../../src/exports/context.ts';
import type { Model, ModelRequest } from '../../../src/models/model.ts';
import { createOfflineModel } from '../../../src/models/offline/offline-model.ts';
import { entriesOf, openEngine, overflow, rateLimit, say, scripted } from '../../support/engine/engine.ts';

const big: Tool = {
  name: 'big',
  description: 'Prints a lot.',
  inputSchema: { type: 'object' },
  safe: true,
  maxOutputChars: 400_000,
  run: async () => 'line of output\n'.repeat(20_000),
};

const guardTypes = (events: readonly { type: string }[]): string[] =>
  events
    .map(({ type }) => type)
    .filter((type) => ['overflow', 'compaction', 'context_truncated'].includes(type));

describe('S3 the guard', () => {
  const call = { calls: [{ name: 'big' }] };

  test('does nothing if everything fits', async () => {
    await using at = await openEngine(scripted(['ok']));
    expect(guardTypes(await say(at.session, 'hi'))).toEqual([]);
  });

  test('overflow, then success: the 300,000 characters of a tool are shortened with a notice', async () => {
    await using at = await openEngine(scripted([call, overflow(), 'ok']), { tools: [big] });
    const events = await say(at.session, 'run it');
    expect(guardTypes(events)).toEqual(['overflow', 'context_truncated']);
    expect(events.at(-1)).toMatchObject({ type: 'done', text: 'ok' });
    const sent = JSON.stringify(at.model.requests[2]?.messages);
    expect(sent).toContain('characters left out');
    expect(sent.length).toBeLessThan(200_000);
    // The stored result is whole.
    const stored = await entriesOf(at.session);
    expect(JSON.stringify(stored)).toContain('context_edit');
    at.model.assertDone();
  });

  test('overflow twice, then a summary, then success', async () => {
    const talk = Array.from({ length: 8 }, (_, i) => `answer ${i} ${'about it '.repeat(500)}`);
    await using at = await openEngine(
      scripted([...talk, call, overflow(), overflow(), 'the gist of it', 'ok']),
      { tools: [big] },
    );
    for (let i = 0; i < 8; i++) await at.session.send(`question ${i}`).result;
    const events = await say(at.session, 'run it');
    expect(guardTypes(events)).toEqual(['overflow', 'context_truncated', 'overflow', 'compaction']);
    expect(events.at(-1)).toMatchObject({ text: 'ok' });
    expect(JSON.stringify(at.model.requests.at(-1)?.messages)).toContain('the gist of it');
    at.model.assertDone();
  });

  test('with a summarizer that fails a digest takes its place', async () => {
    const talk = Array.from({ length: 8 }, (_, i) => `answer ${i} ${'about it '.repeat(500)}`);
    await using at = await openEngine(scripted([...talk, overflow(), new Error('no summary'), 'ok']));
    for (let i = 0; i < 8; i++) await at.session.send(`question ${i}`).result;
    const events = await say(at.session, 'go on');
    expect(events.find(({ type }) => type === 'compaction')).toMatchObject({ method: 'digest' });
    expect(events.at(-1)).toMatchObject({ text: 'ok' });
  });

  test('overflow with every request: CONTEXT_OVERFLOW after two retries, every message still there', async () => {
    const talk = Array.from({ length: 8 }, (_, i) => `answer ${i} ${'about it '.repeat(500)}`);
    const always = (request: ModelRequest): Error | string =>
      request.system?.includes('summarizer') === true ? 'the gist' : overflow();
    await using at = await openEngine(
      scripted([...talk, always, always, always, always, always, 'fine again']),
    );
    for (let i = 0; i < 8; i++) await at.session.send(`question ${i}`).result;
    const before = (await entriesOf(at.session)).filter(({ type }) => type === 'message');
    await expect(at.session.send('and?').result).rejects.toMatchObject({ code: 'CONTEXT_OVERFLOW' });
    const after = (await entriesOf(at.session)).filter(({ type }) => type === 'message');
    expect(after.slice(0, before.length)).toEqual(before);
    expect(at.model.requests.filter(({ system }) => system === undefined)).toHaveLength(8 + 3);
  });

  test('a rate limit never touches the history', async () => {
    await using at = await openEngine(scripted(['a', rateLimit(), 'b']));
    await at.session.send('one').result;
    const before = await entriesOf(at.session);
    await expect(at.session.send('two').result).rejects.toMatchObject({ code: 'MODEL_RATE_LIMITED' });
    const after = await entriesOf(at.session);
    expect(after.slice(0, before.length)).toEqual(before);
    expect(after.some(({ type }) => type === 'compaction' || type === 'context_edit')).toBe(false);
  });

  test('a message that cannot fit by itself is refused by name and number, and the session continues', async () => {
    await using at = await openEngine(createOfflineModel({ contextWindow: 16_000 }));
    await expect(at.session.send('word '.repeat(40_000)).result).rejects.toMatchObject({
      code: 'CONTEXT_OVERFLOW',
      details: { over: expect.any(Number), budget: expect.any(Number) },
    });
    expect((await at.session.send('hello').result).text).not.toBe('');
  });
});

/** An offline model whose summaries misbehave, and that notes the largest request it was sent. */
function moody(
  contextWindow: number,
  summary: (n: number) => 'good' | 'throw' | 'empty' | 'huge' | 'hang',
): Model & { readonly largest: () => number; readonly last: () => string } {
  const inner = createOfflineModel({ contextWindow });
  let largest = 0;
  let last = '';
  let summaries = 0;
  return {
    ...inner,
    largest: () => largest,
    last: () => last,
    async *stream(request, options) {
      largest = Math.max(
        largest,
        estimateTextTokens(request.system ?? '') + estimateMessagesTokens(request.messages),
      );
      if (request.system?.includes('summarizer') === true) {
        const mood = summary(summaries++);
        if (mood === 'throw') throw new Error('the summariser is down');
        if (mood === 'hang') await new Promise(() => undefined);
        if (mood === 'empty' || mood === 'huge') {
          if (mood === 'huge')
            for (let i = 0; i < 100; i++) yield { type: 'text_delta', block: 0, text: 'la '.repeat(35_000) };
          return;
        }
      } else last = JSON.stringify(request.messages);
      yield* inner.stream(request, options);
    },
  };
}

const TURNS = Number(process.env['REPRISE_LONG_TURNS'] ?? 150);

describe('T47, P4 a conversation that never ends', () => {
  test.each([
    ['good', () => 'good'],
    [
      'that fails, says nothing, says 10 MB or hangs on every third call',
      (n: number) =>
        n % 3 === 2 ? (['throw', 'empty', 'huge', 'hang'] as const)[Math.floor(n / 3) % 4] : 'good',
    ],
    ['that always fails', () => 'throw'],
  ] as [string, (n: number) => 'good'][])(
    'with a summariser %s: no overflow, the window holds, the pin stays',
    async (_, mood) => {
      const model = moody(16_000, mood);
      await using at = await openEngine(model, { compaction: { background: false, summaryTimeoutMs: 100 } });
      await at.session.send('The code word is plum-4471.').result;
      const first = (await entriesOf(at.session)).find(({ type }) => type === 'message');
      await at.session.pin(first?.id ?? '');
      let compactions = 0;
      for (let i = 1; i < TURNS; i++) {
        const events = await say(
          at.session,
          `Turn ${i}: ${'some words about the matter at hand '.repeat(12)}`,
        );
        compactions += events.filter(({ type }) => type === 'compaction').length;
        expect(events.at(-1)?.type).toBe('done');
      }
      expect(compactions).toBeGreaterThan(1);
      expect(model.largest()).toBeLessThanOrEqual(16_000);
      expect(model.last()).toContain('plum-4471');
      expect(model.last()).toContain(`Turn ${TURNS - 1}:`);
      const { messageCount } = await at.session.record();
      expect(messageCount).toBe(2 * TURNS);
    },
    600_000,
  );
});
