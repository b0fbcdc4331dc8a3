import { freezeEntries } from '../../shared/freeze.ts';
import { TailCache, type WarmTail } from '../../shared/tail-cache.ts';
import type { CheckedPage, MarkedTail, ShownTail, TailPage } from './reader.ts';

interface KeptTail extends WarmTail {
  readonly mark: string;
}

/** As far as this side knows: whether what is kept is still right is judged by whoever reads the lines. */
const asRow = (id: string) => ({ id, epoch: 0, corrupt_at: null, file_size: 0 });

/**
 * The tails of sessions in use, on the side of the thread that uses them: what a turn asks for again costs what is new
 * in it, not what it holds. The same entry is the same object every time, so what was found out about it once need not
 * be found out again; so that nobody changes it for others it is frozen.
 */
export class KeptTails {
  readonly #kept: TailCache<KeptTail>;

  constructor(ttlMs: number) {
    this.#kept = new TailCache(ttlMs);
  }

  /** A tail, asked for with what is kept of it. */
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
    // The context may begin later now; what it no longer needs weighed its share.
    const share = before.length / Math.max(1, kept?.entries.length ?? 0);
    const bytes = Math.ceil((kept?.bytes ?? 0) * share) + tail.bytes;
    this.#kept.keep(asRow(id), { from, to, mark, entries, bytes }, undefined);
    // The list is the caller's own.
    return { ...page, entries: [...entries] };
  }
}

function isStillOf({ from, after }: MarkedTail, seq: number): boolean {
  return seq >= from && seq <= after;
}
