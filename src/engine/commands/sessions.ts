import { buildAgentMainSessionKey } from '../../keys/build.ts';
import { parseSessionKey } from '../../keys/session-key.ts';
import { messageText } from '../../messages/english.ts';
import { failure } from '../../messages/failure.ts';
import { type Message, message } from '../../messages/message.ts';
import { noneIfGone } from '../../store/port/nobody.ts';
import type { SessionRecord } from '../../store/port/store.ts';
import { foundSessions, searchGap, withPositions } from '../admin/found-sessions.ts';
import { isListed, isListNumber, listedSession, type RefOptions, resolveRef } from '../admin/ref.ts';
import { isDamaged, repairedMessage, repairSession } from '../history/repair.ts';
import { keyedId } from '../intake/keyed-id.ts';
import { type CommandContext, type CommandHandler, keyOf, labelOf, oneLine } from './command-context.ts';
import { entryNamed } from './read-entries.ts';
import { factsOf, ownName } from './session-line.ts';

const SCAN_LIMIT = 1000;
const SHOWN = 20;
const SNIPPET_CHARS = 160;
const MAX_HITS = 20;

export const begin: CommandHandler = async (args, { reprise, session, request }) => {
  const label = labelOf(args);
  const made = await reprise.renew(session.key, { ...(label !== '' && { label }), ...keyOf({ request }) });
  return { messages: [message('session.new', { label })], sessionId: made.id };
};

/** The numbers can be used with /switch, /delete and /repair until the next list is printed. */
export const listSessions: CommandHandler = async (args, { reprise, session, now = () => new Date() }) => {
  const { sessions } = await reprise.store.list({ limit: SCAN_LIMIT, status: 'open' });
  const wanted = args.toLowerCase();
  const fits = ({ label, title }: SessionRecord): boolean =>
    [label ?? '', title].some((name) => name.toLowerCase().includes(wanted));
  const found = sessions.filter((record) => isListed(record) && fits(record));
  if (found.length === 0)
    return {
      messages: [args === '' ? message('sessions.none') : message('sessions.noMatch', { filter: args })],
    };
  const shown = found.slice(0, SHOWN);
  const messages: Message[] = shown.map((record, i) => {
    const isCurrent = record.id === session.id;
    const facts = factsOf(record, now());
    return message('sessions.row', { number: i + 1, isCurrent, name: ownName(record), facts });
  });
  const left = found.length - shown.length;
  if (left > 0) messages.push(message('sessions.more', { sessions: left }));
  return { messages, listed: shown.map(({ id }) => id) };
};

/** Finds a session by its number in the last printed list, or by a ref. */
function sessionNamed(
  name: string,
  { reprise, listed }: Pick<CommandContext, 'reprise' | 'listed'>,
  options: RefOptions = {},
): Promise<SessionRecord> {
  return resolveRef(reprise.store, isListNumber(name) ? listedSession(listed, name) : name, options);
}

export const switchTo: CommandHandler = async (args, context) => {
  if (args === '')
    throw failure('INVALID_INPUT', 'command.needsArgument', { name: 'switch', usage: '/switch <session>' });
  const { reprise, session } = context;
  const { store } = reprise;
  const record = await sessionNamed(args, context, { status: 'open' });
  // The owner's own chat resumes this session next time. The key of a channel is not changed by looking at it.
  if (parseSessionKey(record.sessionKey).kind === 'main' && !record.active)
    await store.activate(record.sessionKey, record.id);
  const isHere = record.id === session.id;
  const now = message(isHere ? 'session.here' : 'session.switched', inSentence(record));
  return { messages: [now], sessionId: record.id };
};

function inSentence(record: SessionRecord): {
  readonly name: string;
  readonly id: string;
  readonly messages: number;
} {
  return { name: ownName(record), id: record.id, messages: record.messageCount };
}

export const fork: CommandHandler = async (args, { reprise, session, request }) => {
  const copy = request === undefined ? {} : { id: keyedId('fork', session.id, request.idempotencyKey) };
  // Resolve the name now, against the current history; later appends do not change which entry it means. For a retry
  // of a copy that has begun, do not resolve it again: by now it might match other entries, or none.
  const begun = copy.id === undefined ? undefined : await reprise.store.get(copy.id).catch(noneIfGone);
  const at = args === '' || begun !== undefined ? {} : { at: await entryNamed(session, args) };
  const { id } = await session.fork({ ...at, ...copy });
  return { messages: [message('session.forked', { id })], sessionId: id };
};

export const remove: CommandHandler = async (args, context) => {
  const { reprise, session, confirm } = context;
  const record = args === '' ? await session.record() : await sessionNamed(args, context, { status: 'open' });
  const named = inSentence(record);
  if (confirm === undefined) throw failure('INVALID_INPUT', 'delete.needsConfirmation', named);
  const isCurrent = record.id === session.id;
  const question = message('delete.question', { ...named, isCurrent });
  if (!(await confirm(messageText(question), question))) return { messages: [message('delete.nothing')] };
  await reprise.store.delete(record.id);
  const messages = [message('delete.done', named)];
  return isCurrent ? { messages, sessionId: await nextSession(context, record) } : { messages };
};

/** The session in which the owner continues: the agent's main session, created if needed. */
async function nextSession({ reprise }: CommandContext, { agentId }: SessionRecord): Promise<string> {
  return (await reprise.session(buildAgentMainSessionKey({ agentId }))).id;
}

export const search: CommandHandler = async (args, { reprise }) => {
  if (args === '')
    throw failure('INVALID_INPUT', 'command.needsArgument', { name: 'search', usage: '/search <text>' });
  const found = await reprise.store.search({ text: args, limit: MAX_HITS });
  const { hits, next } = found;
  const sessions = await foundSessions(reprise.store, hits);
  const left = (await withPositions(reprise.store, hits, sessions)).flatMap((hit) => {
    const session = sessions.get(hit.id);
    return session === undefined ? [] : [{ ...hit, name: ownName(session) }];
  });
  const messages: Message[] = left.map(({ id, seq: line, position = null, role, at, snippet, name }) =>
    message('search.hit', {
      ...{ name, id, position, line, role },
      at: at.slice(0, 16).replace('T', ' '),
      snippet: oneLine(snippet, SNIPPET_CHARS),
    }),
  );
  const [first] = left;
  if (first === undefined) messages.push(message('search.none', { text: args }));
  else {
    const at = first.position === undefined ? first.seq : `'#${first.position}'`;
    messages.push(message('search.show', { command: `reprise show ${first.id} --at ${at}` }));
  }
  if (next !== null) messages.push(message('search.more', { max: MAX_HITS }));
  const gap = searchGap(found);
  if (gap !== undefined) messages.push(gap);
  return { messages };
};

export const repair: CommandHandler = async (args, context) => {
  const { reprise, session, request } = context;
  const damaged = args === '' ? await session.record() : await sessionNamed(args, context);
  if (!(await isDamaged(reprise.store, damaged)))
    return { messages: [message('session.notDamaged', { name: ownName(damaged) })] };
  const id = request === undefined ? undefined : keyedId('repair', damaged.id, request.idempotencyKey);
  const result = await repairSession(reprise.store, damaged, { id });
  const messages = [repairedMessage(result)];
  return damaged.id === session.id ? { messages, sessionId: result.repaired } : { messages };
};

export const exportTranscript: CommandHandler = async (args, { session }) => {
  const record = await session.record();
  const messages = [message('export.session', inSentence(record))];
  return { messages, save: { sessionId: session.id, ...parseExport(args, session.id) } };
};

/** Parses `[file] [--redact]` of `/export`. */
export function parseExport(
  args: string,
  sessionId: string,
): { readonly name: string; readonly redact: boolean } {
  const name = args.replace(/(?:^|\s)--redact(?=\s|$)/, '').trim();
  const redact = name !== args.trim();
  return { name: name === '' ? `${sessionId}.jsonl` : name, redact };
}
