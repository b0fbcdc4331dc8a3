import { CHAPTERS, KEEP_ONE_TURN, talk } from './context.ts';
import { telegram } from './queue.ts';
import type { Scenario } from './scenario.ts';
import { WEATHER } from './tools.ts';

function undoAndRedo(): Scenario {
  return {
    name: 'undo-and-redo',
    options: { tools: [WEATHER] },
    script: [
      'Hello.',
      { calls: [{ name: 'weather', input: { city: 'Bonn' } }] },
      'It rains.',
      'Take an umbrella.',
      'A joke.',
    ],
    async play(world) {
      const session = await world.session();
      await world.say(session, 'Hi.');
      await world.say(session, 'What is the weather?');
      await session.undo();
      await session.redo();
      await world.say(session, 'What do I need?');
      await session.undo();
      await session.undo();
      await world.say(session, 'Write a joke.');
    },
  };
}

function undoCompaction(): Scenario {
  return {
    name: 'undo-compaction',
    options: { compaction: KEEP_ONE_TURN },
    script: [...CHAPTERS.slice(0, 3), 'A summary.', 'Chapter 4.', 'Chapter 5.'],
    async play(world) {
      const session = await world.session();
      await talk(world, session, 3);
      await session.compact();
      await session.undo();
      await world.say(session, 'Continue.');
      await session.undo();
      await session.undo();
      await session.redo();
      await world.say(session, 'Continue.');
    },
  };
}

function branch(): Scenario {
  return {
    name: 'branch',
    script: ['one', 'two', 'two again', 'three'],
    async play(world) {
      const session = await world.session();
      await talk(world, session, 2);
      const { leaf } = await session.record();
      await session.undo();
      await world.say(session, 'Another question.');
      await session.branch(leaf ?? '');
      await world.say(session, 'Continue.');
    },
  };
}

function fork(): Scenario {
  return {
    name: 'fork',
    script: ['one', 'two', 'three in the copy', 'three in the original'],
    async play(world) {
      const session = await world.session();
      await talk(world, session, 2);
      const copy = world.meet(await session.fork());
      await world.say(await world.reprise.session({ id: copy.id }), 'Continue in the copy.');
      await world.say(session, 'Continue.');
    },
  };
}

function threadFork(): Scenario {
  const group = { peer: '7', peerKind: 'group', mentioned: true } as const;
  return {
    name: 'fork-into-thread',
    options: { session: { threads: { fork: true } } },
    script: ['Welcome.', 'In the thread.', 'In the group.'],
    async play(world) {
      await world.receive(telegram('Hello, all.', group));
      await world.reprise.idle();
      await world.receive(telegram('A detail.', { ...group, thread: '3' }));
      await world.reprise.idle();
      await world.receive(telegram('Back to all.', group));
      await world.reprise.idle();
    },
  };
}

function resetByCommand(): Scenario {
  return {
    name: 'reset-by-command',
    script: ['Hello.', 'A new start.', 'Where were we?'],
    async play(world) {
      await world.receive(telegram('Hi.'));
      await world.reprise.idle();
      await world.receive(telegram('/new let us start again'));
      await world.reprise.idle();
      const [session] = (await world.reprise.sessions({ limit: 1 })).sessions;
      await (await world.reprise.session({ id: session?.id ?? '' })).undo();
      await (await world.reprise.session({ id: session?.id ?? '' })).undo();
      await world.receive(telegram('Back again.'));
      await world.reprise.idle();
    },
  };
}

function resetWhenIdle(): Scenario {
  return {
    name: 'reset-when-idle',
    options: { session: { reset: { mode: 'idle', idleMinutes: 30 } } },
    script: ['Hello.', 'Still here.', 'Good morning.'],
    async play(world) {
      await world.receive(telegram('Hi.'));
      await world.reprise.idle();
      world.clock.advance(20 * 60_000);
      await world.receive(telegram('Are you there?'));
      await world.reprise.idle();
      world.clock.advance(31 * 60_000);
      await world.receive(telegram('Good morning.'));
      await world.reprise.idle();
    },
  };
}

function renew(): Scenario {
  return {
    name: 'reset-by-library',
    script: ['one', 'two'],
    async play(world) {
      const session = await world.session();
      await session.patch({ thinkingLevel: 'low' });
      await talk(world, session, 1);
      const next = world.meet(await world.reprise.renew(session.key, { label: 'second life' }));
      await talk(world, next, 1);
    },
  };
}

const NO_CACHE = { cacheRead: 0, cacheWrite: 0 };

function titleAndSettings(): Scenario {
  return {
    name: 'title-label-and-settings',
    script: ['one', { text: 'two', usage: { ...NO_CACHE, input: 120, output: 8, totalTokens: 128 } }],
    async play(world) {
      const session = await world.session();
      await talk(world, session, 1);
      await session.patch({
        title: 'The book',
        label: 'book',
        thinkingLevel: 'high',
        responseUsage: 'tokens',
      });
      await session.patch({ 'x-color': 'blue', verboseLevel: 'full' });
      await talk(world, session, 1);
      await session.patch({ label: null, 'x-color': null });
    },
  };
}

function channelCommands(): Scenario {
  return {
    name: 'channel-commands',
    script: ['Hello.'],
    async play(world) {
      await world.receive(telegram('Hi.'));
      await world.reprise.idle();
      for (const text of ['/status', '/rename Greetings', '/undo', '/redo', '/undoo']) {
        await world.receive(telegram(text));
        await world.reprise.idle();
      }
    },
  };
}

/** The beginning of a PNG file, which says how large the image is. */
function png(padBytes: number): string {
  const bytes = Buffer.alloc(24 + padBytes);
  bytes.write('\x89PNG\r\n\x1a\n', 0, 'latin1');
  bytes.writeUInt32BE(13, 8);
  bytes.write('IHDR', 12, 'latin1');
  bytes.writeUInt32BE(640, 16);
  bytes.writeUInt32BE(480, 20);
  return bytes.toString('base64');
}

function images(): Scenario {
  return {
    name: 'images',
    script: ['A small image.', 'A large image.', 'Both.'],
    async play(world) {
      const session = await world.session();
      await world.say(session, { text: 'Look.', images: [{ data: png(10), mimeType: 'image/png' }] });
      const context = 'taken with a phone';
      await world.say(session, {
        text: 'And this?',
        images: [`data:image/png;base64,${png(90_000)}`],
        context,
      });
      await world.say(session, 'Which is larger?');
    },
  };
}

function subagent(): Scenario {
  return {
    name: 'subagent',
    options: { agents: { defaults: { subagents: {} } } },
    script: Array.from({ length: 4 }, () => ({ messages }) => {
      const asked = JSON.stringify(messages.at(-1));
      if (asked.includes('has ended')) return 'The subagent found it: line 7.';
      if (asked.includes('Find the bug')) return 'The bug is in line 7.';
      if (messages.at(-1)?.role === 'tool') return 'I gave the task to a subagent.';
      const input = { task: 'Find the bug.', label: 'bug hunt' };
      return { calls: [{ id: 'spawn', name: 'sessions_spawn', input }] };
    }),
    async play(world) {
      const session = await world.session();
      await world.say(session, 'There is a bug.');
      await world.reprise.idle();
    },
  };
}

export const historyScenarios: readonly (() => Scenario)[] = [
  undoAndRedo,
  undoCompaction,
  branch,
  fork,
  threadFork,
  resetByCommand,
  resetWhenIdle,
  renew,
  titleAndSettings,
  channelCommands,
  images,
  subagent,
];
