import { failure } from '../../messages/failure.ts';
import type { SessionRecord, Store } from '../port/store.ts';

/**
 * Yields the bytes of `exportSession` in parts of about 1 MB, one in memory at a time; the next part is read on
 * demand. A damaged session comes as one part with every readable byte.
 */
export async function* exportParts(
  store: Pick<Store, 'exportSession' | 'exportLines'>,
  { id, lastSeq, corruptAt }: Pick<SessionRecord, 'id' | 'lastSeq' | 'corruptAt'>,
): AsyncGenerator<Uint8Array, void, undefined> {
  if (corruptAt !== undefined) {
    yield everything(store, id);
    return;
  }
  for (let from = 1; from <= lastSeq; ) {
    const { bytes, next, isDamaged = false } = await store.exportLines(id, { from, to: lastSeq });
    // Also reached if the session became shorter meanwhile: the parts already yielded no longer match it.
    if ((isDamaged && from > 1) || (!isDamaged && next <= from))
      throw failure('STORE_CORRUPT', 'session.exportDamaged', { id, line: from - 1 }, { details: { id } });
    if (isDamaged) {
      yield everything(store, id);
      return;
    }
    if (bytes.length > 0) yield bytes;
    from = next;
  }
}

/** Every readable byte. Throws if no byte is readable, so that the result cannot be mistaken for an empty session. */
async function everything(store: Pick<Store, 'exportSession'>, id: string): Promise<Uint8Array> {
  const bytes = await store.exportSession(id);
  if (bytes.length > 0) return bytes;
  throw failure('STORE_CORRUPT', 'session.exportGone', { id }, { details: { id } });
}
