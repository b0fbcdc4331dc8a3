import fc from 'fast-check';
import type { JsonObject } from '../../../../src/exports/transcript.ts';

/** Where an entry is about to stand. */
export interface Slot {
  readonly id: string;
  /** Unique to the entry: what it says, outside tools and thinking, carries this word. */
  readonly word: string;
  /** Ids of all lines before it. */
  readonly earlier: readonly string[];
  /** Ids from the root down to its parent. */
  readonly ancestors: readonly string[];
}

/** An entry's type and fields, made once its place is known. */
export type Body = (slot: Slot) => JsonObject;

const text = fc.oneof(
  { weight: 4, arbitrary: fc.string({ maxLength: 12 }) },
  { weight: 2, arbitrary: fc.string({ unit: 'binary', maxLength: 6 }) },
  { weight: 1, arbitrary: fc.constantFrom('', ' ', '\n', '\r\n', '\ud800', '\u2028', '\u0000', '\ufeff') },
);
const image = fc.constantFrom(
  { type: 'image', data: 'iVBORw0KGgo=', mimeType: 'image/png' },
  { type: 'image', data: '/9j/4AAQ', mimeType: 'image/jpeg' },
);
const model = fc.constantFrom(
  { api: 'anthropic-messages', provider: 'anthropic', model: 'claude-a' },
  { api: 'anthropic-messages', provider: 'anthropic', model: 'claude-b' },
  { api: 'openai-completions', provider: 'openai', model: 'gpt-x' },
);
const callId = fc.constantFrom('c1', 'c2', 'call_abc|fc_def', 'c 3');
const USAGE = { input: 1, output: 2, cacheRead: 0, cacheWrite: 0, totalTokens: 3 };
const COST = { input: 0.1, output: 0.25, cacheRead: 0, cacheWrite: 0, total: 0.35 };

const message = (role: string, fields: JsonObject): JsonObject => ({
  type: 'message',
  message: { role, ...fields, timestamp: 1735689600000 },
});

/** Text or blocks, with the word in it. */
const said: fc.Arbitrary<(word: string) => unknown> = fc
  .record({ before: text, after: text, picture: fc.option(image), blocks: fc.boolean() })
  .map(({ before, after, picture, blocks }) => (word) => {
    if (!blocks) return before + word + after;
    const rest = picture === null ? { type: 'text', text: after } : picture;
    return [{ type: 'text', text: before + word }, rest];
  });

const user: fc.Arbitrary<Body> = said.map(
  (content) =>
    ({ word }) =>
      message('user', { content: content(word) }),
);

const assistantBlock = fc.oneof(
  text.map((value) => ({ type: 'text', text: value })),
  fc
    .record({ text, signature: fc.option(fc.base64String({ maxLength: 16 })), redacted: fc.boolean() })
    .map(({ text: thinking, signature, redacted }) => ({
      type: 'thinking',
      thinking,
      ...(signature !== null && { thinkingSignature: signature }),
      ...(redacted && { redacted }),
    })),
  fc
    .record({ id: callId, args: fc.dictionary(fc.string({ maxLength: 4 }), fc.jsonValue(), { maxKeys: 2 }) })
    .map(({ id, args }) => ({ type: 'toolCall', id, name: 'read', arguments: args })),
);
const assistant: fc.Arbitrary<Body> = fc
  .record({
    text,
    blocks: fc.array(assistantBlock, { maxLength: 3 }),
    model,
    stopReason: fc.constantFrom('stop', 'stop', 'toolUse', 'length', 'aborted', 'error'),
  })
  .map(({ text: before, blocks, model, stopReason }) => ({ word }) => {
    const content = [{ type: 'text', text: before + word }, ...blocks];
    return message('assistant', { content, ...model, usage: { ...USAGE, cost: COST }, stopReason });
  });

const toolResult: fc.Arbitrary<Body> = fc
  .record({ id: callId, text, isError: fc.boolean(), details: fc.option(fc.jsonValue()) })
  .map(({ id, text, isError, details }) => () => {
    const content = [{ type: 'text', text }];
    return message('toolResult', { toolCallId: id, toolName: 'read', content, isError, details });
  });

const bash: fc.Arbitrary<Body> = fc
  .record({ output: text, exitCode: fc.constantFrom(0, 1), cancelled: fc.boolean(), hidden: fc.boolean() })
  .map(({ output, exitCode, cancelled, hidden }) => ({ word }) => {
    const shell = { command: `echo ${word}`, output, exitCode, cancelled, truncated: false };
    return message('bashExecution', { ...shell, ...(hidden && { excludeFromContext: true }) });
  });

const extensionMessage: fc.Arbitrary<Body> = fc.record({ content: said, display: fc.boolean() }).map(
  ({ content, display }) =>
    ({ word }) =>
      message('custom', { customType: 'note', content: content(word), display }),
);

/** Messages of every role a stored line may have. */
export const messageBody: fc.Arbitrary<Body> = fc.oneof(
  { weight: 5, arbitrary: user },
  { weight: 5, arbitrary: assistant },
  { weight: 2, arbitrary: toolResult },
  { weight: 1, arbitrary: bash },
  { weight: 1, arbitrary: extensionMessage },
  { weight: 1, arbitrary: fc.constant<Body>(() => message('system', { content: 'Be kind.' })) },
);

export const settingBody: fc.Arbitrary<Body> = fc.oneof(
  model.map(
    ({ provider, model: modelId }) =>
      (): JsonObject => ({ type: 'model_change', provider, modelId }),
  ),
  fc
    .constantFrom('off', 'minimal', 'high')
    .map((thinkingLevel) => (): JsonObject => ({ type: 'thinking_level_change', thinkingLevel })),
);

/** Non-blank, but for one in ten. */
export const summary: fc.Arbitrary<(word: string) => string> = fc
  .record({ text, blank: fc.integer({ min: 0, max: 9 }).map((n) => n === 0) })
  .map(
    ({ text, blank }) =>
      (word) =>
        blank ? '' : text + word,
  );

const firstKept = fc.oneof(
  { weight: 6, arbitrary: fc.record({ among: fc.constant('ancestors' as const), n: fc.nat(50) }) },
  { weight: 2, arbitrary: fc.record({ among: fc.constant('earlier' as const), n: fc.nat(50) }) },
  // A compaction that keeps nothing names itself; a broken one names nothing that is here.
  { weight: 1, arbitrary: fc.constantFrom('itself' as const, 'nowhere' as const) },
);
const compaction: fc.Arbitrary<Body> = fc
  .record({ summary, firstKept, fromHook: fc.boolean() })
  .map(({ summary, firstKept, fromHook }) => (slot) => {
    return {
      type: 'compaction',
      summary: summary(slot.word),
      firstKeptEntryId: keptName(firstKept, slot),
      tokensBefore: 1000,
      ...(fromHook && { fromHook }),
    };
  });

type FirstKept = typeof firstKept extends fc.Arbitrary<infer T> ? T : never;

function keptName(choice: FirstKept, slot: Slot): string {
  if (choice === 'nowhere') return choice;
  if (choice === 'itself') return slot.id;
  const names = slot[choice.among];
  return names[choice.n % names.length] ?? slot.id;
}

const branchSummary: fc.Arbitrary<Body> = fc
  .record({ summary, n: fc.nat(50) })
  .map(({ summary, n }) => ({ word, earlier }) => ({
    type: 'branch_summary',
    fromId: earlier[n % earlier.length] ?? 'root',
    summary: summary(word),
  }));

const customMessage: fc.Arbitrary<Body> = fc
  .record({ content: said, display: fc.boolean(), details: fc.option(fc.jsonValue()) })
  .map(({ content, display, details }) => ({ word }) => ({
    type: 'custom_message',
    customType: 'hint',
    content: content(word),
    display,
    ...(details !== null && { details }),
  }));

const label: fc.Arbitrary<Body> = fc
  .record({ n: fc.nat(50), name: fc.option(fc.string({ maxLength: 5 })) })
  .map(({ n, name }) => ({ earlier, id }) => ({
    type: 'label',
    targetId: earlier[n % earlier.length] ?? id,
    ...(name !== null && { label: name }),
  }));

/** Entries that never say anything. All but the last two kinds are side entries to us. */
export const quietBody: fc.Arbitrary<Body> = fc.oneof(
  { weight: 2, arbitrary: label },
  { weight: 2, arbitrary: fc.constant<Body>(() => ({ type: 'custom', customType: 'reprise.leaf' })) },
  text.map((name) => (): JsonObject => ({ type: 'session_info', name })),
  fc.constant<Body>(() => ({ type: 'usage', usage: USAGE })),
  fc
    .constantFrom('reprise.turn', 'reprise.settings')
    .map((customType) => (): JsonObject => ({ type: 'custom', customType, data: { model: 'x' } })),
  fc.jsonValue().map((data) => (): JsonObject => ({ type: 'custom', customType: 'todo-list', data })),
  fc.constant<Body>(({ word }) => ({ type: 'from_the_future', message: { role: 'user', content: word } })),
);

/** Anything that may stand in a tree. */
export const anyBody: fc.Arbitrary<Body> = fc.oneof(
  { weight: 12, arbitrary: messageBody },
  { weight: 2, arbitrary: settingBody },
  { weight: 3, arbitrary: compaction },
  { weight: 1, arbitrary: branchSummary },
  { weight: 1, arbitrary: customMessage },
  { weight: 4, arbitrary: quietBody },
);
