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
    run: async ({ query: { q, limit, agentId }, c }) => {
      // One more than asked for tells whether there are more.
      const { hits, complete } = await reprise.search({
        text: q,
        limit: limit + 1,
        ...(agentId !== undefined && { agentId }),
      });
      const data = hits
        .slice(0, limit)
        .map(({ id, seq, snippet }) => ({ id: `${id}.${seq}`, sessionId: id, seq, snippet }));
      return c.json({ ...pageOf(data, hits.length > limit || !complete), complete });
    },
  });
}
