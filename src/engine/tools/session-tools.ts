import { isSubagentSessionKey } from '../../keys/predicates.ts';
import { failure } from '../../messages/failure.ts';
import type { InboxReceipt } from '../../store/port/inbox.ts';
import type { SessionRecord } from '../../store/port/store.ts';
import { type SessionName, SessionReach } from '../agents/session-reach.ts';
import type { SpawnRequest } from '../agents/spawn-request.ts';
import type { Subagents } from '../agents/subagents.ts';
import type { SessionReachName } from '../agents/tool-policy.ts';
import type { EngineContext } from '../engine-context.ts';
import { bodyOf, withTicket } from '../intake/inbound.ts';
import { assertMayWait, endFor, untilEnded, waitMark } from '../schedule/waiting.ts';
import { wrongValue } from '../settings-patch.ts';
import { inputSchema, type ReadCall, SESSION_NAME } from './session-call.ts';
import { createReadingTools } from './session-reading-tools.ts';
import type { Tool } from './tool.ts';

export interface SessionToolsOptions {
  readonly context: EngineContext;
  readonly subagents: Subagents;
  readonly reachOf: (record: SessionRecord) => SessionReachName;
  /** Runs a session in this process, if this process runs it at all. */
  readonly wake: (sessionId: string) => void;
  /** Always runs it in this process: a child of a session of this process. */
  readonly run: (sessionId: string) => void;
}

const MAX_WAIT_SECONDS = 3600;
/** The wait itself ends before the tool would count as hung. */
const SEND_TIMEOUT_MS = (MAX_WAIT_SECONDS + 600) * 1000;

/** The session tools of a model: for its own session, its children's, and more if configured. */
export function createSessionTools(options: SessionToolsOptions): Tool[] {
  const { store } = options.context;
  const calling: ReadCall = async ({ session }) => {
    const caller = await store.get(session.id);
    return { caller, reach: new SessionReach({ store, caller, reach: options.reachOf(caller) }) };
  };
  return [spawnTool(options), sendTool(options, calling), ...createReadingTools(store, calling)];
}

function spawnTool({ context, subagents }: SessionToolsOptions): Tool {
  return {
    name: 'sessions_spawn',
    description:
      'Gives a task to a new subagent that works by itself. Answers at once; the result comes later, as a message.',
    inputSchema: inputSchema(
      {
        task: { type: 'string', description: 'All it needs to know: it sees nothing of this conversation.' },
        label: { type: 'string', description: 'A short name for it.' },
        agentId: { type: 'string', description: 'Another agent to do it.' },
        model: { type: 'string' },
        thinking: { type: 'string', description: 'off, minimal, low, medium, high, xhigh or max.' },
        runTimeoutSeconds: { type: 'number', description: 'Ends it after so long; 0: never.' },
        cleanup: { type: 'string', enum: ['delete', 'keep'], description: 'Whether its session stays.' },
      },
      ['task'],
    ),
    run: async (input, { session, signal }) => {
      const parent = await context.store.get(session.id);
      // A model reads the reason; the code is for programs.
      const { why: _, ...result } = await subagents.spawn(parent, input as unknown as SpawnRequest, signal);
      return result;
    },
  };
}

function sendTool(options: SessionToolsOptions, calling: ReadCall): Tool {
  const { context } = options;
  return {
    name: 'sessions_send',
    description: 'Sends a message to a session you can reach; with a timeout it waits for the answer.',
    inputSchema: inputSchema(
      {
        ...SESSION_NAME,
        message: { type: 'string' },
        timeoutSeconds: { type: 'number', description: 'How long to wait for the answer; 0: not at all.' },
      },
      ['message'],
    ),
    timeoutMs: SEND_TIMEOUT_MS,
    run: async (input, tool) => {
      const { message, timeoutSeconds = 0 } = input;
      const waitMs = waitOf(timeoutSeconds);
      const { caller, reach } = await calling(tool);
      const target = await reach.find(input as SessionName);
      if (target.id === caller.id) throw failure('INVALID_INPUT', 'tool.ownSession');
      if (waitMs > 0) await assertMayWait(context, caller, target);
      const until = context.options.clock.now().getTime() + waitMs;
      const receipt = await post(options, { caller, target, message, until: waitMs > 0 ? until : undefined });
      const { inboxId, sessionKey } = receipt;
      if (waitMs === 0) return { status: 'accepted', sessionKey };
      // Two concurrent calls may both have seen no waiting caller; now both messages are stored.
      await assertMayWait(context, caller, target).catch(async (error: unknown) => {
        await context.store.inbox.settle(inboxId, 'cancelled', { reason: 'circle' });
        throw error;
      });
      wakeTarget(options, receipt);
      const { signal } = tool;
      const end = await tool.aside(() => untilEnded(context, receipt, { until, signal }));
      if (end === undefined) return { status: 'timeout', sessionKey, note: 'It was not answered in time.' };
      return { ...endFor(end), sessionKey };
    },
  };
}

interface Post {
  readonly caller: SessionRecord;
  readonly target: SessionRecord;
  readonly message: unknown;
  /** Set if a caller waits for the end of the message until then. */
  readonly until: number | undefined;
}

async function post(
  options: SessionToolsOptions,
  { caller, target, message, until }: Post,
): Promise<InboxReceipt> {
  const { store, options: engine } = options.context;
  if (typeof message !== 'string') throw wrongValue('message', message, [{ is: 'text' }]);
  const { mode, cap, drop } = engine.queueFor(target);
  const said = bodyOf(message);
  // Mark the text as sent by a program, so that the other session can see it.
  const text = `[Message of the session ${caller.sessionKey}]\n${message}`;
  const body = { ...said, text, ...(until !== undefined && waitMark(caller, until)) };
  const receipt = await store.inbox.receive({
    sessionKey: target.sessionKey,
    sessionId: target.id,
    source: 'sessions_send',
    queue: { cap, drop },
    // A message with a waiting caller gets its own turn: if it joined another one, the wait would not be visible.
    body: withTicket(body, {
      mode: until === undefined ? mode : 'queue',
      debounceMs: 0,
      at: engine.clock.now().getTime(),
    }),
  });
  if (until === undefined) wakeTarget(options, receipt);
  return receipt;
}

function wakeTarget({ wake, run }: SessionToolsOptions, { sessionId, sessionKey }: InboxReceipt): void {
  if (isSubagentSessionKey(sessionKey)) run(sessionId);
  else wake(sessionId);
}

function waitOf(seconds: unknown): number {
  if (typeof seconds === 'number' && seconds >= 0 && seconds <= MAX_WAIT_SECONDS) return seconds * 1000;
  throw wrongValue('timeoutSeconds', seconds, [{ is: 'number', min: 0, max: MAX_WAIT_SECONDS }]);
}
