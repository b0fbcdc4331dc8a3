import { failure } from '../messages/failure.ts';
import type { AgentParams, SessionParams } from '../protocol/ids.ts';
import type { HistoryQuery } from '../protocol/records.ts';
import { type ZyhiveHistory, zyhiveHistory } from '../protocol/zyhive.ts';
import type { ServerContext } from './context.ts';
import { findRecord } from './find-session.ts';
import type { OperationInput } from './operation.ts';
import { readPage } from './read-page.ts';

/** Whether the agent that a request names answers in the shape of ZyHive: its profile has that layout. */
export function answersAsZyhive({
  reprise,
}: ServerContext): (input: { readonly params: AgentParams }) => boolean {
  return ({ params: { agentId } }) => reprise.profile(agentId).layout === 'zyhive';
}

/** A front end of ZyHive knows no trash, and no pages: without a limit it gets the whole conversation. */
export async function readZyhiveHistory(
  context: ServerContext,
  { params, query, c }: Pick<OperationInput<SessionParams, HistoryQuery, unknown>, 'params' | 'query' | 'c'>,
): Promise<ZyhiveHistory> {
  const record = await findRecord(context, params);
  const { id } = record;
  if (record.status === 'deleted')
    throw failure('SESSION_NOT_FOUND', 'session.trashed', { id }, { details: { id } });
  const limit = c.req.query('limit') === undefined ? Number.MAX_SAFE_INTEGER : query.limit;
  const page = await readPage(context.reprise.store, record, { ...query, limit });
  return zyhiveHistory(page.session, page.data);
}
