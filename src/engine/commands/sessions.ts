import { buildAgentMainSessionKey } from '../../keys/build.ts';
import { parseSessionKey } from '../../keys/session-key.ts';
import { noneIfGone } from '../../store/nobody.ts';
import type { SessionRecord } from '../../store/store.ts';
import { foundSessions, searchGap, withPositions } from '../found-sessions.ts';
import { keyedId } from '../keyed-id.ts';
import { isListed, isListNumber, listedSession, type RefOptions, resolveRef } from '../ref.ts';
import { isDamaged, repairedText, repairSession } from '../repair.ts';
import {
  type CommandContext,
  type CommandHandler,
  count,
  counted,
  keyOf,
  labelOf,
  oneLine,
  refuse,
} from './command-context.ts';
import { entryNamed } from './read-entries.ts';
import { sessionFacts, sessionName } from './session-line.ts';

const SCAN_LIMIT = 1000;
const SHOWN = 20;
const SNIPPET_CHARS = 160;
const MAX_HITS = 20;

export const begin: CommandHandler = async (args, { reprise, session, request }) => {
  const label = labelOf(args);
  const made = await reprise.renew(session.key, { ...(label !== '' && { label }), ...keyOf({ request }) });
  const name = label === '' ? 'A new session' : `A new session, "${label}"`;
  return { text: `${name}; the old one is kept.`, sessionId: made.id };
};

/** The numbers are for /switch, /delete and /repair, until the next list is printed. */
export const listSessions: CommandHandler = async (args, { reprise, session, now = () => new Date() }) => {
  const { sessions } = await reprise.store.list({ limit: SCAN_LIMIT, status: 'open' });
  const wanted = args.toLowerCase();
  const fits = ({ label, title }: SessionRecord): boolean =>
    [label ?? '', title].some((name) => name.toLowerCase().includes(wanted));
  const found = sessions.filter((record) => isListed(record) && fits(record));
  if (found.length === 0)
    return { text: args === '' ? 'No sessions.' : `No session has "${args}" in its name.` };
  const shown = found.slice(0, SHOWN);
  const lines = shown.map((record, i) => {
    const mark = record.id === session.id ? '*' : ' ';
    return `${String(i + 1).padStart(3)}${mark} ${sessionName(record)}\n     ${sessionFacts(record, now())}`;
  });
  const left = found.length - shown.length;
  if (left > 0) lines.push(`… ${count(left)} more`);
  return { text: lines.join('\n'), listed: shown.map(({ id }) => id) };
};

/** A session by a number of the list that was printed last, or by a ref. */
function sessionNamed(
  name: string,
  { reprise, listed }: Pick<CommandContext, 'reprise' | 'listed'>,
  options: RefOptions = {},
): Promise<SessionRecord> {
  return resolveRef(reprise.store, isListNumber(name) ? listedSession(listed, name) : name, options);
}

export const switchTo: CommandHandler = async (args, context) => {
  if (args === '') throw refuse('/switch wants a session', '/sessions lists them.');
  const { reprise, session } = context;
  const { store } = reprise;
  const record = await sessionNamed(args, context, { status: 'open' });
  // The owner's own chat goes on here next time. What a channel's key stands for is not for the owner's eyes to change.
  if (parseSessionKey(record.sessionKey).kind === 'main' && !record.active)
    await store.activate(record.sessionKey, record.id);
  const here = record.id === session.id ? 'Still' : 'Now';
  const text = `${here} in "${sessionName(record)}": ${counted(record.messageCount, 'message')} (${record.id}).`;
  return { text, sessionId: record.id };
};

export const fork: CommandHandler = async (args, { reprise, session, request }) => {
  const copy = request === undefined ? {} : { id: keyedId('fork', session.id, request.idempotencyKey) };
  // A name is for the history as it is now; the entry it stands for is the same whatever is appended until the copy
  // begins. Of a copy that was begun nobody asks for the name again: it may fit others by now, or none.
  const begun = copy.id === undefined ? undefined : await reprise.store.get(copy.id).catch(noneIfGone);
  const at = args === '' || begun !== undefined ? {} : { at: await entryNamed(session, args) };
  const { id } = await session.fork({ ...at, ...copy });
  return { text: `Now in a copy of this session, ${id}; the original is kept.`, sessionId: id };
};

export const remove: CommandHandler = async (args, context) => {
  const { reprise, session, confirm } = context;
  const record = args === '' ? await session.record() : await sessionNamed(args, context, { status: 'open' });
  const name = `"${sessionName(record)}" (${record.id}, ${counted(record.messageCount, 'message')})`;
  if (confirm === undefined)
    throw refuse(
      `deleting ${name} needs a confirmation, which this surface cannot ask for`,
      'Nothing was deleted.',
    );
  const isCurrent = record.id === session.id;
  if (!(await confirm(`Move ${isCurrent ? 'the current session ' : ''}${name} to the trash?`)))
    return { text: 'Nothing was deleted.' };
  await reprise.store.delete(record.id);
  const text = `Moved ${name} to the trash.`;
  return isCurrent ? { text, sessionId: await nextSession(context, record) } : { text };
};

/** Where the owner goes on: in the main session of the agent, made if there is none. */
async function nextSession({ reprise }: CommandContext, { agentId }: SessionRecord): Promise<string> {
  return (await reprise.session(buildAgentMainSessionKey({ agentId }))).id;
}

export const search: CommandHandler = async (args, { reprise }) => {
  if (args === '') throw refuse('/search wants a text', 'Write: /search <text>');
  const found = await reprise.store.search({ text: args, limit: MAX_HITS });
  const { hits, next } = found;
  const sessions = await foundSessions(reprise.store, hits);
  const left = (await withPositions(reprise.store, hits, sessions)).flatMap((hit) => {
    const session = sessions.get(hit.id);
    return session === undefined ? [] : [{ ...hit, name: sessionName(session) }];
  });
  const lines = left.map(({ id, seq, position, role, at, snippet, name }) => {
    const where = position === undefined ? `line ${seq}` : `#${position}`;
    const about = `${id}, ${where}; ${role}, ${at.slice(0, 16).replace('T', ' ')}`;
    return `${name} (${about})\n     ${oneLine(snippet, SNIPPET_CHARS)}`;
  });
  const [first] = left;
  if (first === undefined) lines.push(`Nothing holds "${args}".`);
  else
    lines.push(
      `To read on there: reprise show ${first.id} --at ${first.position === undefined ? first.seq : `'#${first.position}'`}`,
    );
  if (next !== null) lines.push(`There are more than ${MAX_HITS}; "reprise search" shows them.`);
  const gap = searchGap(found);
  if (gap !== undefined) lines.push(gap);
  return { text: lines.join('\n') };
};

export const repair: CommandHandler = async (args, context) => {
  const { reprise, session, request } = context;
  const damaged = args === '' ? await session.record() : await sessionNamed(args, context);
  if (!(await isDamaged(reprise.store, damaged)))
    return { text: `"${sessionName(damaged)}" is not damaged.` };
  const id = request === undefined ? undefined : keyedId('repair', damaged.id, request.idempotencyKey);
  const result = await repairSession(reprise.store, damaged, { id });
  const text = `${repairedText(result)}.`;
  return damaged.id === session.id ? { text, sessionId: result.repaired } : { text };
};

export const exportTranscript: CommandHandler = async (args, { session }) => {
  const record = await session.record();
  const text = `"${sessionName(record)}", ${counted(record.messageCount, 'message')}.`;
  return { text, save: { sessionId: session.id, ...parseExport(args, session.id) } };
};

/** `[file] [--redact]` of `/export`. */
export function parseExport(
  args: string,
  sessionId: string,
): { readonly name: string; readonly redact: boolean } {
  const name = args.replace(/(?:^|\s)--redact(?=\s|$)/, '').trim();
  const redact = name !== args.trim();
  return { name: name === '' ? `${sessionId}.jsonl` : name, redact };
}
