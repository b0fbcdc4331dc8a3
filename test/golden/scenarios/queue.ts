import type { InboundMessage, Tool } from '../../../src/index.ts';
import { held } from '../world.ts';
import type { Scenario } from './scenario.ts';

export function telegram(text: string, more: Partial<InboundMessage> = {}): InboundMessage {
  return { text, channel: 'telegram', peer: 'ada', sender: { id: 'ada', name: 'Ada' }, ...more };
}

const echo: Tool = {
  name: 'echo',
  description: 'Returns the text.',
  inputSchema: { type: 'object', properties: { text: { type: 'string' } } },
  safe: true,
  run: ({ text }) => `echo: ${String(text)}`,
};

type Mode = Exclude<NonNullable<InboundMessage['queue']>, 'interrupt' | 'reject'>;

/** One message runs and calls a tool; three arrive before the model answers. */
function whileItWorks(mode: Mode): Scenario {
  const first = held({ text: 'Let me see.', calls: [{ name: 'echo', input: { text: 'one' } }] });
  return {
    name: `queue-${mode}`,
    options: { tools: [echo] },
    script: [first.step, 'answer 1', 'answer 2', 'answer 3', 'answer 4'],
    async play(world) {
      await world.receive(telegram('one', { queue: mode, messageId: '1' }));
      await first.started;
      for (const [i, text] of ['two', 'three', 'four'].entries())
        await world.receive(telegram(text, { queue: mode, messageId: String(i + 2) }));
      first.release();
      await world.reprise.idle();
    },
  };
}

/** Each message stops the turn of the one before it, while the model is busy with that. */
function interrupt(): Scenario {
  const first = held('never sent');
  const second = held('never sent either');
  return {
    name: 'queue-interrupt',
    script: [first.step, second.step, 'the answer'],
    async play(world) {
      await world.receive(telegram('one', { queue: 'interrupt' }));
      await first.started;
      await world.receive(telegram('two', { queue: 'interrupt' }));
      await second.started;
      await world.receive(telegram('three', { queue: 'interrupt' }));
      await world.reprise.idle();
    },
  };
}

/** Messages of a program, each followed by a stream. */
function bySend(name: string, mode: 'followup' | 'steer'): Scenario {
  const first = held('the first answer');
  return {
    name,
    script: [first.step, 'the next answer', 'the last answer'],
    async play(world) {
      const session = await world.session();
      const one = await world.send(session, 'one');
      await first.started;
      const two = await world.send(session, 'two', { queueMode: mode });
      await two.queued;
      const three = await world.send(session, 'three', { queueMode: mode });
      await three.queued;
      first.release();
      await Promise.all([one.over, two.over, three.over]);
    },
  };
}

function fullQueue(): Scenario {
  const first = held('answer 1');
  return {
    name: 'queue-full-summarize',
    options: { session: { queue: { mode: 'followup', cap: 2, drop: 'summarize' } } },
    script: [first.step, 'answer 2', 'answer 3'],
    async play(world) {
      await world.receive(telegram('one'));
      await first.started;
      for (const text of ['two', 'three', 'four', 'five']) await world.receive(telegram(text));
      first.release();
      await world.reprise.idle();
    },
  };
}

function sameKeyTwice(): Scenario {
  return {
    name: 'send-same-key-twice',
    script: ['only once'],
    async play(world) {
      const session = await world.session();
      await world.say(session, 'pay the bill', { idempotencyKey: 'bill-7' });
      const again = await world.send(session, 'pay the bill', { idempotencyKey: 'bill-7' });
      await world.overByClock(again);
    },
  };
}

export const queueScenarios: readonly (() => Scenario)[] = [
  ...(['steer', 'followup', 'collect', 'steer-backlog', 'queue'] as const).map(
    (mode) => () => whileItWorks(mode),
  ),
  interrupt,
  () => bySend('send-followup', 'followup'),
  () => bySend('send-steer', 'steer'),
  fullQueue,
  sameKeyTwice,
];
