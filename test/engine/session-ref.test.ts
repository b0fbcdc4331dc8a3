import { describe, expect, test } from 'vitest';
import { createModel, openReprise } from '../../src/index.ts';
import { createScriptedModel, openOpenAiServer } from '../../testing/index.ts';
import { openEngine, scripted } from '../support/engine/engine.ts';

describe('a session by agent, user and thread', () => {
  test('is one conversation for each, and belongs to its user', async () => {
    await using at = await openEngine(scripted([]), { agents: { support: {} } });
    const of = async (ref: object): Promise<[key: string, owner: string | undefined]> => {
      const session = await at.reprise.session(ref);
      return [session.key, (await session.record()).owner];
    };
    expect(await of({})).toEqual(['agent:main:main', undefined]);
    expect(await of({ user: 'ada' })).toEqual(['agent:main:direct:ada', 'ada']);
    expect(await of({ agent: 'support', user: 'a:b', thread: 't/1' })).toEqual([
      'agent:support:direct:a%3Ab:thread:t%2F1',
      'a:b',
    ]);
    const first = await at.reprise.session({ user: 'ada' });
    expect((await at.reprise.session({ user: 'ada' })).id).toBe(first.id);
    await expect(at.reprise.session({ usr: 'ada' } as never)).rejects.toMatchObject({
      details: { next: 'Did you mean "user"?' },
    });
  });
});

test('messages() is the current branch with typed messages, images and compacted ones included', async () => {
  await using at = await openEngine(scripted(['one', 'two', 'three']));
  const { session } = at;
  const image = { data: 'A'.repeat(400_000), mimeType: 'image/png' };
  await session.send({ text: 'look', images: [image] }).result;
  await session.send('undone').result;
  await session.undo();
  await session.send('kept').result;
  const messages = await session.messages();
  expect(messages.map(({ role }) => role)).toEqual(['user', 'assistant', 'user', 'assistant']);
  const [first, answer] = messages;
  if (first?.role !== 'user' || answer?.role !== 'assistant') throw new Error('other roles');
  expect(first.content).toContainEqual({ type: 'image', ...image });
  expect(answer.content).toEqual([{ type: 'text', text: 'one' }]);
  expect(answer.at).toMatch(/^\d{4}-/);
});

describe('settings of one turn', () => {
  test('reach the provider, and the next turn is without them', async () => {
    const script = ['one', 'two'].map((text) => ({ blocks: [{ type: 'text' as const, text }] }));
    await using server = await openOpenAiServer({ script });
    const modelOptions = { apiKey: 'key', baseURL: server.url };
    const model = await createModel('openai:gpt-a', modelOptions);
    await using reprise = await openReprise({ store: 'memory', model });
    const session = await reprise.session({});
    await session.send('first', { maxTokens: 77, temperature: 0.25 }).result;
    await session.send('second').result;
    const [first, second] = server.requests.map(({ body }) => body);
    expect(first).toMatchObject({ temperature: 0.25 });
    expect(JSON.stringify(first)).toContain('77');
    expect(second).not.toHaveProperty('temperature');
    expect(JSON.stringify(second)).not.toContain('":77');
    expect((await session.record()).settings).not.toHaveProperty('temperature');
  });

  test('choose a model by name for this turn only', async () => {
    const fast = createScriptedModel(['fast answer'], { id: 'fast' });
    const usual = createScriptedModel(['usual answer'], { id: 'usual' });
    await using reprise = await openReprise({ store: 'memory', model: usual, models: { fast } });
    const session = await reprise.session({});
    expect((await session.send('a', { model: 'fast', thinking: 'high' }).result).text).toBe('fast answer');
    expect((await session.send('b').result).text).toBe('usual answer');
    expect(fast.requests[0]?.thinkingLevel).toBe('high');
  });

  test.each([
    [{ temperture: 1 }, 'temperature'],
    [{ temperature: 9 }, 'temperature'],
    [{ maxTokens: 0 }, 'maxTokens'],
    [{ thinking: 'much' }, 'thinking'],
    [{ model: 'no-such:model' }, 'model'],
  ])('that are wrong are refused before the message is accepted: %j', async (options, named) => {
    await using at = await openEngine(scripted([]));
    const refused: unknown = await at.session.send('hi', options as never).result.catch((error) => error);
    expect(refused).toMatchObject({ message: expect.any(String) });
    expect(JSON.stringify(refused)).toContain(named);
    expect((await at.session.record()).messageCount).toBe(0);
  });
});
