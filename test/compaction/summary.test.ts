import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { digest } from '../../src/compaction/digest.ts';
import { makeCompaction } from '../../src/compaction/make-compaction.ts';
import { appendPins, pinsInForce, withoutPins } from '../../src/compaction/pins.ts';
import { planCompaction } from '../../src/compaction/plan.ts';
import { findFacts, recallReport } from '../../src/compaction/recall.ts';
import { speakEntries } from '../../src/compaction/speak.ts';
import {
  type Summarise,
  type SummarizeOptions,
  summarizeInStages,
  summarizeWithFallback,
} from '../../src/compaction/summarize.ts';
import type { Entry } from '../../src/index.ts';
import { selectContext } from '../../src/transcript/render/select.ts';
import { call, EntryList } from '../support/engine/entries.ts';
import { cpuTimer } from '../support/engine/time-spent.ts';

fc.configureGlobal({ seed: Number(process.env['REPRISE_PROPERTY_SEED'] ?? 7) });

const textTokens = (text: string): number => Math.ceil(text.length / 4);
const tokensOf = (entry: Entry): number => textTokens(JSON.stringify(entry['message'] ?? ''));

function history(turns: number, chars = 400): Entry[] {
  const list = new EntryList();
  for (let i = 0; i < turns; i++) {
    list.user(`Question ${i}: ${'why '.repeat(chars / 8)}`);
    list.assistant([`Answer ${i}: ${'because '.repeat(chars / 16)}`]);
  }
  return list.entries;
}

function options(
  entries: readonly Entry[],
  summarise: Summarise,
  over: Partial<SummarizeOptions> = {},
): SummarizeOptions {
  const spoken = speakEntries(entries);
  return { spoken, summarise, maxSummaryTokens: 400, maxInputTokens: 4000, textTokens, ...over };
}

describe('a summary', () => {
  test('is asked for once where the history fits, with the previous summary in the request', async () => {
    const prompts: string[] = [];
    const summarise: Summarise = async ({ prompt }) => {
      prompts.push(prompt);
      return 'the gist';
    };
    const given = options(history(4), summarise, {
      previousSummary: 'we began with X-17',
      focus: 'the tests',
    });
    expect(await summarizeInStages(given)).toBe('the gist');
    expect(prompts).toHaveLength(1);
    expect(prompts[0]).toContain('we began with X-17');
    expect(prompts[0]).toContain('the tests');
    expect(prompts[0]).toContain('Question 3');
  });

  test('of any history never makes a request larger than allowed, and ends', async () => {
    await fc.assert(
      fc.asyncProperty(
        fc.array(fc.integer({ min: 1, max: 60_000 }), { minLength: 1, maxLength: 30 }),
        fc.integer({ min: 3000, max: 20_000 }),
        async (sizes, maxInputTokens) => {
          const list = new EntryList();
          for (const [i, size] of sizes.entries()) {
            if (i % 2 === 0) list.user('q'.repeat(size));
            else list.assistant(['a'.repeat(size)]);
          }
          let largest = 0;
          const summarise: Summarise = async ({ prompt, system }) => {
            largest = Math.max(largest, textTokens(prompt) + textTokens(system));
            return 's'.repeat(1500);
          };
          const { method } = await summarizeWithFallback(
            options(list.entries, summarise, { maxInputTokens, previousSummary: 'before' }),
          );
          expect(['model', 'staged']).toContain(method);
          expect(largest).toBeLessThanOrEqual(maxInputTokens);
        },
      ),
      { numRuns: 100 },
    );
  });

  test('of a history that needs several requests keeps each turn in one of them', async () => {
    const list = new EntryList();
    for (let i = 0; i < 9; i++) {
      list.user(`Question ${i}.`);
      list.assistant([call(`c${i}`)]);
      list.result(`c${i}`, `result ${i} ${'x'.repeat(900 + 200 * (i % 4))}`);
      list.assistant([`Answer ${i}.`]);
    }
    const parts: string[] = [];
    const summarise: Summarise = async ({ prompt }) => {
      if (prompt.includes('result')) parts.push(prompt);
      return 'the gist';
    };
    const { method } = await summarizeWithFallback(
      options(list.entries, summarise, { maxInputTokens: 1800 }),
    );
    expect(method).toBe('staged');
    expect(parts.length).toBeGreaterThan(1);
    for (let i = 0; i < 9; i++) {
      const [part, ...others] = parts.filter((prompt) => prompt.includes(`Question ${i}.`));
      expect(others).toEqual([]);
      expect(part).toContain(`result ${i} `);
      expect(part).toContain(`Answer ${i}.`);
    }
  });

  test.each([
    ['throws', async () => Promise.reject(new Error('overloaded'))],
    ['answers nothing', async () => '  \n'],
    ['answers ten megabytes', async () => 'la '.repeat(3_500_000)],
  ] as [string, Summarise][])('T47 that %s gives way to a digest', async (_, summarise) => {
    for (const turns of [3, 60]) {
      const result = await summarizeWithFallback(options(history(turns), summarise));
      expect(result.method).toBe('digest');
      expect(result.failure).toBeTypeOf('string');
      expect(textTokens(result.text)).toBeLessThanOrEqual(400);
      expect(result.text).toContain(`Question ${turns - 1}`);
    }
  });

  test('that fails for one part keeps the others', async () => {
    let n = 0;
    const summarise: Summarise = async ({ prompt }) => {
      if (n++ === 1) throw new Error('once');
      return prompt.includes('[Part 1') ? `merged ${prompt.match(/part-\d+/g)?.join(' ')}` : `part-${n}`;
    };
    const result = await summarizeWithFallback(options(history(60), summarise));
    expect(result).toMatchObject({ method: 'partial', failure: 'once' });
    expect(result.text).toContain('part-1');
  });

  /** Names a part by its first question; a merge by the parts in it. */
  const naming =
    (prompts: string[]): Summarise =>
    async ({ prompt }) => {
      prompts.push(prompt);
      const isMerge = prompt.includes('[Part 1 of ');
      return isMerge
        ? `merged ${prompt.match(/gist-\d+/g)?.join(' ')}`
        : `gist-${/Question (\d+)/.exec(prompt)?.[1]}`;
    };

  /** The prompt takes 600 tokens. */
  const justTooSmall = (entries: readonly Entry[]): number =>
    600 +
    textTokens(
      speakEntries(entries)
        .map(({ text }) => text)
        .join(''),
    ) -
    50;

  test.each([
    ['two parts by default', {}, 2],
    ['the given number of parts', { parts: 4 }, 4],
  ])(
    'summarizeInStages summarizes %s, then merges the summaries with the previous one',
    async (_, over, parts) => {
      const entries = history(8);
      const prompts: string[] = [];
      const given = { previousSummary: 'we began with X-17', focus: 'the tests', ...over };
      const text = await summarizeInStages(
        options(entries, naming(prompts), { maxInputTokens: justTooSmall(entries), ...given }),
      );
      const [merge = '', ...others] = prompts.toReversed();
      expect(others).toHaveLength(parts);
      const gists = Array.from({ length: parts }, (_, i) => `gist-${(i * 8) / parts}`);
      expect(text).toBe(`merged ${gists.join(' ')}`);
      expect(merge).toContain('we began with X-17');
      for (const part of others) expect(part).not.toContain('X-17');
      for (const prompt of prompts) expect(prompt).toContain('the tests');
    },
  );

  test('summarizeInStages ignores `parts` below `minMessagesForSplit` messages, and throws the error of the model', async () => {
    const entries = history(4);
    const partsOf = async (minMessagesForSplit: number): Promise<number> => {
      const prompts: string[] = [];
      const given = { maxInputTokens: justTooSmall(entries), parts: 4, minMessagesForSplit };
      await summarizeInStages(options(entries, naming(prompts), given));
      return prompts.length - 1;
    };
    expect([await partsOf(9), await partsOf(8)]).toEqual([2, 4]);
    let calls = 0;
    const failing: Summarise = async () => (++calls === 2 ? Promise.reject(new Error('overloaded')) : 'gist');
    await expect(summarizeInStages(options(history(60), failing))).rejects.toThrow('overloaded');
    expect(calls).toBe(2);
  });

  test('mentions a message that is too large for a request, and quotes the others', async () => {
    const list = new EntryList();
    list.user('What does the log say?');
    list.assistant([`It begins with boot. ${'and so on '.repeat(4000)}`]);
    list.user('And the config?');
    list.assistant(['Port 8443.']);
    const prompts: string[] = [];
    const { method } = await summarizeWithFallback(options(list.entries, naming(prompts)));
    expect(method).toBe('model');
    expect(prompts[0]).toMatch(/\[a message of about 10\d{3} tokens, .* it starts: It begins with boot\./);
    expect(prompts[0]).not.toContain('and so on '.repeat(20));
    for (const quoted of ['What does the log say?', 'And the config?', 'Port 8443.'])
      expect(prompts[0]).toContain(quoted);
  });

  test('that is aborted is no digest', async () => {
    const controller = new AbortController();
    const summarise: Summarise = async () => {
      controller.abort();
      throw new Error('stopped');
    };
    const given = options(history(3), summarise, { signal: controller.signal });
    await expect(summarizeWithFallback(given)).rejects.toThrow('stopped');
  });
});

describe('a digest', () => {
  test('says the same each time, never more than its tokens, and the newest of what was asked', () => {
    fc.assert(
      fc.property(
        fc.integer({ min: 1, max: 40 }),
        fc.integer({ min: 100, max: 2000 }),
        (turns, maxTokens) => {
          const spoken = speakEntries(history(turns));
          const given = { previousSummary: 'Earlier: port 8443', maxTokens, textTokens };
          const text = digest(spoken, given);
          expect(digest(spoken, given)).toBe(text);
          expect(textTokens(text)).toBeLessThanOrEqual(maxTokens);
          if (maxTokens > 400) expect(text).toContain(`Question ${turns - 1}`);
          if (maxTokens > 400) expect(text).toContain('port 8443');
        },
      ),
    );
  });
});

describe('the recall report', () => {
  const list = new EntryList();
  list.user('Please fix src/net/retry.ts; the ticket is OPS-4411. Why does build 20931 fail?');
  list.assistant([call('c', 'read_file', { path: 'src/net/retry.ts' })]);
  list.result('c', 'const MAX_RETRY_COUNT = 17; // see https://example.org/wiki/retry');
  list.assistant(['The default branch is `release/2026-11`.']);
  const facts = findFacts(speakEntries(list.entries));

  test('finds paths, identifiers, numbers, links and open questions', () => {
    const texts = facts.map(({ text }) => text);
    for (const fact of [
      'OPS-4411',
      '20931',
      'MAX_RETRY_COUNT',
      'https://example.org/wiki/retry',
      'release/2026-11',
      'Why does build 20931 fail?',
    ])
      expect(texts).toContain(fact);
    expect(texts.some((text) => text.endsWith('/net/retry.ts'))).toBe(true);
  });

  test('a question is its own sentence, or the end of a long one, wherever it stands', () => {
    const piece = fc.constantFrom('a', ' ', '.', '?', '？', '!', '\n', '。', 'cc', 'b'.repeat(60));
    const asks = (text: string): string[] =>
      findFacts([{ speaker: 'user', text } as Parameters<typeof findFacts>[0][number]])
        .filter(({ kind }) => kind === 'ask')
        .map((fact) => fact.text);
    fc.assert(
      fc.property(fc.array(piece, { maxLength: 30 }), (pieces) => {
        const text = pieces.join('');
        const found = [...text.matchAll(/[^.!?。！？\n]{4,180}[?？]/g)].map(([ask]) => ask.trim());
        expect(asks(text)).toEqual(found.slice(-10));
      }),
    );
  });

  test('says exactly what the summary lost', () => {
    const summary = 'Fixing SRC/NET/retry.ts for OPS-4411. why does build 20931   fail?';
    const { missing, found, total } = recallReport(facts, summary);
    for (const text of missing) expect(summary.toLowerCase()).not.toContain(text.toLowerCase());
    expect(missing).toContain('MAX_RETRY_COUNT');
    expect(missing).not.toContain('OPS-4411');
    expect(missing).not.toContain('Why does build 20931 fail?');
    expect(found + missing.length).toBe(total);
  });

  test('of hostile text takes linear time', () => {
    const hostile = [
      '/a'.repeat(100_000),
      'a1-'.repeat(60_000),
      '`'.repeat(200_000),
      'A_'.repeat(90_000),
      '1.'.repeat(90_000),
    ];
    for (const text of hostile) {
      const entries = new EntryList();
      entries.user(text);
      const spent = cpuTimer();
      findFacts(speakEntries(entries.entries));
      expect(spent()).toBeLessThan(3000);
    }
  });
});

describe('a compaction', () => {
  const entries = history(30);
  const selection = selectContext(entries);
  const plan = planCompaction(selection, {
    cut: { kind: 'keep-messages', messages: 20 },
    tokensOf,
    textTokens,
  });
  if (plan === undefined) throw new Error('a history of 60 messages can be cut');
  const limits = { maxSummaryTokens: 400, maxInputTokens: 8000, textTokens, reason: 'test' };

  test('always makes the context smaller, whatever the model says', async () => {
    const answers: Summarise[] = [
      async () => 'short',
      async () => 'x'.repeat(3000),
      async () => Promise.reject(new Error('no')),
    ];
    for (const summarise of answers) {
      const draft = await makeCompaction(plan, { ...limits, summarise });
      expect(draft?.tokensAfter).toBeLessThan(draft?.tokensBefore ?? 0);
      expect(draft?.firstKeptEntryId).toBe(entries[40]?.id);
    }
    const small = planCompaction(selectContext(history(2, 16)), {
      cut: { kind: 'last-user' },
      tokensOf,
      textTokens,
    });
    if (small === undefined) throw new Error('two turns can be cut');
    const draft = await makeCompaction(small, { ...limits, summarise: async () => 'y'.repeat(2000) });
    expect(draft === undefined || draft.tokensAfter < draft.tokensBefore).toBe(true);
  });

  test('carries pins word for word, once, however often it is summarised', async () => {
    const pins = [{ entryId: 'e1', text: 'The code word is "plum".\nNever deploy on Fridays.' }];
    const first = await makeCompaction(plan, { ...limits, pins, summarise: async () => 'gist one' });
    expect(first?.summary.endsWith(pins[0]?.text ?? '-')).toBe(true);
    let seen = '';
    const again = { ...plan, previousSummary: first?.summary ?? '' };
    const second = await makeCompaction(again, {
      ...limits,
      pins,
      summarise: async ({ prompt }) => {
        seen = prompt;
        return 'gist two';
      },
    });
    expect(seen).toContain('gist one');
    expect(seen).not.toContain('plum');
    expect(second?.summary.split('plum')).toHaveLength(2);
    expect(withoutPins(appendPins('a', pins))).toBe('a');
  });

  test('pins are the last line about an entry; an empty one takes it back', () => {
    const list = new EntryList();
    const pin = (entryId: string, text: string): string =>
      list.add('custom', { customType: 'reprise.pin', data: { entryId, text } });
    pin('a', 'one');
    pin('b', 'two');
    pin('a', 'three');
    pin('b', '');
    expect(pinsInForce(list.entries)).toEqual([{ entryId: 'a', text: 'three' }]);
    list.add('compaction', { details: { pins: [{ entryId: 'z', text: 'old' }] } });
    expect(pinsInForce(list.entries)).toEqual([{ entryId: 'z', text: 'old' }]);
    pin('c', 'new');
    expect(pinsInForce(list.entries.slice(-2)).map(({ text }) => text)).toEqual(['old', 'new']);
  });
});
