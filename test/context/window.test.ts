import { describe, expect, test } from 'vitest';
import {
  contextBudget,
  DEFAULT_CONTEXT_TOKENS,
  estimateMessagesTokens,
  estimateTextTokens,
  evaluateContextWindowGuard,
  learnWindow,
  resolveContextWindow,
  splitContext,
  type WindowConfig,
} from '../../src/exports/context.ts';

const CONFIG: WindowConfig = {
  models: { providers: { local: { models: { small: { contextWindow: 32_768 } } } } },
  agents: { defaults: { contextTokens: 50_000 } },
};
const LOCAL = { provider: 'local', modelId: 'small' };

describe('the window of a model (S7)', () => {
  test('is its own, then the configured one, then the default of agents, then 200,000', () => {
    expect(resolveContextWindow({ ...LOCAL, contextWindow: 8192, config: CONFIG })).toEqual({
      tokens: 8192,
      source: 'model',
    });
    expect(resolveContextWindow({ ...LOCAL, config: CONFIG })).toEqual({
      tokens: 32_768,
      source: 'modelsConfig',
    });
    expect(resolveContextWindow({ provider: 'local', modelId: 'other', config: CONFIG })).toEqual({
      tokens: 50_000,
      source: 'agentDefaults',
    });
    expect(resolveContextWindow({})).toEqual({ tokens: DEFAULT_CONTEXT_TOKENS, source: 'default' });
    expect(DEFAULT_CONTEXT_TOKENS).toBe(200_000);
  });

  test('models may be configured as a list too, and a name of the language is no model', () => {
    const config = {
      models: { providers: { local: { models: [{ id: 'small', contextWindow: 4096 }, null] } } },
    };
    expect(resolveContextWindow({ ...LOCAL, config }).tokens).toBe(4096);
    const trick = { provider: '__proto__', modelId: 'constructor', config: CONFIG };
    expect(resolveContextWindow(trick).source).toBe('agentDefaults');
    expect(resolveContextWindow({ provider: 'local', modelId: 'toString', config: CONFIG }).source).toBe(
      'agentDefaults',
    );
  });

  test('a cap makes it smaller and never larger', () => {
    expect(resolveContextWindow({ contextWindow: 100_000, contextTokens: 20_000 })).toEqual({
      tokens: 20_000,
      source: 'option',
    });
    expect(resolveContextWindow({ contextWindow: 100_000, contextTokens: 500_000 })).toEqual({
      tokens: 100_000,
      source: 'model',
    });
    expect(resolveContextWindow({ contextTokens: 16_000 }).source).toBe('option');
  });

  test.each([0, -1, Number.NaN, Number.POSITIVE_INFINITY])('a window of %s is no window', (tokens) => {
    expect(resolveContextWindow({ contextWindow: tokens, contextTokens: tokens }).source).toBe('default');
  });

  test('is from then on what an overflow error named, for that model only', () => {
    const learned = learnWindow({}, { ...LOCAL, limit: 12_288 });
    expect(resolveContextWindow({ ...LOCAL, contextWindow: 32_768, learned })).toEqual({
      tokens: 12_288,
      source: 'learned',
    });
    expect(resolveContextWindow({ ...LOCAL, modelId: 'large', contextWindow: 32_768, learned }).source).toBe(
      'model',
    );
    expect(resolveContextWindow({ ...LOCAL, learned, contextTokens: 9000 }).source).toBe('option');
    expect(learnWindow(learned, { ...LOCAL, limit: undefined })).toBe(learned);
    expect(learnWindow(learned, { ...LOCAL, limit: 20 })).toBe(learned);
  });

  test.each([
    [8000, true, true],
    [15_999, true, true],
    [16_000, true, false],
    [31_999, true, false],
    [32_000, false, false],
  ])('of %i tokens: warn %s, block %s', (tokens, shouldWarn, shouldBlock) => {
    const guard = evaluateContextWindowGuard({ info: { tokens, source: 'model' } });
    expect(guard).toEqual({ tokens, source: 'model', shouldWarn, shouldBlock });
  });

  test('the thresholds can be set', () => {
    const info = { tokens: 5000, source: 'option' } as const;
    const guard = evaluateContextWindowGuard({ info, warnBelowTokens: 6000, hardMinTokens: 4000 });
    expect(guard).toMatchObject({ shouldWarn: true, shouldBlock: false });
  });
});

describe('the budget', () => {
  test.each([
    [200_000, undefined, { reserve: 8192, budget: 191_808, keepTokens: 20_000, summaryTokens: 19_180 }],
    [200_000, 64_000, { reserve: 50_000, budget: 150_000, keepTokens: 20_000, summaryTokens: 15_000 }],
    [16_000, undefined, { reserve: 4000, budget: 12_000, keepTokens: 3600, summaryTokens: 1200 }],
    [16_000, 1000, { reserve: 1000, budget: 15_000, keepTokens: 4500, summaryTokens: 1500 }],
  ])('of a window of %i with %s tokens of output scales down', (window, maxOutput, expected) => {
    expect(contextBudget(window, maxOutput)).toEqual({ window, ...expected });
  });

  test('the split of a window adds up', () => {
    const messages = [
      { role: 'user', content: 'A summary of what was said before. And the first question.' },
      { role: 'assistant', content: 'An answer.' },
      { role: 'user', content: 'The newest question, which is somewhat longer than the others were.' },
    ];
    const tools = [{ name: 'read_file', description: 'Reads a file.' }];
    const summary = 'A summary of what was said before.';
    const split = splitContext(
      { system: 'Be brief.', tools, summary, messages, newFrom: 2 },
      contextBudget(16_000),
    );
    expect(split.summary).toBe(estimateTextTokens(summary));
    expect(split.newMessage).toBe(estimateMessagesTokens(messages.slice(2)));
    expect(split.history + split.summary + split.newMessage).toBe(estimateMessagesTokens(messages));
    expect(split.system + split.tools + split.summary + split.history + split.newMessage).toBe(split.used);
    expect(split.used + split.free + split.reserve).toBe(split.window);
    const full = splitContext(
      { messages: [{ role: 'user', content: 'word '.repeat(20_000) }] },
      contextBudget(16_000),
    );
    expect(full.free).toBe(0);
  });
});
