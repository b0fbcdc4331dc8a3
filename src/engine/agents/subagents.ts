import { randomUUID } from 'node:crypto';
import { RepriseError } from '../../errors.ts';
import { parseAgentId } from '../../keys/ids.ts';
import { formatSessionKey, parseSessionKey } from '../../keys/session-key.ts';
import { causeText } from '../../messages/english.ts';
import { failure } from '../../messages/failure.ts';
import { type Message, message, whyOf } from '../../messages/message.ts';
import type { Model } from '../../models/model.ts';
import type { Inbound, InboxItem } from '../../store/port/inbox.ts';
import type { SessionRecord } from '../../store/port/store.ts';
import type { JsonObject } from '../../transcript/json.ts';
import { deliver } from '../deliver.ts';
import type { EngineContext } from '../engine-context.ts';
import { bodyOf, withTicket } from '../intake/inbound.ts';
import { assertAgent } from '../intake/route.ts';
import { isOpen } from '../schedule/item-end.ts';
import { stopTask } from '../schedule/stop-session.ts';
import type { TurnOutcome } from '../turn/turn-outcome.ts';
import { type Agents, agentOptions } from './agents.ts';
import {
  checkSpawnRequest,
  cleanLabel,
  modelNote,
  requesterOf,
  runningItem,
  type SpawnRequest,
  type SpawnResult,
} from './spawn-request.ts';
import {
  type Cleanup,
  childGroup,
  type RunFacts,
  type RunStatus,
  resultFor,
  resultKey,
  resultOf,
  runOf,
  SUBAGENT_SOURCE,
  statusOf,
} from './subagent-run.ts';
import { childPolicy, depthOf, policyOf } from './tool-policy.ts';
import type { Workspaces } from './workspaces.ts';

export interface SubagentRun {
  readonly runId: string;
  readonly childSessionKey: string;
  readonly childSessionId: string;
  readonly inboxId: string;
  readonly status: RunStatus;
  readonly cleanup: Cleanup;
  readonly label?: string;
  /** Whether the parent has received the result and processed it. */
  readonly result: 'none' | 'waiting' | 'told';
}

export interface SubagentsOptions {
  readonly context: EngineContext;
  readonly agents: Agents;
  readonly workspaces: Workspaces;
  readonly findModel: (name: string, signal?: AbortSignal) => Promise<Model | undefined>;
  /** Runs a session in this process: a child, or the parent that received a result. */
  readonly run: (sessionId: string) => void;
  readonly tellParent: (sessionId: string) => void;
}

type RunItem = Pick<InboxItem, 'inboxId' | 'sessionId' | 'sessionKey' | 'body'>;

const DEFAULT_MAX_CHILDREN = 5;
const PAGE = 200;

const CHILD_PROMPT = `You are a subagent: another session gave you one task, which is your first message. Do that task and nothing else. Nobody can answer questions while you work. Your last answer is handed to that session as your result, so say in it all it needs to know.`;

/**
 * Children of sessions. A run is an accepted message of the child's session, so it is as durable as any other. Its
 * result is a message to the parent, stored in the transaction that ends the child's turn (exactly once).
 */
export class Subagents {
  readonly #options: SubagentsOptions;
  /** Runs that were open at the last check. */
  #open: Map<string, RunItem> = new Map();

  constructor(options: SubagentsOptions) {
    this.#options = options;
  }

  /**
   * Spawns a child. A refusal is returned, not thrown, because a model reads it. `turn` is the signal of the calling
   * turn, if there is one.
   */
  async spawn(parent: SessionRecord, request: SpawnRequest, turn?: AbortSignal): Promise<SpawnResult> {
    try {
      return this.#forbids(parent, request) ?? (await this.#accept(parent, request, turn));
    } catch (error) {
      if (!(error instanceof RepriseError)) throw error;
      const { code, details } = error;
      const isFull = code === 'LIMIT_EXCEEDED' && details['limit'] === 'group';
      if (!isFull) return refused('error', whyOf(error));
      return refused('forbidden', message('spawn.tooMany', { max: Number(details['max']) }));
    }
  }

  /** The children of a session, newest first, with the state of their tasks. */
  async runs(parentSessionId: string): Promise<SubagentRun[]> {
    const { store } = this.#options.context;
    const runs: SubagentRun[] = [];
    for (let cursor: string | null | undefined; cursor !== null; ) {
      const query = { kind: 'subagent', parentId: parentSessionId, status: 'any', limit: PAGE } as const;
      const page = await store.list({ ...query, ...(cursor !== undefined && { cursor }) });
      for (const child of page.sessions) {
        const run = await this.#runOfChild(child);
        if (run !== undefined) runs.push(run);
      }
      cursor = page.cursor;
    }
    return runs;
  }

  /** Messages for the transaction that ends a turn. */
  deliveries(lead: InboxItem, outcome: TurnOutcome): Inbound[] {
    const result = resultFor(lead, outcome, this.#now());
    return result === undefined ? [] : [result];
  }

  /** Called when a message has been processed: a child's task, or the result of one. */
  async afterItem(item: InboxItem, { isRetry }: { readonly isRetry: boolean }): Promise<void> {
    const run = runOf(item);
    if (run !== undefined) this.#options.tellParent(run.parentSessionId);
    const result = resultOf(item);
    if (result === undefined) return;
    if (result.cleanup === 'delete') await this.#remove(result.childSessionId);
    // After a crash, this process does not know which results had joined the turn.
    if (isRetry) await this.#removeTold(item.sessionId);
  }

  /**
   * Called with all open rows: also reports a run that ended without a turn (cancelled while it waited, or deleted).
   */
  async look(pending: readonly InboxItem[]): Promise<void> {
    const { store } = this.#options.context;
    const before = this.#open;
    this.#open = new Map(pending.filter((item) => runOf(item)).map((item) => [item.inboxId, item]));
    for (const [inboxId, item] of before) {
      if (this.#open.has(inboxId)) continue;
      const now = await store.inbox.get(inboxId);
      if (isOpen(now)) this.#open.set(inboxId, item);
      else if (now.state === 'cancelled') await this.#reportCancelled(item);
    }
  }

  #now(): number {
    return this.#options.context.options.clock.now().getTime();
  }

  #forbids(parent: SessionRecord, { agentId = parent.agentId }: SpawnRequest): SpawnResult | undefined {
    const agent = agentOptions(this.#options.agents, parent.agentId);
    const { maxDepth } = policyOf(agent, parent);
    if (depthOf(parent) >= maxDepth) return refused('forbidden', message('spawn.tooDeep', { max: maxDepth }));
    const { allowAgents = [] } = agent;
    const isAllowed =
      agentId === parent.agentId || allowAgents.includes('*') || allowAgents.includes(agentId);
    // The same answer as for an agent that does not exist, so that the caller does not learn which agents exist.
    if (isAllowed) return undefined;
    return refused('forbidden', message('spawn.otherAgent'));
  }

  async #accept(parent: SessionRecord, request: SpawnRequest, turn?: AbortSignal): Promise<SpawnResult> {
    const { context, agents, run: wake, findModel } = this.#options;
    const { task, agentId = parent.agentId, cleanup = 'keep', model } = request;
    if (parent.status !== 'open') return refused('error', message('spawn.trashed'));
    await assertAgent({ store: context.store, agents }, parseAgentId(agentId));
    checkSpawnRequest(request);
    const runId = randomUUID();
    const childSessionKey = formatSessionKey({ kind: 'subagent', agentId, id: runId });
    const at = this.#now();
    const label = request.label === undefined ? '' : cleanLabel(request.label);
    const { runTimeoutSeconds = 0 } = request;
    const isKnown = model !== undefined && (await findModel(model, turn)) !== undefined;
    const origin = await requesterOf(context.store, parent.id);
    const run: RunFacts = {
      runId,
      parentSessionId: parent.id,
      parentKey: parent.sessionKey,
      cleanup,
      ...(runTimeoutSeconds > 0 && { timeoutAt: at + runTimeoutSeconds * 1000 }),
      ...(label !== '' && { label }),
      ...(origin !== undefined && { origin }),
    };
    const settings: JsonObject = {
      spawnedBy: parent.sessionKey,
      depth: depthOf(parent) + 1,
      ...(label !== '' && { label }),
      ...(isKnown && { model }),
      ...(request.thinking !== undefined && { thinkingLevel: request.thinking }),
      toolPolicy: childPolicy(this.#policy(parent), {
        isSameAgent: agentId === parent.agentId,
        owner: this.#options.workspaces.ownerOf(parent),
      }),
      systemPrompt: await this.#promptFor(agentId),
    };
    const body = withTicket({ ...bodyOf(task), run }, { mode: 'queue', debounceMs: 0, at });
    const { maxChildren: max = DEFAULT_MAX_CHILDREN } = agentOptions(agents, parent.agentId).subagents ?? {};
    turn?.throwIfAborted();
    const receipt = await context.store.inbox.receive({
      sessionKey: childSessionKey,
      source: SUBAGENT_SOURCE,
      idempotencyKey: runId,
      create: { parentId: parent.id, settings },
      group: { name: childGroup(parent.id), max },
      body,
    });
    if (turn !== undefined) await this.#assertGoesOn(parent, { ...receipt, body }, turn);
    this.#open.set(receipt.inboxId, { ...receipt, body });
    wake(receipt.sessionId);
    return { status: 'accepted', childSessionKey, runId, ...modelNote(model, isKnown) };
  }

  /**
   * Checks that the parent still runs. Stopping a session ends its turn first and then its children (`stopSession`).
   * A child that was accepted too late for that finds out here that the turn was stopped: by its signal, or by its
   * row if another process stopped it.
   */
  async #assertGoesOn({ id }: SessionRecord, task: RunItem, turn: AbortSignal): Promise<void> {
    const { store, options } = this.#options.context;
    if (!turn.aborted && (await runningItem(store, id)) !== undefined) return;
    await stopTask(store, task, options.clock.now());
    throw failure('ABORTED', 'task.notStarted');
  }

  #policy(record: SessionRecord): ReturnType<typeof policyOf> {
    return policyOf(agentOptions(this.#options.agents, record.agentId), record);
  }

  async #promptFor(agentId: string): Promise<string> {
    const own = await this.#options.workspaces.systemPromptFor(agentId);
    return own === '' ? CHILD_PROMPT : `${own}\n\n${CHILD_PROMPT}`;
  }

  /** The run of a child; the child's key ends with its id. @returns `undefined` for a child of another program. */
  async #runOfChild(child: SessionRecord): Promise<SubagentRun | undefined> {
    const { inbox } = this.#options.context.store;
    const { sessionKey, id: childSessionId, label, settings } = child;
    const parts = parseSessionKey(sessionKey);
    const runId = parts.kind === 'subagent' ? parts.id : '';
    const item = await inbox.known({ sessionKey, source: SUBAGENT_SOURCE, idempotencyKey: runId });
    const { spawnedBy } = settings;
    if (item === undefined || typeof spawnedBy !== 'string') return undefined;
    const told = await inbox.known({
      sessionKey: spawnedBy,
      source: SUBAGENT_SOURCE,
      idempotencyKey: resultKey(runId),
    });
    return {
      runId,
      childSessionKey: sessionKey,
      childSessionId,
      inboxId: item.inboxId,
      status: statusOf(item),
      cleanup: runOf(item)?.cleanup ?? 'keep',
      ...(label !== undefined && { label }),
      result: told === undefined ? 'none' : isOpen(told) ? 'waiting' : 'told',
    };
  }

  async #reportCancelled(item: RunItem): Promise<void> {
    const error = failure('ABORTED', 'task.cancelled', {}, { details: { reason: 'cancelled' } });
    const result = resultFor(item, { error }, this.#now());
    if (result === undefined) return;
    // The child's turn may have delivered it already; then this is recognized as the same message.
    await deliver(this.#options.context.store, result);
    this.#options.tellParent((runOf(item) as RunFacts).parentSessionId);
  }

  async #removeTold(parentSessionId: string): Promise<void> {
    const runs = await this.runs(parentSessionId);
    for (const { cleanup, result, childSessionId } of runs)
      if (cleanup === 'delete' && result === 'told') await this.#remove(childSessionId);
  }

  /** Moves a child to the trash. If that fails, the child stays; its parent has the result. */
  async #remove(childSessionId: string): Promise<void> {
    try {
      await this.#options.context.store.delete(childSessionId);
    } catch (error) {
      if (!(error instanceof RepriseError)) throw error;
    }
  }
}

function refused(status: 'error' | 'forbidden', why: Message): SpawnResult {
  return { status, reason: causeText(why), why };
}
