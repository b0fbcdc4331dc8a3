import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { type CutStrategy, wantedCut } from '../../src/compaction/cut-strategies.ts';
import { planCompaction } from '../../src/compaction/plan.ts';
import { findCutPlaces, safeCut, startsTurn } from '../../src/compaction/safe-cut.ts';
import type { Entry } from '../../src/index.ts';
import { selectContext } from '../../src/transcript/render/select.ts';
import { call, EntryList } from '../support/engine/entries.ts';
import { REQUEST_KINDS, request } from '../support/engine/requests.ts';

fc.configureGlobal({ seed: Number(process.env['REPRISE_PROPERTY_SEED'] ?? 7) });

const RUNS = Number(process.env['REPRISE_PROPERTY_RUNS'] ?? 500);
const textTokens = (text: string): number => Math.ceil(text.length / 4);
const tokensOf = (entry: Entry): number => textTokens(JSON.stringify(entry['message'] ?? ''));

/** A turn: a question, some rounds of calls whose results may come in any order or not at all, an answer. */
const turn = fc.record({
  ask: fc.string({ maxLength: 40 }),
  rounds: fc.array(
    fc.record({
      calls: fc.integer({ min: 1, max: 3 }),
      reversed: fc.boolean(),
      missing: fc.boolean(),
      size: fc.integer({ min: 0, max: 400 }),
    }),
    { maxLength: 4 },
  ),
  answer: fc.option(fc.string({ maxLength: 60 })),
});

const histories = fc.array(turn, { maxLength: 12 }).map((turns) => {
  const list = new EntryList();
  let n = 0;
  for (const { ask, rounds, answer } of turns) {
    list.user(ask === '' ? 'go on' : ask);
    for (const { calls, reversed, missing, size } of rounds) {
      // Ids repeat on purpose: providers have been seen to use them twice.
      const ids = Array.from({ length: calls }, () => `c${n++ % 5}-${n % 2}`);
      list.assistant(ids.map((id) => call(id)));
      const order = reversed ? [...ids].reverse() : ids;
      for (const id of missing ? order.slice(1) : order) list.result(id, 'r'.repeat(size));
    }
    if (answer !== null) list.assistant([answer === '' ? 'done' : answer]);
  }
  return list.entries;
});

const strategies: fc.Arbitrary<CutStrategy> = fc.oneof(
  fc.record({ kind: fc.constant('keep-tokens' as const), tokens: fc.integer({ min: 0, max: 800 }) }),
  fc.record({ kind: fc.constant('keep-turns' as const), turns: fc.integer({ min: 1, max: 20 }) }),
  fc.record({ kind: fc.constant('keep-messages' as const), messages: fc.integer({ min: 1, max: 20 }) }),
  fc.constant({ kind: 'fraction' as const, compress: 0.5, keep: 0.2, minKeep: 4 }),
  fc.constant({ kind: 'last-user' as const }),
  fc.record({
    kind: fc.constant('history-share' as const),
    share: fc.double({ min: 0, max: 1, noNaN: true }),
  }),
);

/** Which result answers which call, by the rule the projection has: the nearest call before it. */
function pairs(entries: readonly Entry[]): [number, number][] {
  const open = new Map<string, number>();
  const found: [number, number][] = [];
  for (const [at, entry] of entries.entries()) {
    const message = entry['message'] as {
      role: string;
      content: { type: string; id?: string }[];
      toolCallId?: string;
    };
    if (message.role === 'user') open.clear();
    if (message.role === 'assistant')
      for (const block of message.content) if (block.type === 'toolCall') open.set(String(block.id), at);
    const from = message.toolCallId === undefined ? undefined : open.get(message.toolCallId);
    if (from !== undefined) found.push([from, at]);
  }
  return found;
}

describe('a cut', () => {
  test('at any index lands where no call is parted from its result', () => {
    fc.assert(
      fc.property(histories, fc.nat({ max: 120 }), fc.nat({ max: 120 }), (entries, wanted, fitting) => {
        const cut = safeCut(entries, wanted, (at) => at >= fitting);
        if (cut === undefined) {
          expect(findCutPlaces(entries).safe.some(Boolean)).toBe(false);
          return;
        }
        expect(cut).toBeGreaterThan(0);
        expect(cut).toBeLessThan(entries.length);
        for (const [from, to] of pairs(entries)) expect(from < cut && cut <= to).toBe(false);
      }),
      { numRuns: RUNS },
    );
  });

  test('by any strategy summarizes or keeps every entry, and what is kept is a valid request (I-6)', () => {
    fc.assert(
      fc.property(
        histories,
        strategies,
        fc.integer({ min: 10, max: 4000 }),
        (entries, cut, maxKeptTokens) => {
          const selection = selectContext(entries);
          const plan = planCompaction(selection, { cut, maxKeptTokens, tokensOf, textTokens });
          if (plan === undefined) return;
          expect([...plan.covered, ...plan.kept]).toEqual(entries);
          expect(plan.kept[0]?.id).toBe(plan.firstKeptEntryId);
          expect(plan.coveredTokens + plan.keptTokens).toBe(
            entries.reduce((sum, entry) => sum + tokensOf(entry), 0),
          );
          const compacted = [
            ...entries,
            {
              type: 'compaction',
              id: 'compacted',
              parentId: entries.at(-1)?.id ?? null,
              timestamp: '2025-01-03T00:00:00.000Z',
              summary: 'what was',
              firstKeptEntryId: plan.firstKeptEntryId,
            },
          ];
          expect(selectContext(compacted).entries.map(({ id }) => id)).toEqual(plan.kept.map(({ id }) => id));
          for (const kind of REQUEST_KINDS)
            expect(kind.validate(request(compacted, kind)), kind.name).toEqual([]);
        },
      ),
      { numRuns: RUNS },
    );
  });

  test('by a strategy that promises to keep a number of messages or turns keeps at least that many if they fit', () => {
    const isMinimum = (cut: CutStrategy): boolean =>
      ['keep-turns', 'keep-messages', 'fraction'].includes(cut.kind);
    fc.assert(
      fc.property(histories, strategies.filter(isMinimum), (entries, cut) => {
        const plan = planCompaction(selectContext(entries), { cut, tokensOf, textTokens });
        if (plan === undefined) return;
        const turns = plan.kept.filter(startsTurn).length;
        if (cut.kind === 'keep-turns') expect(turns).toBeGreaterThanOrEqual(cut.turns);
        if (cut.kind === 'keep-messages') expect(plan.kept.length).toBeGreaterThanOrEqual(cut.messages);
        if (cut.kind === 'fraction')
          expect(plan.kept.length).toBeGreaterThanOrEqual(Math.max(4, Math.floor(entries.length / 5)));
      }),
      { numRuns: RUNS },
    );
  });

  test('keeps fewer messages than promised only if the promised ones do not fit', () => {
    const list = new EntryList();
    list.user('read it');
    list.assistant([call('c')]);
    list.result('c', 'x'.repeat(4000));
    list.assistant(['It is long.']);
    list.user('thanks');
    list.assistant(['welcome']);
    const cut = { kind: 'fraction', compress: 0.5, keep: 0.2, minKeep: 4 } as const;
    const plan = (maxKeptTokens: number) =>
      planCompaction(selectContext(list.entries), { cut, maxKeptTokens, tokensOf, textTokens });
    expect(plan(2000)?.kept).toHaveLength(5);
    expect(plan(500)?.kept).toHaveLength(2);
  });

  test('keeps to turn starts where there are any', () => {
    const list = new EntryList();
    for (let i = 0; i < 10; i++) {
      list.user(`ask ${i}`);
      list.assistant([call(`c${i}`)]);
      list.result(`c${i}`, 'result');
      list.assistant([`answer ${i}`]);
    }
    for (let wanted = 4; wanted < 40; wanted++)
      expect(safeCut(list.entries, wanted)).toBe(wanted - (wanted % 4));
    // Before the second turn there is no boundary to keep to, so the first turn goes.
    for (let wanted = 0; wanted < 4; wanted++) expect(safeCut(list.entries, wanted)).toBe(4);
  });

  test('goes inside a turn only when that turn alone is too much', () => {
    const list = new EntryList();
    list.user('do it all');
    for (let i = 0; i < 20; i++) {
      list.assistant([call(`c${i}`)]);
      list.result(`c${i}`, 'x'.repeat(400));
    }
    const plan = planCompaction(selectContext(list.entries), {
      cut: { kind: 'keep-tokens', tokens: 500 },
      maxKeptTokens: 500,
      tokensOf,
      textTokens,
    });
    expect(plan).toMatchObject({ splitsTurn: true });
    expect(plan?.keptTokens).toBeLessThanOrEqual(500);
  });

  test('leaves the calls of a running turn with their results to come', () => {
    const list = new EntryList();
    list.user('a');
    list.assistant(['b']);
    list.user('c');
    list.assistant([call('open')]);
    expect(safeCut(list.entries, 3)).toBe(2);
    list.result('open', 'now');
    list.assistant(['done']);
    expect(findCutPlaces(list.entries).safe).toEqual([false, true, true, true, false, true]);
  });
});

describe('strategies', () => {
  const list = new EntryList();
  for (let i = 0; i < 15; i++) {
    list.user(`ask ${i}`);
    list.assistant([`answer ${i}`]);
  }
  const { entries } = list;
  const tokens = entries.map(() => 10);

  test.each([
    [{ kind: 'keep-messages', messages: 20 }, 10],
    [{ kind: 'keep-turns', turns: 5 }, 20],
    [{ kind: 'keep-turns', turns: 20 }, 0],
    [{ kind: 'keep-tokens', tokens: 105 }, 20],
    [{ kind: 'fraction', compress: 0.5, keep: 0.2, minKeep: 4 }, 15],
    [{ kind: 'last-user' }, 28],
    [{ kind: 'history-share', share: 0.5 }, 15],
  ] as const)('%o wants to cut at %i', (strategy, at) => {
    expect(wantedCut(entries, tokens, strategy).at).toBe(at);
  });

  test('a history the strategy would keep whole is not compacted', () => {
    const options = { cut: { kind: 'keep-tokens', tokens: 1e6 }, tokensOf, textTokens } as const;
    expect(planCompaction(selectContext(entries), options)).toBeUndefined();
    expect(planCompaction(selectContext([]), options)).toBeUndefined();
  });
});
