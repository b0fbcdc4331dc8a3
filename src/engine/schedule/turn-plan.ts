import { resolveThreadParentSessionKey } from '../../keys/predicates.ts';
import type { InboxItem } from '../../store/port/inbox.ts';
import type { SessionRecord } from '../../store/port/store.ts';
import type { SeenRow, TurnInput } from '../../store/port/turns.ts';
import { isObject } from '../../transcript/json.ts';
import type { EngineContext } from '../engine-context.ts';
import { forkMark } from '../history/fork-mark.ts';
import { itemEntries } from '../turn/join-turn.ts';
import { writesAtOnce } from '../turn/turn-store.ts';
import type { NextTurn } from './queue.ts';

/** Commands run beside the queue. */
export function isQueued({ class: kind }: InboxItem): boolean {
  return kind !== 'command';
}

export function seenAs({ inboxId, state }: InboxItem): SeenRow {
  return { inboxId, state };
}

/**
 * The words that a turn writes when it begins. None where something comes before them (a place in the tree, the history
 * of a thread), or where the profile writes a turn when it ends: the turn then writes them itself.
 */
export async function inputsOf(
  context: EngineContext,
  record: SessionRecord,
  { before, lead, after }: NextTurn,
): Promise<TurnInput[]> {
  const { options } = context;
  const isSilent = lead.body['silent'] === true;
  if (isObject(lead.body['place']) || mayFork(context, record)) return [];
  if (!isSilent && !writesAtOnce(options.profileFor(record))) return [];
  if (isSilent && before.length > 0 && !writesAtOnce(options.profileFor(record))) return [];
  // Nobody answers a silent message, so nothing joins it.
  const items = isSilent ? [...before, lead] : [...before, lead, ...after];
  return Promise.all(
    items.map(async (item) => ({ inboxId: item.inboxId, entries: await itemEntries(context, item) })),
  );
}

/** Before its first message, the session of a thread may begin with the history it hangs under. */
function mayFork({ options }: EngineContext, record: SessionRecord): boolean {
  const { fork = false } = options.threadsFor(record) ?? {};
  if (!fork || resolveThreadParentSessionKey(record.sessionKey) === null) return false;
  return record.leaf === null || forkMark(record.settings)?.state === 'copying';
}
