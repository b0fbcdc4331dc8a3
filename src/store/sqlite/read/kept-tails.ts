import { freezeEntries } from '../../shared/freeze.ts';
import { TailCache, type WarmTail } from '../../shared/tail-cache.ts';
import type { CheckedPage, MarkedTail, ShownTail, TailPage } from './reader.ts';

interface KeptTail extends WarmTail {
  readonly mark: string;
}

/** The main thread does not know the row. The reader thread decides whether the cached lines are still valid. */
const asRow = (id: string) => ({ id, epoch: 0, corrupt_at: null, file_size: 0 });

/**
 * Caches the tails of sessions in use on the main thread, so that repeated reads cost only the new entries. The same
 * entry is always the same frozen object, so callers can attach derived values to it and cannot change it for others.
 */
export class KeptTails {
  readonly #kept: TailCache<KeptTail>;

  constructor(ttlMs: number) {
    this.#kept = new TailCache(ttlMs);
  }

  /** Reads a tail, passing the mark of the cached part so that the reader returns only the rest. */
  async complete(id: string, look: (shown?: ShownTail) => Promise<TailPage>): Promise<CheckedPage> {
    const kept = this.#kept.find(asRow(id), undefined);
    const page = await look(kept && { mark: kept.mark, from: kept.from, to: kept.to });
    const { tail } = page;
    if (tail === undefined) {
      this.#kept.forget(id);
      return page;
    }
    const before = kept === undefined ? [] : kept.entries.filter(({ seq }) => isStillOf(tail, seq));
    freezeEntries(page.entries);
    const entries = [...before, ...page.entries];
    const { from, to, mark } = tail;
    // The context may start later now. Estimate the size of the dropped entries by their number.
    const share = before.length / Math.max(1, kept?.entries.length ?? 0);
    const bytes = Math.ceil((kept?.bytes ?? 0) * share) + tail.bytes;
    this.#kept.keep(asRow(id), { from, to, mark, entries, bytes }, undefined);
    // Copy the list, because the caller may change it.
    return { ...page, entries: [...entries] };
  }
}

function isStillOf({ from, after }: MarkedTail, seq: number): boolean {
  return seq >= from && seq <= after;
}
