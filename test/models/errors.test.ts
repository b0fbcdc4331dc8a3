import { describe, expect, test } from 'vitest';
import { isSilentOverflow } from '../../src/exports/models.ts';
import type { RepriseError } from '../../src/index.ts';
import { readFailure } from '../../src/models/ai-sdk/read-failure.ts';
import { modelError, type ProviderFailure } from '../../src/models/model-error.ts';
import { readOverflow } from '../../src/models/overflow.ts';
import { readRetryAfter } from '../../src/models/retry-after.ts';
import { cpuTimer } from '../support/engine/time-spent.ts';

const NOW = Date.parse('2025-01-01T00:00:00Z');
const MODEL = { provider: 'p', id: 'm' };
const judge = (failure: ProviderFailure): RepriseError => modelError(failure, MODEL, NOW);

describe('T50 a request that is too long', () => {
  test.each([
    ['Anthropic', 'prompt is too long: 210000 tokens > 200000 maximum', 200_000, 210_000],
    [
      'Anthropic with output',
      'input length and `max_tokens` exceed context limit: 199211 + 20000 > 200000, decrease input length or `max_tokens` and try again',
      200_000,
      199_211,
    ],
    [
      'OpenAI',
      "This model's maximum context length is 128000 tokens. However, your messages resulted in 130042 tokens.",
      128_000,
      130_042,
    ],
    [
      'OpenAI responses',
      'Your input exceeds the context window of this model. Please adjust your input and try again.',
      undefined,
      undefined,
    ],
    ['a compatible server', 'context window exceeded', undefined, undefined],
    [
      'Gemini',
      'The input token count (1196265) exceeds the maximum number of tokens allowed (1048575).',
      1_048_575,
      1_196_265,
    ],
    [
      'OpenRouter',
      "This endpoint's maximum context length is 32768 tokens. However, you requested about 41205 tokens (40181 of text input, 1024 in the output).",
      32_768,
      41_205,
    ],
    ['Bedrock', 'Input is too long for requested model.', undefined, undefined],
    ['Groq', 'Please reduce the length of the messages or completion.', undefined, undefined],
    [
      'Mistral',
      'Prompt contains 40123 tokens and 0 draft tokens, too large for model with 32768 maximum context length',
      32_768,
      40_123,
    ],
    ['llama.cpp', 'the request exceeds the available context size, try increasing it', undefined, undefined],
    [
      'vLLM',
      "This model's maximum context length is 4096 tokens. However, you requested 5000 tokens (4500 in the messages, 500 in the completion).",
      4096,
      5000,
    ],
    ['Ollama', 'prompt too long; exceeded max context length by 12 tokens', undefined, undefined],
    [
      'xAI',
      "This model's maximum prompt length is 131072 but the request contains 537812 tokens.",
      131_072,
      537_812,
    ],
    [
      'Together',
      "The input (516368 tokens) is longer than the model's context length (262144 tokens).",
      262_144,
      516_368,
    ],
    [
      'LM Studio',
      'The number of tokens to keep from the initial prompt is greater than the context length',
      undefined,
      undefined,
    ],
    ['Copilot', 'prompt token count of 128501 exceeds the limit of 128000', 128_000, 128_501],
    ['MiniMax', 'invalid params, context window exceeds limit (2013)', undefined, undefined],
    [
      'Kimi',
      'Invalid request: Your request exceeded model token limit: 262144 (requested: 301000)',
      262_144,
      301_000,
    ],
    ['DashScope', 'Range of input length should be [1, 30720]', 30_720, undefined],
    ['anybody', 'token limit exceeded', undefined, undefined],
    ['anybody else', 'Too many tokens', undefined, undefined],
  ])('in the words of %s is an overflow, with its numbers', (_who, message, limit, actual) => {
    for (const status of [400, undefined]) {
      const { code, details } = judge({ message, status });
      expect(code).toBe('CONTEXT_OVERFLOW');
      expect(details['limit']).toBe(limit);
      expect(details['actual']).toBe(actual);
      expect(details['retryable']).toBe(false);
    }
    expect(judge({ message, status: 429 }).code).toBe('MODEL_RATE_LIMITED');
    expect(judge({ message, status: 401 }).code).toBe('MODEL_AUTH');
  });

  test.each<[string, ProviderFailure]>([
    [
      'OpenAI’s code',
      { message: 'no', status: 400, codes: ['context_length_exceeded', 'invalid_request_error'] },
    ],
    ['llama.cpp’s type', { message: 'no', status: 400, codes: ['exceed_context_size_error'] }],
    ['a 413', { message: 'Request exceeds the maximum size', status: 413, codes: ['request_too_large'] }],
    ['a 413 without a body', { message: '', status: 413, emptyBody: true }],
    ['a 400 without a body', { message: 'Bad Request', status: 400, emptyBody: true }],
    ['a stop reason', { message: 'no', codes: ['model_context_window_exceeded'] }],
  ])('is known by %s, whatever the words', (_how, failure) => {
    expect(judge(failure).code).toBe('CONTEXT_OVERFLOW');
  });

  test.each([
    ['Too many tokens, please wait before trying again.', undefined, 'MODEL_RATE_LIMITED'],
    ['This request would exceed the rate limit of 40,000 input tokens per minute', 429, 'MODEL_RATE_LIMITED'],
    ['prompt is too long: 9 tokens > 8 maximum', 429, 'MODEL_RATE_LIMITED'],
    ['rate limit exceeded: too many tokens', undefined, 'MODEL_RATE_LIMITED'],
    ['Too many requests', undefined, 'MODEL_RATE_LIMITED'],
    ['ThrottlingException: Too many tokens per day', 400, 'MODEL_RATE_LIMITED'],
    [
      'Request too large for model on tokens per minute (TPM): Limit 6000, Requested 7012',
      413,
      'MODEL_RATE_LIMITED',
    ],
    ['token expired', 401, 'MODEL_AUTH'],
    ['your token has expired: token limit exceeded', 400, 'MODEL_FAILED'],
    ['invalid token in the context of messages[3]', 400, 'MODEL_FAILED'],
    ['max_tokens: Field required', 400, 'MODEL_FAILED'],
    ['image exceeds the limit of 5 MB', 400, 'MODEL_FAILED'],
    ['the file exceeds the limit of 100 files', 400, 'MODEL_FAILED'],
  ])('is not: %s', (message, status, code) => {
    expect(judge({ message, status }).code).toBe(code);
  });

  test('is found in linear time, whatever the text', () => {
    const hostile = `maximum context length is ${'1'.repeat(200_000)} however ${'requested '.repeat(20_000)}`;
    const spent = cpuTimer();
    readOverflow(hostile);
    expect(spent()).toBeLessThan(500);
  });

  test('shows in the numbers where a server cuts silently', () => {
    const usage = { input: 8000, output: 0, cacheRead: 150, cacheWrite: 0, totalTokens: 8150 };
    expect(isSilentOverflow({ stopReason: 'stop', usage }, 8192)).toBe(false);
    expect(isSilentOverflow({ stopReason: 'length', usage }, 8192)).toBe(true);
    expect(isSilentOverflow({ stopReason: 'length', usage: { ...usage, output: 5 } }, 8192)).toBe(false);
    expect(isSilentOverflow({ stopReason: 'stop', usage: { ...usage, output: 5 } }, 8100)).toBe(true);
    expect(isSilentOverflow({ stopReason: 'length', usage }, undefined)).toBe(false);
  });
});

describe('a failed call', () => {
  test.each<[number, string[], string, string, boolean]>([
    [401, ['authentication_error'], 'invalid x-api-key', 'MODEL_AUTH', false],
    [403, ['permission_error'], 'no', 'MODEL_AUTH', false],
    [404, ['not_found_error'], 'model: x', 'MODEL_UNKNOWN', false],
    [400, ['model_not_found'], 'no such model', 'MODEL_UNKNOWN', false],
    [429, ['rate_limit_error'], 'slow down', 'MODEL_RATE_LIMITED', true],
    [429, ['insufficient_quota'], 'You exceeded your current quota', 'MODEL_AUTH', false],
    [429, [], 'monthly spend limit reached', 'MODEL_AUTH', false],
    [429, ['RESOURCE_EXHAUSTED'], 'You exceeded your current quota', 'MODEL_RATE_LIMITED', true],
    [429, ['insufficient_quota'], 'no', 'MODEL_AUTH', false],
    [402, [], 'no', 'MODEL_AUTH', false],
    [400, ['invalid_request_error'], 'Your credit balance is too low', 'MODEL_AUTH', false],
    [400, ['invalid_request_error'], 'messages.0: bad', 'MODEL_FAILED', false],
    [422, [], 'bad', 'MODEL_FAILED', false],
    [500, ['api_error'], 'Internal server error', 'MODEL_FAILED', true],
    [502, [], 'Bad gateway', 'MODEL_FAILED', true],
    [503, [], 'Unavailable', 'MODEL_FAILED', true],
    [504, [], 'Gateway timeout', 'MODEL_FAILED', true],
    [529, ['overloaded_error'], 'Overloaded', 'MODEL_FAILED', true],
  ])('with %i %j is told apart', (status, codes, message, code, retryable) => {
    const error = judge({ status, codes, message });
    expect([error.code, error.details['retryable']]).toEqual([code, retryable]);
  });

  test('reports provider, cause and how long to wait', () => {
    const headers = { 'retry-after': '7', 'request-id': 'req_1' };
    const error = judge({ status: 429, codes: ['rate_limit_error'], message: 'slow', headers });
    expect(error.details).toMatchObject({
      provider: 'p',
      model: 'm',
      status: 429,
      providerCode: 'rate_limit_error',
      requestId: 'req_1',
      retryAfterMs: 7000,
    });
  });

  test('is not sent again where the provider says so', () => {
    const headers = { 'x-should-retry': 'false' };
    expect(judge({ status: 529, message: 'x', headers }).details['retryable']).toBe(false);
  });

  test.each([
    [{ 'retry-after': '2' }, 2000],
    [{ 'retry-after': '0.25' }, 250],
    [{ 'retry-after-ms': '120', 'retry-after': '9' }, 120],
    [{ 'retry-after': 'Wed, 01 Jan 2025 00:00:30 GMT' }, 30_000],
    [{ 'retry-after': 'Tue, 31 Dec 2024 00:00:00 GMT' }, 0],
    [{ 'retry-after': 'soon' }, undefined],
    [{}, undefined],
  ])('reads %j', (headers, ms) => {
    expect(readRetryAfter(headers, NOW)).toBe(ms);
  });
});

describe('what an SDK throws is read by its fields', () => {
  const body = (value: unknown): { statusCode: number; responseBody: string } => ({
    statusCode: 400,
    responseBody: JSON.stringify(value),
  });
  test.each([
    [
      'Anthropic',
      body({ type: 'error', error: { type: 'invalid_request_error', message: 'x' }, request_id: 'r' }),
      { message: 'x', codes: ['invalid_request_error'], requestId: 'r', status: 400 },
    ],
    [
      'OpenAI',
      body({ error: { message: 'x', type: 't', param: null, code: 'c' } }),
      { message: 'x', codes: ['c', 't'] },
    ],
    ['OpenRouter in a stream', { message: 'x', code: 429 }, { message: 'x', status: 429, codes: [] }],
    ['Ollama', body({ error: 'x' }), { message: 'x' }],
    [
      'Gemini',
      body([{ error: { code: 400, message: 'x', status: 'INVALID_ARGUMENT' } }]),
      { message: 'x', codes: ['INVALID_ARGUMENT'] },
    ],
    [
      'llama.cpp',
      body({ error: { message: 'x', type: 't', n_ctx: 8, n_prompt_tokens: 9 } }),
      { overflow: { limit: 8, actual: 9 } },
    ],
    ['a proxy', { statusCode: 502, responseBody: '<html>' }, { message: '<html>', status: 502 }],
    [
      'nobody',
      { statusCode: 413, responseBody: '', message: 'Payload Too Large' },
      { emptyBody: true, status: 413 },
    ],
    [
      'a broken socket',
      new TypeError('fetch failed', { cause: Object.assign(new Error('x'), { code: 'ECONNRESET' }) }),
      { broken: true },
    ],
    [
      'a body that stopped',
      { statusCode: 200, message: 'Failed', cause: new TypeError('terminated') },
      { broken: true, status: undefined },
    ],
    [
      'a missing name',
      new TypeError('fetch failed', { cause: Object.assign(new Error('x'), { code: 'ENOTFOUND' }) }),
      { broken: false },
    ],
    ['something odd', 'a string', { message: 'a string', broken: false }],
    ['nothing', undefined, { message: 'undefined' }],
  ])('of %s', (_who, error, expected) => {
    expect(readFailure(error)).toMatchObject(expected);
  });
});
