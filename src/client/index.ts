import type { ModelOffer } from '../messages/params/params-commands.ts';
import type { ChatRequest, InboundAnswer, InboundRequest, InboxAnswer } from '../protocol/chat.ts';
import type { CommandView } from '../protocol/commands.ts';
import type { ConversationQuery, ConversationsQuery } from '../protocol/convlog.ts';
import type { SessionFrame } from '../protocol/events.ts';
import type { SearchQueryView } from '../protocol/meta.ts';
import type { Page } from '../protocol/page.ts';
import type { SessionList, SessionListQuery } from '../protocol/sessions.ts';
import type { UsageOverview, UsageQueryView } from '../protocol/usage.ts';
import type { AgentView, ConversationList, ConversationPage, SearchAnswer, StatsAnswer } from './answers.ts';
import { agentPath, type CallOptions, ClientSession } from './client-session.ts';
import { type ClientOptions, Connection, newKey } from './connection.ts';
import { ClientEventStream } from './event-stream.ts';

/** A client of a Reprise server, for browsers and Node. Failed calls are retried and never done twice. */
export class Client {
  readonly #connection: Connection;

  constructor(options: ClientOptions) {
    this.#connection = new Connection(options);
  }

  /**
   * Sends a message and yields events until it ends. All attempts use the same idempotency key, and a lost stream
   * resumes where it was.
   */
  chat(agentId: string, request: ChatRequest, options: CallOptions = {}): ClientEventStream {
    const { signal, idempotencyKey = newKey() } = options;
    const path = `${agentPath(agentId)}/chat`;
    return this.#stream(signal, agentId, (headers) =>
      this.#connection.send('POST', path, { body: request, headers, signal, idempotencyKey }),
    );
  }

  session(sessionId: string, { agentId = 'main' }: { readonly agentId?: string } = {}): ClientSession {
    return new ClientSession(this.#connection, agentId, sessionId);
  }

  /** Sessions of one agent or all, newest first, or by `sort` and `order`. */
  sessions(
    query: Partial<SessionListQuery> & { readonly agentId?: string | undefined } = {},
    options: CallOptions = {},
  ): Promise<SessionList> {
    const { agentId, ...rest } = query;
    const path = agentId === undefined ? '/api/sessions' : `${agentPath(agentId)}/sessions`;
    return this.#connection.json('GET', path, { ...options, query: rest });
  }

  /** Sends a channel message; with `wait` (seconds) also returns the answer if it is ready in time. */
  inbound(
    message: InboundRequest,
    { wait, ...options }: CallOptions & { readonly wait?: number } = {},
  ): Promise<InboundAnswer> {
    const patience = wait === undefined ? {} : { timeoutMs: wait * 1000 + 30_000 };
    return this.#connection.json('POST', '/api/inbound', {
      ...options,
      ...patience,
      query: { wait },
      body: message,
    });
  }

  /** As `inbound`, with the events of the turn that answers the message. */
  inboundEvents(message: InboundRequest, options: CallOptions = {}): ClientEventStream {
    const { signal, idempotencyKey = newKey() } = options;
    return this.#stream(signal, undefined, (headers) =>
      this.#connection.send('POST', '/api/inbound', { body: message, headers, signal, idempotencyKey }),
    );
  }

  /** The state of a message. */
  inbox(inboxId: string, options: CallOptions = {}): Promise<InboxAnswer> {
    return this.#connection.json('GET', `/api/inbox/${encodeURIComponent(inboxId)}`, options);
  }

  search(
    query: Partial<SearchQueryView> & Pick<SearchQueryView, 'q'>,
    options: CallOptions = {},
  ): Promise<SearchAnswer> {
    return this.#connection.json('GET', '/api/search', { ...options, query: { ...query } });
  }

  /** The messages on channels; needs admin access. */
  conversations(
    query: Partial<ConversationsQuery> = {},
    options: CallOptions = {},
  ): Promise<ConversationList> {
    return this.#connection.json('GET', '/api/conversations', { ...options, query: { ...query } });
  }

  conversation(
    agentId: string,
    channelId: string,
    query: Partial<ConversationQuery> = {},
    options: CallOptions = {},
  ): Promise<ConversationPage> {
    const path = `${agentPath(agentId)}/conversations/${encodeURIComponent(channelId)}`;
    return this.#connection.json('GET', path, { ...options, query: { ...query } });
  }

  agents(options: CallOptions = {}): Promise<Page<AgentView>> {
    return this.#connection.json('GET', '/api/agents', options);
  }

  /** The models that a session can choose. */
  models(options: CallOptions = {}): Promise<Page<ModelOffer>> {
    return this.#connection.json('GET', '/api/models', options);
  }

  commands(options: CallOptions = {}): Promise<Page<CommandView>> {
    return this.#connection.json('GET', '/api/commands', options);
  }

  stats(options: CallOptions = {}): Promise<StatsAnswer> {
    return this.#connection.json('GET', '/api/stats', options);
  }

  /** Tokens, cost and events of a period; the last thirty days by default. */
  usage(query: UsageQueryView = {}, options: CallOptions = {}): Promise<UsageOverview> {
    return this.#connection.json('GET', '/api/usage', { ...options, query: { ...query } });
  }

  /** Throws if the server is unreachable or not ready. */
  ready(options: CallOptions = {}): Promise<{ readonly status: 'ready'; readonly version: string }> {
    return this.#connection.json('GET', '/readyz', options);
  }

  /** Sends the message until it is accepted; after that it only resumes the event stream. */
  #stream(
    signal: AbortSignal | undefined,
    agentId: string | undefined,
    send: (headers: Readonly<Record<string, string>>) => Promise<Response>,
  ): ClientEventStream {
    return new ClientEventStream({
      connection: this.#connection,
      signal,
      open: ({ session, headers }) => {
        if (session?.inboxId === undefined) return send(headers);
        const { sessionId, inboxId } = session;
        const path = `${agentPath(agentId ?? agentOf(session))}/chat/stream`;
        return this.#connection.send('GET', path, { query: { sessionId, inboxId }, headers, signal });
      },
    });
  }
}

export function createClient(options: ClientOptions): Client {
  return new Client(options);
}

/** The agent of a key `agent:<id>:…`. The shared global session belongs to main. */
function agentOf({ sessionKey }: SessionFrame): string {
  const [, agentId] = /^agent:([^:]+):/.exec(sessionKey) ?? [];
  return agentId ?? 'main';
}

export { RepriseError } from '../errors.ts';
export {
  type CodedAnswer,
  commandText,
  failedMessage,
  isMessage,
  type Message,
  type MessageCode,
  type MessageTable,
  sentence,
  textOf,
  whyOf,
} from '../messages/message.ts';
export type { CliMessages } from '../messages/params/params-cli.ts';
export type { ClientMessages } from '../messages/params/params-client.ts';
export type {
  CacheBreak,
  CommandGroup,
  CommandMessages,
  HelpTopic,
  ModelOffer,
  SessionFacts,
} from '../messages/params/params-commands.ts';
export type { ConversationMessages } from '../messages/params/params-conversations.ts';
export type {
  BackupDamage,
  FileProblem,
  InteropMessages,
} from '../messages/params/params-interop.ts';
export type { KeyMessages, KeyPart } from '../messages/params/params-keys.ts';
export type { ModelMessages, ProviderAnswer } from '../messages/params/params-models.ts';
export type {
  FieldRule,
  MalformedRequest,
  RequestMessages,
} from '../messages/params/params-requests.ts';
export type { Expected, JsonProblem, SettingMessages } from '../messages/params/params-settings.ts';
export type {
  CopyMessages,
  DatabaseDamage,
  LostTranscript,
  PostgresMessages,
  PostgresProblem,
  StoreMessages,
  StoreProblem,
} from '../messages/params/params-stores.ts';
export type { PathProblem, ToolMessages, ToolRule } from '../messages/params/params-tools.ts';
export type { TurnMessages } from '../messages/params/params-turns.ts';
export type {
  ChatRequest,
  ChatStatus,
  InboundAnswer,
  InboundRequest,
  InboxAnswer,
} from '../protocol/chat.ts';
export type { CommandView } from '../protocol/commands.ts';
export type { StreamEvent, TokenUsage } from '../protocol/events.ts';
export type { HistoryPage, HistoryRow } from '../protocol/records.ts';
export type { SessionList, SessionListQuery, SessionView } from '../protocol/sessions.ts';
export type { TreeNode, TreePage } from '../protocol/tree.ts';
export type { UsageOverview, UsageQueryView } from '../protocol/usage.ts';
export type {
  AgentView,
  CommandAnswer,
  CompactAnswer,
  ContextAnswer,
  Conversation,
  ConversationLine,
  ConversationList,
  ConversationPage,
  ExplainAnswer,
  PinsAnswer,
  PurgeAnswer,
  RedoAnswer,
  SearchAnswer,
  SearchHit,
  StatsAnswer,
  TotalsAnswer,
  UndoAnswer,
} from './answers.ts';
export type {
  CallOptions,
  ChangeOptions,
  ClientSession,
  FollowOptions,
  StreamOptions,
} from './client-session.ts';
export type { ClientOptions } from './connection.ts';
export type { ClientEventStream } from './event-stream.ts';
export { SseParser } from './sse-parser.ts';
