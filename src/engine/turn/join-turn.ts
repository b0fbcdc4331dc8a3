import type { InboxItem } from '../../store/port/inbox.ts';
import type { NewEntry } from '../../store/port/store.ts';
import type { EngineContext } from '../engine-context.ts';
import { droppedNote, entriesOf } from '../intake/inbound.ts';
import { isRunning } from '../schedule/queue.ts';
import type { ItemRun } from './run-item.ts';
import type { RunningTurn } from './running-turn.ts';
import type { TurnStore } from './turn-store.ts';

/**
 * Rows that are running and not of this turn were joining one whose runner died. They come first, each by itself: later
 * messages wait.
 */
export function leftBehind(rows: readonly InboxItem[], turn: RunningTurn): InboxItem[] {
  return rows.filter((item) => isRunning(item) && !turn.answers(item.inboxId));
}

/**
 * Stores the message in the history and settles its row as merged, in one step. The row is taken first: a message that
 * was stopped or dropped meanwhile is not stored.
 */
export async function join(
  { context, turn, lease }: ItemRun,
  found: InboxItem,
  store: TurnStore,
): Promise<void> {
  const { inboxId, sessionId, state } = found;
  const { epoch } = lease;
  const item = state === 'running' ? found : await context.store.inbox.take(sessionId, { epoch, inboxId });
  if (item === null) return;
  if (state !== 'running') turn.took(item);
  const { firstSeq, lastSeq } = await store.append(sessionId, await itemEntries(context, item), {
    key: inboxId,
    epoch,
    settle: [{ inboxId, state: 'merged', detail: { mergedInto: turn.lead.inboxId } }],
  });
  turn.add(item, firstSeq <= lastSeq ? lastSeq : undefined);
}

/** What a message says, behind a line for each that was dropped and stands in it. */
export async function itemEntries({ store }: EngineContext, item: InboxItem): Promise<NewEntry[]> {
  const { carries = [] } = item;
  if (carries.length === 0) return entriesOf(item);
  const dropped = await Promise.all(carries.map((inboxId) => store.inbox.get(inboxId)));
  return [droppedNote(dropped), ...entriesOf(item)];
}
