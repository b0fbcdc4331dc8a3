import { RepriseError } from '../../errors.ts';
import { customData } from '../../transcript/entry.ts';
import type { ExplainedCall, ExplainedMessage, Explanation } from '../explain.ts';
import type { Session } from '../session.ts';
import { type CommandHandler, count, counted, oneLine, openTurns } from './command-context.ts';
import { contextBar } from './context.ts';
import { readEntries } from './read-entries.ts';
import { sessionFacts, sessionName } from './session-line.ts';
import { modelText, queueText } from './settings.ts';

/** `/explain [turn]`: the last turn, the n-th of the session, or one by the start of its id. */
export const explain: CommandHandler = async (args, { session }) => ({
  text: explanationText(await session.explain(await turnNamed(session, args))),
});

export function explanationText({ turnId, status, messages, calls }: Explanation): string {
  const head = `Turn ${turnId}: ${status}, ${counted(calls.length, 'request')} for ${counted(messages.length, 'message')}.`;
  return [head, ...messages.map(messageText), ...calls.map(callText)].join('\n');
}

const MAX_NAME_CHARS = 60;

function messageText({ inboxId, state, position, sender, channel, carries = [] }: ExplainedMessage): string {
  const from = sender === undefined ? '' : ` from ${oneLine(sender.name ?? sender.id, MAX_NAME_CHARS)}`;
  const on = channel === undefined ? '' : ` on ${oneLine(channel, MAX_NAME_CHARS)}`;
  const dropped =
    carries.length === 0
      ? ''
      : `; lists ${counted(carries.length, 'dropped message')}: ${carries.join(', ')}`;
  const name = position === undefined ? 'a message' : `#${position}`;
  return `   ${name}${from}${on}: inbox ${inboxId}${state === undefined ? '' : `, ${state}`}${dropped}`;
}

/** Empty: undefined, which is the last one. */
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
  const problem = only === undefined ? `no turn "${name}"` : `"${name}" fits ${named.length} turns`;
  throw new RepriseError(only === undefined ? 'NOT_FOUND' : 'AMBIGUOUS_REF', problem, {
    details: { next: `It has ${counted(turns.length, 'turn')}, counted from 1.` },
  });
}

function callText(call: ExplainedCall, at: number): string {
  const { provider, model, messages, tokens, split, usage, latencyMs, verified, compaction, edits } = call;
  const parts = Object.entries(split).map(([part, n]) => `${part} ${count(n)}`);
  const notes = [
    verified
      ? 'proved: made again from the history it has the same hash'
      : 'not proved: the prompt, the tools, the model or stored lines have changed since',
    ...(compaction === null ? [] : [`the summary of ${compaction} stood for older messages`]),
    ...(edits > 0 ? [`${edits} tool results were shortened`] : []),
    call.extendsPrevious
      ? 'begins with the request before it: a prompt cache could serve that'
      : `the prompt cache began anew: ${call.cacheBreak ?? 'unknown'}`,
  ];
  const reported =
    usage === undefined
      ? ''
      : `, reported ${count(usage.input + usage.cacheRead + usage.cacheWrite)} in (${count(usage.cacheRead)} cached) and ${count(usage.output)} out`;
  return `${at + 1}. ${provider}:${model}, ${counted(messages, 'message')}, ~${count(tokens)} tokens${reported}, ${count(latencyMs)} ms
   ${parts.join(', ')}
${notes.map((note) => `   ${note}`).join('\n')}`;
}

export const status: CommandHandler = async (_args, context) => {
  const { session, now = () => new Date() } = context;
  const record = await session.record();
  const pending = await openTurns(context);
  const waiting = pending.filter(({ state }) => state === 'accepted').length;
  const running = pending.some(({ state }) => state === 'running');
  const pins = (await session.pins()).length;
  const lines = [
    sessionName(record),
    sessionFacts(record, now()),
    `model: ${modelText(await session.model())}`,
    `queue: ${queueText(await session.queue())}; ${running ? 'a turn is running' : 'idle'}, ${count(waiting)} waiting`,
    `turns: ${count(record.turnCount)}; pinned: ${count(pins)}`,
    contextBar(await session.context()),
    ...(record.corruptAt === undefined ? [] : [`damaged at byte ${record.corruptAt}: /repair goes on`]),
  ];
  return { text: lines.join('\n') };
};
