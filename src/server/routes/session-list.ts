import type { Context } from 'hono';
import type { Reprise } from '../../engine/reprise.ts';
import type { RepriseError } from '../../errors.ts';
import { failure } from '../../messages/failure.ts';
import { type AgentParams, agentParams } from '../../protocol/ids.ts';
import { pageOf } from '../../protocol/page.ts';
import {
  type AllSessionsQuery,
  allSessionsQuery,
  type SessionList,
  type SessionListQuery,
  type SessionView,
  sessionListQuery,
  sessionListSchema,
  sessionView,
} from '../../protocol/sessions.ts';
import { zyhiveAgentListSchema, zyhiveList, zyhiveListSchema, zyhiveSession } from '../../protocol/zyhive.ts';
import type { ServerApp, ServerContext, ServerEnv } from '../context.ts';
import type { SessionRecord } from '../find-session.ts';
import { addOperation } from '../operation.ts';
import { userOf } from '../security/ownership.ts';
import { answersAsZyhive } from '../zyhive.ts';

const STEP = 500;

type ListQuery = Parameters<Reprise['sessions']>[0];

export function registerSessionList(app: ServerApp, context: ServerContext): void {
  const { reprise } = context;
  const isZyhive = answersAsZyhive(context);
  const common = {
    method: 'get',
    tag: 'sessions',
    query: sessionListQuery,
    answer: { schema: sessionListSchema, description: 'A page of sessions' },
  } as const;
  addOperation<unknown, AllSessionsQuery, unknown>(app, {
    ...common,
    paths: ['/api/sessions'],
    id: 'listSessions',
    summary: 'Sessions of all agents, newest first unless sorted otherwise',
    query: allSessionsQuery,
    run: async ({ query: { agentId, ...query }, c }) =>
      c.json(await listPage(reprise, query, scopeOf(c, agentId))),
    otherShape: {
      schema: zyhiveListSchema,
      // The agent `main` always exists, so its profile decides the form of a list of all agents.
      isUsed: ({ query: { agentId = 'main' } }) => isZyhive({ params: { agentId } }),
      run: async ({ query: { agentId, ...query }, c }) =>
        c.json(zyhiveList(await listAll(reprise, c, query, scopeOf(c, agentId)))),
    },
  });
  addOperation<AgentParams, SessionListQuery, unknown>(app, {
    ...common,
    paths: ['/api/agents/{agentId}/sessions'],
    id: 'listAgentSessions',
    summary: 'Sessions of an agent, newest first unless sorted otherwise',
    params: agentParams,
    run: async ({ params, query, c }) => c.json(await listPage(reprise, query, scopeOf(c, params.agentId))),
    otherShape: {
      schema: zyhiveAgentListSchema,
      isUsed: isZyhive,
      run: async ({ params, query, c }) =>
        c.json((await listAll(reprise, c, query, scopeOf(c, params.agentId))).map(zyhiveSession)),
    },
  });
}

interface ListScope {
  readonly agentId?: string;
  readonly owner?: string;
}

/** The sessions that a list may contain. */
function scopeOf(c: Context<ServerEnv>, agentId: string | undefined): ListScope {
  const owner = userOf(c);
  return { ...(agentId !== undefined && { agentId }), ...(owner !== undefined && { owner }) };
}

/** ZyHive front ends do not know pages: without a limit they get all sessions. */
async function listAll(
  reprise: Reprise,
  c: Context<ServerEnv>,
  query: SessionListQuery,
  scope: ListScope,
): Promise<readonly SessionView[]> {
  if (c.req.query('limit') !== undefined) return (await listPage(reprise, query, scope)).data;
  const all: SessionView[] = [];
  for (let next: Partial<SessionListQuery> = query; ; ) {
    const { data, cursor } = await listPage(reprise, { ...query, ...next, limit: STEP }, scope);
    all.push(...data);
    if (cursor === null) return all;
    next = { after: undefined, before: undefined, cursor };
  }
}

async function listPage(reprise: Reprise, query: SessionListQuery, scope: ListScope): Promise<SessionList> {
  const { limit, after, before, cursor, status, channel, kind, parentId, q, sort, order } = query;
  const filter: ListQuery = {
    ...scope,
    ...(status !== undefined && { status }),
    ...(channel !== undefined && { channel }),
    ...(kind !== undefined && { kind }),
    ...(parentId !== undefined && { parentId }),
    ...(q !== undefined && { text: q }),
    ...(sort !== undefined && { sort }),
    ...(order !== undefined && { order }),
  };
  if ([after, before, cursor].filter((given) => given !== undefined).length > 1)
    throw failure('INVALID_INPUT', 'request.exclusive', { fields: ['after', 'before', 'cursor'] });
  if (before !== undefined) return inFrontOf(reprise, filter, before, limit);
  const start = after === undefined ? cursor : await placeOf(reprise, filter, after);
  if (start === null) return { ...pageOf([], false), cursor: null };
  const page = await reprise.sessions({ ...filter, limit, ...(start !== undefined && { cursor: start }) });
  const { sessions, cursor: next, rebuilding } = page;
  return {
    ...pageOf(sessions.map(sessionView), next !== null),
    cursor: next,
    ...(rebuilding !== undefined && { rebuilding }),
  };
}

/**
 * @returns the cursor after a session, or null if it is the last one. Sessions can move in the list, so it searches.
 */
async function placeOf(reprise: Reprise, filter: ListQuery, id: string): Promise<string | null> {
  let cursor: string | null | undefined;
  do {
    const at: ListQuery = { ...filter, ...(typeof cursor === 'string' && { cursor }) };
    const page = await reprise.sessions({ ...at, limit: STEP });
    const place = page.sessions.findIndex((session) => session.id === id);
    if (place === page.sessions.length - 1 && place !== -1) return page.cursor;
    if (place !== -1) return (await reprise.sessions({ ...at, limit: place + 1 })).cursor;
    cursor = page.cursor;
  } while (cursor !== null);
  throw notListed(id);
}

async function inFrontOf(
  reprise: Reprise,
  filter: ListQuery,
  id: string,
  limit: number,
): Promise<SessionList> {
  let newer: SessionRecord[] = [];
  let cursor: string | null | undefined;
  let hasMore = false;
  do {
    const page = await reprise.sessions({
      ...filter,
      limit: STEP,
      ...(typeof cursor === 'string' && { cursor }),
    });
    const place = page.sessions.findIndex((session) => session.id === id);
    newer.push(...(place === -1 ? page.sessions : page.sessions.slice(0, place)));
    hasMore ||= newer.length > limit;
    newer = newer.slice(-limit);
    if (place !== -1) return { ...pageOf(newer.map(sessionView), hasMore), cursor: null };
    cursor = page.cursor;
  } while (cursor !== null);
  throw notListed(id);
}

function notListed(id: string): RepriseError {
  return failure('INVALID_INPUT', 'list.noSession', { session: id });
}
