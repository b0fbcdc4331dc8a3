import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { estimateMessagesTokens } from '../../../src/exports/context.ts';
import type { GuardStep } from '../../../src/exports/engine.ts';
import { SUMMARY_CARRIERS } from '../../../src/exports/transcript.ts';
import { guardModelCall, RepriseError } from '../../../src/index.ts';
import {
  type Violation,
  validateAnthropicMessages,
  validateLocalTemplate,
  validateOpenAiChat,
} from '../../../testing/index.ts';
import { deepFreeze } from '../../support/engine/freeze.ts';

const RUNS = Number(process.env['REPRISE_PROPERTY_RUNS'] ?? 100);
const SEED = Number(process.env['REPRISE_PROPERTY_SEED'] ?? 20250101);

interface Round {
  readonly says: string;
  /** How long the result of each parallel call is, in words. */
  readonly results: readonly number[];
}
interface Turn {
  readonly ask: string;
  readonly rounds: readonly Round[];
  readonly answer: string;
}
interface Chat {
  readonly turns: readonly Turn[];
  readonly last: Turn;
  readonly end: 'asked' | 'results';
}
// biome-ignore lint/suspicious/noExplicitAny: messages of two APIs, judged by validators and not by types.
type Message = any;

const words = fc.integer({ min: 1, max: 60 }).map((n) => 'word '.repeat(n).trim());
const round = fc.record({
  says: fc.oneof(fc.constant(''), words),
  results: fc.array(fc.oneof(fc.integer({ min: 0, max: 50 }), fc.integer({ min: 900, max: 3000 })), {
    minLength: 1,
    maxLength: 3,
  }),
});
const turn = fc.record({ ask: words, rounds: fc.array(round, { maxLength: 4 }), answer: words });
const chats: fc.Arbitrary<Chat> = fc.record({
  turns: fc.oneof({ weight: 3, arbitrary: fc.array(turn, { maxLength: 8 }) }, fc.constant([])),
  last: fc.record({ ask: words, rounds: fc.array(round, { maxLength: 12 }), answer: words }),
  end: fc.constantFrom('asked', 'results'),
});

function anthropic({ turns, last, end }: Chat): Message[] {
  let id = 0;
  const speak = ({ ask, rounds }: Turn, mixes: boolean): Message[] => [
    { role: 'user', content: ask },
    ...rounds.flatMap(({ says, results }, i) => {
      const ids = results.map(() => `toolu_${++id}`);
      const text = says === '' ? [] : [{ type: 'text', text: says }];
      // People speak while tools run: then a result and a text share a message.
      const also = mixes && i % 2 === 1 ? [{ type: 'text', text: 'and hurry' }] : [];
      return [
        { role: 'assistant', content: [...text, ...ids.map((it) => use(it))] },
        { role: 'user', content: [...ids.map((it, j) => result(it, results[j] ?? 0)), ...also] },
      ];
    }),
  ];
  const use = (it: string): Message => ({ type: 'tool_use', id: it, name: 'read', input: { path: it } });
  const result = (tool_use_id: string, length: number): Message => ({
    type: 'tool_result',
    tool_use_id,
    content: length % 2 === 0 ? 'out '.repeat(length) : [{ type: 'text', text: 'out '.repeat(length) }],
  });
  return [
    ...turns.flatMap((it, i) => [...speak(it, i % 2 === 0), { role: 'assistant', content: it.answer }]),
    ...(end === 'asked' ? [{ role: 'user', content: last.ask }] : speak(last, true)),
  ];
}

function openai({ turns, last, end }: Chat): Message[] {
  let id = 0;
  const speak = ({ ask, rounds }: Turn): Message[] => [
    { role: 'user', content: ask },
    ...rounds.flatMap(({ says, results }) => {
      const ids = results.map(() => `call_${++id}`);
      const calls = ids.map((it) => ({
        id: it,
        type: 'function',
        function: { name: 'read', arguments: JSON.stringify({ path: it }) },
      }));
      return [
        { role: 'assistant', content: says === '' ? null : says, tool_calls: calls },
        ...ids.map((tool_call_id, j) => ({
          role: 'tool',
          tool_call_id,
          content: 'out '.repeat(results[j] ?? 0) || 'none',
        })),
      ];
    }),
  ];
  return [
    { role: 'system', content: 'STANDING ORDERS' },
    ...turns.flatMap((it) => [...speak(it), { role: 'assistant', content: it.answer }]),
    ...(end === 'asked' ? [{ role: 'user', content: last.ask }] : speak(last)),
  ];
}

const SHAPES: [string, (chat: Chat) => Message[], (messages: readonly unknown[]) => Violation[]][] = [
  ['Anthropic', anthropic, validateAnthropicMessages],
  ['OpenAI', openai, validateOpenAiChat],
  ['a local template', openai, validateLocalTemplate],
];

/** As each client throws it. */
const OVERFLOWS: [string, unknown][] = [
  [
    "Anthropic's client",
    Object.assign(new Error('400 {"type":"error"}'), {
      status: 400,
      error: {
        type: 'error',
        error: {
          type: 'invalid_request_error',
          message: 'prompt is too long: 210000 tokens > 200000 maximum',
        },
      },
    }),
  ],
  [
    "OpenAI's client",
    Object.assign(new Error('400 maximum context length'), {
      status: 400,
      code: 'context_length_exceeded',
      type: 'invalid_request_error',
      error: { message: 'too long', type: 'invalid_request_error', code: 'context_length_exceeded' },
    }),
  ],
  [
    'the AI SDK',
    Object.assign(new Error('Bad Request'), {
      statusCode: 400,
      responseBody: '{"error":{"code":"context_length_exceeded","message":"x"}}',
    }),
  ],
  ['a proxy', Object.assign(new Error('413 status code (no body)'), { status: 413 })],
  ['this library', new RepriseError('CONTEXT_OVERFLOW', 'x', { details: { limit: 100, actual: 200 } })],
  ['a client that throws the body', new Error("This model's maximum context length is 4096 tokens.")],
];

const OTHERS: [string, unknown][] = [
  ['a rate limit', Object.assign(new Error('rate limit: too many tokens per minute'), { status: 429 })],
  ['a wrong key', Object.assign(new Error('401 invalid token'), { status: 401 })],
  ['an overloaded server', Object.assign(new Error('Overloaded'), { status: 529 })],
  ['a bug that says "context"', new TypeError("can't read token of context")],
  ['nothing', undefined],
];

const overflow = (): Error => new Error('prompt is too long: 210000 tokens > 200000 maximum');

describe.each(SHAPES)('a guarded call with messages for %s', (_name, render, validate) => {
  test('is tried three times at most, valid and smaller each time, and rewrites the history in place or not at all', async () => {
    const met = { first: 0, truncated: 0, compacted: 0, inside: 0, thrown: 0 };
    await fc.assert(
      fc.asyncProperty(chats, fc.integer({ min: 0, max: 3 }), async (chat, refusals) => {
        const messages = deepFreeze(render(chat)).slice();
        expect(validate(messages)).toEqual([]);
        const before = messages.slice();
        const sent: Message[][] = [];
        const steps: GuardStep[] = [];
        const done = guardModelCall({
          messages,
          onStep: (step) => steps.push(step),
          call: (given) => {
            sent.push([...given]);
            if (sent.length <= refusals) throw overflow();
            return 'fine';
          },
        });
        const outcome = await done.catch((error: unknown) => error);
        expect(sent.length).toBeLessThanOrEqual(3);
        expect(sent[0]).toEqual(before);
        for (const [i, list] of sent.entries()) {
          expect(validate(list)).toEqual([]);
          const earlier = sent[i - 1];
          if (earlier === undefined) continue;
          expect(list.length).toBeLessThanOrEqual(earlier.length);
          expect(estimateMessagesTokens(list)).toBeLessThan(estimateMessagesTokens(earlier));
          // The newest message is never changed, except that its tool results are shortened.
          expect(list.at(-1)?.role).toBe(before.at(-1)?.role);
        }
        expect(steps).toHaveLength(sent.length - 1);
        for (const { step } of steps) met[step]++;
        if (outcome === 'fine') {
          expect(messages).toEqual(sent.at(-1));
          if (sent.length === 1) met.first++;
          if (JSON.stringify(messages).includes('[The request being worked on]')) met.inside++;
        } else {
          expect(outcome).toEqual(overflow());
          expect(messages).toEqual(before);
          met.thrown++;
        }
      }),
      { numRuns: RUNS, seed: SEED },
    );
    for (const [what, count] of Object.entries(met)) expect(count, what).toBeGreaterThan(RUNS / 50);
  });

  test('keeps the newest fifth, at least four messages, and starts them with a user message', async () => {
    const turns = Array.from({ length: 10 }, (_, i) => ({
      ask: `ask ${i}`,
      rounds: [],
      answer: 'why '.repeat(99),
    }));
    const messages = render({ turns, last: { ask: 'now?', rounds: [], answer: '' }, end: 'asked' });
    const spoken = messages.filter(({ role }) => role !== 'system');
    const orders = messages.filter(({ role }) => role === 'system');
    let calls = 0;
    await guardModelCall({
      messages,
      call: () => {
        if (++calls === 1) throw overflow();
      },
      summarise: async () => 'THE GIST',
    });
    const after = messages.filter(({ role }) => role !== 'system');
    expect(after[0].content).toMatch(/^\[Previous conversation summary\]\nTHE GIST/);
    expect(after[1]).toEqual({ role: 'assistant', content: 'Understood, I have the context.' });
    expect(after.slice(2)).toEqual(spoken.slice(10));
    expect(messages.filter(({ role }) => role === 'system')).toEqual(orders);
  });
});

describe('a guarded call', () => {
  const long = (): Message[] =>
    anthropic({
      turns: Array.from({ length: 6 }, () => ({
        ask: 'q '.repeat(50),
        rounds: [],
        answer: 'a '.repeat(200),
      })),
      last: { ask: 'now?', rounds: [], answer: '' },
      end: 'asked',
    });

  test.each(OVERFLOWS)('recognizes that a request was too long from %s', async (_who, error) => {
    const messages = long();
    let calls = 0;
    const call = (): string => {
      if (++calls === 1) throw error;
      return 'fine';
    };
    expect(await guardModelCall({ messages, call })).toBe('fine');
    expect(calls).toBe(2);
    expect(messages[0].content).toContain('[Previous conversation summary]');
  });

  test.each(OTHERS)('throws %s at once, unchanged, and changes nothing', async (_what, error) => {
    const messages = long();
    let calls = 0;
    const call = (): never => {
      calls++;
      throw error;
    };
    const thrown = await guardModelCall({ messages, call }).then(
      () => 'no',
      (reason: unknown) => reason,
    );
    expect(thrown).toBe(error);
    expect(calls).toBe(1);
    expect(messages).toEqual(long());
  });

  test('shortens a large result with a notice before it summarizes anything', async () => {
    const turns = [{ ask: 'read it', rounds: [{ says: '', results: [20_000] }], answer: 'done' }];
    const messages = anthropic({ turns, last: { ask: 'and?', rounds: [], answer: '' }, end: 'asked' });
    const original = structuredClone(messages);
    const steps: GuardStep[] = [];
    let calls = 0;
    await guardModelCall({
      messages,
      onStep: (step) => steps.push(step),
      call: () => {
        if (++calls === 1) throw overflow();
      },
    });
    expect(steps.map(({ step }) => step)).toEqual(['truncated']);
    expect(messages[2].content[0].content).toMatch(/\[\.\.\. [\d,]+ characters left out \.\.\.\]/);
    expect([...messages.slice(0, 2), ...messages.slice(3)]).toEqual([
      ...original.slice(0, 2),
      ...original.slice(3),
    ]);
  });

  test.each([
    ['fails', async () => Promise.reject(new Error('no'))],
    ['says nothing', async () => ''],
    ['rambles', async () => 'blah '.repeat(1_000_000)],
  ])('needs no summariser: one that %s is replaced by a digest', async (_what, summarise) => {
    const messages = long();
    let calls = 0;
    const call = (): void => {
      if (++calls === 1) throw overflow();
    };
    await guardModelCall({ messages, call, summarise });
    expect(messages[0].content).toContain('Digest of the conversation');
  });

  test('carries an earlier summary forward, once', async () => {
    const messages = long();
    const asked: string[] = [];
    for (let i = 1; i <= 3; i++) {
      let calls = 0;
      await guardModelCall({
        messages,
        call: () => {
          if (++calls === 1) throw overflow();
        },
        summarise: async ({ prompt }) => {
          asked.push(prompt);
          return `GIST ${i}`;
        },
      });
      messages.push({ role: 'assistant', content: 'a '.repeat(300) }, { role: 'user', content: 'go on' });
      messages.push({ role: 'assistant', content: 'b '.repeat(300) }, { role: 'user', content: 'go on' });
    }
    expect(asked[1]).toContain('GIST 1');
    expect(asked[2]).toContain('GIST 2');
    expect(asked[2]).not.toContain('Understood, I have the context.');
    const [{ text: carried = '' } = {}] = SUMMARY_CARRIERS['user+assistant'];
    const [heading = ''] = carried.split('{');
    expect(JSON.stringify(messages).split(JSON.stringify(heading).slice(1, -1))).toHaveLength(2);
  });

  test('keeps the present task word for word if the history is one long turn', async () => {
    const ask = `Fix the leak in pump-7 ${'carefully '.repeat(60)}by Friday.`;
    const rounds = Array.from({ length: 30 }, () => ({ says: 'looking', results: [100] }));
    const messages = anthropic({ turns: [], last: { ask, rounds, answer: '' }, end: 'results' });
    for (let overflows = 0; overflows < 2; overflows++) {
      let calls = 0;
      const call = (): void => {
        if (++calls === 1) throw overflow();
      };
      await guardModelCall({ messages, call });
      expect(validateAnthropicMessages(messages)).toEqual([]);
      expect(messages[0].content.split(ask)).toHaveLength(2);
    }
    expect(messages.length).toBeLessThan(32);
  });

  test('fails rather than calling again with a larger request', async () => {
    // The one message that could go is the very request, which would have to be kept word for word.
    const rounds = [1, 2].map(() => ({ says: '', results: [2] }));
    const messages = anthropic({
      turns: [],
      last: { ask: 'why '.repeat(200), rounds, answer: '' },
      end: 'results',
    });
    const before = structuredClone(messages);
    let calls = 0;
    const call = (): never => {
      calls++;
      throw overflow();
    };
    await expect(guardModelCall({ messages, call })).rejects.toThrow('prompt is too long');
    expect(calls).toBe(1);
    expect(messages).toEqual(before);
  });

  test('separates no call from its result, even in a history that no provider would accept', async () => {
    const said = (n: number): Message[] =>
      Array.from({ length: n }, () => ({ role: 'assistant', content: 'a '.repeat(99) }));
    const [opening, asks, result, ...rest] = openai({
      turns: [],
      last: { ask: 'q', rounds: [{ says: 'see', results: [9] }], answer: '' },
      end: 'results',
    });
    const late = [opening, asks, result, ...said(8), ...rest, ...said(6)];
    const named = Array.from({ length: 8 }, () => [
      { role: 'assistant', content: 'a '.repeat(99), function_call: { name: 'read', arguments: '{}' } },
      { role: 'function', name: 'read', content: 'x '.repeat(99) },
    ]).flat();
    for (const messages of [late, [{ role: 'user', content: 'q' }, ...named]]) {
      let calls = 0;
      const call = (): void => {
        if (++calls === 1) throw overflow();
      };
      await guardModelCall({ messages, call });
      const spoken = messages.filter(({ role }) => role !== 'system');
      expect(spoken[1].role).toBe('assistant');
      expect(spoken[1].content).toBe('a '.repeat(99));
      expect(JSON.stringify(spoken.slice(1))).not.toContain('tool_call_id');
    }
  });

  test('ends with its signal, also while a summary is made', async () => {
    const messages = long();
    const controller = new AbortController();
    const reason = new Error('enough');
    const call = (): never => {
      throw overflow();
    };
    const summarise = async (): Promise<string> => {
      controller.abort(reason);
      throw reason;
    };
    await expect(guardModelCall({ messages, call, summarise, signal: controller.signal })).rejects.toBe(
      reason,
    );
    expect(messages).toEqual(long());
  });
});
