import { foundSessions, withPositions } from '../../engine/admin/found-sessions.ts';
import { searchAnswer, searchQuery } from '../../protocol/meta.ts';
import { pageOf } from '../../protocol/page.ts';
import type { ServerApp, ServerContext } from '../context.ts';
import { addOperation } from '../operation.ts';

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
      const { hits, next, complete, reason, index } = await reprise.search({
        text: q,
        limit,
        ...(agentId !== undefined && { agentId }),
        ...(channel !== undefined && { channel }),
        ...(sessionId !== undefined && { sessionId }),
        ...(after !== undefined && { after }),
      });
      const sessions = await foundSessions(reprise.store, hits);
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
        ...(index !== undefined && { index }),
      });
    },
  });
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
