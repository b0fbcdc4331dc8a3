import type { Reprise } from '../../engine/reprise.ts';
import { RepriseError } from '../../errors.ts';
import { type AgentParams, agentParams } from '../../protocol/ids.ts';
import { pageOf } from '../../protocol/page.ts';
import {
  type SessionList,
  type SessionListQuery,
  sessionListQuery,
  sessionListSchema,
  sessionView,
} from '../../protocol/sessions.ts';
import type { ServerApp, ServerContext } from '../context.ts';
import type { SessionRecord } from '../find-session.ts';
import { addOperation } from '../operation.ts';

const STEP = 500;

type ListQuery = Parameters<Reprise['sessions']>[0];

export function registerSessionList(app: ServerApp, { reprise }: ServerContext): void {
  const common = {
    method: 'get',
    tag: 'sessions',
    query: sessionListQuery,
    answer: { schema: sessionListSchema, description: 'A page of sessions' },
  } as const;
  addOperation<unknown, SessionListQuery, unknown>(app, {
    ...common,
    paths: ['/api/sessions'],
    id: 'listSessions',
    summary: 'Sessions of all agents, newest first unless sorted otherwise',
    run: async ({ query, c }) => c.json(await listPage(reprise, query)),
  });
  addOperation<AgentParams, SessionListQuery, unknown>(app, {
    ...common,
    paths: ['/api/agents/{agentId}/sessions'],
    id: 'listAgentSessions',
    summary: 'Sessions of an agent, newest first unless sorted otherwise',
    params: agentParams,
    run: async ({ params, query, c }) => c.json(await listPage(reprise, query, params.agentId)),
  });
}

async function listPage(reprise: Reprise, query: SessionListQuery, agentId?: string): Promise<SessionList> {
  const { limit, after, before, cursor, status, channel, kind, parentId, q, sort, order } = query;
  const filter: ListQuery = {
    ...(agentId !== undefined && { agentId }),
    ...(status !== undefined && { status }),
    ...(channel !== undefined && { channel }),
    ...(kind !== undefined && { kind }),
    ...(parentId !== undefined && { parentId }),
    ...(q !== undefined && { text: q }),
    ...(sort !== undefined && { sort }),
    ...(order !== undefined && { order }),
  };
  if ([after, before, cursor].filter((given) => given !== undefined).length > 1)
    throw new RepriseError('INVALID_INPUT', 'one of after, before and cursor, not several');
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

/** The cursor that goes on behind a session; null: it is the last. Its place may move, so it is looked for. */
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
  return new RepriseError('INVALID_INPUT', `session ${id} is not in this list`, {
    details: { next: 'Use firstId or lastId of a page, or its cursor.' },
  });
}
