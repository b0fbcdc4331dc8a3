import { failure } from '../messages/failure.ts';
import type { SessionParams } from '../protocol/ids.ts';
import type { ServerContext } from './context.ts';

export type SessionRecord = Awaited<ReturnType<ServerContext['reprise']['store']['get']>>;
export type Session = Awaited<ReturnType<ServerContext['reprise']['session']>>;

/** Finds a session of this agent. It does not reveal that another agent has a session with this id. */
export async function findRecord(
  { reprise }: Pick<ServerContext, 'reprise'>,
  { agentId, sessionId }: SessionParams,
): Promise<SessionRecord> {
  const record = await reprise.store.get(sessionId);
  if (record.agentId === agentId) return record;
  const params = { agent: agentId, session: sessionId };
  throw failure('SESSION_NOT_FOUND', 'session.notOfAgent', params, { details: { id: sessionId } });
}

/** Like `findRecord`, for changes: a session in the trash must be restored first. */
export async function findSession(
  context: Pick<ServerContext, 'reprise'>,
  params: SessionParams,
): Promise<Session> {
  const { sessionId: id } = params;
  const { status } = await findRecord(context, params);
  if (status === 'deleted') throw failure('SESSION_DELETED', 'session.trashed', { id }, { details: { id } });
  return context.reprise.session({ id });
}
