import { readFileSync } from 'node:fs';
import { describe, expect, test } from 'vitest';
import { exampleTranscripts } from '../../scripts/make-examples.ts';
import {
  type JsonObject,
  parseTranscript,
  rebuildHistory,
  selectContext,
} from '../../src/exports/transcript.ts';
import type { Entry } from '../../src/index.ts';
import { validateAnthropicMessages } from '../../testing/index.ts';

function lines(...records: readonly JsonObject[]): string {
  return records.map((record) => `${JSON.stringify(record)}\n`).join('');
}

function anthropic(content: string): unknown {
  const messages = rebuildHistory(parseTranscript(content).entries, { format: 'anthropic' });
  expect(validateAnthropicMessages(messages)).toEqual([]);
  return messages;
}

function contextTexts(entries: readonly Entry[]): unknown[] {
  return selectContext(entries).entries.map((entry) => (entry['message'] as { content: unknown }).content);
}

const EXAMPLES = exampleTranscripts();

describe('S1 one turn with two tool calls', () => {
  const expected = [
    { role: 'user', content: 'Compare config.json with its backup.' },
    {
      role: 'assistant',
      content: [
        { type: 'text', text: 'I will read both files.' },
        { type: 'tool_use', id: 'toolu_01', name: 'read_file', input: { path: 'config.json' } },
        { type: 'tool_use', id: 'toolu_02', name: 'read_file', input: { path: 'config.bak.json' } },
      ],
    },
    {
      role: 'user',
      content: [
        { type: 'tool_result', tool_use_id: 'toolu_01', content: '{"retries": 3}' },
        { type: 'tool_result', tool_use_id: 'toolu_02', content: '{"retries": 5}' },
      ],
    },
    {
      role: 'assistant',
      content: [
        {
          type: 'text',
          text: 'They differ in one value: "retries" is 3 in config.json and 5 in the backup.',
        },
      ],
    },
  ];

  test.each(['reprise', 'pi-v1', 'claw0', 'claw0-classic', 'zyhive'])(
    'is four API messages, read from %s',
    (name) => {
      expect(anthropic(EXAMPLES.get(`${name}.jsonl`) ?? '')).toEqual(expected);
    },
  );

  test('is what was asked and answered, read from ZeroClaw, which stores no tools', () => {
    expect(anthropic(EXAMPLES.get('zeroclaw.jsonl') ?? '')).toEqual([expected[0], expected[3]]);
  });

  test.each([...EXAMPLES])('%s in examples/ is what the generator writes', (name, content) => {
    expect(readFileSync(new URL(`../../examples/transcripts/${name}`, import.meta.url), 'utf8')).toBe(
      content,
    );
  });
});

describe('claw0', () => {
  const user = { type: 'user', content: 'go', ts: 1 };
  const use = (id: string, input: unknown = {}): JsonObject => ({
    type: 'tool_use',
    tool_use_id: id,
    name: 'ls',
    input,
    ts: 2,
  });
  const result = (id: string, content: unknown = `out ${id}`): JsonObject => ({
    type: 'tool_result',
    tool_use_id: id,
    content,
    ts: 3,
  });

  test('consecutive calls belong to the assistant message before them', () => {
    expect(
      anthropic(
        lines(
          user,
          { type: 'assistant', content: 'ok', ts: 2 },
          use('a'),
          use('b'),
          result('b'),
          result('a'),
        ),
      ),
    ).toMatchObject([
      { role: 'user' },
      {
        role: 'assistant',
        content: [{ type: 'text' }, { type: 'tool_use', id: 'a' }, { type: 'tool_use', id: 'b' }],
      },
      {
        role: 'user',
        content: [
          { tool_use_id: 'a', content: 'out a' },
          { tool_use_id: 'b', content: 'out b' },
        ],
      },
    ]);
  });

  test('a call saved a second time after the first result is still one call', () => {
    const blocks = [
      { type: 'tool_use', id: 'a', name: 'ls', input: {} },
      { type: 'tool_use', id: 'b', name: 'ls', input: {} },
    ];
    const history = lines(
      user,
      { type: 'assistant', content: blocks, ts: 2 },
      use('a'),
      result('a'),
      use('b'),
      result('b'),
    );
    expect(anthropic(history)).toMatchObject([
      {},
      { content: [{ id: 'a' }, { id: 'b' }] },
      { content: [{ tool_use_id: 'a' }, { tool_use_id: 'b' }] },
    ]);
  });

  test('the same id with other arguments is another call', () => {
    const messages = anthropic(
      lines(user, use('a'), result('a', 'first'), use('a', { path: '/' }), result('a', 'second')),
    );
    expect(JSON.stringify(messages)).toMatch(/first.*second/);
    expect(messages).toHaveLength(5);
  });

  test('polling with one id and the same arguments in later turns loses no result', () => {
    const poll = [{ type: 'assistant', content: 'again', ts: 2 }, use('a'), result('a', 'tick')];
    expect(JSON.stringify(anthropic(lines(user, ...poll, ...poll, ...poll))).match(/tick/g)).toHaveLength(3);
  });

  test('classic: results that precede their call, and even the user, find it', () => {
    const history = lines(
      { type: 'session', id: 'x', key: 'main:cli:user', created: '2025-01-01T00:00:00Z' },
      { type: 'user', content: 'one', ts: '2025-01-01T00:00:01Z' },
      { type: 'assistant', content: 'done one', ts: '2025-01-01T00:00:01Z' },
      { type: 'tool_result', tool_use_id: 't1', output: 'r1', ts: '2025-01-01T00:00:02Z' },
      { type: 'user', content: 'two', ts: '2025-01-01T00:00:02Z' },
      { type: 'tool_use', tool_use_id: 't1', name: 'ls', input: {}, ts: '2025-01-01T00:00:02Z' },
      { type: 'assistant', content: 'done two', ts: '2025-01-01T00:00:02Z' },
    );
    expect(anthropic(history)).toMatchObject([
      { content: 'one' },
      { content: [{ text: 'done one' }] },
      { content: 'two' },
      { content: [{ type: 'tool_use', id: 't1' }] },
      { content: [{ tool_use_id: 't1', content: 'r1' }] },
      { content: [{ text: 'done two' }] },
    ]);
  });

  test('a result is not given to a call of a much later turn that happens to have its id', () => {
    const history = lines(
      result('a', 'stray'),
      user,
      { type: 'assistant', content: 'x', ts: 2 },
      user,
      use('a'),
    );
    expect(JSON.stringify(anthropic(history))).not.toContain('stray');
  });
});

describe('ZyHive', () => {
  const say = (role: string, content: unknown): JsonObject => ({
    type: 'message',
    message: { role, content },
    timestamp: 1708300001000,
  });
  const header = { type: 'session', version: 3, agentId: 'xiuliu', createdAt: 1708300000000 };

  test('keeps from the message that msg-<n> counts to', () => {
    const messages = Array.from({ length: 6 }, (_, i) =>
      say(i % 2 === 0 ? 'user' : 'assistant', `m${i + 1}`),
    );
    const compaction = {
      type: 'compaction',
      summary: '前文',
      firstKeptEntryId: 'msg-5',
      tokensBefore: 80000,
      tokensAfter: 5000,
      timestamp: 1708300100000,
    };
    const { entries } = parseTranscript(lines(header, ...messages, compaction, say('user', 'm7')));
    expect(contextTexts(entries)).toEqual(['m5', 'm6', 'm7']);
    expect(selectContext(entries).compaction?.['summary']).toBe('前文');
  });

  test('results inside a user message become results, before its text', () => {
    const history = lines(
      header,
      say('user', 'go'),
      say('assistant', [{ type: 'tool_use', id: 'a', name: 'ls', input: {} }]),
      say('user', [
        { type: 'text', text: 'and then?' },
        { type: 'tool_result', tool_use_id: 'a', content: [{ type: 'text', text: 'files' }], is_error: true },
      ]),
    );
    expect(anthropic(history)).toMatchObject([
      {},
      {},
      {
        content: [
          { type: 'tool_result', content: 'files', is_error: true },
          { type: 'text', text: 'and then?' },
        ],
      },
    ]);
  });

  test('times in milliseconds are read as such', () => {
    const { entries } = parseTranscript(lines(header, say('user', 'x')));
    expect(entries[0]?.timestamp).toBe('2024-02-18T23:46:41.000Z');
  });
});

describe('pi', () => {
  const message = (role: string, content: unknown, extra: JsonObject = {}): JsonObject => ({
    type: 'message',
    timestamp: '2025-01-01T00:00:00.000Z',
    message: { role, content },
    ...extra,
  });

  test('v1: firstKeptEntryIndex counts lines, the header being 0', () => {
    const { entries, dialects } = parseTranscript(
      lines(
        { type: 'session', id: 'x', timestamp: '2025-01-01T00:00:00.000Z', cwd: '/x' },
        message('user', 'one'),
        message('assistant', 'two'),
        message('user', 'three'),
        {
          type: 'compaction',
          timestamp: '2025-01-01T00:00:00.000Z',
          summary: 'S',
          firstKeptEntryIndex: 3,
          tokensBefore: 9,
        },
        message('user', 'four'),
      ),
    );
    expect([...dialects]).toEqual([['pi-v1', 5]]);
    expect(contextTexts(entries)).toEqual(['three', 'four']);
  });

  test('v2: a hook message speaks as a custom message', () => {
    const { entries, dialects } = parseTranscript(
      lines(
        { type: 'session', version: 2, id: 'x' },
        message('hookMessage', 'from a hook', { id: 'a1', parentId: null }),
      ),
    );
    expect([...dialects]).toEqual([['pi-v2', 1]]);
    expect(entries[0]?.['message']).toMatchObject({ role: 'custom' });
    expect(rebuildHistory(entries, { format: 'openai' })).toEqual([{ role: 'user', content: 'from a hook' }]);
  });

  test('a recorded system prompt is reported beside the messages, never inside them', () => {
    const { entries } = parseTranscript(
      lines(
        { type: 'session', version: 3, id: 'x' },
        message('system', 'Be brief.', { id: 'a', parentId: null }),
        message('user', 'hi', { id: 'b', parentId: 'a' }),
      ),
    );
    expect(rebuildHistory(entries, { format: 'openai' })).toEqual([{ role: 'user', content: 'hi' }]);
  });
});

describe('ZeroClaw', () => {
  const row = (id: number, role: string, content: string): JsonObject => ({
    id,
    session_id: 's',
    role,
    content,
    created_at: '2025-01-01 00:00:00',
  });

  test('a summary row is a compaction that keeps the last exchange', () => {
    const { entries } = parseTranscript(
      lines(
        row(1, 'user', 'a'),
        row(2, 'assistant', 'b'),
        row(3, 'user', 'c'),
        row(4, 'assistant', 'd'),
        { session_id: 's', key: 'compaction_after_message_id', value: '4' },
        row(5, 'assistant', '[Session Compaction Summary]\nearlier: a and b'),
        row(6, 'user', 'e'),
      ),
    );
    expect(selectContext(entries).compaction?.['summary']).toBe('earlier: a and b');
    expect(contextTexts(entries)).toEqual(['c', 'd', 'e']);
  });
});

test('a file may change its dialect from line to line', () => {
  const { entries, dialects } = parseTranscript(
    lines(
      { type: 'user', content: 'from claw0', ts: 1708300000 },
      { role: 'assistant', content: 'from ZeroClaw' },
      { type: 'message', message: { role: 'user', content: 'from ZyHive' }, timestamp: 1708300001000 },
      {
        type: 'message',
        id: 'x',
        parentId: null,
        timestamp: '2025-01-01T00:00:00.000Z',
        message: { role: 'user', content: 'a new root' },
      },
      { type: 'unheard_of', payload: 1 },
      { type: 'user', content: 'again', ts: '2025-01-01T00:00:00Z' },
    ),
  );
  expect(Object.fromEntries(dialects)).toEqual({
    claw0: 1,
    zeroclaw: 1,
    zyhive: 1,
    v3: 1,
    'pi-v1': 1,
    'claw0-classic': 1,
  });
  expect(rebuildHistory(entries, { format: 'openai' })).toEqual([
    { role: 'user', content: 'a new root\n\nagain' },
  ]);
});

test('ids made up for a file without ids are the same every time and unique', () => {
  const content = lines(
    ...Array.from({ length: 500 }, (_, i) => ({ type: 'user', content: `m${i}`, ts: i })),
  );
  const ids = parseTranscript(content).entries.map(({ id }) => id);
  expect(new Set(ids).size).toBe(500);
  expect(parseTranscript(content).entries.map(({ id }) => id)).toEqual(ids);
});

test('size alone is no attack: many results before many calls, and many results in one message', () => {
  const results = Array.from({ length: 50_000 }, (_, i) => ({
    type: 'tool_result',
    tool_use_id: `t${i}`,
    content: 'r',
    ts: 1,
  }));
  const answers = Array.from({ length: 50_000 }, (_, i) => ({ type: 'assistant', content: `a${i}`, ts: 1 }));
  expect(parseTranscript(lines(...results, ...answers)).entries).toHaveLength(100_000);
  const blocks = Array.from({ length: 100_000 }, (_, i) => ({
    type: 'tool_result',
    tool_use_id: `t${i}`,
    content: 'r',
  }));
  const many = { type: 'message', message: { role: 'user', content: blocks }, timestamp: 1708300001000 };
  expect(new Set(parseTranscript(lines(many)).entries.map(({ id }) => id)).size).toBe(100_000);
});
