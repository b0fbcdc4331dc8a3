import { describe, expect, expectTypeOf, test } from 'vitest';
import { z } from 'zod';
import type { TurnEvent } from '../../../src/engine/events.ts';
import { type ToolOptions, tool } from '../../../src/engine/tools/define-tool.ts';
import type { Tool, ToolContext } from '../../../src/engine/tools/tool.ts';
import type { StandardSchema } from '../../../src/engine/tools/tool-input.ts';
import { RepriseError } from '../../../src/errors.ts';
import type { JsonObject } from '../../../src/transcript/json.ts';
import { openEngine, say, scripted } from '../../support/engine/engine.ts';

type Result = Extract<TurnEvent, { type: 'tool_result' }>;

/** Calls a tool once in a turn that continues afterwards. */
async function call(one: Tool, input: JsonObject = {}): Promise<Result & { readonly events: TurnEvent[] }> {
  const model = scripted([{ calls: [{ name: one.name, input }] }, 'the turn continues']);
  await using at = await openEngine(model, { tools: [one] });
  const events = await say(at.session, 'go');
  expect(events.at(-1)).toMatchObject({ type: 'done', text: 'the turn continues' });
  return { ...(events.find(({ type }) => type === 'tool_result') as Result), events };
}

const options = { name: 'weather', description: 'Weather of a city' };

describe('the input of a tool', () => {
  const seen: unknown[] = [];
  const withZod = tool({
    ...options,
    input: z.object({ city: z.string(), days: z.number().int().max(7).default(1) }),
    run: (input) => {
      expectTypeOf(input).toEqualTypeOf<{ city: string; days: number }>();
      seen.push(input);
      return { city: input.city, degrees: 21 };
    },
  });

  test('arrives checked and converted, with the type of its zod schema', async () => {
    expect(withZod.inputSchema).toMatchObject({ type: 'object', required: ['city'] });
    const { text, isError } = await call(withZod, { city: 'Paris', more: 1 });
    expect(seen.splice(0)).toEqual([{ city: 'Paris', days: 1 }]);
    expect({ text, isError }).toEqual({ text: '{"city":"Paris","degrees":21}', isError: false });
  });

  test('that does not fit is answered with what is wrong, and the tool does not run', async () => {
    const { text, isError, why } = await call(withZod, { city: 4, days: 9 });
    expect(isError).toBe(true);
    expect(text).toMatch(/^the arguments do not fit the input of weather: city: .*string.*; days: /);
    expect(why).toMatchObject({ code: 'tool.badInput' });
    expect(seen).toEqual([]);
  });

  test('a model that reads the error can correct its call', async () => {
    const model = scripted([
      { calls: [{ name: 'weather', input: { town: 'Paris' } }] },
      ({ messages }) => {
        const last = messages.at(-1);
        const result = last?.role === 'tool' ? JSON.stringify(last.results) : '';
        expect(result).toContain('city');
        return { calls: [{ name: 'weather', input: { city: 'Paris' } }] };
      },
      'It is warm.',
    ]);
    await using at = await openEngine(model, { tools: [withZod] });
    const events = await say(at.session, 'Weather in Paris?');
    expect(events.flatMap((event) => (event.type === 'tool_result' ? [event.isError] : []))).toEqual([
      true,
      false,
    ]);
    expect(seen.splice(0)).toEqual([{ city: 'Paris', days: 1 }]);
    at.model.assertDone();
  });

  test('may be plain JSON Schema, also for tools that were not made with tool()', async () => {
    const inputSchema = {
      type: 'object',
      properties: {
        unit: { enum: ['C', 'F'] },
        stops: { type: 'array', items: { type: 'object', properties: { days: { type: 'integer' } } } },
      },
      required: ['unit'],
      additionalProperties: false,
    };
    const plain: Tool = { ...options, inputSchema, run: (input) => input };
    const made = tool({ ...options, input: inputSchema, run: (input) => input });
    expectTypeOf<Parameters<ToolOptions<typeof inputSchema>['run']>[0]>().toEqualTypeOf<JsonObject>();
    for (const one of [plain, made]) {
      expect(await call(one, { unit: 'C' })).toMatchObject({ isError: false, text: '{"unit":"C"}' });
      const { text } = await call(one, { unit: 'K', stops: [{ days: 'two' }], city: 'Paris' });
      expect(text).toContain('unit: Instance does not match any of ["C","F"]');
      expect(text).toContain('stops.0.days: Instance type "string" is invalid. Expected "integer"');
      expect(text).toContain('city: there is no such property');
      expect(text).not.toContain('does not match schema');
    }
  });

  test('of a schema that the validator cannot use is passed on', async () => {
    const broken = { type: 'object', properties: { a: { $ref: '#/nowhere' }, b: { pattern: '[' } } };
    const one: Tool = { ...options, inputSchema: broken, run: () => 'ran' };
    expect(await call(one, { a: 1, b: 'x' })).toMatchObject({ isError: false, text: 'ran' });
  });

  test('may be any Standard Schema with a JSON Schema beside it', async () => {
    const schema: StandardSchema<{ city: string }> = {
      '~standard': {
        version: 1,
        vendor: 'own',
        validate: async (value) =>
          (value as JsonObject)['city'] === 'Paris'
            ? { value: { city: 'PARIS' } }
            : { issues: [{ message: 'unknown city', path: [{ key: 'city' }] }] },
      },
    };
    const inputSchema = { type: 'object' };
    const one = tool({ ...options, input: schema, inputSchema, run: ({ city }) => city });
    expect(await call(one, { city: 'Paris' })).toMatchObject({ isError: false, text: 'PARIS' });
    expect((await call(one, { city: 'Rome' })).text).toContain('city: unknown city');
    expect(() => tool({ ...options, input: schema, run: () => '' })).toThrow(/own schema that cannot be/);
  });

  test('a tool that changes its input does not change the stored call', async () => {
    const one = tool({
      ...options,
      input: { type: 'object' },
      run: (input) => {
        (input as Record<string, unknown>)['city'] = 'Rome';
        return 'ok';
      },
    });
    const { events } = await call(one, { city: 'Paris' });
    expect(events.find(({ type }) => type === 'tool_call')).toMatchObject({ input: { city: 'Paris' } });
  });

  test('a definition that no provider takes is refused at once', () => {
    const run = (): string => '';
    const refused = (broken: object): RepriseError => {
      try {
        tool({ ...options, input: { type: 'object' }, run, ...broken } as never);
      } catch (error) {
        if (error instanceof RepriseError) return error;
      }
      throw new Error('it was accepted');
    };
    expect(refused({ name: 'get weather' }).code).toBe('CONFIG_INVALID');
    expect(refused({ run: undefined }).message).toContain('run');
    expect(refused({ description: undefined }).message).toContain('description');
    expect(refused({ input: z.string() }).message).toContain('inputSchema');
  });
});

describe('the result of a tool', () => {
  const png = 'iVBORw0KGgo=';
  const returning = (output: unknown): Tool =>
    tool({ ...options, input: { type: 'object' }, run: () => output as never });

  test('is text, JSON, images, or an error', async () => {
    expect(await call(returning('warm'))).toMatchObject({ text: 'warm', isError: false });
    expect(await call(returning([1, null]))).toMatchObject({ text: '[1,null]', isError: false });
    expect(await call(returning(0))).toMatchObject({ text: '0', isError: false });
    expect(await call(returning(undefined))).toMatchObject({ text: '(no output)', isError: false });
    expect(await call(returning({ isError: true, reason: 'no such city' }))).toMatchObject({
      text: '{"reason":"no such city"}',
      isError: true,
    });
    const content = [
      { type: 'text', text: 'a map' },
      { type: 'image', data: `data:image/png;base64,${png}`, mimeType: 'image/png' },
    ];
    expect(await call(returning({ content }))).toMatchObject({ text: 'a map', isError: false });
    expect(await call(returning({ content, isError: true }))).toMatchObject({ isError: true });
  });

  test('that cannot be stored or sent becomes an error that the model reads', async () => {
    const circular: Record<string, unknown> = {};
    circular['self'] = circular;
    expect((await call(returning(circular))).text).toContain('JSON cannot hold: Converting circular');
    expect((await call(returning({ big: 1n }))).text).toContain('JSON cannot hold');
    const trap = {
      toJSON: () => {
        throw Object.create(null);
      },
    };
    expect((await call(returning(trap))).text).toContain('unknown error');
    const broken = { content: [{ type: 'image', data: 'not base64!', mimeType: 'image/png' }] };
    expect(await call(returning(broken))).toMatchObject({ isError: true, why: { code: 'tool.badImage' } });
    const large = { content: [{ type: 'image', data: 'A'.repeat(12_000_000), mimeType: 'image/png' }] };
    expect(await call(returning(large))).toMatchObject({ why: { code: 'tool.tooMuchOutput' } });
    const many = { content: Array(101).fill({ type: 'text', text: 'x' }) };
    expect(await call(returning(many))).toMatchObject({ why: { code: 'tool.tooMuchOutput' } });
  });

  test('of 100 MB is shortened, as text, as JSON and as an exception', async () => {
    const text = 'x'.repeat(100_000_000);
    const throwing = tool({
      ...options,
      input: { type: 'object' },
      run: () => Promise.reject(new Error(text)),
    });
    for (const one of [returning(text), returning({ text }), throwing]) {
      const result = await call(one);
      expect(result.text.length).toBeLessThanOrEqual(200_000);
      expect(result.text).toContain('characters left out');
    }
  });

  test('that never comes is an error after the time limit', async () => {
    const one = tool({
      ...options,
      timeoutMs: 20,
      input: { type: 'object' },
      run: () => new Promise<never>(() => {}),
    });
    expect(await call(one)).toMatchObject({ isError: true, why: { code: 'tool.slow' } });
    const validating: StandardSchema = {
      '~standard': { version: 1, vendor: 'own', validate: () => new Promise<never>(() => {}) },
    };
    const stuck = { ...options, timeoutMs: 20, inputSchema: { type: 'object' }, input: validating };
    expect(await call(tool({ ...stuck, run: () => '' }))).toMatchObject({ why: { code: 'tool.slow' } });
  });
});

test('a tool knows its session and the sender, and reports its progress at most ten times a second', async () => {
  let context: ToolContext | undefined;
  const one = tool({
    ...options,
    input: { type: 'object' },
    run: (_, given) => {
      context = given;
      for (let i = 0; i < 1000; i++) given.progress(`step ${i}`);
      return 'done';
    },
  });
  const model = scripted([{ calls: [{ name: 'weather' }] }, 'warm']);
  await using at = await openEngine(model, { tools: [one], run: true });
  const { inboxId, sessionId } = await at.reprise.receive({
    channel: 'telegram',
    peer: '42',
    text: 'Weather?',
    messageId: '1',
  });
  const events: TurnEvent[] = [];
  for await (const event of at.reprise.follow(inboxId)) events.push(event);
  expect(context?.user).toBe('42');
  expect(context?.session).toMatchObject({ id: sessionId, agentId: 'main' });
  const progress = events.filter(({ type }) => type === 'tool_progress');
  expect(progress[0]).toMatchObject({ name: 'weather', text: 'step 0' });
  expect(progress.length).toBeLessThan(5);
});

describe('tools that are a function of the session', () => {
  const named = (name: string): Tool =>
    tool({ ...options, name, input: { type: 'object' }, run: () => name });

  test('are asked for before each turn, so the list may change', async () => {
    let list = [named('one')];
    const model = scripted([{ calls: [{ name: 'one' }] }, 'a', { calls: [{ name: 'one' }] }, 'b']);
    const keys: string[] = [];
    await using at = await openEngine(model, {
      tools: async ({ key }) => {
        keys.push(key);
        return list;
      },
    });
    await say(at.session, 'first');
    list = [named('two')];
    const events = await say(at.session, 'second');
    expect(events.find(({ type }) => type === 'tool_result')).toMatchObject({
      why: { code: 'tool.unknown' },
    });
    expect(model.requests.map(({ tools }) => tools?.map(({ name }) => name))).toEqual([
      ['one'],
      ['one'],
      ['two'],
      ['two'],
    ]);
    expect(new Set(keys)).toEqual(new Set(['agent:main:main']));
  });

  test('that fail, or return an invalid list, end the turn with an error, and the next turn works', async () => {
    const lists: (() => unknown)[] = [
      () => {
        throw new Error('no database');
      },
      () => 'no list',
      () => [named('one'), named('one')],
      () => [named('one')],
    ];
    let turn = 0;
    await using at = await openEngine(scripted(['works']), { tools: () => lists[turn]?.() as never });
    const ends: (TurnEvent | undefined)[] = [];
    for (turn = 0; turn < lists.length; turn++) ends.push((await say(at.session, 'go')).at(-1));
    expect(ends).toMatchObject([
      { type: 'error', code: 'CONFIG_INVALID', message: expect.stringContaining('no database') },
      { type: 'error', code: 'CONFIG_INVALID' },
      { type: 'error', code: 'CONFIG_INVALID', message: expect.stringContaining('another tool') },
      { type: 'done', text: 'works' },
    ]);
  });
});
