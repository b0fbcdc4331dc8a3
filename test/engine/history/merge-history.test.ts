// @module-tag scaled
import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import type { MergeResult } from '../../../src/exports/engine.ts';
import { type JsonObject, type MergeFormat, rebuildHistory } from '../../../src/exports/transcript.ts';
import type { Session } from '../../../src/index.ts';
import { entriesOf, openEngine, scripted } from '../../support/engine/engine.ts';

const RUNS = Number(process.env['REPRISE_PROPERTY_RUNS'] ?? 40);
const SEED = Number(process.env['REPRISE_PROPERTY_SEED'] ?? 20250101);

/** One exchange: what the user says, the calls of the answer with their results, and the last words. */
interface Exchange {
  readonly user: string;
  readonly calls: readonly { readonly path: string; readonly result: string }[];
  readonly answer: string;
}

/** What may differ between two spellings of one history. */
interface Spelling {
  readonly asList: boolean;
  readonly reordered: boolean;
  readonly cached: boolean;
  readonly thinking: boolean;
  readonly system: boolean;
  readonly ids: string;
}

const PLAIN: Spelling = {
  asList: false,
  reordered: false,
  cached: false,
  thinking: false,
  system: false,
  ids: 'c',
};

const FORMATS: Readonly<
  Record<MergeFormat, (history: readonly Exchange[], spelling: Spelling) => JsonObject[]>
> = {
  anthropic: (history, spelling) => [
    ...(spelling.system ? [{ role: 'system', content: 'be kind' }] : []),
    ...history.flatMap(({ user, calls, answer }, turn) => [
      { role: 'user', content: content(user, spelling) },
      ...(calls.length === 0
        ? []
        : [
            {
              role: 'assistant',
              content: [
                ...(spelling.thinking ? [{ type: 'thinking', thinking: 'hm', signature: 'abc' }] : []),
                ...calls.map(({ path }, i) => ({
                  type: 'tool_use',
                  id: id(spelling, turn, i),
                  name: 'read',
                  input: { path, n: 1 },
                })),
              ],
            },
            {
              role: 'user',
              content: ordered(calls, spelling).map(({ at, result }) => ({
                type: 'tool_result',
                tool_use_id: id(spelling, turn, at),
                content: content(result, spelling),
              })),
            },
          ]),
      { role: 'assistant', content: content(answer, spelling) },
    ]),
  ],
  openai: (history, spelling) => [
    ...(spelling.system ? [{ role: 'developer', content: 'be kind' }] : []),
    ...history.flatMap(({ user, calls, answer }, turn) => [
      { role: 'user', content: content(user, spelling) },
      ...(calls.length === 0
        ? []
        : [
            {
              role: 'assistant',
              content: null,
              tool_calls: calls.map(({ path }, i) => ({
                id: id(spelling, turn, i),
                type: 'function',
                function: { name: 'read', arguments: JSON.stringify({ n: 1, path }) },
              })),
            },
            ...ordered(calls, spelling).map(({ at, result }) => ({
              role: 'tool',
              tool_call_id: id(spelling, turn, at),
              content: content(result, spelling),
            })),
          ]),
      { role: 'assistant', content: content(answer, spelling) },
    ]),
  ],
  'openai-responses': (history, spelling) =>
    history.flatMap(({ user, calls, answer }, turn) => [
      { type: 'message', role: 'user', content: [{ type: 'input_text', text: user }] },
      ...(spelling.thinking ? [{ type: 'reasoning', summary: [], encrypted_content: 'abc' }] : []),
      ...calls.map(({ path }, i) => ({
        type: 'function_call',
        call_id: id(spelling, turn, i),
        name: 'read',
        arguments: JSON.stringify({ path, n: 1 }),
      })),
      ...ordered(calls, spelling).map(({ at, result }) => ({
        type: 'function_call_output',
        call_id: id(spelling, turn, at),
        output: result,
      })),
      { type: 'message', role: 'assistant', content: [{ type: 'output_text', text: answer }] },
    ]),
  gemini: (history) =>
    history.flatMap(({ user, calls, answer }) => [
      { role: 'user', parts: [{ text: user }] },
      ...(calls.length === 0
        ? []
        : [
            {
              role: 'model',
              parts: calls.map(({ path }) => ({ functionCall: { name: 'read', args: { path, n: 1 } } })),
            },
            {
              role: 'user',
              parts: calls.map(({ result }) => ({
                functionResponse: { name: 'read', response: { output: result } },
              })),
            },
          ]),
      { role: 'model', parts: [{ text: answer }] },
    ]),
  'ai-sdk': (history, spelling) =>
    history.flatMap(({ user, calls, answer }, turn) => [
      { role: 'user', content: content(user, spelling) },
      ...(calls.length === 0
        ? []
        : [
            {
              role: 'assistant',
              content: calls.map(({ path }, i) => ({
                type: 'tool-call',
                toolCallId: id(spelling, turn, i),
                toolName: 'read',
                input: { path, n: 1 },
              })),
            },
            {
              role: 'tool',
              content: ordered(calls, spelling).map(({ at, result }) => ({
                type: 'tool-result',
                toolCallId: id(spelling, turn, at),
                toolName: 'read',
                output: { type: 'text', value: result },
              })),
            },
          ]),
      { role: 'assistant', content: content(answer, spelling) },
    ]),
};

function content(text: string, { asList, cached }: Spelling): unknown {
  if (!asList) return text;
  return [
    { type: 'text', text: `${text}\n`, ...(cached && { cache_control: { type: 'ephemeral' } }) },
    { type: 'text', text: '' },
  ];
}

const id = ({ ids }: Spelling, turn: number, at: number): string => `${ids}${turn}x${at}`;

function ordered(
  calls: Exchange['calls'],
  { reordered }: Spelling,
): { readonly at: number; readonly result: string }[] {
  const results = calls.map(({ result }, at) => ({ at, result }));
  return reordered ? results.reverse() : results;
}

const word = fc.constantFrom('red', 'green', 'two words', 'line one\nline two', 'para\n\nsecond', '你好');
const exchange: fc.Arbitrary<Exchange> = fc.record({
  user: word,
  calls: fc.array(fc.record({ path: fc.constantFrom('a', 'b'), result: word }), { maxLength: 3 }),
  answer: word,
});
const spelling: fc.Arbitrary<Spelling> = fc.record({
  asList: fc.boolean(),
  reordered: fc.boolean(),
  cached: fc.boolean(),
  thinking: fc.boolean(),
  system: fc.boolean(),
  ids: fc.constantFrom('c', 'call_'),
});
/** What happens to a history between two merges. */
const change = fc.oneof(
  fc.record({ kind: fc.constant('continue' as const), next: exchange }),
  fc.record({ kind: fc.constant('rewind' as const), drop: fc.nat(3), next: exchange }),
  fc.record({ kind: fc.constant('truncate' as const), drop: fc.nat(3) }),
  fc.record({ kind: fc.constant('edit' as const), at: fc.nat(4), user: word }),
);

function apply(
  history: readonly Exchange[],
  step: typeof change extends fc.Arbitrary<infer T> ? T : never,
): Exchange[] {
  switch (step.kind) {
    case 'continue':
      return [...history, step.next];
    case 'rewind':
      return [...history.slice(0, Math.max(0, history.length - step.drop)), step.next];
    case 'truncate':
      return history.slice(0, Math.max(0, history.length - step.drop));
    case 'edit': {
      const at = step.at % Math.max(1, history.length);
      const edited = history[at];
      return edited === undefined ? [...history] : [...history.slice(0, at), { ...edited, user: step.user }];
    }
  }
}

/** Each message as one text, with everything before it: two histories share exactly these. */
function prefixes(history: readonly Exchange[]): string[] {
  const units: string[] = [];
  for (const { user, calls, answer } of history) {
    units.push(`user ${user}`);
    if (calls.length > 0) {
      units.push(`calls ${JSON.stringify(calls.map(({ path }) => path))}`);
      for (const { result } of calls) units.push(`result ${result}`);
    }
    units.push(`answer ${answer}`);
  }
  return units.map((_, i) => JSON.stringify(units.slice(0, i + 1)));
}

async function current(session: Session): Promise<unknown> {
  return rebuildHistory(await entriesOf(session), {
    format: 'openai',
    target: { provider: '-', model: '-' },
  });
}

async function countMessages(session: Session): Promise<number> {
  return (await entriesOf(session)).filter(({ type }) => type === 'message').length;
}

describe('mergeHistory', () => {
  test('stores each message once, however the histories are spelled, and the session continues the newest one', async () => {
    const outcomes = new Map<MergeResult['outcome'], number>();
    await fc.assert(
      fc.asyncProperty(
        fc.array(
          fc.record({
            step: change,
            format: fc.constantFrom(...(Object.keys(FORMATS) as MergeFormat[])),
            spelling,
          }),
          {
            minLength: 2,
            maxLength: 8,
          },
        ),
        async (steps) => {
          await using at = await openEngine(scripted([]));
          const { session, reprise } = at;
          const known = new Set<string>();
          let history: Exchange[] = [];
          for (const { step, format, spelling: spelled } of steps) {
            history = apply(history, step);
            const messages = FORMATS[format](history, spelled);
            const before = await countMessages(session);
            const { outcome, added } = await reprise.mergeHistory(session.id, messages, { format });
            outcomes.set(outcome, (outcomes.get(outcome) ?? 0) + 1);
            const fresh = prefixes(history).filter((each) => !known.has(each));
            for (const each of fresh) known.add(each);
            expect(added).toBe((await countMessages(session)) - before);
            // Results can arrive in another order, so a prefix may be known in one order only.
            if (!spelled.reordered) expect(added).toBeLessThanOrEqual(fresh.length);
            if (fresh.length === 0) expect(outcome).toBe('unchanged');
            if (outcome !== 'unchanged') expect(await current(session)).toMatchObject(shape(history));
            // The same again, in the plain spelling of another API.
            const again = await reprise.mergeHistory(session.id, FORMATS.openai(history, PLAIN), {
              format: 'openai',
            });
            expect(again).toMatchObject({ outcome: 'unchanged', added: 0 });
          }
        },
      ),
      { numRuns: RUNS, seed: SEED },
    );
    for (const outcome of ['unchanged', 'appended', 'branched'] as const)
      expect(outcomes.get(outcome), outcome).toBeGreaterThan(RUNS / 10);
  });

  const history: Exchange[] = [
    { user: 'hello', calls: [{ path: 'a', result: 'one' }], answer: 'done' },
    { user: 'and then?', calls: [], answer: 'nothing' },
  ];

  test.each(Object.keys(FORMATS) as MergeFormat[])('reads %s and rebuilds the same words', async (format) => {
    await using at = await openEngine(scripted([]));
    const { session, reprise } = at;
    const result = await reprise.mergeHistory(session.id, FORMATS[format](history, PLAIN), { format });
    expect(result).toMatchObject({
      sessionId: session.id,
      outcome: 'appended',
      added: 6,
      isCompacted: false,
    });
    expect(await current(session)).toMatchObject(shape(history));
  });

  test('a rewind becomes a branch, and the old branch is still there', async () => {
    await using at = await openEngine(scripted([]));
    const { session, reprise } = at;
    const merge = (messages: readonly unknown[]): Promise<MergeResult> =>
      reprise.mergeHistory(session.id, messages, { format: 'anthropic' });
    const first = await merge(FORMATS.anthropic(history, PLAIN));
    const [one] = history;
    const other = [one as Exchange, { user: 'something else', calls: [], answer: 'fine' }];
    const second = await merge(FORMATS.anthropic(other, PLAIN));
    expect(second).toMatchObject({ outcome: 'branched', added: 2 });
    expect(await current(session)).toMatchObject(shape(other));
    // The first history is known, and does not move the conversation.
    expect(await merge(FORMATS.anthropic(history, PLAIN))).toEqual({
      ...first,
      outcome: 'unchanged',
      added: 0,
      leaf: second.leaf,
    });
  });

  const SUMMARY =
    'The user said hello, a file was read, and it said one. Nothing else has happened so far in this session.';

  test('a history that starts with a summary the session has as an answer is a compaction of it', async () => {
    await using at = await openEngine(scripted([]));
    const { session, reprise } = at;
    const asked = FORMATS.anthropic(history, PLAIN);
    await reprise.mergeHistory(session.id, asked, { format: 'anthropic' });
    const compacted = [
      ...asked,
      { role: 'user', content: 'Summarize the conversation.' },
      { role: 'assistant', content: `<analysis>long</analysis>\n<summary>\n${SUMMARY}\n</summary>` },
    ];
    await reprise.mergeHistory(session.id, compacted, { format: 'anthropic' });
    const opening = {
      role: 'user',
      content: `This session continues another one. Summary:\n${SUMMARY}\nGo on.`,
    };
    const resumed = [
      opening,
      { role: 'user', content: 'what now?' },
      { role: 'assistant', content: 'we stop' },
    ];
    expect(await reprise.mergeHistory(session.id, resumed, { format: 'anthropic' })).toMatchObject({
      outcome: 'appended',
      isCompacted: true,
      added: 2,
    });
    const told = JSON.stringify(await current(session));
    expect(told).toContain(SUMMARY);
    expect(told).not.toContain('hello","');
    const longer = [...resumed, { role: 'user', content: 'bye' }];
    expect(await reprise.mergeHistory(session.id, longer, { format: 'anthropic' })).toMatchObject({
      outcome: 'appended',
      isCompacted: false,
      added: 1,
    });
  });

  test('a history after a compaction of Reprise continues it, also after a rewind into what it kept', async () => {
    await using at = await openEngine(scripted([]));
    const { session, reprise } = at;
    await reprise.mergeHistory(session.id, FORMATS.anthropic(history, PLAIN), { format: 'anthropic' });
    const kept = (await entriesOf(session)).filter(({ type }) => type === 'message')[4];
    const compaction = {
      type: 'compaction',
      summary: SUMMARY,
      firstKeptEntryId: kept?.id,
      tokensBefore: 9,
      tokensAfter: 5,
    };
    await reprise.store.append(session.id, [compaction]);
    const context = rebuildHistory(await entriesOf(session), { format: 'anthropic' });
    expect(context).toHaveLength(2);
    const merge = (messages: readonly unknown[]): Promise<MergeResult> =>
      reprise.mergeHistory(session.id, messages, { format: 'anthropic' });
    expect(await merge(context)).toMatchObject({ outcome: 'unchanged', added: 0 });
    const more = [...context, { role: 'user', content: 'more' }];
    expect(await merge(more)).toMatchObject({ outcome: 'appended', added: 1, isCompacted: false });
    const rewound = [...context.slice(0, -1), { role: 'assistant', content: 'something' }];
    expect(await merge(rewound)).toMatchObject({ outcome: 'branched', added: 1, isCompacted: true });
    expect(rebuildHistory(await entriesOf(session), { format: 'anthropic' })).toEqual([
      context[0],
      { role: 'assistant', content: [{ type: 'text', text: 'something' }] },
    ]);
    expect(await merge(rewound)).toMatchObject({ outcome: 'unchanged', added: 0 });
  });

  test('an unknown format is refused with the formats that exist', async () => {
    await using at = await openEngine(scripted([]));
    const merging = at.reprise.mergeHistory(at.session.id, [], { format: 'bedrock' as MergeFormat });
    await expect(merging).rejects.toMatchObject({
      code: 'INVALID_INPUT',
      message: expect.stringContaining('gemini'),
    });
  });
});

/** The words, calls and results of a history in the order of an OpenAI request. */
function shape(history: readonly Exchange[]): unknown[] {
  return history.flatMap(({ user, calls, answer }) => [
    { role: 'user', content: expect.stringContaining(user) },
    ...(calls.length === 0
      ? []
      : [
          {
            role: 'assistant',
            tool_calls: calls.map(({ path }) => ({
              function: { name: 'read', arguments: expect.stringContaining(`"path":"${path}"`) },
            })),
          },
          ...calls.map(({ result }) => ({ role: 'tool', content: expect.stringContaining(result) })),
        ]),
    { role: 'assistant', content: expect.stringContaining(answer) },
  ]);
}
