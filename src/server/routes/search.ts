import { foundSessions, withPositions } from '../../engine/admin/found-sessions.ts';
import type { Reprise } from '../../engine/reprise.ts';
import { searchAnswer, searchQuery } from '../../protocol/meta.ts';
import { pageOf } from '../../protocol/page.ts';
import type { ServerApp, ServerContext } from '../context.ts';
import { addOperation } from '../operation.ts';
import { userOf } from '../security/ownership.ts';

export function registerSearch(app: ServerApp, { reprise }: ServerContext): void {
  addOperation(app, {
    method: 'get',
    paths: ['/api/search'],
    id: 'search',
    tag: 'sessions',
    summary: 'Messages that hold a text, newest first',
    query: searchQuery,
    answer: { schema: searchAnswer, description: 'Messages that match' },
    run: async ({ query: { q, limit, agentId, channel, sessionId, after }, c }) => {
      const owner = userOf(c);
      const request = {
        text: q,
        limit,
        ...(agentId !== undefined && { agentId }),
        ...(channel !== undefined && { channel }),
        ...(sessionId !== undefined && { sessionId }),
        ...(after !== undefined && { after }),
      };
      const { hits, next, complete, reason, index, sessions } = await searchOwn(reprise, request, owner);
      const positioned = await withPositions(reprise.store, hits, sessions);
      const data = positioned.map(({ id, ...hit }) => {
        const record = sessions.get(id);
        const session = record === undefined ? {} : { session: nameOf(record) };
        return { id: `${id}.${hit.seq}`, sessionId: id, ...session, ...hit };
      });
      return c.json({
        ...pageOf(data, next !== null || !complete),
        ...{ next, complete },
        ...(reason !== undefined && { reason }),
        ...(index !== undefined && owner === undefined && { index }),
      });
    },
  });
}

type Found = Awaited<ReturnType<Reprise['search']>> & {
  readonly sessions: Awaited<ReturnType<typeof foundSessions>>;
};

/** Pages that a search of a user reads at most before it answers with fewer hits than asked for. */
const MAX_PAGES = 20;

/** The hits in sessions of a user; without a user, all. A page may have fewer hits than its limit. */
async function searchOwn(
  reprise: Reprise,
  query: Parameters<Reprise['search']>[0],
  owner: string | undefined,
): Promise<Found> {
  let request = query;
  for (let page = 1; ; page++) {
    const found = await reprise.search(request);
    const sessions = await foundSessions(reprise.store, found.hits);
    if (owner === undefined) return { ...found, sessions };
    const hits = found.hits.filter(({ id }) => sessions.get(id)?.owner === owner);
    if (hits.length > 0 || found.next === null || page === MAX_PAGES) return { ...found, hits, sessions };
    request = { ...query, after: found.next };
  }
}

interface HitSession {
  readonly sessionKey: string;
  readonly title: string;
  readonly label?: string;
}

/** Includes the name of a hit's session, so that clients need no request for each. */
function nameOf({ sessionKey, title, label }: HitSession): HitSession {
  return { sessionKey, title, ...(label !== undefined && { label }) };
}
