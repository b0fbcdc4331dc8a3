import type { Reprise } from '../../engine/reprise.ts';
import { type FollowEvent, followRow } from '../../protocol/follow.ts';
import type { Frame } from './frame.ts';
import type { SseSource } from './writer.ts';

type Entry = Parameters<typeof followRow>[0];

/**
 * Every entry of a session as it is stored, by any process, until the signal aborts. Entries are read from the store.
 */
export function storedRows(
  store: Reprise['store'],
  { sessionId, sessionKey }: { readonly sessionId: string; readonly sessionKey: string },
  after: number,
  signal: AbortSignal,
): SseSource<FollowEvent> {
  return {
    lag: 0,
    async *batches(): AsyncGenerator<readonly Frame<FollowEvent>[], void, undefined> {
      yield [{ id: { seq: after, n: 0 }, event: { type: 'session', sessionId, sessionKey } }];
      for await (const { seq, entry } of store.watch(sessionId, { afterSeq: after, signal }))
        if (entry.type !== 'session')
          yield [{ id: { seq, n: 0 }, event: { type: 'row', row: followRow(entry as Entry, seq) } }];
    },
  };
}
