import type { Tool } from '../../../src/index.ts';
import type { Scenario } from './scenario.ts';

export const WEATHER: Tool = {
  name: 'weather',
  description: 'Reports the weather of a city.',
  inputSchema: { type: 'object', properties: { city: { type: 'string' } }, required: ['city'] },
  safe: true,
  run: ({ city }) => `It rains in ${String(city)}.`,
};

/** Two calls run side by side and end in the other order. */
function slowAndFast(): Tool {
  const fast = Promise.withResolvers<void>();
  return {
    name: 'fetch',
    description: 'Fetches a page.',
    inputSchema: { type: 'object', properties: { page: { type: 'string' } } },
    safe: true,
    run: async ({ page }) => {
      if (page === 'slow') await fast.promise;
      // The slow page may end as soon as the engine has had the result of the fast one.
      else setImmediate(() => setImmediate(fast.resolve));
      return `page ${String(page)}`;
    },
  };
}

const FAILING: Tool = {
  name: 'deploy',
  description: 'Deploys.',
  inputSchema: { type: 'object' },
  safe: true,
  run: () => {
    throw new Error('no such host');
  },
};

/** The engine has to assume that it must not run twice. */
export const UNSAFE: Tool = {
  name: 'pay',
  description: 'Pays a bill.',
  inputSchema: { type: 'object', properties: { euros: { type: 'number' } } },
  run: ({ euros }) => `paid ${String(euros)} euros`,
};

function withTool(name: string, tool: Tool, calls: readonly object[]): Scenario {
  return {
    name,
    options: { tools: [tool] },
    script: [
      { text: 'One moment.', calls: calls.map((input) => ({ name: tool.name, input: { ...input } })) },
      'That is all.',
      'You are welcome.',
    ],
    async play(world) {
      const session = await world.session();
      await world.say(session, 'Please do it.');
      await world.say(session, 'Thank you.');
    },
  };
}

function unknownTool(): Scenario {
  return {
    name: 'tool-unknown',
    options: { tools: [WEATHER] },
    script: [
      { calls: [{ name: 'wether', input: { city: 'Bonn' } }] },
      { calls: [{ name: 'weather', rawArguments: '{"city": ' }] },
      'I give up.',
    ],
    play: async (world) => void (await world.say(await world.session(), 'What is the weather in Bonn?')),
  };
}

export const toolScenarios: readonly (() => Scenario)[] = [
  () => withTool('tool-one-call', WEATHER, [{ city: 'Bonn' }]),
  () => withTool('tool-two-parallel-calls', slowAndFast(), [{ page: 'slow' }, { page: 'fast' }]),
  () => withTool('tool-fails', FAILING, [{}]),
  () => withTool('tool-unsafe', UNSAFE, [{ euros: 12 }]),
  unknownTool,
];
