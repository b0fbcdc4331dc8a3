import type { Reprise } from '../../engine/reprise.ts';
import { failure } from '../../messages/failure.ts';
import {
  agentConversationsQuery,
  type ConversationParams,
  type ConversationQuery,
  type ConversationsQuery,
  conversationList,
  conversationPage,
  conversationParams,
  conversationQuery,
  conversationsQuery,
} from '../../protocol/convlog.ts';
import { type AgentParams, agentParams } from '../../protocol/ids.ts';
import { pageOf } from '../../protocol/page.ts';
import type { ServerApp, ServerContext } from '../context.ts';
import { addOperation } from '../operation.ts';

type Convlog = Reprise['convlog'];
type ChatRef = Parameters<Convlog['read']>[0];

const MAX_CHATS = 500;

/** Logs of channel chats, for the admin view. */
export function registerConversations(app: ServerApp, { reprise }: ServerContext): void {
  const tag = 'conversations';
  const answer = { schema: conversationList, description: 'Chats, the one last spoken in first' };
  addOperation<unknown, ConversationsQuery, unknown>(app, {
    method: 'get',
    paths: ['/api/conversations'],
    id: 'listConversations',
    tag,
    summary: 'Chats of all agents',
    query: conversationsQuery,
    answer,
    run: async ({ query, c }) => c.json(await listChats(reprise.convlog, query)),
  });
  addOperation<AgentParams, ConversationsQuery, unknown>(app, {
    method: 'get',
    paths: ['/api/agents/{agentId}/conversations'],
    id: 'listAgentConversations',
    tag,
    summary: 'Chats of an agent',
    params: agentParams,
    query: agentConversationsQuery,
    answer,
    run: async ({ params: { agentId }, query, c }) =>
      c.json(await listChats(reprise.convlog, { ...query, agentId })),
  });
  addOperation<ConversationParams, ConversationQuery, unknown>(app, {
    method: 'get',
    paths: ['/api/agents/{agentId}/conversations/{channelId}'],
    id: 'getConversation',
    tag,
    summary: 'List the messages of a chat, oldest first; without after or before the newest page',
    params: conversationParams,
    query: conversationQuery,
    answer: { schema: conversationPage, description: 'A page of lines' },
    run: async ({ params, query, c }) => {
      const conversation = await findChat(reprise.convlog, params, query.channelType);
      return c.json({ conversation, ...(await readLines(reprise.convlog, conversation, query)) });
    },
  });
}

async function listChats(convlog: Convlog, query: ConversationsQuery): Promise<object> {
  const { limit, cursor, agentId, channelType, member, q, sort } = query;
  const page = await convlog.list({
    limit,
    ...(cursor !== undefined && { cursor }),
    ...(agentId !== undefined && { agentId }),
    ...(channelType !== undefined && { channelType }),
    ...(member !== undefined && { member }),
    ...(q !== undefined && { text: q }),
    ...(sort !== undefined && { sort }),
    ...(q === undefined && { withTotal: true }),
  });
  const data = page.chats.map((chat) => ({ id: chat.channelId, ...chat }));
  const { cursor: next, complete, total = null } = page;
  return { ...pageOf(data, next !== null), cursor: next, complete, total };
}

/** Finds a chat by its id alone, if only one channel of the agent has it. */
async function findChat(
  convlog: Convlog,
  { agentId, channelId }: ConversationParams,
  channelType: string | undefined,
): Promise<ChatRef> {
  const found: ChatRef[] = [];
  let cursor: string | null = null;
  do {
    const page: Awaited<ReturnType<Convlog['list']>> = await convlog.list({
      agentId,
      limit: MAX_CHATS,
      ...(channelType !== undefined && { channelType }),
      ...(cursor !== null && { cursor }),
    });
    found.push(...page.chats.filter((chat) => chat.channelId === channelId));
    cursor = page.cursor;
  } while (cursor !== null);
  const exact = found.filter((chat) => chat.channelType === channelType);
  const [first, second] = exact.length > 0 ? exact : found;
  if (first === undefined)
    throw failure(
      'NOT_FOUND',
      'chat.missing',
      { agent: agentId, chat: channelId },
      { details: { channelId } },
    );
  if (second !== undefined) {
    const channels = found.map((chat) => chat.channelType);
    const details = { candidates: channels };
    throw failure('AMBIGUOUS_REF', 'chat.ambiguous', { chat: channelId, channels }, { details });
  }
  return { agentId, channelType: first.channelType, channelId };
}

async function readLines(convlog: Convlog, chat: ChatRef, query: ConversationQuery): Promise<object> {
  const { limit, after, before, member, q } = query;
  const isForward = after !== undefined;
  const from = isForward ? after + 1 : before === undefined ? undefined : before - 1;
  if (from !== undefined && from < 1) return pageOf([], false);
  const { lines, hasMore } = await convlog.read(chat, {
    limit,
    direction: isForward ? 'forward' : 'backward',
    ...(from !== undefined && { from }),
    ...(member !== undefined && { member }),
    ...(q !== undefined && { text: q }),
  });
  const data = lines.map(({ agentId: _agent, channelType: _type, channelId: _chat, ...line }) => ({
    id: String(line.number),
    ...line,
  }));
  return pageOf(
    data.sort((a, b) => a.number - b.number),
    hasMore,
  );
}
