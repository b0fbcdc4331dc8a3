import { RepriseError, type Session } from '../../../src/index.ts';
import type { World, WorldOptions } from '../world.ts';
import type { Scenario } from './scenario.ts';

/** A text of so many characters, which an estimate of tokens finds ordinary. */
function prose(length: number): string {
  const text = 'the river runs to the sea and the sea is wide '.repeat(Math.ceil(length / 46));
  return `${text.slice(0, length - 1)}.`;
}

export async function talk(world: World, session: Session, turns: number): Promise<void> {
  for (let i = 1; i <= turns; i++) await world.say(session, `Question ${i}: please describe chapter ${i}.`);
}

export const CHAPTERS: readonly string[] = Array.from(
  { length: 4 },
  (_, i) => `Chapter ${i + 1}: ${prose(3000)}`,
);
export const KEEP_ONE_TURN: NonNullable<WorldOptions['compaction']> = {
  background: false,
  cut: { kind: 'keep-turns', turns: 1 },
};

const overflow = new RepriseError('CONTEXT_OVERFLOW', 'prompt is too long: 210000 tokens > 200000 maximum', {
  details: { status: 400, limit: 200_000, actual: 210_000 },
});

function manual(): Scenario {
  return {
    name: 'compaction-manual',
    options: { compaction: KEEP_ONE_TURN },
    script: [...CHAPTERS, 'A summary of three chapters.', 'Chapter 5.'],
    async play(world) {
      const session = await world.session();
      await talk(world, session, 4);
      await session.compact({ focus: 'the river' });
      await world.say(session, 'Continue.');
    },
  };
}

function automatic(): Scenario {
  return {
    name: 'compaction-automatic',
    options: { compaction: { ...KEEP_ONE_TURN, trigger: { kind: 'tokens', tokens: 2000 } } },
    script: [...CHAPTERS.slice(0, 3), 'A summary of the first chapters.', 'Chapter 4.'],
    async play(world) {
      const session = await world.session();
      await talk(world, session, 4);
    },
  };
}

function inBackground(): Scenario {
  return {
    name: 'compaction-in-background',
    options: { compaction: { ...KEEP_ONE_TURN, background: 0.15 }, contextWindow: 20_000 },
    script: [...CHAPTERS.slice(0, 3), 'A summary of the first chapters.', 'The end.'],
    async play(world) {
      const session = await world.session();
      for (const text of ['One.', 'Two.', 'Three.', 'Four.']) {
        await world.say(session, text);
        await world.reprise.idle();
      }
    },
  };
}

function afterOverflow(): Scenario {
  return {
    name: 'compaction-after-overflow',
    options: { compaction: KEEP_ONE_TURN },
    script: [...CHAPTERS.slice(0, 3), overflow, 'A summary of the first chapters.', 'Chapter 4.'],
    async play(world) {
      const session = await world.session();
      await talk(world, session, 4);
    },
  };
}

function byDigest(): Scenario {
  return {
    name: 'compaction-by-digest',
    options: { compaction: KEEP_ONE_TURN },
    script: [...CHAPTERS.slice(0, 3), new Error('the summary failed'), 'Chapter 4.'],
    async play(world) {
      const session = await world.session();
      await talk(world, session, 3);
      await session.compact();
      await world.say(session, 'Continue.');
    },
  };
}

function largeToolResult(): Scenario {
  return {
    name: 'overflow-of-tool-result',
    options: {
      tools: [
        {
          name: 'log',
          description: 'Prints a log.',
          inputSchema: { type: 'object' },
          safe: true,
          maxOutputChars: 400_000,
          run: () => 'line of output\n'.repeat(20_000),
        },
      ],
    },
    script: [{ calls: [{ name: 'log' }] }, overflow, 'The log is fine.'],
    play: async (world) => void (await world.say(await world.session(), 'Read the log.')),
  };
}

function pins(): Scenario {
  return {
    name: 'pins',
    options: { compaction: KEEP_ONE_TURN },
    script: [...CHAPTERS.slice(0, 3), 'A summary.', 'Chapter 4.', 'Chapter 5.'],
    async play(world) {
      const session = await world.session();
      await world.say(session, 'My door code is 4711.');
      const { entries } = await session.history();
      const code = entries.find(({ entry }) => entry.type === 'message')?.entry.id ?? '';
      await session.pin(code);
      await talk(world, session, 2);
      await session.compact();
      await world.say(session, 'What is my door code?');
      await session.unpin(code);
      await world.say(session, 'And now?');
    },
  };
}

function historyTurns(): Scenario {
  return {
    name: 'history-turns',
    script: ['one', 'two', 'three', 'four'],
    async play(world) {
      const session = await world.session();
      await session.patch({ historyTurns: 2 });
      await talk(world, session, 4);
    },
  };
}

export const contextScenarios: readonly (() => Scenario)[] = [
  manual,
  automatic,
  inBackground,
  afterOverflow,
  byDigest,
  largeToolResult,
  pins,
  historyTurns,
];
