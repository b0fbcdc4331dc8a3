import { causeText } from '../../messages/english.ts';
import { isMessage, message } from '../../messages/message.ts';
import type { InboxItem } from '../../store/port/inbox.ts';
import type { Store } from '../../store/port/store.ts';
import { isObject, type JsonObject } from '../../transcript/json.ts';
import type { DoneEvent, ErrorEvent } from '../events.ts';

/** Queued, running, waiting for a person, or held since its store was restored: it has not ended. */
export function isOpen({ state }: { readonly state: string }): boolean {
  return state === 'accepted' || state === 'running' || state === 'waiting' || state === 'held';
}

/** The row that says how it ends: that of the message it was answered with, where it joined another. */
export async function answeredBy(store: Store, item: InboxItem): Promise<InboxItem> {
  const into = item.state === 'merged' ? item.detail?.['mergedInto'] : undefined;
  return typeof into === 'string' ? await answeredBy(store, await store.inbox.get(into)) : item;
}

/** As it is now, or as it ended. */
export async function ended(store: Store, inboxId: string): Promise<InboxItem> {
  return await answeredBy(store, await store.inbox.get(inboxId));
}

export type TurnEndEvent = DoneEvent | ErrorEvent;

/** Why a message was not answered, in English. */
export function failureText({ message: text }: JsonObject, state: string): string {
  return typeof text === 'string' ? text : causeText(message('message.endedAs', { state }));
}

/** The same terminal event as the runner gave, from what it wrote down. */
export function endOf({ state, detail = {} }: InboxItem): TurnEndEvent {
  if (state === 'done') {
    return { type: 'done', ...(detail as unknown as Omit<DoneEvent, 'type'>) };
  }
  const { code, message: text, why: stored, details, reason } = detail as JsonObject;
  const why = typeof text === 'string' ? stored : message('message.endedAs', { state });
  return {
    type: 'error',
    code: (typeof code === 'string' ? code : 'ABORTED') as ErrorEvent['code'],
    message: failureText(detail, state),
    ...(isMessage(why) && { why }),
    details: isObject(details) ? details : { ...(reason !== undefined && { reason }), state },
  };
}
