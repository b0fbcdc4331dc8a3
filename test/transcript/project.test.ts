import { describe, expect, test } from 'vitest';
import { type JsonObject, project, rebuildHistory, SUMMARY_CARRIERS } from '../../src/exports/transcript.ts';
import { validateAnthropicMessages } from '../../testing/index.ts';
import { call, EntryList } from '../support/engine/entries.ts';
import { gifBase64, jpegBase64, pngBase64, webpBase64 } from '../support/engine/images.ts';
import { REQUEST_KINDS, request } from '../support/engine/requests.ts';

function history(build: (list: EntryList) => void): EntryList {
  const list = new EntryList();
  build(list);
  return list;
}

/** The Anthropic messages, after every provider has accepted the history. */
function messages(list: EntryList): unknown[] {
  for (const kind of REQUEST_KINDS) expect(kind.validate(request(list.entries, kind)), kind.name).toEqual([]);
  return rebuildHistory(list.entries, { format: 'anthropic' });
}

const notes = (list: EntryList): unknown => project(list.entries, { target: { family: 'anthropic' } }).notes;

describe('T42 a crash between a call and its result', () => {
  test('resumes with one synthetic error result', () => {
    const list = history((list) => {
      list.user('go');
      list.assistant(['on it', call('a')], { stopReason: 'toolUse' });
    });
    expect(messages(list)).toMatchObject([
      {},
      {},
      { role: 'user', content: [{ type: 'tool_result', tool_use_id: 'a', is_error: true }] },
    ]);
    expect(notes(list)).toMatchObject({ syntheticResults: 1 });
  });

  test('the results that did arrive stay, in call order, and the next message follows them', () => {
    const list = history((list) => {
      list.user('go');
      list.assistant([call('a'), call('b'), call('c')]);
      list.result('c', 'third');
      list.result('a', 'first');
      list.user('and?');
    });
    expect(messages(list)).toMatchObject([
      {},
      {},
      {
        content: [
          { tool_use_id: 'a', content: 'first' },
          { tool_use_id: 'b', is_error: true },
          { tool_use_id: 'c', content: 'third' },
          { text: 'and?' },
        ],
      },
    ]);
  });
});

describe('T43 a stream aborted in the middle of tool arguments', () => {
  test.each([
    ['text that is not complete JSON', { type: 'toolCall', id: 'a', name: 'ls', arguments: '{"pa' }],
    ['no arguments at all', { type: 'toolCall', id: 'a', name: 'ls' }],
    [
      'a marked remainder',
      { type: 'toolCall', id: 'a', name: 'ls', arguments: { pa: 1 }, partialJson: '{"pa": 1, "x' },
    ],
    ['an object nobody can vouch for', { type: 'toolCall', id: 'a', name: 'ls', arguments: {} }],
  ])('leaves neither the call nor a result: %s', (_what, block) => {
    const list = history((list) => {
      list.user('go');
      list.assistant(['let me look ', block], { stopReason: 'aborted' });
      if (!('arguments' in block) || typeof block.arguments !== 'object') list.result('a', 'never');
      list.user('stop');
    });
    expect(messages(list)).toEqual([
      { role: 'user', content: 'go' },
      {
        role: 'assistant',
        content: [
          { type: 'text', text: 'let me look' },
          { type: 'text', text: '[interrupted]' },
        ],
      },
      { role: 'user', content: 'stop' },
    ]);
  });

  test('a call that has its result ran, so it stays', () => {
    const list = history((list) => {
      list.user('go');
      list.assistant([call('a')], { stopReason: 'aborted' });
      list.result('a', 'done');
    });
    expect(messages(list)).toMatchObject([
      {},
      { content: [{ id: 'a' }] },
      { content: [{ content: 'done' }] },
    ]);
  });

  test('a turn of which nothing is left vanishes and the unanswered question is asked again', () => {
    const list = history((list) => {
      list.user('first');
      list.assistant([{ type: 'toolCall', id: 'a', name: 'ls' }], { stopReason: 'error' });
      list.user('second');
    });
    expect(messages(list)).toEqual([{ role: 'user', content: 'first\n\nsecond' }]);
  });
});

describe('T44 histories no provider would take', () => {
  test('an orphan result leaves the projection', () => {
    const list = history((list) => {
      list.user('go');
      list.result('nobody', 'lost');
      list.assistant(['fine']);
    });
    expect(JSON.stringify(messages(list))).not.toContain('lost');
    expect(notes(list)).toMatchObject({ orphanResults: 1 });
  });

  test('a result that comes after the round was closed cannot rewrite the past', () => {
    const list = history((list) => {
      list.user('go');
      list.assistant([call('a')]);
      list.user('still there?');
      list.result('a', 'late');
    });
    expect(JSON.stringify(messages(list))).not.toContain('late');
  });

  test('duplicate call ids get ids of their own, call and result together', () => {
    const list = history((list) => {
      list.user('go');
      for (const turn of ['one', 'two', 'three']) {
        list.assistant([call('call_0', 'poll', { turn })]);
        list.result('call_0', turn);
      }
    });
    const rounds = messages(list).slice(1) as { content: JsonObject[] }[];
    const ids = rounds.map(({ content }) => content[0]?.['id'] ?? content[0]?.['tool_use_id']);
    expect(ids[0]).toBe('call_0');
    expect(new Set(ids).size).toBe(3);
    for (let i = 0; i < 6; i += 2) expect(ids[i + 1]).toBe(ids[i]);
    expect(rounds.map(({ content }) => content[0]?.['content']).filter(Boolean)).toEqual([
      'one',
      'two',
      'three',
    ]);
  });

  test('two calls with one id in one message take their results in order', () => {
    const list = history((list) => {
      list.user('go');
      list.assistant([call('x'), call('x')]);
      list.result('x', 'first');
      list.result('x', 'second');
      list.result('x', 'too many');
    });
    expect(messages(list)).toMatchObject([
      {},
      {},
      { content: [{ content: 'first' }, { content: 'second' }] },
    ]);
    expect(notes(list)).toMatchObject({ duplicateResults: 1 });
  });

  test.each([
    [undefined, {}],
    [null, {}],
    ['{"path":"a"}', { path: 'a' }],
    ['not json', { value: 'not json' }],
    [[1, 2], { value: [1, 2] }],
    ['['.repeat(5000) + ']'.repeat(5000), { value: '[arguments left out: nested too deeply]' }],
  ])('missing or odd input %j becomes an object', (args, input) => {
    const list = history((list) => {
      list.user('go');
      list.assistant([
        { type: 'toolCall', id: 'a', name: 'ls', ...(args !== undefined && { arguments: args }) },
      ]);
      list.result('a', 'ok');
    });
    expect(messages(list)[1]).toMatchObject({ content: [{ type: 'tool_use', input }] });
  });

  test('empty text goes; an empty turn keeps its place; an empty result says so', () => {
    const list = history((list) => {
      list.user('');
      list.assistant([' ', call('a'), '\n']);
      list.message({ role: 'toolResult', toolCallId: 'a', toolName: 'ls', content: [], isError: false });
      list.assistant(['', 'done']);
    });
    expect(messages(list)).toEqual([
      { role: 'user', content: '(empty message)' },
      { role: 'assistant', content: [{ type: 'tool_use', id: 'a', name: 'tool', input: {} }] },
      { role: 'user', content: [{ type: 'tool_result', tool_use_id: 'a', content: '(no output)' }] },
      { role: 'assistant', content: [{ type: 'text', text: 'done' }] },
    ]);
  });

  test('users in a row are one message, an assistant alone gets a user before it', () => {
    const list = history((list) => {
      list.assistant(['I begin']);
      list.user('a');
      list.user('b');
      list.assistant(['c']);
      list.assistant(['d']);
    });
    expect(messages(list)).toMatchObject([
      { role: 'user' },
      { role: 'assistant', content: [{ text: 'I begin' }] },
      { role: 'user', content: 'a\n\nb' },
      { role: 'assistant', content: [{ text: 'c' }, { text: 'd' }] },
    ]);
  });
});

describe('J3 ids are mapped per provider', () => {
  test.each([
    ['mistral', /^[a-zA-Z0-9]{9}$/],
    ['openai', /^[a-zA-Z0-9_-]{1,40}$/],
    ['gemini', /^[a-zA-Z0-9]{1,40}$/],
    ['anthropic', /^[a-zA-Z0-9_-]{1,64}$/],
  ] as const)('%s', (family, pattern) => {
    const stored = [
      'call_1',
      'x'.repeat(80),
      'a|b',
      'a b',
      '',
      'a1b2c3d4e',
      ...Array.from({ length: 300 }, (_, i) => `toolu_${i}`),
    ];
    const list = history((list) => {
      list.user('go');
      list.assistant(stored.map((id) => call(id)));
    });
    const ids = (
      rebuildHistory(list.entries, { format: 'openai', target: { family } })[1] as {
        tool_calls: { id: string }[];
      }
    ).tool_calls.map(({ id }) => id);
    for (const id of ids) expect(id).toMatch(pattern);
    expect(new Set(ids).size).toBe(stored.length);
    expect(ids[5]).toBe('a1b2c3d4e');
  });
});

describe('J5 thinking', () => {
  const own = { api: 'anthropic-messages', provider: 'anthropic', model: 'claude-a' };
  const thinking = { type: 'thinking', thinking: ' step\u2028by step ', thinkingSignature: 'EqQBCg==' };
  const redacted = { type: 'thinking', thinking: '', thinkingSignature: 'opaque', redacted: true };
  const turn = (
    fields: JsonObject,
    blocks: readonly (string | JsonObject)[] = [thinking, redacted, 'answer'],
  ): EntryList =>
    history((list) => {
      list.user('go');
      list.assistant(blocks, fields);
    });
  const content = (list: EntryList, target = { provider: 'anthropic', model: 'claude-a' }): unknown =>
    rebuildHistory(list.entries, { format: 'anthropic', target })[1]?.content;

  test('stays byte for byte for the model that made it', () => {
    expect(content(turn(own))).toEqual([
      { type: 'thinking', thinking: ' step\u2028by step ', signature: 'EqQBCg==' },
      { type: 'redacted_thinking', data: 'opaque' },
      { type: 'text', text: 'answer' },
    ]);
  });

  test('is dropped for another model, another provider, another API, and where the message was changed', () => {
    const answer = [{ type: 'text', text: 'answer' }];
    expect(content(turn({ ...own, model: 'claude-b' }))).toEqual(answer);
    expect(content(turn({ ...own, provider: 'bedrock' }))).toEqual(answer);
    expect(content(turn({ ...own, api: 'openai-responses' }))).toEqual(answer);
    expect(
      content(turn({ ...own, stopReason: 'aborted' }, [thinking, 'answer', { type: 'toolCall', id: 'a' }])),
    ).toMatchObject([{ text: 'answer' }, { text: '[interrupted]' }]);
  });

  test('never ends a message, and never goes unsigned', () => {
    expect(content(turn(own, ['answer', thinking]))).toEqual([{ type: 'text', text: 'answer' }]);
    expect(content(turn(own, [{ type: 'thinking', thinking: 'x' }, 'answer']))).toEqual([
      { type: 'text', text: 'answer' },
    ]);
    expect(rebuildHistory(turn(own, [thinking]).entries, { format: 'anthropic' })).toHaveLength(1);
  });

  test('without a target it is kept for the model the session stands at', () => {
    expect(rebuildHistory(turn(own).entries, { format: 'anthropic' })[1]?.content).toHaveLength(3);
  });
});

describe('T54 images', () => {
  const image = (data: string, mimeType = 'image/png'): JsonObject => ({ type: 'image', data, mimeType });

  test('25 of 2600 pixels, one of 6 MB and more than 32 MB in all still fit', () => {
    const list = history((list) => {
      list.user([image(pngBase64(100, 100, 4_600_000))]);
      list.assistant([call('a')]);
      list.message({
        role: 'toolResult',
        toolCallId: 'a',
        toolName: 'shot',
        content: Array.from({ length: 25 }, () => image(pngBase64(2600, 2600, 1_400_000))),
        isError: false,
      });
      list.user([image(pngBase64(10, 10)), { type: 'text', text: 'what is this?' }]);
    });
    const sent = messages(list);
    expect(validateAnthropicMessages(sent)).toEqual([]);
    expect(JSON.stringify(sent)).toContain('[image left out: image/png, 2600x2600;');
    expect(JSON.stringify(sent)).toContain('what is this?');
  });

  test.each([
    ['25 of 2600 pixels', 25, 2600, 20],
    ['25 of 2000 pixels', 25, 2000, 25],
    ['101 small ones', 101, 50, 100],
  ])('%s: as many as one request may hold, the earliest first', (_what, count, side, kept) => {
    const list = history((list) =>
      list.user(Array.from({ length: count }, () => image(pngBase64(side, side)))),
    );
    const [{ content }] = messages(list) as [{ content: { type: string }[] }];
    expect(content.filter(({ type }) => type === 'image')).toHaveLength(kept);
    expect(content.slice(0, kept).every(({ type }) => type === 'image')).toBe(true);
  });

  test.each([
    ['image/png', pngBase64(40, 30)],
    ['image/jpeg', jpegBase64(40, 30)],
    ['image/jpeg', jpegBase64(40, 30, 60_000)],
    ['image/gif', gifBase64(40, 30)],
    ['image/webp', webpBase64(40, 30)],
  ])('%s is measured and sent', (mimeType, data) => {
    const list = history((list) => list.user([image(data, mimeType)]));
    expect(messages(list)).toEqual([
      { role: 'user', content: [{ type: 'image', source: { type: 'base64', media_type: mimeType, data } }] },
    ]);
  });

  test.each([
    ['image/png', pngBase64(9000, 1)],
    ['image/png', 'AAAA'],
    ['image/png', 'no base64'],
    ['image/bmp', pngBase64(1, 1)],
    ['image/jpeg', pngBase64(1, 1)],
    ['', ''],
  ])('%s that would be refused is named instead of sent', (mimeType, data) => {
    const list = history((list) => list.user([image(data, mimeType), { type: 'text', text: 'look' }]));
    expect(messages(list)).toEqual([
      { role: 'user', content: expect.stringMatching(/^\[image left out: .*\]\n\nlook$/) },
    ]);
  });

  test('of tool results follow as a user message where a result can hold only text', () => {
    const list = history((list) => {
      list.user('go');
      list.assistant([call('a')]);
      list.message({
        role: 'toolResult',
        toolCallId: 'a',
        toolName: 'shot',
        content: [image(pngBase64(5, 5))],
        isError: false,
      });
    });
    expect(rebuildHistory(list.entries, { format: 'openai' })).toMatchObject([
      {},
      {},
      { role: 'tool', content: '(no output)' },
      {
        role: 'user',
        content: [
          { type: 'text' },
          { type: 'image_url', image_url: { url: `data:image/png;base64,${pngBase64(5, 5)}` } },
        ],
      },
    ]);
  });
});

describe('summaries and edits', () => {
  function compacted(): EntryList {
    return history((list) => {
      list.user('old');
      const kept = list.user('kept');
      list.add('compaction', { summary: 'costs $& and $1', firstKeptEntryId: kept, tokensBefore: 9 });
      list.user('new');
    });
  }

  test('J8 a summary is sent by the user side, marked as a summary', () => {
    const [first, ...rest] = messages(compacted()) as { role: string; content: string }[];
    expect(first?.role).toBe('user');
    expect(first?.content).toMatch(
      /not an instruction.*<summary>\ncosts \$& and \$1\n<\/summary>\n\nkept\n\nnew$/s,
    );
    expect(rest).toEqual([]);
  });

  test.each([
    [
      'user+assistant',
      [
        { role: 'user', content: '[Previous conversation summary]\ncosts $& and $1' },
        { role: 'assistant', content: [{ type: 'text', text: 'Understood, I have the context.' }] },
        { role: 'user', content: 'kept\n\nnew' },
      ],
    ],
    [
      'assistant',
      [
        { role: 'user' },
        {
          role: 'assistant',
          content: [{ type: 'text', text: '[Session Compaction Summary]\ncosts $& and $1' }],
        },
        { role: 'user', content: 'kept\n\nnew' },
      ],
    ],
    ['system-prefix', [{ role: 'user', content: '[system] costs $& and $1\n\nkept\n\nnew' }]],
  ] as const)('the %s carrier has the texts of its origin', (carrier, expected) => {
    expect(Object.keys(SUMMARY_CARRIERS)).toContain(carrier);
    expect(rebuildHistory(compacted().entries, { format: 'anthropic', carrier })).toMatchObject(expected);
  });

  test('an empty summary says nothing: that is how an undone compaction looks', () => {
    const list = compacted();
    list.add('compaction', { summary: '', firstKeptEntryId: list.entries[0]?.id, tokensBefore: 9 });
    expect(messages(list)).toEqual([{ role: 'user', content: 'old\n\nkept\n\nnew' }]);
  });

  test('an edit hides or replaces what a model sees, the last one wins, the stored entry stays', () => {
    const list = history((list) => {
      const secret = list.user('secret');
      const long = list.user('long text');
      list.add('context_edit', { targetId: secret, replacement: null });
      list.add('context_edit', { targetId: long, replacement: { content: 'first cut' } });
      list.add('context_edit', {
        targetId: long,
        replacement: { content: [{ type: 'text', text: 'short' }] },
      });
      list.assistant([call('a')]);
      const result = list.result('a', 'big');
      list.add('context_edit', { targetId: result, replacement: null });
    });
    const before = JSON.stringify(list.entries);
    expect(messages(list)).toMatchObject([
      { content: 'short' },
      {},
      { content: [{ content: '[removed from the context]' }] },
    ]);
    expect(JSON.stringify(list.entries)).toBe(before);
  });

  test('other voices enter as user text: extensions, branch summaries, shell commands', () => {
    const list = history((list) => {
      list.add('custom_message', { customType: 'x', content: 'from an extension', display: false });
      list.add('branch_summary', { fromId: 'x', summary: 'we tried A' });
      list.add('branch_summary', { fromId: 'x', summary: '' });
      list.message({ role: 'bashExecution', command: 'ls', output: 'a.txt', exitCode: 2 });
      list.message({ role: 'bashExecution', command: 'hidden', output: '', excludeFromContext: true });
      list.add('custom', { customType: 'extension', data: 'not seen' });
    });
    const [only] = messages(list) as { content: string }[];
    expect(only?.content).toMatch(/^from an extension\n\n.*we tried A.*\$ ls\na\.txt\n\(exit code 2\)$/s);
    expect(only?.content).not.toMatch(/hidden|not seen/);
  });
});

describe('size alone is no attack', () => {
  test('ten thousand turns in one conversation need no recursion', () => {
    const list = history((list) => {
      for (let i = 0; i < 10_000; i++) {
        list.user(`q${i}`);
        list.assistant([`a${i}`]);
      }
    });
    expect(rebuildHistory(list.entries, { format: 'anthropic' })).toHaveLength(20_000);
  });

  test('150,000 calls with one id in one message, and their results, take linear time', () => {
    const list = history((list) => {
      list.user('go');
      list.assistant(Array.from({ length: 150_000 }, () => call('x')));
      for (let i = 0; i < 150_000; i++) list.result('x', `r${i}`);
    });
    const [, assistant, user] = rebuildHistory(list.entries, { format: 'anthropic' }) as {
      content: JsonObject[];
    }[];
    expect(new Set(assistant?.content.map(({ id }) => id)).size).toBe(150_000);
    expect(user?.content.at(-1)).toMatchObject({ content: 'r149999' });
  });

  test('150,000 users or assistants in a row are one message', () => {
    for (const add of ['user', 'assistant'] as const) {
      const list = history((list) => {
        for (let i = 0; i < 150_000; i++) list[add](['x']);
      });
      expect(JSON.stringify(rebuildHistory(list.entries, { format: 'openai' })).length).toBeGreaterThan(
        150_000,
      );
    }
  });
});
