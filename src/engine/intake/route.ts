import { RepriseError } from '../../errors.ts';
import { resolveBoundAgent } from '../../keys/bindings.ts';
import { isSessionId } from '../../keys/ids.ts';
import { type RouteInput, resolveSessionKey } from '../../keys/resolve.ts';
import { agentOfKey, formatSessionKey, parseSessionKey } from '../../keys/session-key.ts';
import { failure } from '../../messages/failure.ts';
import { quotedValue } from '../../messages/quoted.ts';
import type { SessionRecord, Store } from '../../store/port/store.ts';
import type { Agents } from '../agents/agents.ts';
import { type SessionOptions, sessionOptionsOf } from '../session-options.ts';
import type { InboundMessage } from './inbound.ts';

/** The conversation a message belongs to. */
export interface Route {
  readonly sessionKey: string;
  readonly agentId: string;
  /** The active session of the key. Undefined: the message creates one. */
  readonly record?: SessionRecord;
  /** The message names this session, even if another one is active. */
  readonly sessionId?: string;
  /** The named session does not exist yet; it is created with this id. */
  readonly newId?: string;
  readonly options: SessionOptions;
}

export interface RouteContext {
  readonly store: Store;
  readonly agents: Agents;
  readonly session: SessionOptions;
}

/** Routes by the session that the message names, else by its session key, else by its chat. */
export async function routeMessage(context: RouteContext, message: InboundMessage): Promise<Route> {
  const { sessionId } = message;
  return sessionId === undefined ? byKey(context, message) : byId(context, message, sessionId);
}

async function byId(context: RouteContext, message: InboundMessage, sessionId: string): Promise<Route> {
  const { store, agents, session } = context;
  if (!isSessionId(sessionId))
    throw failure('INVALID_ID', 'id.badSession', { id: quotedValue(sessionId) }, { details: { sessionId } });
  const record = await store.get(sessionId).catch((error: unknown) => {
    if (error instanceof RepriseError && error.code === 'SESSION_NOT_FOUND') return undefined;
    throw error;
  });
  const given = message.sessionKey === undefined ? undefined : resolveSessionKey(message);
  if (record === undefined) {
    const agentId = given === undefined ? agentFor(context, message) : agentOfKey(given);
    assertSameAgent(message, agentId);
    const sessionKey = given ?? formatSessionKey({ kind: 'session', agentId, id: sessionId });
    await assertAgent(context, agentId, sessionKey);
    return { sessionKey, agentId, newId: sessionId, options: sessionOptionsOf(session, agents, agentId) };
  }
  const { sessionKey, agentId } = record;
  if (given !== undefined && given !== sessionKey)
    throw failure(
      'INVALID_INPUT',
      'session.otherKey',
      { sessionId, sessionKey },
      { details: { sessionId, sessionKey } },
    );
  assertSameAgent(message, agentId);
  return { sessionKey, agentId, record, sessionId, options: sessionOptionsOf(session, agents, agentId) };
}

/** The session key of a message from this chat by the routing rules. */
export function keyOfRoute(
  from: RouteInput,
  { session, agents }: Pick<RouteContext, 'session' | 'agents'>,
): string {
  const agentId = from.agentId ?? resolveBoundAgent(from, session);
  return resolveSessionKey(from, sessionOptionsOf(session, agents, agentId));
}

async function byKey(context: RouteContext, message: InboundMessage): Promise<Route> {
  const { store, agents, session } = context;
  const options = sessionOptionsOf(session, agents, agentFor(context, message));
  const { sessionKey, record } = await findConversation(store, message, options);
  const agentId = agentOfKey(sessionKey);
  if (parseSessionKey(sessionKey).kind !== 'global') assertSameAgent(message, agentId);
  if (record === undefined) await assertAgent(context, agentId, sessionKey);
  return { sessionKey, agentId, options, ...(record !== undefined && { record }) };
}

/**
 * Channels name a thread by its id alone, but OpenClaw has two forms for its key. A thread whose imported session has the
 * form for forum topics is continued there, unless the thread has a session under the usual key.
 */
async function findConversation(
  store: Store,
  message: InboundMessage,
  options: SessionOptions,
): Promise<Pick<Route, 'sessionKey' | 'record'>> {
  const sessionKey = resolveSessionKey(message, options);
  const record = await store.active(sessionKey);
  if (record !== undefined) return { sessionKey, record };
  if (message.thread !== undefined && message.sessionKey === undefined) {
    const topicKey = resolveSessionKey({ ...message, threadMarker: 'topic' }, options);
    const topic = await store.active(topicKey);
    if (topic !== undefined) return { sessionKey: topicKey, record: topic };
  }
  return { sessionKey };
}

function agentFor({ session }: RouteContext, message: InboundMessage): string {
  if (message.agentId !== undefined) return message.agentId;
  if (message.sessionKey === undefined) return resolveBoundAgent(message, session);
  return agentOfKey(message.sessionKey);
}

/**
 * `main` always exists. Another agent exists if it is configured or has sessions: the agents of an import are usually not
 * configured here. Every other name is more likely a typing error.
 */
export async function assertAgent(
  { store, agents }: Pick<RouteContext, 'store' | 'agents'>,
  agentId: string,
  sessionKey?: string,
): Promise<void> {
  if (agentId === 'main' || (agentId !== 'defaults' && Object.hasOwn(agents, agentId))) return;
  const { sessions } = await store.list({ agentId, limit: 1, status: 'open' });
  if (sessions.length > 0) return;
  const known = ['main', ...Object.keys(agents).filter((id) => id !== 'defaults' && id !== 'main')];
  throw failure(
    'NOT_FOUND',
    'agent.missing',
    { agentId, known },
    { details: { agentId, ...(sessionKey !== undefined && { sessionKey }) } },
  );
}

function assertSameAgent({ agentId: asked }: InboundMessage, agentId: string): void {
  if (asked === undefined || asked === agentId) return;
  throw failure(
    'INVALID_INPUT',
    'agent.otherAgent',
    { agentId, given: quotedValue(asked) },
    { details: { agentId } },
  );
}
