// @module-tag scaled
import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { parseTranscript } from '../../src/exports/transcript.ts';
import { createModel, type Entry, type Model, RepriseError } from '../../src/index.ts';
import {
  openAnthropicServer,
  openOpenAiServer,
  validateLocalTemplate,
  validateMistral,
  type WireAnswer,
  type WireServer,
} from '../../testing/index.ts';
import { call, EntryList } from '../support/engine/entries.ts';
import { histories, historyBytes } from '../support/engine/histories.ts';
import { pngBase64 } from '../support/engine/images.ts';
import { READ_FILE, requestFor, run } from '../support/engine/models.ts';

const RUNS = Number(process.env['REPRISE_HISTORY_RUNS'] ?? process.env['REPRISE_PROPERTY_RUNS'] ?? 40);
const SEED = Number(process.env['REPRISE_PROPERTY_SEED'] ?? 20250101);
const OK: WireAnswer = { blocks: [{ type: 'text', text: 'ok' }] };

const KINDS: [name: string, open: () => Promise<WireServer>, make: (baseURL: string) => Promise<Model>][] = [
  [
    'Anthropic',
    () => openAnthropicServer(),
    (baseURL) => createModel('anthropic:claude-a', { apiKey: 'k', baseURL }),
  ],
  [
    'Anthropic with a budget for thinking',
    () => openAnthropicServer(),
    (baseURL) => createModel('anthropic:claude-3-7-sonnet-20250219', { apiKey: 'k', baseURL }),
  ],
  ['OpenAI', () => openOpenAiServer(), (baseURL) => createModel('openai:gpt-a', { apiKey: 'k', baseURL })],
  [
    'a local template',
    () => openOpenAiServer({ validate: validateLocalTemplate }),
    (baseURL) => createModel('openai-compatible:m', { baseURL }),
  ],
  [
    'Mistral',
    () => openOpenAiServer({ validate: validateMistral }),
    (baseURL) => createModel('openai-compatible:m', { baseURL, family: 'mistral' }),
  ],
];

function read(bytes: Buffer): readonly Entry[] {
  try {
    return parseTranscript(bytes).entries;
  } catch (error) {
    // A file in which nothing is a record is refused by its code; anything else is a crash.
    if (error instanceof RepriseError && error.code === 'INVALID_INPUT') return [];
    throw error;
  }
}

describe.each(KINDS)('%s', (_name, open, make) => {
  test('takes the request of any stored history, over the wire', async () => {
    await using server = await open();
    const model = await make(server.url);
    await fc.assert(
      fc.asyncProperty(
        histories,
        fc.constantFrom(undefined, 'low' as const),
        async (history, thinkingLevel) => {
          const list = new EntryList();
          list.entries.push(...read(historyBytes(history)));
          list.user('Please go on.');
          server.push(OK);
          const request = { ...requestFor(model, list.entries), system: 'Be brief.', tools: [READ_FILE] };
          const { error } = await run(model, { ...request, ...(thinkingLevel && { thinkingLevel }) });
          expect(error).toBeUndefined();
        },
      ),
      { numRuns: RUNS, seed: SEED, endOnFailure: true },
    );
    expect(server.refused).toEqual([]);
  });

  test('T42 takes a history that lost a result, with one that says so', async () => {
    await using server = await open();
    const model = await make(server.url);
    const list = new EntryList();
    list.user('read two files');
    list.assistant([call('c1', 'read_file'), call('c2', 'read_file')], { stopReason: 'toolUse' });
    list.result('c1', 'one');
    server.push(OK);
    const { error } = await run(model, requestFor(model, list.entries));
    expect([error, server.refused]).toEqual([undefined, []]);
    expect(
      JSON.stringify(server.requests[0]?.body).match(/no result of this call was recorded/g),
    ).toHaveLength(1);
  });

  test('T54 takes what fits of 25 large images, one of 6 MB and more than 32 MB together', async () => {
    await using server = await open();
    const model = await make(server.url);
    const list = new EntryList();
    const image = (data: string): object => ({ type: 'image', data, mimeType: 'image/png' });
    for (let i = 0; i < 25; i++) {
      list.user([{ type: 'text', text: `picture ${i}` }, image(pngBase64(2600, 2600, 1_200_000))]);
      list.assistant(['seen']);
    }
    list.user([image(pngBase64(100, 100, 6_000_000))]);
    list.user('what did you see?');
    server.push(OK, OK);
    const first = await run(model, requestFor(model, list.entries));
    expect([first.error, server.refused]).toEqual([undefined, []]);
    list.message({ ...first.finish?.message });
    list.user('and now?');
    expect((await run(model, requestFor(model, list.entries))).error).toBeUndefined();
  });
});

describe('a server refuses what its provider would', () => {
  const text = (role: string, content: unknown): object => ({ role, content });
  const hi = text('user', 'hi');
  const tool = { name: 't', input_schema: { type: 'object' } };
  const mark = { cache_control: { type: 'ephemeral' } };
  const block = (n: number): object => ({ type: 'text', text: `t${n}`, ...mark });

  const post = async (
    url: string,
    body: object,
    headers: Record<string, string> = {},
  ): Promise<[number, { error: { type: string; message: string; code?: string } }]> => {
    const response = await fetch(url, { method: 'POST', headers, body: JSON.stringify(body) });
    return [response.status, response.status === 200 ? { error: {} } : await response.json()] as never;
  };

  test.each<[string, object, number, string]>([
    ['no max_tokens', { max_tokens: undefined }, 400, 'max_tokens: Field required'],
    ['max_tokens 0', { max_tokens: 0 }, 400, 'greater than or equal to 1'],
    ['no messages', { messages: [] }, 400, 'at least one message'],
    ['an assistant first', { messages: [text('assistant', 'x'), hi] }, 400, 'first message must use'],
    ['two users in a row', { messages: [hi, hi] }, 400, 'roles must alternate'],
    [
      'a call without a result',
      { messages: [hi, text('assistant', [{ type: 'tool_use', id: 'a', name: 't', input: {} }]), hi] },
      400,
      '`tool_use` ids were found without `tool_result` blocks immediately after',
    ],
    [
      'a bad tool id',
      {
        messages: [
          hi,
          text('assistant', [{ type: 'tool_use', id: 'a.b', name: 't', input: {} }]),
          text('user', [{ type: 'tool_result', tool_use_id: 'a.b', content: 'x' }]),
        ],
      },
      400,
      'does not match',
    ],
    ['an empty system block', { system: [{ type: 'text', text: ' ' }] }, 400, 'must be non-empty'],
    ['a tool without a schema', { tools: [{ name: 't' }] }, 400, 'input_schema: Field required'],
    [
      'a schema that is no object',
      { tools: [{ ...tool, input_schema: { type: 'string' } }] },
      400,
      "'object'",
    ],
    ['a tool twice', { tools: [tool, tool] }, 400, 'Tool names must be unique'],
    ['a tool with a bad name', { tools: [{ ...tool, name: 'a b' }] }, 400, 'should match pattern'],
    [
      'five breakpoints',
      { system: [block(1), block(2)], messages: [text('user', [block(3), block(4), block(5)])] },
      400,
      'A maximum of 4 blocks with cache_control may be provided. Found 5.',
    ],
    [
      'a budget above max_tokens',
      { thinking: { type: 'enabled', budget_tokens: 2000 } },
      400,
      '`max_tokens`',
    ],
    [
      'a round of tools without thinking',
      {
        max_tokens: 9000,
        thinking: { type: 'enabled', budget_tokens: 2000 },
        messages: [
          hi,
          text('assistant', [{ type: 'tool_use', id: 'a', name: 't', input: {} }]),
          text('user', [{ type: 'tool_result', tool_use_id: 'a', content: 'x' }]),
        ],
      },
      400,
      'Expected `thinking` or `redacted_thinking`, but found `tool_use`',
    ],
    ['33 MB', { messages: [text('user', 'x'.repeat(33_000_000))] }, 413, 'exceeds the maximum size'],
    [
      'an image nobody can read',
      {
        messages: [
          text('user', [
            { type: 'image', source: { type: 'base64', media_type: 'image/png', data: 'AAAA' } },
          ]),
        ],
      },
      400,
      'Could not process image',
    ],
    [
      'thinking it never signed',
      {
        messages: [
          hi,
          text('assistant', [
            { type: 'thinking', thinking: 'x', signature: 's' },
            { type: 'text', text: 'y' },
          ]),
          hi,
        ],
      },
      400,
      'Invalid `signature`',
    ],
  ])('Anthropic: %s', async (_what, change, status, message) => {
    await using server = await openAnthropicServer({ script: [OK], ownThinking: true });
    const body = { model: 'm', max_tokens: 100, stream: true, messages: [hi], ...change };
    const headers = { 'x-api-key': 'k', 'anthropic-version': '2023-06-01' };
    const [got, { error }] = await post(`${server.url}/messages`, body, headers);
    expect([got, error.message]).toEqual([status, expect.stringContaining(message)]);
    expect([server.requests.length, server.waiting, server.refused.length]).toEqual([0, 1, 1]);
  });

  test.each<[string, object, string]>([
    [
      'an orphan result',
      { messages: [hi, { role: 'tool', tool_call_id: 'a', content: 'x' }] },
      "role 'tool'",
    ],
    [
      'a call without a result',
      {
        messages: [
          hi,
          {
            role: 'assistant',
            content: null,
            tool_calls: [{ id: 'a', type: 'function', function: { name: 't', arguments: '{}' } }],
          },
          hi,
        ],
      },
      "must be followed by tool messages responding to each 'tool_call_id'",
    ],
    [
      'an id of 41 characters',
      {
        messages: [
          hi,
          {
            role: 'assistant',
            content: null,
            tool_calls: [{ id: 'a'.repeat(41), type: 'function', function: { name: 't', arguments: '{}' } }],
          },
          { role: 'tool', tool_call_id: 'a'.repeat(41), content: 'x' },
        ],
      },
      '1 to 40 characters',
    ],
    ['no tools in the list', { tools: [] }, 'empty array'],
    [
      'a schema that is no object',
      { tools: [{ type: 'function', function: { name: 't', parameters: {} } }] },
      'must be an object',
    ],
    [
      'a bad name',
      { tools: [{ type: 'function', function: { name: 'a b', parameters: { type: 'object' } } }] },
      'does not match pattern',
    ],
    ['max_tokens 0', { max_tokens: 0 }, 'below minimum'],
    ['max_tokens to a model that reasons', { max_tokens: 9 }, "Use 'max_completion_tokens'"],
  ])('OpenAI: %s', async (_what, change, message) => {
    await using server = await openOpenAiServer({ script: [OK], reasoning: true });
    const body = { model: 'm', stream: true, messages: [hi], ...change };
    const [status, { error }] = await post(`${server.url}/chat/completions`, body);
    expect([status, error.message]).toEqual([400, expect.stringContaining(message)]);
    expect(server.waiting).toBe(1);
  });

  test('wrong keys, models and addresses', async () => {
    await using a = await openAnthropicServer({ script: [OK], apiKey: 'right', model: 'm' });
    await using o = await openOpenAiServer({ script: [OK], apiKey: 'right', model: 'm' });
    const code = async (
      ref: string,
      server: WireServer,
      apiKey: string,
      path = '',
    ): Promise<string | undefined> =>
      (
        await run(await createModel(ref, { apiKey, baseURL: server.url + path }), {
          messages: [{ role: 'user', content: [{ type: 'text', text: 'hi' }] }],
        })
      ).error?.code;
    for (const [provider, server] of [
      ['anthropic', a],
      ['openai', o],
    ] as const) {
      expect(await code(`${provider}:m`, server, 'wrong')).toBe('MODEL_AUTH');
      expect(await code(`${provider}:other`, server, 'right')).toBe('MODEL_UNKNOWN');
      expect(await code(`${provider}:m`, server, 'right', '/nowhere')).toBe('MODEL_UNKNOWN');
      expect(await code(`${provider}:m`, server, 'right')).toBeUndefined();
      expect(await code(`${provider}:m`, server, 'right')).toBe('MODEL_FAILED');
    }
  });
});
