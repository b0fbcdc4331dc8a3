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
    answer: { schema: searchAnswer, description: 'Where it was said' },
    run: async ({ query: { q, limit, agentId, channel, sessionId, after }, c }) => {
      const { hits, next, complete, reason, index } = await reprise.search({
        text: q,
        limit,
        ...(agentId !== undefined && { agentId }),
        ...(channel !== undefined && { channel }),
        ...(sessionId !== undefined && { sessionId }),
        ...(after !== undefined && { after }),
      });
      const data = hits.map(({ id, ...hit }) => ({ id: `${id}.${hit.seq}`, sessionId: id, ...hit }));
      return c.json({
        ...pageOf(data, next !== null || !complete),
        ...{ next, complete },
        ...(reason !== undefined && { reason }),
        ...(index !== undefined && { index }),
      });
    },
  });
}
