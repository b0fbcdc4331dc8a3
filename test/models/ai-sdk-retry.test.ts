import { describe, expect, test } from 'vitest';
import type { ModelEvent } from '../../src/exports/models.ts';
import { createModel, type Model, type RepriseError } from '../../src/index.ts';
import { DEFAULT_RETRY_POLICY, retryDelay } from '../../src/models/ai-sdk/retry.ts';
import { modelError } from '../../src/models/model-error.ts';
import {
  ANTHROPIC_FAILURES,
  OPENAI_FAILURES,
  openAnthropicServer,
  openOpenAiServer,
  type WireAnswer,
  type WireFailure,
  type WireReply,
  type WireServer,
} from '../../testing/index.ts';
import { asking, run } from '../support/engine/models.ts';

const ANSWER: WireAnswer = { blocks: [{ type: 'text', text: 'at last' }] };
const NOW = Date.parse('2025-01-01T00:00:00Z');
const A = ANTHROPIC_FAILURES;
const O = OPENAI_FAILURES;

/** No test waits: the sleeps are recorded. */
async function patient(
  ref: string,
  server: WireServer,
  options = {},
): Promise<{ model: Model; sleeps: number[] }> {
  const sleeps: number[] = [];
  const model = await createModel(ref, {
    apiKey: 'k',
    baseURL: server.url,
    now: () => NOW,
    random: () => 0.5,
    sleep: async (ms) => {
      sleeps.push(ms);
    },
    ...options,
  });
  return { model, sleeps };
}

const retries = (events: readonly ModelEvent[]): ModelEvent[] =>
  events.filter(({ type }) => type === 'retry');

describe('T52 what passes is tried again', () => {
  test.each<[string, WireReply]>([
    ['429', A.rateLimited],
    ['529', A.overloaded],
    ['503', A.unavailable],
    ['500', A.internal],
    ['a connection that is reset', { connection: 'reset' }],
    ['a response without a byte', { ...ANSWER, delivery: { end: { after: 0, how: 'close' } } }],
    ['a response cut before its first byte', { ...ANSWER, delivery: { end: { after: 0, how: 'cut' } } }],
    ['an error as the first event', { ...ANSWER, delivery: { end: { after: 0, how: 'error' } } }],
  ])('after %s at Anthropic', async (_what, reply) => {
    await using server = await openAnthropicServer({ script: [reply, reply, ANSWER] });
    const { model, sleeps } = await patient('anthropic:claude-a', server);
    const { answer, events, error } = await run(model, asking('hi'));
    expect([error, answer.text]).toEqual([undefined, 'at last']);
    expect(sleeps).toEqual([375, 750]);
    expect(retries(events)).toMatchObject([
      { attempt: 1, delayMs: 375, code: expect.any(String), reason: expect.stringContaining('anthropic: ') },
      { attempt: 2, delayMs: 750 },
    ]);
  });

  test.each<[string, WireReply]>([
    ['429', O.rateLimited],
    ['503', O.unavailable],
    ['500', O.internal],
    ['502 of a proxy', O.badGateway],
    ['504', { status: 504, body: 'upstream timed out' }],
    ['a connection that is reset', { connection: 'reset' }],
    ['a response without a byte', { ...ANSWER, delivery: { end: { after: 0, how: 'close' } } }],
    ['an error as the first event', { ...ANSWER, delivery: { end: { after: 0, how: 'error' } } }],
  ])('after %s at OpenAI', async (_what, reply) => {
    await using server = await openOpenAiServer({ script: [reply, ANSWER] });
    const { model, sleeps } = await patient('openai:gpt-a', server);
    const { answer, error } = await run(model, asking('hi'));
    expect([error, answer.text, sleeps]).toEqual([undefined, 'at last', [375]]);
  });

  test.each([
    [{ 'retry-after': '3' }, 3000],
    [{ 'retry-after-ms': '40', 'retry-after': '3' }, 40],
    [{ 'retry-after': 'Wed, 01 Jan 2025 00:00:09 GMT' }, 9000],
  ])('after the time the provider asks for: %j', async (headers, ms) => {
    await using server = await openAnthropicServer({ script: [{ ...A.rateLimited, headers }, ANSWER] });
    const { model, sleeps } = await patient('anthropic:claude-a', server);
    expect((await run(model, asking('hi'))).answer.text).toBe('at last');
    expect(sleeps).toEqual([ms]);
  });

  test('unless the wait is longer than the limit: then the caller gets the error', async () => {
    const reply = { ...A.rateLimited, headers: { 'retry-after': '3600' } };
    await using server = await openAnthropicServer({ script: [reply, ANSWER] });
    const { model, sleeps } = await patient('anthropic:claude-a', server);
    const { error } = await run(model, asking('hi'));
    expect(error).toMatchObject({ code: 'MODEL_RATE_LIMITED', details: { retryAfterMs: 3_600_000 } });
    expect(sleeps).toEqual([]);
  });

  test('only a limited number of times, and then the last failure is reported', async () => {
    await using server = await openAnthropicServer({ script: Array(9).fill(A.overloaded) });
    const { model, sleeps } = await patient('anthropic:claude-a', server);
    const { error } = await run(model, asking('hi'));
    expect(error).toMatchObject({
      code: 'MODEL_FAILED',
      details: { status: 529, providerCode: 'overloaded_error' },
    });
    expect(server.requests).toHaveLength(5);
    expect(sleeps).toEqual([375, 750, 1500, 3000]);
  });

  test('and an unreachable host is a coded failure', async () => {
    const server = await openAnthropicServer();
    await server[Symbol.asyncDispose]();
    const { model, sleeps } = await patient('anthropic:claude-a', server);
    expect((await run(model, asking('hi'))).error?.code).toBe('MODEL_FAILED');
    expect(sleeps).toHaveLength(4);
  });

  test('and stopping ends the wait', async () => {
    await using server = await openAnthropicServer({
      script: [{ ...A.rateLimited, headers: { 'retry-after': '50' } }],
    });
    const model = await createModel('anthropic:claude-a', { apiKey: 'k', baseURL: server.url });
    const stop = new AbortController();
    const { error } = await run(model, asking('hi'), { signal: stop.signal, on: () => stop.abort() });
    expect(error?.code).toBe('ABORTED');
    expect(server.requests).toHaveLength(1);
  });
});

describe('T52 an error that does not pass is reported at once', () => {
  test.each<[string, WireFailure, string]>([
    ['400', A.tooLong, 'CONTEXT_OVERFLOW'],
    ['413', A.tooLarge, 'CONTEXT_OVERFLOW'],
    ['401', A.badKey, 'MODEL_AUTH'],
    ['403', A.forbidden, 'MODEL_AUTH'],
    ['404', A.unknownModel, 'MODEL_UNKNOWN'],
    ['a spend limit', A.spent, 'MODEL_AUTH'],
  ])('%s of Anthropic', async (_what, reply, code) => {
    await using server = await openAnthropicServer({ script: [reply, ANSWER] });
    const { model, sleeps } = await patient('anthropic:claude-a', server);
    const { error, events } = await run(model, asking('hi'));
    expect(error).toMatchObject({
      code,
      details: { status: reply.status, requestId: expect.stringMatching(/^req_/) },
    });
    expect([sleeps, events, server.waiting]).toEqual([[], [], 1]);
  });

  test.each<[string, WireFailure, string]>([
    ['400', O.tooLong, 'CONTEXT_OVERFLOW'],
    ['400 of llama.cpp', O.tooLongLlamaCpp, 'CONTEXT_OVERFLOW'],
    ['413 without a body', O.tooLarge, 'CONTEXT_OVERFLOW'],
    ['401', O.badKey, 'MODEL_AUTH'],
    ['403', O.forbidden, 'MODEL_AUTH'],
    ['404', O.unknownModel, 'MODEL_UNKNOWN'],
    ['404 of Ollama', O.unknownOllamaModel, 'MODEL_UNKNOWN'],
    ['429 for an empty account', O.spent, 'MODEL_AUTH'],
  ])('%s of OpenAI', async (_what, reply, code) => {
    await using server = await openOpenAiServer({ script: [reply, ANSWER] });
    const { model, sleeps } = await patient('openai:gpt-a', server);
    const { error } = await run(model, asking('hi'));
    expect([error?.code, sleeps, server.waiting]).toEqual([code, [], 1]);
  });

  test('an overflow says how large the window is and how large the request was', async () => {
    await using a = await openAnthropicServer({ script: [A.tooLong] });
    await using o = await openOpenAiServer({ script: [O.tooLong, O.tooLongLlamaCpp] });
    const { model: claude } = await patient('anthropic:claude-a', a);
    const { model: gpt } = await patient('openai:gpt-a', o);
    const details = async (model: Model): Promise<RepriseError['details'] | undefined> =>
      (await run(model, asking('hi'))).error?.details;
    expect(await details(claude)).toMatchObject({ limit: 200_000, actual: 210_000 });
    expect(await details(gpt)).toMatchObject({ limit: 128_000, actual: 130_042 });
    expect(await details(gpt)).toMatchObject({ limit: 8192, actual: 9021 });
  });
});

test('waits grow, stay under their cap and are never the same for all', () => {
  const error = modelError({ message: 'Overloaded', status: 529 }, { provider: 'p', id: 'm' }, 0);
  const policy = { ...DEFAULT_RETRY_POLICY, maxRetries: 20 };
  for (let attempt = 1; attempt <= 20; attempt++) {
    const least = retryDelay(error, attempt, policy, () => 0) ?? Number.NaN;
    const most = retryDelay(error, attempt, policy, () => 1) ?? Number.NaN;
    expect(most).toBe(2 * least);
    expect(most).toBe(Math.min(8000, 500 * 2 ** (attempt - 1)));
  }
  expect(retryDelay(error, 21, policy, () => 0)).toBeUndefined();
});
