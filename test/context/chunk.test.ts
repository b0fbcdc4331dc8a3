import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import {
  chunkMessagesByMaxTokens,
  computeAdaptiveChunkRatio,
  estimateTokens,
  pruneHistoryForContextShare,
  splitMessagesByTokenShare,
} from '../../src/exports/context.ts';
import { EntryList } from '../support/engine/entries.ts';

interface Turn {
  readonly role: 'user' | 'assistant' | 'tool';
  readonly tokens: number;
}
type Message = Turn & { readonly content: string };

const options = { tokensOf: (message: Message) => message.tokens };
const SEED = Number(process.env['REPRISE_PROPERTY_SEED'] ?? 20250101);
const RUNS = Number(process.env['REPRISE_PROPERTY_RUNS'] ?? 500);

const anyMessage = fc.record({
  role: fc.constantFrom<Turn['role'][]>('user', 'assistant', 'tool'),
  content: fc.constant(''),
  tokens: fc.nat(3000),
});
const anyHistory = fc.array(anyMessage, { maxLength: 40 });

function tokensOf(messages: readonly Message[]): number {
  return messages.reduce((sum, { tokens }) => sum + tokens, 0);
}

function history(...tokens: readonly number[]): Message[] {
  return tokens.map((count, i) => ({ role: i % 2 === 0 ? 'user' : 'assistant', content: '', tokens: count }));
}

describe('splitting and chunking', () => {
  test('shares and chunks hold every message once, in order, and none is empty', () => {
    fc.assert(
      fc.property(anyHistory, fc.integer({ min: 1, max: 6 }), fc.nat(9000), (messages, parts, max) => {
        for (const chunks of [
          splitMessagesByTokenShare(messages, parts, options),
          chunkMessagesByMaxTokens(messages, max, options),
        ]) {
          expect(chunks.flat()).toEqual(messages);
          expect(chunks.every((chunk) => chunk.length > 0)).toBe(true);
        }
        expect(splitMessagesByTokenShare(messages, parts, options).length).toBeLessThanOrEqual(parts);
      }),
      { numRuns: RUNS, seed: SEED },
    );
  });

  test('a share begins with a turn, and a chunk never with a result', () => {
    fc.assert(
      fc.property(anyHistory, fc.integer({ min: 1, max: 6 }), fc.nat(9000), (messages, parts, max) => {
        for (const [first] of splitMessagesByTokenShare(messages, parts, options).slice(1)) {
          expect(first?.role).toBe('user');
        }
        for (const [first] of chunkMessagesByMaxTokens(messages, max, options).slice(1)) {
          expect(first?.role).not.toBe('tool');
        }
      }),
      { numRuns: RUNS, seed: SEED },
    );
  });

  test('a chunk is too large only where a single round is, and whole turns stay whole where they fit', () => {
    fc.assert(
      fc.property(anyHistory, fc.integer({ min: 1, max: 9000 }), (messages, max) => {
        for (const chunk of chunkMessagesByMaxTokens(messages, max, options)) {
          const rounds = chunk.filter(({ role }, i) => i === 0 || role !== 'tool').length;
          if (tokensOf(chunk) > max) expect(rounds).toBe(1);
          const [first] = chunk;
          if (first === undefined || first.role === 'user' || first === messages[0]) continue;
          // It begins inside a turn, so that turn did not fit.
          const at = messages.indexOf(first);
          const start = messages.slice(0, at).findLastIndex(({ role }) => role === 'user');
          const next = messages.findIndex(({ role }, i) => i > at && role === 'user');
          const turn = messages.slice(Math.max(0, start), next === -1 ? undefined : next);
          expect(tokensOf(turn)).toBeGreaterThan(max);
        }
      }),
      { numRuns: RUNS, seed: SEED },
    );
  });

  test('two shares of a history are about equal', () => {
    const messages = history(...Array.from({ length: 40 }, (_, i) => 100 + ((i * 37) % 50)));
    const [older = [], newer = []] = splitMessagesByTokenShare(messages, 2, options);
    expect(Math.abs(tokensOf(older) - tokensOf(newer))).toBeLessThan(300);
  });

  test('messages are counted by default, entries and the results of APIs too', () => {
    const list = new EntryList();
    for (let i = 0; i < 6; i++) {
      list.user('a question '.repeat(40));
      list.assistant(['an answer '.repeat(40)]);
    }
    const [older = [], newer = []] = splitMessagesByTokenShare(list.entries);
    expect(older.length).toBe(6);
    expect(newer.length).toBe(6);
    const results = [
      { role: 'user', content: 'q' },
      { role: 'assistant', content: [{ type: 'tool_use', id: 'c', name: 'x', input: {} }] },
      { role: 'user', content: [{ type: 'tool_result', tool_use_id: 'c', content: 'r '.repeat(400) }] },
    ];
    expect(splitMessagesByTokenShare(results).length).toBe(1);
    expect(chunkMessagesByMaxTokens(results, 50).map((chunk) => chunk.length)).toEqual([1, 2]);
  });

  test('the chunk ratio goes from 0.4 down to 0.15 as messages grow', () => {
    const ratio = (tokens: number): number =>
      computeAdaptiveChunkRatio(history(tokens, tokens), 10_000, options);
    expect(computeAdaptiveChunkRatio([], 10_000)).toBe(0.4);
    expect(ratio(100)).toBe(0.4);
    expect(ratio(833)).toBe(0.4);
    expect(ratio(1000)).toBeCloseTo(0.16);
    expect(ratio(9000)).toBe(0.15);
    const small = [{ role: 'user', content: 'hi' }];
    expect(computeAdaptiveChunkRatio(small, estimateTokens(small[0] ?? {}) * 100)).toBe(0.4);
  });
});

describe('pruning a history', () => {
  test('dropped and kept are all, the dropped are the oldest, and the numbers say so', () => {
    fc.assert(
      fc.property(
        anyHistory,
        fc.integer({ min: 1, max: 60_000 }),
        fc.integer({ min: 1, max: 5 }),
        (messages, max, parts) => {
          const pruned = pruneHistoryForContextShare({ messages, maxContextTokens: max, parts, ...options });
          expect([...pruned.droppedMessagesList, ...pruned.messages]).toEqual(messages);
          expect(pruned.droppedMessages).toBe(pruned.droppedMessagesList.length);
          expect(pruned.keptTokens).toBe(tokensOf(pruned.messages));
          expect(pruned.droppedTokens).toBe(tokensOf(pruned.droppedMessagesList));
          expect(pruned.budgetTokens).toBe(Math.max(1, Math.floor(max / 2)));
          expect(pruned.droppedChunks > 0).toBe(pruned.droppedMessages > 0);
          if (pruned.droppedMessages > 0) expect(pruned.messages[0]?.role).toBe('user');
          // Only the last turn may be too large, and nothing goes that had room.
          const turns = pruned.messages.filter(({ role }, i) => i === 0 || role === 'user').length;
          if (pruned.keptTokens > pruned.budgetTokens) expect(turns).toBeLessThanOrEqual(1);
          if (tokensOf(messages) <= pruned.budgetTokens) expect(pruned.droppedMessages).toBe(0);
        },
      ),
      { numRuns: RUNS, seed: SEED },
    );
  });

  test('goes by whole shares, so that it is not needed again at once', () => {
    const messages = history(...Array.from({ length: 16 }, () => 100));
    const pruned = pruneHistoryForContextShare({ messages, maxContextTokens: 3000, ...options });
    expect(pruned).toMatchObject({
      droppedChunks: 1,
      droppedMessages: 8,
      keptTokens: 800,
      budgetTokens: 1500,
    });
    const finer = pruneHistoryForContextShare({ messages, maxContextTokens: 3000, parts: 4, ...options });
    expect(finer).toMatchObject({ droppedChunks: 1, droppedMessages: 4 });
  });

  test('history gets half of the context, or the share that was asked for', () => {
    const messages = history(400, 400, 400, 400);
    const half = pruneHistoryForContextShare({ messages, maxContextTokens: 2000, ...options });
    expect(half).toMatchObject({
      droppedMessages: 2,
      droppedTokens: 800,
      keptTokens: 800,
      budgetTokens: 1000,
    });
    const most = pruneHistoryForContextShare({
      messages,
      maxContextTokens: 2000,
      maxHistoryShare: 0.8,
      ...options,
    });
    expect(most).toMatchObject({ droppedMessages: 0, budgetTokens: 1600 });
  });
});
