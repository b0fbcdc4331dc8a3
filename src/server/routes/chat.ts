import { z } from 'zod';
import type { InboundMessage } from '../../engine/intake/inbound.ts';
import { keyedId } from '../../engine/intake/keyed-id.ts';
import { formatSessionKey } from '../../keys/session-key.ts';
import { failure } from '../../messages/failure.ts';
import {
  type ChatBody,
  type ChatRequest,
  type ChatStatus,
  chatBodySchema,
  chatStatusSchema,
  stopAnswerSchema,
  ZYHIVE_CHAT_FIELDS,
} from '../../protocol/chat.ts';
import { streamEventSchema } from '../../protocol/events.ts';
import { type AgentParams, agentParams, sessionIdSchema } from '../../protocol/ids.ts';
import { maybe } from '../../protocol/maybe.ts';
import { zyhiveEvent, zyhiveEventSchema } from '../../protocol/zyhive.ts';
import { OWN_CHANNEL, type ServerApp, type ServerContext, USER_CHANNEL } from '../context.ts';
import { findRecord, findSession } from '../find-session.ts';
import { addOperation, type OperationInput } from '../operation.ts';
import { userOf } from '../security/ownership.ts';
import { eventLogs, openStream, type StreamTarget, type ToEvent } from '../sse/open-stream.ts';
import { answersAsZyhive } from '../zyhive.ts';

const ofSession: z.ZodType<{ sessionId: string }> = z.object({ sessionId: sessionIdSchema });
const resume: z.ZodType = z.object({ 'last-event-id': z.string().optional() });
const keyed: z.ZodType = z.object({ 'idempotency-key': z.string().optional() });
const STREAM = { type: 'text/event-stream', schema: streamEventSchema } as const;

/** Routes that accept messages and stream events. */
export function registerChat(app: ServerApp, context: ServerContext): void {
  const { reprise } = context;
  eventLogs(reprise); // record events from now on: a turn may start before a client connects

  const chat = async ({ params: { agentId }, body, c }: ChatInput, toEvent?: ToEvent): Promise<Response> => {
    const {
      message,
      channel: given,
      before,
      scenario: _,
      skillId: _skill,
      history: _history,
      ...rest
    } = body;
    const idempotencyKey = c.get('idempotencyKey');
    if (before !== undefined) {
      const sessionId = onlySessionId(rest);
      const sendAgain = async (): Promise<StreamTarget> => {
        const session = await findSession(context, { agentId, sessionId });
        if (userOf(c) !== undefined) refuseRouting(body);
        const channel = given ?? OWN_CHANNEL;
        const turn = session.sendAgain({ text: message, before, idempotencyKey, channel });
        const { inboxId } = await turn.accepted;
        return { sessionId, sessionKey: session.key, inboxId };
      };
      return openStream(c, context, sendAgain, toEvent);
    }
    const isRouted = [rest.sessionId, rest.sessionKey, given].some((name) => name !== undefined);
    const user = userOf(c);
    if (user !== undefined) refuseRouting(body);
    const said: InboundMessage = {
      ...rest,
      ...(!isRouted && { sessionKey: newChatKey(agentId, idempotencyKey) }),
      text: message,
      channel: given ?? (user === undefined ? OWN_CHANNEL : USER_CHANNEL),
      agentId,
      ...(user !== undefined && { owner: user, sender: { id: user } }),
    };
    const receive = (): Promise<StreamTarget> =>
      reprise.receive({ ...said, idempotencyKey }, { atOnce: true });
    return openStream(c, context, receive, toEvent);
  };
  addOperation<AgentParams, unknown, ChatBody>(app, {
    method: 'post',
    paths: ['/api/agents/{agentId}/chat'],
    id: 'chat',
    tag: 'chat',
    summary: 'Say something, and hear the turn that answers it',
    params: agentParams,
    headers: keyed,
    body: chatBodySchema,
    needsBody: true,
    answer: { ...STREAM, description: 'The events of the message, one JSON object each, until its end' },
    run: (input) => {
      refuseZyhiveFields(input.body);
      return chat(input);
    },
    otherShape: {
      schema: zyhiveEventSchema,
      isUsed: answersAsZyhive(context),
      run: (input) => chat(input, zyhiveEvent),
    },
  });

  const join = (
    { params, query: { sessionId: asked, inboxId }, c }: JoinInput,
    toEvent?: ToEvent,
  ): Promise<Response> => {
    const find = async (): Promise<StreamTarget> => {
      const { id: sessionId, sessionKey } = await findRecord(context, { ...params, sessionId: asked });
      const item = inboxId === undefined ? undefined : await reprise.store.inbox.get(inboxId);
      if (inboxId !== undefined && item !== undefined && item.sessionId !== sessionId)
        throw failure('NOT_FOUND', 'inbox.otherSession', { inboxId }, { details: { inboxId } });
      return { sessionId, sessionKey, inboxId };
    };
    return openStream(c, context, find, toEvent);
  };
  addOperation<AgentParams, JoinQuery>(app, {
    method: 'get',
    paths: ['/api/agents/{agentId}/chat/stream'],
    id: 'chatStream',
    tag: 'chat',
    summary: 'Follow the running turn of a session, or resume after Last-Event-ID',
    params: agentParams,
    query: z.object({ sessionId: sessionIdSchema, inboxId: z.string().optional() }),
    headers: resume,
    answer: { ...STREAM, description: 'Events; `idle` where nothing runs' },
    run: (input) => join(input),
    otherShape: {
      schema: zyhiveEventSchema,
      isUsed: answersAsZyhive(context),
      run: (input) => join(input, zyhiveEvent),
    },
  });

  addOperation<AgentParams, { sessionId: string }>(app, {
    method: 'get',
    paths: ['/api/agents/{agentId}/chat/status'],
    id: 'chatStatus',
    tag: 'chat',
    summary: 'Whether something runs or waits in a session',
    params: agentParams,
    query: ofSession,
    answer: { schema: chatStatusSchema, description: 'What it does' },
    run: async ({ params, query, c }) => {
      const { id: sessionId } = await findRecord(context, { ...params, ...query });
      return c.json(await statusOf(context, sessionId));
    },
  });

  addOperation<AgentParams, { sessionId?: string | undefined }, StopRequest>(app, {
    method: 'post',
    paths: ['/api/agents/{agentId}/chat/stop'],
    id: 'chatStop',
    tag: 'chat',
    summary: 'Stop the running turn; the partial answer is kept',
    params: agentParams,
    query: z.object({ sessionId: sessionIdSchema.optional() }),
    body: stopRequestSchema,
    answer: { schema: stopAnswerSchema, description: 'What was stopped' },
    run: async ({ params, query, body: { sessionId: named = query.sessionId, ...what }, c }) => {
      if (named === undefined) {
        const required = { field: 'sessionId', rule: 'required' } as const;
        throw failure('INVALID_INPUT', 'request.badField', required, { details: { field: 'sessionId' } });
      }
      const session = await findSession(context, { ...params, sessionId: named });
      return c.json(await session.stop(what));
    },
  });
}

/**
 * The session key of a new conversation. It is derived from the idempotency key, so that no two requests share a
 * conversation and a retry finds its own. The session gets an id in the form of the agent's profile.
 */
function newChatKey(agentId: string, idempotencyKey: string): string {
  return formatSessionKey({ kind: 'session', agentId, id: keyedId('chat', agentId, idempotencyKey) });
}

/** A request that replaces a message reuses its images and its session, so it must not contain others. */
function onlySessionId({ sessionId, ...rest }: Omit<ChatRequest, 'message' | 'channel' | 'before'>): string {
  const [other] = Object.keys(rest);
  if (sessionId !== undefined && other === undefined) return sessionId;
  throw other === undefined
    ? failure('INVALID_INPUT', 'request.beforeNeedsSession', {}, { details: { field: 'sessionId' } })
    : failure('INVALID_INPUT', 'request.notWithBefore', { field: other }, { details: { field: other } });
}

/** A user names sessions by id only: a key or a channel could lead to a session of another user. */
const USER_FIELDS: ReadonlySet<string> = new Set([
  'message',
  'images',
  'context',
  'sessionId',
  'before',
  'queue',
]);

function refuseRouting(body: ChatBody): void {
  const field = Object.keys(body).find((name) => !USER_FIELDS.has(name));
  if (field !== undefined)
    throw failure('FORBIDDEN', 'request.ownerField', { field }, { details: { field } });
}

type ChatInput = Pick<OperationInput<AgentParams, unknown, ChatBody>, 'params' | 'body' | 'c'>;
type JoinInput = Pick<OperationInput<AgentParams, JoinQuery, unknown>, 'params' | 'query' | 'c'>;

interface JoinQuery {
  readonly sessionId: string;
  readonly inboxId?: string | undefined;
}

function refuseZyhiveFields(body: ChatBody): void {
  const field = ZYHIVE_CHAT_FIELDS.find((name) => body[name] !== undefined);
  if (field === undefined) return;
  throw failure('INVALID_INPUT', 'request.zyhiveField', { field }, { details: { field } });
}

interface StopRequest {
  readonly sessionId?: string;
  readonly waiting?: boolean;
  readonly running?: boolean;
  readonly children?: boolean;
}

const stopRequestSchema: z.ZodType<StopRequest> = z.strictObject({
  sessionId: maybe(sessionIdSchema),
  waiting: maybe(z.boolean()).meta({ description: 'Also cancel queued messages.' }),
  running: maybe(z.boolean()).meta({ description: 'False: do not stop the running turn.' }),
  children: maybe(z.boolean()).meta({
    description:
      'Also stop tasks of subagents. Default: the value of `waiting`, or false if `running` is false.',
  }),
});

async function statusOf({ reprise }: ServerContext, sessionId: string): Promise<ChatStatus> {
  const open = (await reprise.store.inbox.pending(sessionId)).filter((item) => item.class !== 'command');
  const lead = open.find(({ state }) => state === 'running') ?? open[0];
  if (lead === undefined) return { status: 'idle', sessionId, queued: 0 };
  const turnId = eventLogs(reprise).of(sessionId).turnOf(lead.inboxId)?.turnId;
  const queued = open.filter(({ state }) => state === 'accepted').length;
  const { inboxId } = lead;
  return { status: 'generating', sessionId, inboxId, ...(turnId !== undefined && { turnId }), queued };
}
