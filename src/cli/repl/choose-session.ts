import { randomUUID } from 'node:crypto';
import { isListed, resolveRef } from '../../engine/admin/ref.ts';
import { closestName } from '../../engine/closest-name.ts';
import type { Reprise } from '../../engine/reprise.ts';
import type { Session } from '../../engine/session.ts';
import { buildAgentMainSessionKey } from '../../keys/build.ts';
import { parseAgentId } from '../../keys/ids.ts';
import { formatSessionKey, parseSessionKey } from '../../keys/session-key.ts';
import { failure } from '../../messages/failure.ts';
import { quoted } from '../../messages/quoted.ts';
import type { SessionRecord, Store } from '../../store/port/store.ts';
import { type Options, textOption } from '../options.ts';

/** Which session a chat opens, from the command line. */
export interface SessionChoice {
  readonly agent?: string | undefined;
  /** `-c`: the most recent one. This is the default of a chat, but not of a single question. */
  readonly last?: boolean;
  /** `-r`: the user picks one; with a text, from the sessions that have it in their name. */
  readonly pick?: string | true | undefined;
  /** `-s` */
  readonly ref?: string | undefined;
  /** `--new`, with or without a label. */
  readonly fresh?: string | true | undefined;
}

export type PickSession = (store: Store, query: string | undefined) => Promise<SessionRecord>;

/** A chat resumes the session that the owner used last. */
export async function chooseChat(
  reprise: Reprise,
  choice: SessionChoice,
  pick: PickSession,
): Promise<Session> {
  const { agent, fresh } = choice;
  const mainKey = buildAgentMainSessionKey({ agentId: parseAgentId(agent ?? 'main') });
  if (fresh !== undefined) return reprise.renew(mainKey, fresh === true ? {} : { label: fresh });
  const named = await namedSession(reprise, choice, pick);
  if (named !== undefined) return named;
  const last = await lastOwn(reprise.store, agent);
  return reprise.session(last === undefined ? mainKey : { id: last.id });
}

export interface OneShotChoice {
  readonly session: Session;
  /** The session was created for this question. */
  readonly isNew: boolean;
}

/** A single question gets a new session, unless the command line names one. */
export async function chooseOneShot(
  reprise: Reprise,
  choice: SessionChoice,
  pick: PickSession,
): Promise<OneShotChoice> {
  const { agent = 'main', last = false, fresh } = choice;
  const named = await namedSession(reprise, choice, pick);
  if (named !== undefined) return { session: named, isNew: false };
  const found = last ? await lastOwn(reprise.store, choice.agent) : undefined;
  if (found !== undefined) return { session: await reprise.session({ id: found.id }), isNew: false };
  // A separate key, so that the chat's current session does not change.
  const key = formatSessionKey({ kind: 'session', agentId: parseAgentId(agent), id: randomUUID() });
  const session = await reprise.session(key);
  if (typeof fresh === 'string') await session.patch({ label: fresh });
  return { session, isNew: true };
}

export function choiceOf(options: Options): SessionChoice {
  const { continue: last, resume, session, new: fresh, agent } = options;
  return {
    agent: textOption(agent),
    last: last === true,
    pick: resume === true ? true : textOption(resume),
    ref: textOption(session),
    fresh: fresh === true ? true : textOption(fresh),
  };
}

export function checkChoice({ last, pick, ref, fresh }: SessionChoice): void {
  const said = Object.entries({ '-c': last || undefined, '-r': pick, '-s': ref, '--new': fresh });
  const names = said.flatMap(([name, value]) => (value === undefined ? [] : [name]));
  if (names.length < 2) return;
  throw failure('INVALID_INPUT', 'cli.exclusive', { options: names });
}

/** An unknown agent name is more often a typo than a new agent. */
export async function checkAgent(
  store: Pick<Store, 'list'>,
  agent: string | undefined,
  configured: readonly string[],
): Promise<void> {
  const known = ['main', ...configured.filter((name) => name !== 'defaults')];
  if (agent === undefined || known.includes(agent)) return;
  const { sessions } = await store.list({ agentId: parseAgentId(agent), limit: 1, status: 'any' });
  if (sessions.length > 0) return;
  const suggestion = closestName(agent, known) ?? null;
  throw failure('NOT_FOUND', 'cli.noAgent', { agent: quoted(agent), suggestion });
}

async function namedSession(
  reprise: Reprise,
  { pick: query, ref }: SessionChoice,
  pick: PickSession,
): Promise<Session | undefined> {
  const { store } = reprise;
  let record: SessionRecord | undefined;
  if (query !== undefined) record = await pick(store, query === true ? undefined : query);
  else if (ref !== undefined) record = await resolveRef(store, ref, { status: 'open' });
  return record === undefined ? undefined : reprise.session({ id: record.id });
}

const PAGE = 20;

/**
 * The session that the owner used last: the main session of an agent, or one that was forked or created by hand.
 * Sessions of channels and child agents do not count.
 */
export async function lastOwn(
  store: Pick<Store, 'list'>,
  agentId: string | undefined,
): Promise<SessionRecord | undefined> {
  const found = await Promise.all((['main', 'session'] as const).map((kind) => newest(store, kind, agentId)));
  const [first] = found
    .filter((record) => record !== undefined)
    .toSorted((a, b) => b.lastAt.localeCompare(a.lastAt));
  return first;
}

async function newest(
  store: Pick<Store, 'list'>,
  kind: 'main' | 'session',
  agentId: string | undefined,
): Promise<SessionRecord | undefined> {
  const query = { kind, limit: PAGE, ...(agentId !== undefined && { agentId }) };
  for (let cursor: string | undefined; ; ) {
    const page = await store.list({ ...query, ...(cursor !== undefined && { cursor }) });
    const found = page.sessions.find(isOwn);
    if (found !== undefined || page.cursor === null) return found;
    cursor = page.cursor;
  }
}

/** Of the sessions that share a main key, only the current one, as set by /new and /switch. */
function isOwn(record: SessionRecord): boolean {
  const { sessionKey, active } = record;
  const parts = parseSessionKey(sessionKey);
  if (parts.kind === 'global' || (parts.threads ?? []).length > 0) return false;
  return isListed(record) && (active || parts.kind === 'session');
}
