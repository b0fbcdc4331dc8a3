import { truncateToolText } from '../../context/truncate.ts';
import type { Inbound, InboxItem } from '../../store/port/inbox.ts';
import { isObject, type JsonObject } from '../../transcript/json.ts';
import { oneLine } from '../commands/command-context.ts';
import { withTicket } from '../intake/inbound.ts';
import { settlementOf, type TurnOutcome } from '../turn/turn-outcome.ts';

/** Whether a child's session stays after its parent received the result. */
export type Cleanup = 'delete' | 'keep';

export type RunStatus = InboxItem['state'] | 'timeout';

/** The facts stored in the row of a child's task, besides the task. */
export interface RunFacts {
  readonly runId: string;
  readonly parentSessionId: string;
  readonly parentKey: string;
  readonly cleanup: Cleanup;
  /** Unix time in ms. */
  readonly timeoutAt?: number;
  readonly label?: string;
  /**
   * The channel where the parent was asked; the parent's answer to the result goes there. The child never answers
   * there.
   */
  readonly origin?: JsonObject;
}

/** The facts stored in the row of a result, besides the text. */
export interface ResultFacts {
  readonly runId: string;
  readonly childSessionKey: string;
  readonly childSessionId: string;
  readonly status: RunStatus;
  readonly cleanup: Cleanup;
}

export const SUBAGENT_SOURCE = 'subagent';
const MAX_RESULT_CHARS = 100_000;
const SHOWN_TASK = 160;

/**
 * The inbox group for a session's children. The store counts it when it accepts a child, so concurrent calls cannot
 * exceed the limit.
 */
export function childGroup(parentSessionId: string): string {
  return `children:${parentSessionId}`;
}

export function runOf({ body }: Pick<InboxItem, 'body'>): RunFacts | undefined {
  return isObject(body['run']) ? (body['run'] as unknown as RunFacts) : undefined;
}

export function resultOf({ body }: Pick<InboxItem, 'body'>): ResultFacts | undefined {
  return isObject(body['result']) ? (body['result'] as unknown as ResultFacts) : undefined;
}

export function statusOf({ state, detail = {} }: Pick<InboxItem, 'state' | 'detail'>): RunStatus {
  const { details } = detail;
  return isObject(details) && details['reason'] === 'timeout' ? 'timeout' : state;
}

export function resultKey(runId: string): string {
  return `result:${runId}`;
}

/** The message to the parent when the turn of a child's task has ended; `undefined` for every other message. */
export function resultFor(
  item: Pick<InboxItem, 'inboxId' | 'sessionId' | 'sessionKey' | 'body'>,
  outcome: TurnOutcome,
  at: number,
): Inbound | undefined {
  const run = runOf(item);
  if (run === undefined) return undefined;
  const { runId, parentSessionId, parentKey, cleanup, origin } = run;
  const status = statusOf(settlementOf(item, outcome));
  const { sessionKey: childSessionKey, sessionId: childSessionId } = item;
  const result: ResultFacts = { runId, childSessionKey, childSessionId, status, cleanup };
  const body = {
    text: resultText(item, run, status, outcome),
    system: true,
    kind: 'subagent_result',
    ...(origin !== undefined && { from: origin }),
    result,
  };
  return {
    sessionKey: parentKey,
    // The same session that asked: after a reset the new session knows nothing of the task.
    sessionId: parentSessionId,
    source: SUBAGENT_SOURCE,
    idempotencyKey: resultKey(runId),
    // A repeated report may have other words, so only the run id is compared.
    digest: runId,
    class: 'system',
    body: withTicket(body, { mode: 'collect', debounceMs: 0, at }),
  };
}

function resultText(
  { sessionKey, body }: Pick<InboxItem, 'sessionKey' | 'body'>,
  { label }: RunFacts,
  status: RunStatus,
  outcome: TurnOutcome,
): string {
  const name = label === undefined ? sessionKey : `"${label}" (${sessionKey})`;
  const task = oneLine(String(body['text']), SHOWN_TASK);
  const said =
    'end' in outcome
      ? truncateToolText(outcome.end.text || '(no answer)', { maxChars: MAX_RESULT_CHARS })
      : `It gave no answer. ${outcome.error.code}: ${outcome.error.message}`;
  return `[The subagent ${name} has ended: ${status}. Its task was: ${task}]\n\n${said}`;
}
