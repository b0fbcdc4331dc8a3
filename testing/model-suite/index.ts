import assert from 'node:assert/strict';
import { RepriseError } from '../../src/errors.ts';
import type { FinishEvent, Model, ModelEvent, ModelRequest } from '../../src/models/model.ts';
import type { Entry } from '../../src/transcript/entry.ts';
import { assertStorable } from '../../src/transcript/json.ts';
import { project } from '../../src/transcript/render/project.ts';
import type { ModelCase } from './model-case.ts';

export { type ModelCase, type ModelUnderTest, runModelCase } from './model-case.ts';

/** Cases that every model must pass: `for (const c of modelCases) test(c.name, () => runModelCase(c, open))`. */
export const modelCases: readonly ModelCase[] = [
  {
    name: 'an answer streams as deltas and ends with finish, with the same content',
    async run({ model, ask }) {
      const { events, finish } = await collect(model, ask);
      const deltas = events.flatMap((event) => (event.type === 'text_delta' ? [event.text] : []));
      assert.ok(deltas.length > 1, 'the text came in one piece');
      assert.equal(events.filter(({ type }) => type === 'finish').length, 1);
      assert.equal(deltas.join(''), textOf(finish));
      assert.equal(finish.stopReason, 'stop');
    },
  },
  {
    name: 'a finished message is signed by its model and can be stored as it is',
    async run({ model, ask }) {
      const { message, stopReason, usage } = (await collect(model, ask)).finish;
      assert.deepEqual(
        [message.role, message.provider, message.model, message.api, message.stopReason],
        ['assistant', model.provider, model.id, model.api, stopReason],
      );
      assert.equal(model.target.provider, model.provider);
      assert.equal(model.target.model, model.id);
      assert.deepEqual(message.usage, usage);
      assertStorable(message);
      assert.deepEqual(JSON.parse(JSON.stringify(message)), message);
    },
  },
  {
    name: 'usage counts whole tokens, and the parts add up to the total',
    async run({ model, ask }) {
      const { usage } = (await collect(model, ask)).finish;
      if (usage === undefined) return;
      const { input, output, cacheRead, cacheWrite, totalTokens } = usage;
      for (const count of [input, output, cacheRead, cacheWrite])
        assert.ok(Number.isSafeInteger(count) && count >= 0);
      assert.equal(totalTokens, input + output + cacheRead + cacheWrite);
    },
  },
  {
    name: 'a tool call arrives complete, and the next request accepts its result',
    async run({ model, askForTool }) {
      const { events, finish } = await collect(model, askForTool);
      const calls = events.flatMap((event) => (event.type === 'tool_call' ? [event] : []));
      assert.equal(finish.stopReason, 'toolUse');
      assert.equal(calls.length, 1);
      const [call] = calls;
      assert.ok(call !== undefined && call.id !== '' && call.rawArguments === undefined);
      assert.equal(call.name, askForTool.tools?.[0]?.name);
      const said = finish.message.content.find(({ type }) => type === 'toolCall');
      assert.deepEqual(said && 'arguments' in said ? said.arguments : undefined, call.input);
      const result = { role: 'toolResult', toolCallId: call.id, toolName: call.name, isError: false };
      const next = continued(model, askForTool, [
        finish.message,
        { ...result, content: [{ type: 'text', text: 'the result' }] },
      ]);
      await collect(model, { ...askForTool, messages: next });
    },
  },
  {
    name: 'a request is not changed',
    async run({ model, ask }) {
      await collect(model, deepFreeze(structuredClone(ask)));
    },
  },
  {
    name: 'a stream aborted before it starts yields only ABORTED',
    async run({ model, ask }) {
      const events: ModelEvent[] = [];
      const error = await failure(read(model, ask, { signal: AbortSignal.abort(), into: events }));
      assert.equal(error.code, 'ABORTED');
      assert.deepEqual(events, []);
    },
  },
  {
    name: 'a stream aborted midway ends with ABORTED and keeps the partial answer',
    async run({ model, ask }) {
      const stop = new AbortController();
      const events: ModelEvent[] = [];
      const reading = read(model, ask, {
        signal: stop.signal,
        into: events,
        on: ({ type }) => type === 'text_delta' && stop.abort(),
      });
      assert.equal((await failure(reading)).code, 'ABORTED');
      assert.equal(events.filter(({ type }) => type === 'text_delta').length, 1);
      assert.ok(!events.some(({ type }) => type === 'finish'));
    },
  },
  {
    name: 'a reader may stop early, and the model answers the next request',
    async run({ model, ask }) {
      for await (const event of model.stream(ask)) if (event.type === 'text_delta') break;
      await collect(model, ask);
    },
  },
  {
    name: 'two streams at once do not mix',
    async run({ model, ask }) {
      const alone = textOf((await collect(model, ask)).finish);
      const both = await Promise.all([collect(model, ask), collect(model, ask)]);
      for (const { finish } of both) assert.equal(textOf(finish), alone);
    },
  },
];

interface ReadOptions {
  readonly signal?: AbortSignal;
  readonly into: ModelEvent[];
  readonly on?: (event: ModelEvent) => unknown;
}

async function read(model: Model, request: ModelRequest, { signal, into, on }: ReadOptions): Promise<void> {
  for await (const event of model.stream(request, signal === undefined ? {} : { signal })) {
    into.push(event);
    on?.(event);
  }
}

async function collect(
  model: Model,
  request: ModelRequest,
): Promise<{ events: ModelEvent[]; finish: FinishEvent }> {
  const events: ModelEvent[] = [];
  await read(model, request, { into: events });
  const finish = events.at(-1);
  assert.ok(finish?.type === 'finish', 'the last event is not finish');
  return { events, finish };
}

async function failure(work: Promise<unknown>): Promise<RepriseError> {
  const error = await work.then(
    () => assert.fail('the stream ended well'),
    (reason: unknown) => reason,
  );
  assert.ok(error instanceof RepriseError, `not a coded error: ${String(error)}`);
  return error;
}

function textOf({ message }: FinishEvent): string {
  return message.content.map((block) => (block.type === 'text' ? block.text : '')).join('');
}

/** The request's last message and the following ones, projected like a stored history. */
function continued(
  model: Model,
  { messages }: ModelRequest,
  more: readonly object[],
): ModelRequest['messages'] {
  const asked = messages.at(-1);
  const content = asked?.role === 'user' ? asked.content : [];
  const entries = [{ role: 'user', content }, ...more].map(
    (message, i): Entry => ({
      type: 'message',
      id: `e${i}`,
      parentId: i === 0 ? null : `e${i - 1}`,
      timestamp: '2025-01-01T00:00:00.000Z',
      message,
    }),
  );
  return project(entries, { target: model.target }).messages;
}

function deepFreeze<T>(value: T): T {
  if (typeof value === 'object' && value !== null) {
    for (const item of Object.values(value)) deepFreeze(item);
    Object.freeze(value);
  }
  return value;
}
