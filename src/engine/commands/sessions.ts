import { buildAgentMainSessionKey } from '../../keys/build.ts';
import { parseSessionKey } from '../../keys/session-key.ts';
import { noneIfGone } from '../../store/nobody.ts';
import type { SessionRecord } from '../../store/store.ts';
import { foundSessions } from '../found-sessions.ts';
import { keyedId } from '../keyed-id.ts';
import { isListed, resolveRef } from '../ref.ts';
import { repairedText, repairSession } from '../repair.ts';
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

/** The numbers are those /switch takes, so a filter leaves gaps. */
export const listSessions: CommandHandler = async (args, { reprise, session, now = () => new Date() }) => {
  const { sessions } = await reprise.store.list({ limit: SCAN_LIMIT, status: 'open' });
  const wanted = args.toLowerCase();
  const fits = ({ label, title }: SessionRecord): boolean =>
    [label ?? '', title].some((name) => name.toLowerCase().includes(wanted));
  const lines = sessions.filter(isListed).flatMap((record, i) => {
    if (!fits(record)) return [];
    const mark = record.id === session.id ? '*' : ' ';
    return [
      `${String(i + 1).padStart(3)}${mark} ${sessionName(record)}\n     ${sessionFacts(record, now())}`,
    ];
  });
  if (lines.length === 0)
    return { text: args === '' ? 'No sessions.' : `No session has "${args}" in its name.` };
  const left = lines.length - SHOWN;
  return { text: [...lines.slice(0, SHOWN), ...(left > 0 ? [`… ${count(left)} more`] : [])].join('\n') };
};

export const switchTo: CommandHandler = async (args, { reprise, session }) => {
  if (args === '') throw refuse('/switch wants a session', '/sessions lists them.');
  const { store } = reprise;
  const record = await resolveRef(store, args, { status: 'open' });
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
  const record =
    args === '' ? await session.record() : await resolveRef(reprise.store, args, { status: 'open' });
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
  const { hits, next, reason, index } = await reprise.store.search({ text: args, limit: MAX_HITS });
  const sessions = await foundSessions(reprise.store, hits);
  const left = hits.flatMap((hit) => {
    const session = sessions.get(hit.id);
    return session === undefined ? [] : [{ ...hit, name: sessionName(session) }];
  });
  const lines = left.map(({ id, seq, role, at, snippet, name }) => {
    const place = `${id}, line ${seq}; ${role}, ${at.slice(0, 16).replace('T', ' ')}`;
    return `${name} (${place})\n     ${oneLine(snippet, SNIPPET_CHARS)}`;
  });
  const [first] = left;
  if (first === undefined) lines.push(`Nothing holds "${args}".`);
  else lines.push(`To read on there: reprise show ${first.id} --at ${first.seq}`);
  if (next !== null) lines.push(`There are more than ${MAX_HITS}; "reprise search" shows them.`);
  if (reason === 'time') lines.push('The time was over before everything was looked at; there may be more.');
  if (reason === 'indexing') {
    const { done = 0, total = 1 } = index ?? {};
    lines.push(`Indexing ${Math.floor((100 * done) / Math.max(1, total))} %: there may be more.`);
  }
  return { text: lines.join('\n') };
};

export const repair: CommandHandler = async (args, { reprise, session, request }) => {
  const damaged = args === '' ? await session.record() : await resolveRef(reprise.store, args);
  if (damaged.corruptAt === undefined && (await reprise.store.verify(damaged.id)).status !== 'corrupt')
    return { text: `"${sessionName(damaged)}" is not damaged.` };
  const id = request === undefined ? undefined : keyedId('repair', damaged.id, request.idempotencyKey);
  const result = await repairSession(reprise.store, damaged, { id });
  const text = `${repairedText(result)}.`;
  return damaged.id === session.id ? { text, sessionId: result.repaired } : { text };
};

export const exportTranscript: CommandHandler = async (args, { session }) => {
  const record = await session.record();
  const name = args === '' ? `${session.id}.jsonl` : args;
  const text = `"${sessionName(record)}", ${counted(record.messageCount, 'message')}.`;
  return { text, save: { sessionId: session.id, name } };
};
