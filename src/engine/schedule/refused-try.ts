import { RepriseError } from '../../errors.ts';
import type { ItemRun } from '../turn/run-item.ts';
import type { TurnEnd, WriteAnswer } from '../turn/turn.ts';

/**
 * An answer for which there was no room, if the session is as it was then and nothing it answers was stopped. Otherwise
 * it is asked for again: it may not follow what was written since.
 */
export async function keptAnswer({ context, runner, turn, room }: ItemRun): Promise<WriteAnswer | undefined> {
  const kept = room.keptAnswer(turn.lead);
  if (kept === undefined) return undefined;
  const { store } = context;
  const { sessionId } = runner;
  if ((await store.get(sessionId)).lastSeq !== kept.lastSeq) return undefined;
  const open = new Set((await store.inbox.pending(sessionId)).map(({ inboxId }) => inboxId));
  if (!kept.members.every(({ inboxId }) => open.has(inboxId))) return undefined;
  for (const item of kept.members) if (!turn.answers(item.inboxId)) turn.add(item);
  return kept.write;
}

export async function writeKept({ turn, lease }: ItemRun, write: WriteAnswer): Promise<TurnEnd> {
  const end = await write({ lease, emit: (event) => turn.emit(event) });
  turn.written();
  return end;
}

export async function keep({ context, runner, turn, room }: ItemRun, write: WriteAnswer): Promise<void> {
  const { lastSeq } = await context.store.get(runner.sessionId);
  room.keep({ write, lastSeq, members: turn.members });
}

/** An attempt refused for lack of disk space is not a crash, and the next runner must not count it as one. */
export async function recount({ context, runner, turn, lease, room }: ItemRun): Promise<void> {
  const { epoch } = lease;
  for (const item of turn.taken) {
    const attempts = room.triesBefore(item);
    try {
      await context.store.inbox.recount(runner.sessionId, { epoch, inboxId: item.inboxId, attempts });
      room.told(item);
    } catch (error) {
      // No room for that either: it is known here, and written with the next refusal.
      if (!(error instanceof RepriseError)) throw error;
      room.untold(item);
    }
  }
}
