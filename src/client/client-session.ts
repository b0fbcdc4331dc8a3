import { RepriseError } from '../errors.ts';
import type { ChatStatus, StopAnswer } from '../protocol/chat.ts';
import type { FollowEvent } from '../protocol/follow.ts';
import type { HistoryPage, HistoryQuery, HistoryRow } from '../protocol/records.ts';
import type { SessionAnswer, SessionView } from '../protocol/sessions.ts';
import type { BranchBody, CompactBody, ExportQuery, ForkBody, UndoBody } from '../protocol/steps.ts';
import type { TreePage, TreeQuery } from '../protocol/tree.ts';
import type {
  CommandAnswer,
  CompactAnswer,
  ContextAnswer,
  ExplainAnswer,
  PinsAnswer,
  PurgeAnswer,
  RedoAnswer,
  TotalsAnswer,
  UndoAnswer,
} from './answers.ts';
import type { Connection, RequestOptions } from './connection.ts';
import { ClientEventStream } from './event-stream.ts';

/** Options of every call. */
export interface CallOptions {
  readonly signal?: AbortSignal | undefined;
  /** Unset: a new key for this call, used for all its retries. */
  readonly idempotencyKey?: string | undefined;
}

interface StopChoice {
  readonly waiting?: boolean;
  readonly running?: boolean;
  readonly children?: boolean;
}

export interface ChangeOptions extends CallOptions {
  /** The version the session must have (`etag` of `get`); otherwise the call fails with PRECONDITION_FAILED. */
  readonly ifMatch?: string | undefined;
}

export interface StreamOptions {
  readonly signal?: AbortSignal | undefined;
  /** The position to resume from, in this or an earlier stream. */
  readonly lastEventId?: string | undefined;
  /** Only the events of this message, until it ends. */
  readonly inboxId?: string | undefined;
}

export interface FollowOptions {
  readonly signal?: AbortSignal | undefined;
  /** The last entry the caller has; unset: only new entries. */
  readonly afterSeq?: number | undefined;
}

/** One session on a server. Creating this object sends no request. */
export class ClientSession {
  readonly id: string;
  readonly agentId: string;
  readonly #connection: Connection;

  constructor(connection: Connection, agentId: string, id: string) {
    this.#connection = connection;
    this.agentId = agentId;
    this.id = id;
  }

  /** A page of the history, the newest by default, with the session itself. */
  history(query: Partial<HistoryQuery> = {}, options: CallOptions = {}): Promise<HistoryPage> {
    return this.#get('', { ...options, query: { ...query } });
  }

  /** The session, and its version for `ifMatch`. */
  async get(options: CallOptions = {}): Promise<{ readonly session: SessionView; readonly etag?: string }> {
    const { value, etag } = await this.#connection.versioned<HistoryPage>('GET', this.#path(''), {
      ...options,
      query: { limit: 1 },
    });
    return { session: value.session, ...(etag !== undefined && { etag }) };
  }

  /** Sets the title and settings by name; null removes one. */
  patch(settings: Readonly<Record<string, unknown>>, options: ChangeOptions = {}): Promise<SessionAnswer> {
    return this.#connection.json('PATCH', this.#path(''), { ...change(options), body: settings });
  }

  /** Moves the session to the trash. */
  delete(options: ChangeOptions = {}): Promise<SessionAnswer> {
    return this.#connection.json('DELETE', this.#path(''), change(options));
  }

  restore(options: CallOptions = {}): Promise<SessionAnswer> {
    return this.#post('restore', {}, options);
  }

  /** Permanently deletes a session in the trash. The answer lists copies of its text elsewhere. */
  purge({
    withCopies = false,
    keepChannelLog = false,
    ...options
  }: CallOptions & {
    readonly withCopies?: boolean;
    readonly keepChannelLog?: boolean;
  } = {}): Promise<PurgeAnswer> {
    return this.#post(`purge?withCopies=${withCopies}&keepChannelLog=${keepChannelLog}`, {}, options);
  }

  compact(body: CompactBody = {}, options: CallOptions = {}): Promise<CompactAnswer> {
    return this.#post('compact', body, options);
  }

  fork(body: ForkBody = {}, options: CallOptions = {}): Promise<SessionAnswer> {
    return this.#post('fork', body, options);
  }

  /**
   * Continues from another entry of the tree: after it, before it, or at the last leaf of the branch that starts with
   * it. `redo` returns.
   */
  branch(entryId: string, options: CallOptions & Pick<BranchBody, 'place'> = {}): Promise<SessionAnswer> {
    const { place, ...rest } = options;
    return this.#post('branch', { entryId, ...(place !== undefined && { place }) }, rest);
  }

  undo(body: UndoBody = {}, options: CallOptions = {}): Promise<UndoAnswer> {
    return this.#post('undo', body, options);
  }

  redo(options: CallOptions = {}): Promise<RedoAnswer> {
    return this.#post('redo', {}, options);
  }

  pins(options: CallOptions = {}): Promise<PinsAnswer> {
    return this.#get('/pins', options);
  }

  pin(entryId: string, options: CallOptions = {}): Promise<PinsAnswer> {
    return this.#post('pin', { entryId }, options);
  }

  unpin(entryId: string, options: CallOptions = {}): Promise<PinsAnswer> {
    return this.#post('unpin', { entryId }, options);
  }

  /** Runs a command as typed in a chat, such as `/rename plans`. */
  command(
    command: string,
    options: CallOptions & { readonly confirm?: boolean } = {},
  ): Promise<CommandAnswer> {
    const { confirm, ...rest } = options;
    return this.#post('command', { command, ...(confirm !== undefined && { confirm }) }, rest);
  }

  context(options: CallOptions = {}): Promise<ContextAnswer> {
    return this.#get('/context', options);
  }

  totals(options: CallOptions = {}): Promise<TotalsAnswer> {
    return this.#get('/totals', options);
  }

  tree(query: Partial<TreeQuery> = {}, options: CallOptions = {}): Promise<TreePage> {
    return this.#get('/tree', { ...options, query: { ...query } });
  }

  /** The content that a block of the history refers to by `blob`: an image, or the text of a tool. */
  blob(name: string, options: CallOptions = {}): Promise<Uint8Array<ArrayBuffer>> {
    return this.#connection.bytes(this.#path(`/blobs/${encodeURIComponent(name)}`), options);
  }

  /**
   * The transcript as a self-contained file: one line of JSON per entry, of all branches. If a large part is missing or
   * damaged this throws `STORE_CORRUPT`; with `lost: 'preview'` the stored preview is used instead. There is no
   * timeout: use a signal to cancel.
   */
  export(options: CallOptions & Partial<ExportQuery> = {}): Promise<Uint8Array<ArrayBuffer>> {
    const { lost, redact, ...rest } = options;
    // With a timeout a large export would fail on every retry.
    const timeoutMs = Number.POSITIVE_INFINITY;
    return this.#connection.bytes(this.#path('/export'), { ...rest, query: { lost, redact }, timeoutMs });
  }

  explain(turnId: string, options: CallOptions = {}): Promise<ExplainAnswer> {
    return this.#get(`/explain/${encodeURIComponent(turnId)}`, options);
  }

  status(options: CallOptions = {}): Promise<ChatStatus> {
    const query = { sessionId: this.id };
    return this.#connection.json('GET', this.#chat('status'), { ...options, query });
  }

  /**
   * Stops the running turn; the partial answer is kept. `waiting` also cancels queued messages, and without `running`
   * only those. `children` also stops the tasks given to subagents; by default if both others are set.
   */
  stop(options: CallOptions & StopChoice = {}): Promise<StopAnswer> {
    const { waiting = false, running = true, children, ...rest } = options;
    return this.#connection.json('POST', this.#chat('stop'), {
      ...rest,
      body: { sessionId: this.id, waiting, running, ...(children !== undefined && { children }) },
    });
  }

  /** Events of the running turn until its end, or those after an id; `idle` if nothing runs. */
  stream({ signal, lastEventId, inboxId }: StreamOptions = {}): ClientEventStream {
    const query = { sessionId: this.id, inboxId };
    return new ClientEventStream({
      connection: this.#connection,
      signal,
      lastEventId,
      open: ({ headers }) => this.#connection.send('GET', this.#chat('stream'), { query, headers, signal }),
    });
  }

  /**
   * Every entry of any branch as it is stored, by any process, until the signal aborts. A lost connection is opened
   * again; it ends only if the server cannot be reached.
   */
  async *follow({ afterSeq, signal }: FollowOptions = {}): AsyncGenerator<HistoryRow, void, undefined> {
    let lastEventId = afterSeq === undefined ? undefined : `${afterSeq}.0`;
    for (let isThere = true; isThere; ) {
      isThere = false;
      const stream: ClientEventStream<FollowEvent> = new ClientEventStream({
        connection: this.#connection,
        signal,
        lastEventId,
        open: ({ headers }) => this.#connection.send('GET', this.#path('/follow'), { headers, signal }),
      });
      try {
        for await (const event of stream) {
          isThere = true;
          if (event.type === 'row') yield event.row;
          lastEventId = stream.lastEventId;
        }
      } catch (error) {
        const isBroken = error instanceof RepriseError && error.code === 'CONNECT_FAILED';
        if (!isBroken || !isThere) throw error;
      }
    }
  }

  #get<T>(path: string, options: RequestOptions): Promise<T> {
    return this.#connection.json('GET', this.#path(path), options);
  }

  #post<T>(name: string, body: object, options: CallOptions): Promise<T> {
    return this.#connection.json('POST', this.#path(`/${name}`), { ...options, body });
  }

  #path(rest: string): string {
    return `${agentPath(this.agentId)}/sessions/${encodeURIComponent(this.id)}${rest}`;
  }

  #chat(name: string): string {
    return `${agentPath(this.agentId)}/chat/${name}`;
  }
}

export function agentPath(agentId: string): string {
  return `/api/agents/${encodeURIComponent(agentId)}`;
}

function change({ ifMatch, ...options }: ChangeOptions): RequestOptions {
  return { ...options, ...(ifMatch !== undefined && { headers: { 'If-Match': ifMatch } }) };
}
