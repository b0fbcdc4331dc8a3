import { describe, expect, test } from 'vitest';
import { type CallFailure, findContextOverflow } from '../../src/exports/models.ts';

/** How providers say it, in bodies like theirs, with the numbers that should be read off. */
const OVERFLOWS: readonly [who: string, failure: CallFailure, numbers?: object][] = [
  [
    'Anthropic',
    {
      status: 400,
      type: 'invalid_request_error',
      message: 'prompt is too long: 213462 tokens > 200000 maximum',
    },
    { actual: 213_462, limit: 200_000 },
  ],
  ['Anthropic without numbers', { status: 400, message: 'Prompt is too long' }],
  [
    'Anthropic with the output',
    {
      status: 400,
      message:
        'input length and `max_tokens` exceed context limit: 188240 + 21333 > 200000, decrease input length',
    },
    { actual: 188_240, limit: 200_000 },
  ],
  [
    'Anthropic, bytes',
    { status: 413, type: 'request_too_large', message: 'Request exceeds the maximum size' },
  ],
  ['a stop reason as type', { type: 'model_context_window_exceeded', message: '' }],
  [
    'OpenAI by code',
    {
      status: 400,
      code: 'context_length_exceeded',
      message: 'Your input exceeds the context window of this model.',
    },
  ],
  ['OpenAI by text alone', { message: 'Your input exceeds the context window of this model.' }],
  [
    'OpenAI chat',
    {
      status: 400,
      message:
        "This model's maximum context length is 128,000 tokens. However, your messages resulted in 130,451 tokens.",
    },
    { limit: 128_000, actual: 130_451 },
  ],
  ['a compatible server', { status: 400, message: 'Error: context window exceeded' }],
  [
    'Gemini',
    {
      status: 400,
      code: 400,
      message: 'The input token count (1196265) exceeds the maximum number of tokens allowed (1048575).',
    },
    { actual: 1_196_265, limit: 1_048_575 },
  ],
  [
    'OpenRouter',
    {
      status: 400,
      message:
        "This endpoint's maximum context length is 32768 tokens. However, you requested about 40211 tokens (38163 of text input).",
    },
    { limit: 32_768, actual: 40_211 },
  ],
  [
    'Bedrock',
    { status: 400, type: 'ValidationException', message: 'Input is too long for requested model.' },
  ],
  ['Groq', { status: 400, message: 'Please reduce the length of the messages or completion.' }],
  [
    'Mistral',
    {
      status: 400,
      message:
        'Prompt contains 45211 tokens and 0 draft tokens, too large for model with 32768 maximum context length',
    },
    { limit: 32_768, actual: 45_211 },
  ],
  [
    'llama.cpp',
    {
      status: 400,
      type: 'exceed_context_size_error',
      message: 'request (9120 tokens) exceeds the available context size (8192 tokens), try increasing it',
    },
    { actual: 9120, limit: 8192 },
  ],
  [
    'llama.cpp, older',
    { status: 500, message: 'the request exceeds the available context size. try increasing it' },
  ],
  [
    'vLLM',
    {
      status: 400,
      message:
        "This model's maximum context length is 4096 tokens. However, you requested 5120 tokens in the messages.",
    },
    { limit: 4096, actual: 5120 },
  ],
  ['Ollama', { status: 400, message: 'prompt too long; exceeded max context length by 512 tokens' }],
  [
    'xAI',
    {
      status: 400,
      message: "This model's maximum prompt length is 131072 but the request contains 537812 tokens.",
    },
    { limit: 131_072, actual: 537_812 },
  ],
  [
    'Together',
    {
      status: 422,
      message: "The input (9031 tokens) is longer than the model's context length (8192 tokens).",
    },
    { limit: 8192, actual: 9031 },
  ],
  [
    'LM Studio',
    { message: 'The number of tokens to keep from the initial prompt is greater than the context length.' },
  ],
  [
    'Copilot',
    { status: 400, message: 'prompt token count of 135201 exceeds the limit of 128000' },
    { actual: 135_201, limit: 128_000 },
  ],
  ['Copilot, shorter', { status: 400, message: 'input exceeds the limit of 64000' }, { limit: 64_000 }],
  ['MiniMax', { status: 400, message: 'invalid params, context window exceeds limit (2013)' }, {}],
  [
    'Kimi',
    { status: 400, message: 'Invalid request: Your request exceeded model token limit: 131072' },
    { limit: 131_072 },
  ],
  ['DashScope', { status: 400, message: 'Range of input length should be [1, 30720]' }, { limit: 30_720 }],
  ['Cerebras, 400', { status: 400, message: '' }],
  ['Cerebras, 413', { status: 413 }],
  ['a client that words the missing body', { status: 400, message: '400 status code (no body)' }],
  ['anyone', { status: 400, message: 'token limit exceeded' }],
  ['anyone, too many', { message: 'Too many tokens in the prompt' }],
  [
    'an error after 200',
    { status: 200, message: 'prompt is too long: 210000 tokens > 200000 maximum' },
    { actual: 210_000, limit: 200_000 },
  ],
];

const OTHERS: readonly [what: string, failure: CallFailure][] = [
  ['any 429', { status: 429, message: 'prompt is too long: 213462 tokens > 200000 maximum' }],
  ['a 429 with an overflow code', { status: 429, code: 'context_length_exceeded' }],
  ['a rate limit', { message: 'Rate limit reached for tokens: too many tokens' }],
  ['a rate limit by code', { status: 400, code: 'rate_limit_exceeded', message: 'too many tokens' }],
  ['too many requests', { message: 'Too Many Requests' }],
  ['Bedrock throttling', { message: 'Too many tokens, please wait before trying again.' }],
  ['Bedrock throttling by type', { status: 400, type: 'ThrottlingException', message: 'Too many tokens' }],
  [
    'tokens per minute',
    { message: 'This request would exceed your limit of 40,000 input tokens per minute; too many tokens' },
  ],
  [
    'a TPM limit',
    { message: 'Request too large for gpt on tokens per min (TPM): Limit 30000, Requested 41000' },
  ],
  ['a daily limit', { message: 'daily token limit exceeded' }],
  ['an expired token', { status: 401, message: 'token expired' }],
  ['an expired token without a status', { message: 'Your token expired, sign in again' }],
  ['the word context', { status: 400, message: 'context is required' }],
  ['the word token', { status: 400, message: 'Unexpected token < in JSON at position 0' }],
  ['both words', { status: 400, message: 'invalid context token' }],
  [
    'max_tokens out of range',
    { status: 400, message: 'max_tokens: 999999 > 8192, which is the maximum allowed' },
  ],
  ['another limit', { status: 400, message: 'The number of images exceeds the limit of 20 images' }],
  ['a size limit', { status: 400, message: 'image exceeds the limit of 5MB' }],
  ['a broken history', { status: 400, message: 'tool_use ids were found without tool_result blocks' }],
  ['overloaded', { status: 529, type: 'overloaded_error', message: 'Overloaded' }],
  ['a failing server', { status: 500, message: 'Internal server error' }],
  ['a failing server without a body', { status: 500, message: '' }],
  ['a 400 with a code of its own', { status: 400, code: 'invalid_api_version', message: '' }],
  ['nothing', {}],
];

describe('an overflow error (T50)', () => {
  test.each(OVERFLOWS)('of %s is seen', (_, failure, numbers = {}) => {
    expect(findContextOverflow(failure) !== undefined).toBe(true);
    expect(findContextOverflow(failure)).toEqual(numbers);
  });

  test.each(OTHERS)('is not seen in %s', (_, failure) => {
    expect(findContextOverflow(failure) !== undefined).toBe(false);
  });

  test('is read from the front of a message that quotes what was sent', () => {
    const quoted = `${'x'.repeat(5000)} prompt is too long: 9 tokens > 8 maximum`;
    expect(findContextOverflow({ status: 400, message: quoted })).toBeUndefined();
    const named = `prompt is too long: 210000 tokens > 200000 maximum\n${'rate limit '.repeat(5000)}`;
    expect(findContextOverflow({ status: 400, code: 'context_length_exceeded', message: named })?.limit).toBe(
      200_000,
    );
  });
});
