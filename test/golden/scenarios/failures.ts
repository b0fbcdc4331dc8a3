import { RepriseError, type Tool } from '../../../src/index.ts';
import type { ScriptedStep } from '../../../testing/index.ts';
import { held } from '../world.ts';
import type { Scenario } from './scenario.ts';
import { UNSAFE, WEATHER } from './tools.ts';

/** A tool that runs until its turn is stopped or its process dies. */
function endless(tool: Tool): { tool: Tool; started: Promise<void> } {
  const started = Promise.withResolvers<void>();
  const run: Tool['run'] = (_, { signal }) => {
    started.resolve();
    return new Promise((_, reject) =>
      signal.addEventListener('abort', () => reject(signal.reason), { once: true }),
    );
  };
  return { tool: { ...tool, run }, started: started.promise };
}

function stopDuringText(): Scenario {
  return {
    name: 'stop-during-text',
    options: { pauseAfterText: 'upon ' },
    script: [{ text: ['Once ', 'upon ', 'a time'] }, 'The end.'],
    async play(world) {
      const session = await world.session();
      const story = await world.send(session, 'Write a story.');
      await world.event((event) => event.type === 'text_delta' && event.text === 'upon ');
      await session.stop();
      await story.over;
      await world.say(session, 'And now?');
    },
  };
}

function stopDuringTool(): Scenario {
  const { tool, started } = endless(UNSAFE);
  return {
    name: 'stop-during-tool',
    options: { tools: [tool] },
    script: [{ text: 'Paying.', calls: [{ name: 'pay', input: { euros: 9 } }] }, 'It was stopped.'],
    async play(world) {
      const session = await world.session();
      const order = await world.send(session, 'Pay the bill.');
      await started;
      await session.stop();
      await order.over;
      await world.say(session, 'Was it paid?');
    },
  };
}

function stopWithQueuedMessages(): Scenario {
  const first = held('never sent');
  return {
    name: 'stop-with-queued-messages',
    script: [first.step],
    async play(world) {
      const session = await world.session();
      const one = await world.send(session, 'one');
      await first.started;
      const two = await world.send(session, 'two');
      await two.queued;
      await session.stop({ waiting: true });
      await one.over;
      await world.overByClock(two);
    },
  };
}

function crashBeforeAnswer(): Scenario {
  const lost = held('never sent');
  return {
    name: 'crash-before-answer',
    script: [lost.step, 'Here is the answer.'],
    async play(world) {
      const question = await world.send(await world.session(), 'What is the answer?');
      await lost.started;
      await world.crash();
      await world.open();
      const session = await world.session();
      await (await world.resume(session, question.inboxId)).over;
    },
  };
}

function crashDuringTool(
  name: string,
  safe: Tool,
  input: Record<string, unknown>,
  script: readonly ScriptedStep[],
): Scenario {
  const { tool, started } = endless(safe);
  return {
    name,
    options: { tools: [tool] },
    script: [{ text: 'One moment.', calls: [{ name: tool.name, input }] }, ...script],
    async play(world) {
      const order = await world.send(await world.session(), 'Please do it.');
      await started;
      await world.crash();
      await world.open({ tools: [safe] });
      const session = await world.session();
      await (await world.resume(session, order.inboxId)).over;
      await world.say(session, 'And now?');
    },
  };
}

function crashWithQueue(): Scenario {
  const lost = held('never sent');
  return {
    name: 'crash-with-queued-messages',
    script: [lost.step, 'to the first', 'to the second'],
    async play(world) {
      const session = await world.session();
      const one = await world.send(session, 'one');
      await lost.started;
      const two = await world.send(session, 'two');
      await two.queued;
      await world.crash();
      await world.open();
      const again = await world.session();
      const first = await world.resume(again, one.inboxId);
      const second = await world.resume(again, two.inboxId);
      await Promise.all([first.over, second.over]);
    },
  };
}

function providerError(code: 'MODEL_RATE_LIMITED' | 'MODEL_FAILED', message: string, status: number): Error {
  return new RepriseError(code, message, { details: { status, provider: 'scripted' } });
}

function modelError(): Scenario {
  return {
    name: 'model-error-and-send-again',
    script: [
      'Hello.',
      { text: 'The answer ', error: providerError('MODEL_RATE_LIMITED', 'too many requests', 429) },
      'The answer is 42.',
      'The other answer is 43.',
    ],
    async play(world) {
      const session = await world.session();
      await world.say(session, 'Hi.');
      await world.say(session, 'What is the answer?');
      await (await world.sendAgain(session)).over;
      await (await world.sendAgain(session, { text: 'What is the other answer?' })).over;
    },
  };
}

function modelRetries(): Scenario {
  return {
    name: 'model-retries-by-itself',
    options: { providerFailures: ['overloaded', 'overloaded'] },
    script: ['At last.'],
    play: async (world) => void (await world.say(await world.session(), 'Are you there?')),
  };
}

function modelRefuses(): Scenario {
  const refusal = providerError('MODEL_FAILED', 'messages.1: invalid thinking block', 400);
  return {
    name: 'model-refuses-and-gets-stricter-request',
    script: [{ thinking: { text: 'Hm.', signature: 's1' }, text: 'Hello.' }, refusal, 'Fine.'],
    async play(world) {
      const session = await world.session();
      await world.say(session, 'Hi.');
      await world.say(session, 'How are you?');
    },
  };
}

export const failureScenarios: readonly (() => Scenario)[] = [
  stopDuringText,
  stopDuringTool,
  stopWithQueuedMessages,
  crashBeforeAnswer,
  () =>
    crashDuringTool('crash-during-safe-tool', WEATHER, { city: 'Lisbon' }, ['It rained.', 'Still raining.']),
  () => crashDuringTool('crash-during-unsafe-tool', UNSAFE, {}, ['I do not know whether it was paid.']),
  crashWithQueue,
  modelError,
  modelRetries,
  modelRefuses,
];
