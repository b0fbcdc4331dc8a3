import { RepriseError } from '../errors.ts';
import type { SessionRecord, Store } from './store.ts';

/**
 * What `exportSession` gives, as it is now, in pieces of about a megabyte: no more than one of them is in memory, and the
 * next is read when it is asked for. A damaged session comes in one piece, with every byte there is.
 */
export async function* exportParts(
  store: Pick<Store, 'exportSession' | 'exportLines'>,
  { id, lastSeq, corruptAt }: Pick<SessionRecord, 'id' | 'lastSeq' | 'corruptAt'>,
): AsyncGenerator<Uint8Array, void, undefined> {
  if (corruptAt !== undefined) {
    yield store.exportSession(id);
    return;
  }
  for (let from = 1; from <= lastSeq; ) {
    const { bytes, next, isDamaged = false } = await store.exportLines(id, { from, to: lastSeq });
    if (isDamaged && from > 1)
      throw new RepriseError('STORE_CORRUPT', `session ${id} is damaged behind line ${from}`, {
        details: { id, next: 'Ask again: now that it is known, everything that is there is given.' },
      });
    if (isDamaged) {
      yield store.exportSession(id);
      return;
    }
    if (bytes.length > 0) yield bytes;
    from = next;
  }
}
