import type { ProfileName } from '../../../src/exports/engine.ts';
import { CHAPTERS, talk } from './context.ts';
import type { Scenario } from './scenario.ts';
import { WEATHER } from './tools.ts';

/** A turn with a tool, some chapters, a compaction and a turn after it. */
function under(profile: ProfileName): Scenario {
  return {
    name: `profile-${profile}`,
    options: { profile, tools: [WEATHER] },
    script: [
      { text: 'One moment.', calls: [{ name: 'weather', input: { city: 'Bonn' } }] },
      'It rains.',
      ...CHAPTERS,
      'A summary of the conversation.',
      'And so on.',
    ],
    async play(world) {
      const session = await world.session();
      await world.say(session, 'What is the weather in Bonn?');
      await talk(world, session, 4);
      await session.compact();
      await world.say(session, 'Continue.');
    },
  };
}

export const profileScenarios: readonly (() => Scenario)[] = (
  ['claw0', 'claw0-classic', 'zeroclaw', 'clawdbot', 'zyhive'] as const
).map((profile) => () => under(profile));
