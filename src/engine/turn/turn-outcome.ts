import { RepriseError } from '../../errors.ts';
import { failure } from '../../messages/failure.ts';
import type { InboxItem, InboxState } from '../../store/port/inbox.ts';
import type { AppendOptions } from '../../store/port/store.ts';
import type { JsonObject } from '../../transcript/json.ts';
import type { ErrorEvent } from '../events.ts';
import type { TurnEnd } from './turn.ts';

/** How a turn ended: with an answer, or with the error. */
export type TurnOutcome = { readonly end: TurnEnd } | { readonly error: RepriseError };

/** What is written in the transaction that ends a turn: rows, and messages for sessions that wait for it. */
export type TurnEnding = Pick<AppendOptions, 'settle' | 'deliver' | 'log'>;

/** The row of the message that led the turn; those that joined it have pointed there since they did. */
export function settlementOf(
  { inboxId }: Pick<InboxItem, 'inboxId'>,
  outcome: TurnOutcome,
): { readonly inboxId: string; readonly state: InboxState; readonly detail: JsonObject } {
  if ('end' in outcome)
    return { inboxId, state: 'done', detail: { ...outcome.end } as unknown as JsonObject };
  const { type: _, ...detail } = errorEvent(outcome.error);
  return { inboxId, state: stateFor(outcome.error), detail };
}

export function errorEvent(error: RepriseError): ErrorEvent {
  const details = JSON.parse(JSON.stringify(error.details)) as JsonObject;
  return { type: 'error', ...storedError(error), details };
}

/** An error as a transcript stores it. Its English `message` stays for readers that do not know the code in `why`. */
export function storedError({ code, message, why }: RepriseError): Omit<ErrorEvent, 'type' | 'details'> {
  return { code, message, ...(why !== undefined && { why }) };
}

export function unexpected(error: unknown): RepriseError {
  const problem = error instanceof Error ? error.message : String(error);
  return failure('MODEL_FAILED', 'turn.unexpected', { problem }, { cause: error });
}

/** That there was no room to write: what failed, or why its failure could not be written down. */
export function fullStore(error: RepriseError): RepriseError | undefined {
  const full = [error, error.cause].find((one) => one instanceof RepriseError && one.code === 'STORE_FULL');
  return full as RepriseError | undefined;
}

/** Recognized by a refused append before the lease reports that it is lost. */
export function isFenced(error: unknown): boolean {
  return error instanceof RepriseError && error.code === 'FENCED';
}

function stateFor({ code, details }: RepriseError): InboxState {
  const { reason } = details;
  if (reason === 'interrupted') return 'interrupted';
  return code === 'ABORTED' && reason !== 'stuck' && reason !== 'timeout' ? 'cancelled' : 'failed';
}
