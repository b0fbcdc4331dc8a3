import { RepriseError } from '../../errors.ts';
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
      const sessions = await describe(reprise, new Set(hits.map(({ id }) => id)));
      const data = hits.map(({ id, ...hit }) => {
        const session = sessions.get(id);
        return { id: `${id}.${hit.seq}`, sessionId: id, ...(session !== undefined && { session }), ...hit };
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

/** What people call the sessions of hits, so that nobody has to ask for each. */
async function describe(
  { store }: Pick<ServerContext['reprise'], 'store'>,
  ids: ReadonlySet<string>,
): Promise<ReadonlyMap<string, HitSession>> {
  const known = await Promise.all(
    [...ids].map(async (id): Promise<readonly (readonly [string, HitSession])[]> => {
      try {
        const { sessionKey, title, label } = await store.get(id);
        return [[id, { sessionKey, title, ...(label !== undefined && { label }) }]];
      } catch (error) {
        if (error instanceof RepriseError && GONE.has(error.code)) return [];
        throw error;
      }
    }),
  );
  return new Map(known.flat());
}

/** It went while it was looked for. */
const GONE: ReadonlySet<string> = new Set(['SESSION_NOT_FOUND', 'GONE']);
