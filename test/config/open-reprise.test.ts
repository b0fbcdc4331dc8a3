import { mkdtempSync, readdirSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { describe, expect, test } from 'vitest';
import { type OpenRepriseOptions, openReprise } from '../../src/config/open-reprise.ts';
import { scripted } from '../support/engine/engine.ts';

describe('the model of a session', () => {
  test('patch selects it, by the name of `models` or of a provider', async () => {
    const fast = scripted(['from fast']);
    const other = scripted(['from the default', 'from the default again']);
    await using reprise = await openReprise({ store: 'memory', model: other, models: { fast } });
    const session = await reprise.session('agent:main:main');
    expect((await session.send('a').result).text).toBe('from the default');
    await session.patch({ model: 'fast' });
    expect((await session.send('b').result).text).toBe('from fast');
    expect(await session.model()).toMatchObject({ name: 'fast', from: 'session' });
    await session.patch({ model: 'offline' });
    expect((await session.send('c').result).text).toContain('You said: "c"');
    await session.patch({ model: null });
    expect((await session.send('d').result).text).toBe('from the default again');
  });

  test('a name that no model has is refused, and nothing changes', async () => {
    await using reprise = await openReprise({ store: 'memory', models: { fast: scripted(['x']) } });
    const session = await reprise.session('agent:main:main');
    for (const model of ['fats', 'nobody:x', 'openai-compatible:x'])
      await expect(session.patch({ model, label: 'no' })).rejects.toMatchObject({
        code: 'INVALID_INPUT',
        why: { code: model === 'openai-compatible:x' ? 'model.noAddress' : 'model.noProvider' },
        details: { field: 'model' },
      });
    expect((await session.record()).settings).toEqual({});
  });

  test('another provider never gets the key of this one', async () => {
    const options = { model: 'anthropic:a', modelOptions: { apiKey: 'sk-of-anthropic' } };
    await using reprise = await openReprise({ store: 'memory', ...options });
    const session = await reprise.session('agent:main:main');
    await session.patch({ model: 'anthropic:b' });
    await expect(session.patch({ model: 'openai:x' })).rejects.toMatchObject({ code: 'INVALID_INPUT' });
  });
});

describe('options that would have no effect are refused before anything is opened', () => {
  const tool = { name: 'ok', description: 'd', inputSchema: { type: 'object' }, run: () => 'x' };
  const { run: _, ...withoutRun } = tool;
  test.each<[string, object]>([
    ['openReprise has no "modle"', { modle: 'offline' }],
    ['openReprise has no "modelOption"', { modelOption: {} }],
    ['session has no "idelMinutes"', { session: { idelMinutes: 1 } }],
    ['compaction has no "backgroud"', { compaction: { backgroud: false } }],
    ['lanes has no "turn"', { lanes: { turn: 1 } }],
    ['agents.main has no "systemPromt"', { agents: { main: { systemPromt: 'x' } } }],
    ['run of the tool "ok" is missing', { tools: [withoutRun] }],
    ['tools.1.name cannot be "ok": another tool in the list has this name', { tools: [tool, tool] }],
    ['tools.0.name cannot be "my tool"', { tools: [{ ...tool, name: 'my tool' }] }],
    ['tools.0.name is missing', { tools: [{}] }],
    ['description of the tool "ok"', { tools: [{ ...tool, description: undefined }] }],
    ['inputSchema of the tool "ok"', { tools: [{ ...tool, inputSchema: 'text' }] }],
    ['tools cannot be', { tools: tool }],
  ])('%s', async (message, options) => {
    const home = mkdtempSync(join(tmpdir(), 'reprise-options-'));
    const opening = openReprise({ home, ...options } as OpenRepriseOptions);
    await expect(opening).rejects.toMatchObject({
      code: 'CONFIG_INVALID',
      message: expect.stringContaining(message),
    });
    expect(readdirSync(home)).toEqual([]);
    rmSync(home, { recursive: true });
  });
});

test('an older Node is named together with the version that is needed', async () => {
  const { versions } = process;
  Object.defineProperty(process, 'versions', { value: { ...versions, node: '20.20.2' } });
  try {
    await expect(openReprise({ store: 'memory' })).rejects.toMatchObject({
      code: 'CONFIG_INVALID',
      message: 'reprise needs Node.js 24 or newer; this is 20.20.2',
    });
  } finally {
    Object.defineProperty(process, 'versions', { value: versions });
  }
});
