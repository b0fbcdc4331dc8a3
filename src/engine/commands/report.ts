import { failure } from '../../messages/failure.ts';
import { type Message, message } from '../../messages/message.ts';
import { customData } from '../../transcript/entry.ts';
import type { ExplainedCall, ExplainedMessage, Explanation } from '../admin/explain.ts';
import type { Session } from '../session.ts';
import { type CommandHandler, oneLine, openTurns } from './command-context.ts';
import { contextMessages } from './context.ts';
import { readEntries } from './read-entries.ts';
import { factsOf, ownName } from './session-line.ts';
import { modelMessages } from './settings.ts';

/** `/explain [turn]`: the last turn, the n-th turn of the session, or one by the start of its id. */
export const explain: CommandHandler = async (args, { session }) => ({
  messages: explanationMessages(await session.explain(await turnNamed(session, args))),
});

export function explanationMessages({ turnId, status, messages, calls }: Explanation): Message[] {
  const size = { requests: calls.length, messages: messages.length };
  const head = message('explain.turn', { turnId, status, ...size });
  return [head, ...messages.map(sourceMessage), ...calls.flatMap(callMessages)];
}

const MAX_NAME_CHARS = 60;

/** Describes the source of a message in the turn. */
function sourceMessage({
  inboxId,
  state,
  position,
  sender,
  channel,
  carries = [],
}: ExplainedMessage): Message {
  return message('explain.message', {
    inboxId,
    state: state ?? null,
    position: position ?? null,
    sender: sender === undefined ? null : oneLine(sender.name ?? sender.id, MAX_NAME_CHARS),
    channel: channel === undefined ? null : oneLine(channel, MAX_NAME_CHARS),
    dropped: carries,
  });
}

/** @returns `undefined` for an empty name, which means the last turn. */
export async function turnNamed(session: Session, name: string): Promise<string | undefined> {
  if (name === '') return undefined;
  const turns = (await readEntries(session)).flatMap((entry) => {
    const { turnId } = customData(entry, 'reprise.turn') ?? {};
    return typeof turnId === 'string' ? [turnId] : [];
  });
  const named = /^[1-9]\d{0,5}$/.test(name)
    ? turns.slice(Number(name) - 1, Number(name))
    : [...new Set(turns.filter((id) => id.startsWith(name)))];
  const [only, ...others] = named;
  if (only !== undefined && others.length === 0) return only;
  throw only === undefined
    ? failure('NOT_FOUND', 'turn.missing', { turn: name, turns: turns.length })
    : failure('AMBIGUOUS_REF', 'turn.ambiguous', { turn: name, matches: named.length });
}

function callMessages(call: ExplainedCall, at: number): Message[] {
  const { provider, model, messages, tokens, split, usage, latencyMs, verified, compaction, edits } = call;
  const reported =
    usage === undefined
      ? null
      : {
          input: usage.input + usage.cacheRead + usage.cacheWrite,
          cached: usage.cacheRead,
          output: usage.output,
        };
  const sent = { number: at + 1, model: `${provider}:${model}`, messages, tokens, latencyMs };
  return [
    message('explain.call', { ...sent, usage: reported }),
    message('explain.parts', { split: { ...split } }),
    message(verified ? 'explain.verified' : 'explain.unverified'),
    ...(compaction === null ? [] : [message('explain.summary', { entryId: compaction })]),
    ...(edits > 0 ? [message('explain.shortened', { results: edits })] : []),
    call.cacheBreakCode === undefined
      ? message('explain.cached')
      : message('explain.cacheBreak', { cause: call.cacheBreakCode }),
  ];
}

export const status: CommandHandler = async (_args, context) => {
  const { session, now = () => new Date() } = context;
  const record = await session.record();
  const { corruptAt, turnCount } = record;
  const pending = await openTurns(context);
  const waiting = pending.filter(({ state }) => state === 'accepted').length;
  const isRunning = pending.some(({ state }) => state === 'running');
  const pins = (await session.pins()).length;
  return {
    messages: [
      message('status.session', { name: ownName(record), facts: factsOf(record, now()) }),
      ...modelMessages(await session.model()),
      message('status.queue', { ...(await session.queue()), isRunning, waiting }),
      message('status.turns', { turns: turnCount, pins }),
      ...contextMessages(await session.context()),
      ...(corruptAt === undefined ? [] : [message('status.damaged', { offset: corruptAt })]),
    ],
  };
};
