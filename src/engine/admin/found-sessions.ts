import { type Message, message } from '../../messages/message.ts';
import { noneIfGone } from '../../store/port/nobody.ts';
import type { SearchHit, SearchResult } from '../../store/port/search.ts';
import type { SessionRecord, Store } from '../../store/port/store.ts';
import { type MessagePositions, messagePositions } from '../../transcript/message-position.ts';
import { readHistory } from '../history/read-history.ts';

/** Counting positions reads a history, and a search may have hits in many histories. */
const MAX_LINES = 20_000;

/** The sessions of the hits of a search, by id. A session that was purged since is missing. */
export async function foundSessions(
  store: Pick<Store, 'get'>,
  hits: readonly { readonly id: string }[],
): Promise<ReadonlyMap<string, SessionRecord>> {
  const ids = [...new Set(hits.map(({ id }) => id))];
  const records = await Promise.all(ids.map((id) => store.get(id).catch(noneIfGone)));
  return new Map(records.flatMap((record) => (record === undefined ? [] : [[record.id, record]])));
}

export interface PositionedHit extends SearchHit {
  /** Unset for a message on another branch, and if counting would take too long. */
  readonly position?: number;
}

/** Adds to each hit the position of its message on the session's current branch. */
export async function withPositions(
  store: Pick<Store, 'read'>,
  hits: readonly SearchHit[],
  sessions: ReadonlyMap<string, SessionRecord>,
): Promise<PositionedHit[]> {
  const positions = new Map<string, MessagePositions>();
  let linesLeft = MAX_LINES;
  for (const { id, lastSeq } of sessions.values()) {
    if (lastSeq > linesLeft) continue;
    linesLeft -= lastSeq;
    const entries = await readHistory(store, id).catch(noneIfGone);
    if (entries !== undefined) positions.set(id, messagePositions(entries));
  }
  return hits.map((hit) => {
    const position = positions.get(hit.id)?.of(hit.entryId);
    return position === undefined ? hit : { ...hit, position };
  });
}

/** @returns why a search may have missed hits, or `undefined` if it is complete. */
export function searchGap({ reason, index }: Pick<SearchResult, 'reason' | 'index'>): Message | undefined {
  if (reason === undefined) return undefined;
  if (index !== undefined && index.done < index.total)
    return message('search.indexing', { done: index.done, total: index.total });
  return reason === 'indexing'
    ? message('search.indexing', { done: null, total: null })
    : message('search.timeLimit');
}
