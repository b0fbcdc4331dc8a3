import { RepriseError } from '../errors.ts';
import type { SessionParams } from '../protocol/ids.ts';
import type { ServerContext } from './context.ts';

export type SessionRecord = Awaited<ReturnType<ServerContext['reprise']['store']['get']>>;
export type Session = Awaited<ReturnType<ServerContext['reprise']['session']>>;

/** The session of this agent; that another agent has one of this id is nobody's business. */
export async function findRecord(
  { reprise }: Pick<ServerContext, 'reprise'>,
  { agentId, sessionId }: SessionParams,
): Promise<SessionRecord> {
  const record = await reprise.store.get(sessionId);
  if (record.agentId === agentId) return record;
  throw new RepriseError('SESSION_NOT_FOUND', `agent ${agentId} has no session ${sessionId}`, {
    details: { id: sessionId, next: `GET /api/agents/${agentId}/sessions lists them.` },
  });
}

/** The same, to do something with it: what is in the trash has to be restored first. */
export async function findSession(
  context: Pick<ServerContext, 'reprise'>,
  params: SessionParams,
): Promise<Session> {
  const { status } = await findRecord(context, params);
  if (status === 'deleted')
    throw new RepriseError('SESSION_DELETED', `session ${params.sessionId} is in the trash`, {
      details: { id: params.sessionId, next: 'POST …/restore brings it back.' },
    });
  return context.reprise.session({ id: params.sessionId });
}
