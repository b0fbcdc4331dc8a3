import { RepriseError } from '../../errors.ts';
import type { SessionRecord, Store } from '../port/store.ts';

/**
 * What `exportSession` gives, as it is now, in pieces of about a megabyte: no more than one of them is in memory, and the
 * next is read when it is asked for. A damaged session comes in one piece, with every byte there is.
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
    // Also where it became shorter meanwhile: what was given is not what there is now.
    if ((isDamaged && from > 1) || (!isDamaged && next <= from))
      throw new RepriseError('STORE_CORRUPT', `session ${id} is damaged behind line ${from - 1}`, {
        details: { id, next: 'Ask again: now that it is known, everything that is there is given.' },
      });
    if (isDamaged) {
      yield everything(store, id);
      return;
    }
    if (bytes.length > 0) yield bytes;
    from = next;
  }
}

/** Every byte there is; where there is none, nothing that could be taken for an empty session. */
async function everything(store: Pick<Store, 'exportSession'>, id: string): Promise<Uint8Array> {
  const bytes = await store.exportSession(id);
  if (bytes.length > 0) return bytes;
  throw new RepriseError('STORE_CORRUPT', `the transcript of session ${id} is gone`, {
    details: { id, next: 'Put its file back, or restore a backup into another home.' },
  });
}
