import { createAnthropic as createAnthropic2 } from 'ai-sdk-anthropic-2';
import { createAnthropic as createAnthropic3 } from 'ai-sdk-anthropic-3';
import { describe, expect, test } from 'vitest';
import { createModel, type Model, openReprise, tool } from '../../src/index.ts';
import { openAnthropicServer, validateAnthropicMessages } from '../../testing/index.ts';
import { pngBase64 } from '../support/engine/images.ts';

const PACKAGES = [
  ['v2', createAnthropic2],
  ['v3', createAnthropic3],
] as const;

describe.each(PACKAGES)('a model object of specification %s', (version, create) => {
  const modelAt = (baseURL: string) => create({ apiKey: 'key', baseURL })('claude-sonnet-4-5');

  test('answers a turn with tools, images and cached tokens like the current one', async () => {
    const script = [
      {
        blocks: [{ type: 'call' as const, id: 'toolu_1', name: 'map', arguments: { city: 'Paris' } }],
        usage: { input: 100, output: 10, cacheRead: 1000 },
      },
      { blocks: [{ type: 'text' as const, text: 'Here it is.' }], usage: { input: 120, output: 5 } },
    ];
    await using server = await openAnthropicServer({ script, apiKey: 'key' });
    const object = modelAt(server.url);
    expect(object.specificationVersion).toBe(version);
    const map = tool({
      name: 'map',
      description: 'A map',
      input: { type: 'object' },
      run: () => ({ content: [{ type: 'image', data: pngBase64(20, 20), mimeType: 'image/png' }] }),
    });
    await using reprise = await openReprise({ store: 'memory', model: object, tools: [map] });
    const session = await reprise.session('agent:main:main');
    const image = { data: pngBase64(10, 10), mimeType: 'image/png' };
    const { text, usage } = await session.send({ text: 'A map like this', images: [image] }).result;
    expect(text).toBe('Here it is.');
    expect(usage).toMatchObject({ input: 220, output: 15, cacheRead: 1000 });
    const body = server.requests.at(-1)?.body as { messages: object[] };
    expect(validateAnthropicMessages(body.messages as never)).toEqual([]);
    expect(JSON.stringify(body.messages[0])).toContain(image.data);
    expect(JSON.stringify(body.messages[2])).toContain(pngBase64(20, 20));
  });

  test('fails with the same codes', async () => {
    await using server = await openAnthropicServer({
      script: [
        { status: 401, body: { type: 'error', error: { type: 'authentication_error', message: 'no' } } },
      ] as never,
    });
    const model: Model = await createModel(modelAt(server.url));
    const failed = (async () => {
      for await (const _ of model.stream({
        messages: [{ role: 'user', content: [{ type: 'text', text: 'hi' }] }],
      }));
    })();
    await expect(failed).rejects.toMatchObject({ code: 'MODEL_AUTH' });
  });
});
