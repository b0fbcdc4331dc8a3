import { createServer, type Server } from 'node:http';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { findModelName, fullModelName, listModels } from '../../src/config/model-list.ts';

/** A provider that speaks the real format of GET /models. */
let provider: Server;
let baseURL = '';
const seen: (string | undefined)[] = [];
beforeAll(async () => {
  provider = createServer((request, response) => {
    seen.push(request.headers['authorization'] ?? (request.headers['x-api-key'] as string | undefined));
    response.setHeader('content-type', 'application/json');
    response.end(
      JSON.stringify({
        object: 'list',
        data: [
          { id: 'big-chat', object: 'model', max_model_len: 32_000 },
          { id: 'text-embedding-3', object: 'model' },
          { id: 'small-chat', object: 'model' },
          { object: 'model' },
        ],
      }),
    );
  });
  await new Promise<void>((resolve) => provider.listen(0, '127.0.0.1', resolve));
  baseURL = `http://127.0.0.1:${(provider.address() as { port: number }).port}/v1`;
});
afterAll(() => provider.close());

test('models of a provider are listed with what is known of them, and models that do not chat are not', async () => {
  const cost = { input: 1, output: 2 };
  const models = {
    'openai-compatible': { apiKey: 'key', baseURL, cost },
    ollama: { baseURL: 'http://127.0.0.1:1' },
  };
  const config = { model: 'openai-compatible:small-chat', models, agents: { helper: { model: 'claude-x' } } };
  const listed = await listModels(config as never);
  expect(listed).toEqual([
    { name: 'openai-compatible:small-chat', contextWindow: null, cost },
    { name: 'anthropic:claude-x', contextWindow: null, cost: null },
    { name: 'openai-compatible:big-chat', contextWindow: 32_000, cost },
    { name: 'offline', contextWindow: null, cost: null },
  ]);
  expect(seen).toEqual(['Bearer key']);
  expect(await findModelName('big-chat', config as never)).toBe('openai-compatible:big-chat');
  expect(await findModelName('no-such-chat', config as never)).toBe('no-such-chat');
});

test('bare names of known families get their provider', () => {
  expect(['claude-sonnet-4-5', 'gpt-5', 'o3', 'offline', 'ollama:claude-x'].map(fullModelName)).toEqual([
    'anthropic:claude-sonnet-4-5',
    'openai:gpt-5',
    'openai:o3',
    'offline',
    'ollama:claude-x',
  ]);
});
