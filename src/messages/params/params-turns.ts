import type { None } from '../params.ts';

/** Messages about turns, incoming messages, agents and subagents. */
export interface TurnMessages {
  'turn.answerTooLong': { readonly max: number };
  'turn.tooManySteps': { readonly max: number };
  'turn.stuck': { readonly seconds: number };
  'turn.stopped': None;
  'turn.timeLimit': None;
  /** A newer message interrupted it. */
  'turn.interrupted': None;
  'turn.toolInterrupted': None;
  'turn.crashLoop': { readonly attempts: number };
  /** All that is stored about how it ended is its status. */
  'turn.endedAs': { readonly status: string };
  'turn.tooLarge': { readonly tokens: number; readonly budget: number };
  'turn.takenOver': None;
  'task.stoppedWithParent': None;
  'task.cancelled': None;
  'task.notStarted': None;
  'engine.closed': None;
  'engine.closedEarly': { readonly inboxId: string };
  'message.empty': None;
  'message.tooLong': {
    readonly part: 'text' | 'context' | 'images';
    readonly length: number;
    readonly max: number;
  };
  'message.badImage': None;
  'message.notObject': None;
  /** The queue is full, and its setting drops this message. */
  'message.dropped': None;
  /** All that is stored about how it ended is its state. */
  'message.endedAs': { readonly state: string };
  /** A channel delivered what this agent had sent: by its own account, or in its own words. */
  'message.ownOutput': { readonly by: 'account' | 'words' };
  'command.interrupted': None;
  /** What a turn used. Nulls: not shown. `cost` is in the currency of the model's prices. */
  'turn.usage': {
    readonly input: number;
    readonly output: number;
    readonly cacheRead: number | null;
    readonly cacheWrite: number | null;
    readonly cost: number | null;
  };
  'idempotency.keyReused': None;
  'send.denied': { readonly sessionKey: string; readonly channel: string };
  'agent.missing': { readonly agentId: string; readonly known: readonly string[] };
  'agent.otherAgent': { readonly agentId: string; readonly given: string };
  'session.otherKey': { readonly sessionId: string; readonly sessionKey: string };
  'session.noDamage': { readonly sessionId: string };
  'session.idTaken': { readonly sessionId: string; readonly source: string };
  'prune.indexing': None;
}
