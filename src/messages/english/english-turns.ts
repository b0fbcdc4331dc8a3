import { count } from '../english-format.ts';
import type { MessageTable } from '../message.ts';
import type { TurnMessages } from '../params/params-turns.ts';

const PARTS = { text: 'characters of text', context: 'characters of context', images: 'images' };

export const ENGLISH_TURNS: Pick<MessageTable, keyof TurnMessages> = {
  'turn.answerTooLong': ({ max }) => [
    `the answer is longer than ${count(max)} characters; the rest was cut off`,
    'Ask for less at a time, or ask the model to continue.',
  ],
  'turn.tooManySteps': ({ max }) => [
    `the turn called the model more than ${count(max)} times`,
    'Ask the model to continue, or raise the setting maxSteps.',
  ],
  'turn.stuck': ({ seconds }) => [
    `the turn made no progress for ${count(seconds)} s`,
    'Send the message again. If a tool hangs, give it a timeout.',
  ],
  'turn.stopped': () => ['the turn was stopped'],
  'turn.timeLimit': () => ['the time limit of the task is over'],
  'turn.interrupted': () => ['a newer message interrupted this turn'],
  'turn.toolInterrupted': () => [
    'the process ended while a tool was running; the tool was not run again',
    'Send another message to continue the conversation.',
  ],
  'turn.crashLoop': ({ attempts }) => [
    `the turn was given up after ${count(attempts)} attempts that each ended in a crash`,
    'Send the message again in another form, or look into the log for the cause of the crashes.',
  ],
  'turn.endedAs': ({ status }) => [`the turn ended as ${status}`],
  'turn.tooLarge': ({ tokens, budget }) => [
    `the last message and the system prompt have ~${count(tokens)} tokens, but only ${count(budget)} fit into the context window`,
    'Send less at once, or choose a model with a larger window with /model.',
  ],
  'turn.takenOver': () => [
    'another process took over the session',
    'Follow the session there, or try again.',
  ],
  'task.stoppedWithParent': () => ['the task was stopped together with the session that gave it'],
  'task.cancelled': () => ['the task was cancelled before it ended'],
  'task.notStarted': () => ['the turn was stopped before the subagent started'],
  'engine.closed': () => ['the engine is closed', 'Open a new one.'],
  'engine.closedEarly': ({ inboxId }) => [
    `the engine was closed before the message ${inboxId} was answered`,
    'Send the message again with the same idempotency key, or ask for the status of its inbox id.',
  ],
  'message.empty': () => ['the message is empty', 'Send text or an image.'],
  'message.tooLong': ({ part, length, max }) => [
    `the message has ${count(length)} ${PARTS[part]}, at most ${count(max)} are allowed`,
    'Send it in parts, or put it into a file.',
  ],
  'message.badImage': () => [
    'the message has an image in an unknown form',
    'Send {data, mimeType} with data in base64, or a base64 data URL.',
  ],
  'message.notObject': () => ['the message is not an object', 'Send {"text": "…", "channel": "…"}.'],
  'message.endedAs': ({ state }) => [state === 'failed' ? 'the message failed' : `the message was ${state}`],
  'message.dropped': () => [
    'the message was dropped because the queue of the session is full',
    'Send it again when some of the queued messages are answered.',
  ],
  'message.ownOutput': ({ by }) => [
    `the message is not answered: ${by === 'account' ? 'it comes from the account of this agent' : 'it repeats what this agent answered'}`,
    'Nothing to do: an agent does not answer its own messages.',
  ],
  'command.interrupted': () => ['the process ended while the command was running', 'Send the command again.'],
  'turn.usage': ({ input, output, cacheRead, cacheWrite, cost }) => {
    const parts = [`${count(input)} in`, `${count(output)} out`];
    if (cacheRead !== null) parts.push(`${count(cacheRead)} from cache`);
    if (cacheWrite !== null) parts.push(`${count(cacheWrite)} to cache`);
    if (cost !== null) parts.push(`cost ${price(cost)}`);
    return `Tokens: ${parts.join(', ')}`;
  },
  'idempotency.keyReused': () => [
    'the idempotency key was already used for another request',
    'Use a new key for a new request.',
  ],
  'send.denied': ({ sessionKey, channel }) => [
    `the send policy does not allow messages from ${channel} in ${sessionKey}`,
    'Change session.sendPolicy, or set sendPolicy of the session to "allow".',
  ],
  'agent.missing': ({ agentId, known }) => [
    `there is no agent ${agentId}`,
    `Configured agents: ${known.join(', ')}. To add this one: "agents": { "${agentId}": {} }`,
  ],
  'agent.otherAgent': ({ agentId, given }) => [
    `the session belongs to agent ${agentId}, not ${given}`,
    'Leave agentId out, or name the agent of the session.',
  ],
  'session.otherKey': ({ sessionId, sessionKey }) => [
    `the session ${sessionId} belongs to the key ${sessionKey}`,
    'Leave sessionKey out, or use the key of the session.',
  ],
  'session.noDamage': ({ sessionId }) => [
    `the session ${sessionId} is not damaged`,
    'Nothing was changed; continue the session as it is.',
  ],
  'session.idTaken': ({ sessionId, source }) => [
    `the session ${sessionId} already exists and is not a copy of ${source}`,
    'Leave the id out, or choose another one.',
  ],
  'prune.indexing': () => [
    'the session index is still being rebuilt, so the oldest sessions are not known yet',
    'Try again when "reprise doctor" reports that the index is complete.',
  ],
};

/** At least two digits after the point, and two digits that are not zero. */
function price(cost: number): string {
  if (cost === 0 || cost >= 1) return cost.toFixed(2);
  const digits = Math.min(8, 1 - Math.floor(Math.log10(cost)));
  return cost.toFixed(Math.max(2, digits));
}
