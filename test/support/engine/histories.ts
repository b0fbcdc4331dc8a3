import fc from 'fast-check';
import type { JsonObject } from '../../../src/exports/transcript.ts';
import { jpegBase64, pngBase64 } from './images.ts';

/**
 * Random histories: any records, in any order, cut anywhere, in any dialect. Ids come from small pools, so that
 * orphans, duplicates and cycles are common. Every history carries the classes it belongs to; the
 * property that uses it counts them and fails when one has become rare.
 */

export type Step =
  | { readonly kind: 'user'; readonly content: unknown }
  | { readonly kind: 'assistant'; readonly message: JsonObject }
  | { readonly kind: 'result'; readonly callId: string; readonly content: unknown; readonly isError: boolean }
  | { readonly kind: 'entry'; readonly entry: JsonObject };

export interface History {
  readonly lines: readonly string[];
  /** Bytes cut off the end of the file. */
  readonly cut: number;
  readonly classes: ReadonlySet<string>;
}

const DIALECTS = ['v3', 'pi-v2', 'pi-v1', 'claw0', 'claw0-classic', 'zyhive', 'zeroclaw', 'mixed'] as const;
type DialectName = (typeof DIALECTS)[number];

/** All classes a run of the property must have met. */
export const CLASSES: readonly string[] = [
  ...DIALECTS.map((name) => `dialect ${name}`),
  'orphan result',
  'missing result',
  'duplicate result',
  'duplicate call id',
  'aborted',
  'partial arguments',
  'foreign line',
  'garbage line',
  'cut mid-line',
  'shuffled',
  'duplicate entry id',
  'missing parent',
  'cycle',
  'branches',
  'compaction',
  'edit',
  'image',
  'thinking',
  'empty text',
  'two users in a row',
  'assistant first',
];

const CALL_IDS = [
  'c1',
  'c2',
  'c3',
  '',
  'call_abc|fc_def',
  'x'.repeat(70),
  'a b',
  '\u4f60\u597d',
  'a1b2c3d4e',
];
const MODELS = [
  { api: 'anthropic-messages', provider: 'anthropic', model: 'claude-a' },
  { api: 'anthropic-messages', provider: 'anthropic', model: 'claude-b' },
  { api: 'openai-completions', provider: 'openai', model: 'gpt-x' },
  {},
];

const text = fc.oneof(
  { weight: 6, arbitrary: fc.string({ maxLength: 20 }) },
  { weight: 2, arbitrary: fc.string({ unit: 'binary', maxLength: 12 }) },
  {
    weight: 1,
    arbitrary: fc.constantFrom('', ' ', '\n\t', 'ends with space ', '\ud800', '\u0000', '\u2028'),
  },
);
const textBlock = text.map((value) => ({ type: 'text', text: value }));
const imageBlock = fc.oneof(
  fc.constantFrom(
    { type: 'image', data: pngBase64(10, 10), mimeType: 'image/png' },
    { type: 'image', data: jpegBase64(300, 200, 5000), mimeType: 'image/jpeg' },
    { type: 'image', data: pngBase64(9000, 10), mimeType: 'image/png' },
    { type: 'image', data: 'not base64!', mimeType: 'image/png' },
    { type: 'image', data: pngBase64(10, 10), mimeType: 'image/svg+xml' },
    { type: 'image' },
  ),
);
const oddBlock = fc.oneof(
  fc.jsonValue(),
  fc.record({ type: fc.constantFrom('text', 'toolCall', 'thinking', 'x') }),
);
const userContent = fc.oneof(
  { weight: 5, arbitrary: text },
  {
    weight: 3,
    arbitrary: fc.array(fc.oneof({ weight: 3, arbitrary: textBlock }, imageBlock), { maxLength: 3 }),
  },
  { weight: 1, arbitrary: fc.oneof(fc.jsonValue(), fc.array(oddBlock, { maxLength: 2 })) },
);
const callId = fc.constantFrom(...CALL_IDS);
const toolArguments = fc.oneof(
  { weight: 5, arbitrary: fc.dictionary(fc.string({ maxLength: 5 }), fc.jsonValue(), { maxKeys: 3 }) },
  { weight: 1, arbitrary: fc.constantFrom<unknown>(undefined, null, '{"pa', '{"path":"a"}', [1], 7) },
);
const callBlock = fc
  .record({
    id: callId,
    name: fc.oneof(fc.constantFrom('read', 'write'), fc.string({ maxLength: 8 })),
    args: toolArguments,
  })
  .map(({ id, name, args }) => ({
    type: 'toolCall',
    id,
    name,
    ...(args !== undefined && { arguments: args }),
  }));
const thinkingBlock = fc
  .record({ thinking: text, signature: fc.constantFrom('', 'sig-1', 'sig-2'), redacted: fc.boolean() })
  .map(({ thinking, signature, redacted }) => ({
    type: 'thinking',
    thinking,
    ...(signature !== '' && { thinkingSignature: signature }),
    ...(redacted && { redacted }),
  }));
const stopReason = fc.oneof(
  { weight: 4, arbitrary: fc.constantFrom('stop', 'toolUse', 'length') },
  { weight: 1, arbitrary: fc.constantFrom('aborted', 'error') },
);
const assistantBlock = fc.oneof(
  { weight: 4, arbitrary: textBlock },
  { weight: 4, arbitrary: callBlock },
  { weight: 2, arbitrary: thinkingBlock },
  { weight: 1, arbitrary: oddBlock },
);
const assistantMessage = fc
  .record({
    content: fc.array(assistantBlock, { maxLength: 4 }),
    stopReason,
    model: fc.constantFrom(...MODELS),
  })
  .map(
    ({ content, stopReason, model }) => ({ role: 'assistant', content, stopReason, ...model }) as JsonObject,
  );
const resultContent = fc.oneof(
  text,
  fc.array(fc.oneof({ weight: 3, arbitrary: textBlock }, imageBlock), { maxLength: 2 }),
);

const userStep = userContent.map((content): Step => ({ kind: 'user', content }));
const assistantStep = assistantMessage.map((message): Step => ({ kind: 'assistant', message }));
const resultStep = fc
  .record({ callId, content: resultContent, isError: fc.boolean() })
  .map((result): Step => ({ kind: 'result', ...result }));

/** An assistant with calls and the results it got: some missing, some doubled, in any order. */
const roundSteps = fc
  .tuple(
    assistantMessage,
    fc.array(callBlock, { minLength: 1, maxLength: 3 }),
    fc.array(resultContent, { maxLength: 5 }),
    fc.nat(),
  )
  .map(([message, calls, contents, order]): Step[] => {
    const content = [...(message['content'] as unknown[]), ...calls];
    const results = contents.map((content, i): Step => {
      const { id } = calls[(i + order) % calls.length] ?? { id: '' };
      return { kind: 'result', callId: id, content, isError: false };
    });
    return [{ kind: 'assistant', message: { ...message, content } }, ...results];
  });

const entryStep = fc
  .oneof(
    {
      weight: 3,
      arbitrary: fc.record({ type: fc.constant('compaction'), summary: text, firstKept: fc.nat(12) }),
    },
    {
      weight: 2,
      arbitrary: fc.record({
        type: fc.constant('context_edit'),
        target: fc.nat(12),
        content: fc.option(userContent),
      }),
    },
    {
      weight: 1,
      arbitrary: fc.record({
        type: fc.constant('custom_message'),
        customType: fc.constant('x'),
        content: userContent,
      }),
    },
    {
      weight: 1,
      arbitrary: fc.record({ type: fc.constant('branch_summary'), fromId: fc.constant('x'), summary: text }),
    },
    {
      weight: 1,
      arbitrary: fc.record({ type: fc.constant('label'), targetId: fc.constant('x'), label: text }),
    },
    {
      weight: 1,
      arbitrary: fc.record({
        type: fc.constant('custom'),
        customType: fc.constantFrom('reprise.leaf', 'ext'),
      }),
    },
    { weight: 1, arbitrary: fc.record({ type: fc.constant('model_change'), provider: text, modelId: text }) },
    { weight: 1, arbitrary: fc.record({ type: fc.constant('future_type'), value: fc.jsonValue() }) },
    {
      weight: 1,
      arbitrary: fc.record({
        type: fc.constant('message'),
        message: fc.record({
          role: fc.constantFrom('system', 'bashExecution', 'custom', 'x'),
          content: userContent,
          command: text,
        }),
      }),
    },
  )
  .map((entry): Step => ({ kind: 'entry', entry }));

export const steps: fc.Arbitrary<Step[]> = fc
  .array(
    fc.oneof(
      { weight: 4, arbitrary: userStep.map((step) => [step]) },
      { weight: 3, arbitrary: assistantStep.map((step) => [step]) },
      { weight: 4, arbitrary: roundSteps },
      { weight: 1, arbitrary: resultStep.map((step) => [step]) },
      { weight: 3, arbitrary: entryStep.map((step) => [step]) },
    ),
    { minLength: 1, maxLength: 12 },
  )
  .map((groups) => groups.flat());

/** How one v3 line names itself and its parent. */
const placement = fc.record({
  parent: fc.oneof(
    { weight: 30, arbitrary: fc.constant('previous' as const) },
    { weight: 1, arbitrary: fc.constantFrom('root' as const, 'missing' as const, 'self' as const) },
    { weight: 2, arbitrary: fc.nat(20) },
  ),
  sameIdAsPrevious: fc.integer({ min: 0, max: 30 }).map((n) => n === 0),
});
type Placement = typeof placement extends fc.Arbitrary<infer T> ? T : never;

const GARBAGE = [
  '{"type":"mess',
  '\u0000\u0000\u0000',
  'not json',
  '[]',
  '42',
  '"text"',
  '{}',
  '',
  '\ufeff',
  `{"a":${'['.repeat(400)}${']'.repeat(400)}}`,
];
const rarely = <T>(arbitrary: fc.Arbitrary<T>): fc.Arbitrary<T | null> =>
  fc.oneof({ weight: 3, arbitrary: fc.constant(null) }, { weight: 1, arbitrary });
const mutation = fc.record({
  shuffle: fc.integer({ min: 0, max: 7 }).map((n) => n === 0),
  shuffleSeed: fc.nat(),
  garbage: rarely(fc.record({ at: fc.nat(), line: fc.constantFrom(...GARBAGE) })),
  foreign: rarely(fc.record({ at: fc.nat(), dialect: fc.nat() })),
  cut: rarely(fc.integer({ min: 1, max: 60 })),
});

export const histories: fc.Arbitrary<History> = fc
  .record({
    steps,
    dialect: fc.constantFrom(...DIALECTS),
    placements: fc.array(placement, { minLength: 40, maxLength: 40 }),
    mutation,
    header: fc.boolean(),
  })
  .map(({ steps, dialect, placements, mutation, header }) => {
    const classes = new Set<string>([`dialect ${dialect}`, ...classesOf(steps)]);
    const writers = Object.values(WRITERS);
    const write = (name: DialectName, i: number): Writer =>
      name === 'mixed' ? (writers[i % writers.length] ?? WRITERS.v3) : WRITERS[name];
    let records = steps.flatMap((step, i) => write(dialect, i)(step, i, placements[i % placements.length]));
    if (dialect === 'v3' || dialect === 'pi-v2') {
      for (const name of treeClasses(steps.length, placements)) classes.add(name);
    }
    if (mutation.shuffle && records.length > 2) {
      records = shuffled(records, mutation.shuffleSeed);
      classes.add('shuffled');
    }
    const lines = records.map((record) => JSON.stringify(record));
    if (header) lines.unshift(JSON.stringify(HEADERS[dialect]));
    if (mutation.foreign) {
      const { at, dialect } = mutation.foreign;
      const writer = writers[dialect % writers.length] ?? WRITERS.v3;
      const [foreign] = writer({ kind: 'user', content: 'from elsewhere' }, 99, undefined);
      lines.splice(at % (lines.length + 1), 0, JSON.stringify(foreign));
      classes.add('foreign line');
    }
    if (mutation.garbage) {
      lines.splice(mutation.garbage.at % (lines.length + 1), 0, mutation.garbage.line);
      classes.add('garbage line');
    }
    if (mutation.cut) classes.add('cut mid-line');
    return { lines, cut: mutation.cut ?? 0, classes };
  });

type Writer = (step: Step, index: number, placement: Placement | undefined) => JsonObject[];

const START = Date.UTC(2025, 0, 1);
const HEADERS: Readonly<Record<DialectName, JsonObject>> = {
  v3: { type: 'session', version: 3, id: 's1', timestamp: new Date(START).toISOString(), cwd: '/x' },
  'pi-v2': { type: 'session', version: 2, id: 's1', timestamp: new Date(START).toISOString(), cwd: '/x' },
  'pi-v1': { type: 'session', id: 's1', timestamp: new Date(START).toISOString(), cwd: '/x' },
  claw0: { type: 'session', id: 's1' },
  'claw0-classic': {
    type: 'session',
    id: 's1',
    key: 'main:cli:user',
    created: new Date(START).toISOString(),
  },
  zyhive: { type: 'session', version: 3, agentId: 'a', createdAt: START },
  zeroclaw: { type: 'session' },
  mixed: { type: 'session', version: 3, id: 's1' },
};

const iso = (i: number): string => new Date(START + i * 1000).toISOString();

function v3Message(step: Exclude<Step, { kind: 'entry' }>): JsonObject {
  if (step.kind === 'assistant') return step.message;
  if (step.kind === 'user') return { role: 'user', content: step.content };
  const { callId, content, isError } = step;
  return { role: 'toolResult', toolCallId: callId, toolName: 'read', content, isError };
}

const v3: Writer = (step, i, place) => {
  const id = place?.sameIdAsPrevious && i > 0 ? `e${i - 1}` : `e${i}`;
  const parent = place?.parent ?? 'previous';
  const parentId =
    typeof parent === 'number'
      ? `e${parent}`
      : { previous: i === 0 ? null : `e${i - 1}`, root: null, missing: 'nowhere', self: id }[parent];
  const base = { id, parentId, timestamp: iso(i) };
  if (step.kind !== 'entry') return [{ type: 'message', ...base, message: v3Message(step) }];
  const { firstKept, target, content, ...entry } = step.entry;
  return [
    {
      ...base,
      ...entry,
      ...(firstKept !== undefined && { firstKeptEntryId: `e${String(firstKept)}`, tokensBefore: 9 }),
      ...(entry['type'] === 'context_edit' && {
        targetId: `e${String(target)}`,
        replacement: content === null ? null : { content },
      }),
      ...(entry['type'] === 'custom_message' && { content }),
    },
  ];
};

const piV1: Writer = (step, i) => {
  const [{ id: _id, parentId: _parent, firstKeptEntryId, ...rest } = {}] = v3(step, i, undefined);
  if (firstKeptEntryId === undefined) return [rest as JsonObject];
  return [{ ...rest, firstKeptEntryIndex: Number(String(firstKeptEntryId).slice(1)) } as JsonObject];
};

const anthropicBlock = (block: unknown): unknown => {
  const { type, id, name, arguments: input, thinking, thinkingSignature } = (block ?? {}) as JsonObject;
  if (type === 'toolCall') return { type: 'tool_use', id, name, ...(input !== undefined && { input }) };
  if (type === 'thinking') return { type: 'thinking', thinking, signature: thinkingSignature };
  if (type === 'image') {
    const { data, mimeType } = block as JsonObject;
    return { type: 'image', source: { type: 'base64', media_type: mimeType, data } };
  }
  return block;
};
const anthropicContent = (content: unknown): unknown =>
  Array.isArray(content) ? content.map(anthropicBlock) : content;

const claw0With =
  (resultField: 'content' | 'output', ts: (i: number) => unknown): Writer =>
  (step, i) => {
    if (step.kind === 'user') return [{ type: 'user', content: anthropicContent(step.content), ts: ts(i) }];
    if (step.kind === 'result') {
      return [
        {
          type: 'tool_result',
          tool_use_id: step.callId,
          [resultField]: anthropicContent(step.content),
          ts: ts(i),
        },
      ];
    }
    if (step.kind === 'entry') return [];
    const content = step.message['content'] as unknown[];
    const calls = content.filter(
      (block) => (block as JsonObject | null)?.['type'] === 'toolCall',
    ) as JsonObject[];
    // Half of the turns save their calls twice.
    const inside = i % 2 === 0 ? content : content.filter((block) => !calls.includes(block as JsonObject));
    return [
      { type: 'assistant', content: anthropicContent(inside), ts: ts(i) },
      ...calls.map(({ id, name, arguments: input }) => ({
        type: 'tool_use',
        tool_use_id: id,
        name,
        input,
        ts: ts(i),
      })),
    ];
  };

const zyhive: Writer = (step, i) => {
  const timestamp = START + i * 1000;
  if (step.kind === 'entry') {
    const { type, summary, firstKept } = step.entry;
    if (type !== 'compaction') return [];
    return [
      {
        type,
        summary,
        firstKeptEntryId: `msg-${String(firstKept)}`,
        tokensBefore: 8,
        tokensAfter: 1,
        timestamp,
      },
    ];
  }
  const message = v3Message(step);
  if (step.kind === 'result') {
    const block = {
      type: 'tool_result',
      tool_use_id: step.callId,
      content: anthropicContent(step.content),
      is_error: step.isError,
    };
    return [{ type: 'message', message: { role: 'user', content: [block] }, timestamp }];
  }
  return [
    { type: 'message', message: { ...message, content: anthropicContent(message['content']) }, timestamp },
  ];
};

const zeroclaw: Writer = (step, i) => {
  const row = (role: string, content: unknown): JsonObject[] => [
    { id: i, session_id: 's', role, content, created_at: iso(i) },
  ];
  if (step.kind === 'user') return row('user', step.content);
  if (step.kind === 'assistant') return row('assistant', JSON.stringify(step.message['content']));
  if (step.kind === 'entry' && step.entry['type'] === 'compaction') {
    return row('assistant', `[Session Compaction Summary]\n${String(step.entry['summary'])}`);
  }
  return [];
};

const WRITERS: Readonly<Record<Exclude<DialectName, 'mixed'>, Writer>> = {
  v3,
  'pi-v2': (step, i, place) =>
    v3(step, i, place).map((record) =>
      (record['message'] as JsonObject | undefined)?.['role'] === 'custom'
        ? { ...record, message: { ...(record['message'] as JsonObject), role: 'hookMessage' } }
        : record,
    ),
  'pi-v1': piV1,
  claw0: claw0With('content', (i) => START / 1000 + i),
  'claw0-classic': claw0With('output', iso),
  zyhive,
  zeroclaw,
};

/** What the steps hold, found by looking at them, not by trusting the generator. */
function classesOf(steps: readonly Step[]): string[] {
  const found = new Set<string>();
  const seen = new Set<string>();
  let waiting = new Map<string, number>();
  let previous: Step['kind'] | undefined;
  for (const step of steps) {
    const json = JSON.stringify(step);
    if (json.includes('"type":"image"')) found.add('image');
    if (json.includes('"type":"thinking"')) found.add('thinking');
    if (/"(?:text|content)":"\s*"/.test(json)) found.add('empty text');
    if (step.kind === 'result') {
      const left = waiting.get(step.callId);
      if (left === undefined) found.add('orphan result');
      else if (left === 0) found.add('duplicate result');
      else waiting.set(step.callId, left - 1);
    } else if (step.kind !== 'entry') {
      if ([...waiting.values()].some((left) => left > 0)) found.add('missing result');
      waiting = new Map();
    }
    if (step.kind === 'user' && previous === 'user') found.add('two users in a row');
    if (step.kind === 'assistant') {
      if (previous === undefined) found.add('assistant first');
      const aborted = step.message['stopReason'] === 'aborted' || step.message['stopReason'] === 'error';
      if (aborted) found.add('aborted');
      for (const block of step.message['content'] as unknown[]) {
        const { type, id, arguments: args } = (block ?? {}) as JsonObject;
        if (type !== 'toolCall') continue;
        if (typeof args !== 'object' || args === null) found.add('partial arguments');
        if (seen.has(String(id))) found.add('duplicate call id');
        seen.add(String(id));
        waiting.set(String(id), (waiting.get(String(id)) ?? 0) + 1);
      }
    }
    if (step.kind === 'entry' && step.entry['type'] === 'compaction') found.add('compaction');
    if (step.kind === 'entry' && step.entry['type'] === 'context_edit') found.add('edit');
    if (step.kind !== 'entry') previous = step.kind;
  }
  return [...found];
}

function treeClasses(count: number, placements: readonly Placement[]): string[] {
  const found: string[] = [];
  for (let i = 0; i < count; i++) {
    const { parent, sameIdAsPrevious } = placements[i % placements.length] ?? {
      parent: 'previous',
      sameIdAsPrevious: false,
    };
    if (sameIdAsPrevious && i > 0) found.push('duplicate entry id');
    if (parent === 'self' || parent === i || (typeof parent === 'number' && parent > i && parent < count))
      found.push('cycle');
    else if (parent === 'missing' || (typeof parent === 'number' && parent >= count))
      found.push('missing parent');
    else if (typeof parent === 'number' || (parent === 'root' && i > 0)) found.push('branches');
  }
  return found;
}

function shuffled<T>(items: readonly T[], seed: number): T[] {
  const out = [...items];
  let state = seed | 1;
  for (let i = out.length - 1; i > 0; i--) {
    state = (Math.imul(state, 1103515245) + 12345) & 0x7fffffff;
    const j = state % (i + 1);
    [out[i], out[j]] = [out[j] as T, out[i] as T];
  }
  return out;
}

export function historyBytes({ lines, cut }: History): Buffer {
  const bytes = Buffer.from(`${lines.join('\n')}\n`);
  return bytes.subarray(0, Math.max(0, bytes.length - cut));
}
