import { batch, type ReadonlySignal, signal } from '@preact/signals';
import {
  type ClientSession,
  type HistoryPage,
  type HistoryRow,
  RepriseError,
  type SessionView,
} from 'reprise/client';

/** A few screens: opening takes what is in sight and some more, whatever the length of the session. */
const PAGE = 100;
const MAX_PAGE = 1000;

function isTurnEnd({ details }: HistoryRow): boolean {
  return details?.['customType'] === 'reprise.turn';
}

/** The loaded part of a session's history: one stretch without gaps, which grows at either end. */
export class HistoryWindow {
  readonly #session: () => ClientSession;
  readonly #signal: AbortSignal;
  readonly #rows = signal<readonly HistoryRow[]>([]);
  readonly #view = signal<SessionView | undefined>(undefined);
  readonly #hasOlder = signal(false);
  readonly #hasNewer = signal(false);
  #isBusy = false;
  /** Up to where the session went when all that is shown was loaded anew. */
  #loadedAt = 0;

  constructor(session: () => ClientSession, abort: AbortSignal) {
    this.#session = session;
    this.#signal = abort;
  }

  get rows(): ReadonlySignal<readonly HistoryRow[]> {
    return this.#rows;
  }
  get view(): ReadonlySignal<SessionView | undefined> {
    return this.#view;
  }
  get hasOlder(): ReadonlySignal<boolean> {
    return this.#hasOlder;
  }
  get hasNewer(): ReadonlySignal<boolean> {
    return this.#hasNewer;
  }

  /** Whether the end of this turn is among the rows. */
  hasTurn(turnId: string): boolean {
    return this.#rows.value.some(({ details }) => {
      const data = details?.['data'];
      const isEnd = details?.['customType'] === 'reprise.turn' && typeof data === 'object' && data !== null;
      return isEnd && 'turnId' in data && data.turnId === turnId;
    });
  }

  setView(view: SessionView): void {
    this.#view.value = view;
  }

  /**
   * The newest page; as long as what was shown before, so that nothing jumps. As news behind a row it is left where
   * another one is the last by then: somebody has gone to another place. Answers false: there is nothing newer.
   */
  async loadLatest(behind?: HistoryRow): Promise<false> {
    const limit = Math.min(MAX_PAGE, Math.max(PAGE, this.#rows.value.length));
    const page = await this.#get({ limit });
    if (behind === undefined || this.#rows.value.at(-1) === behind)
      batch(() => this.#replace(page, { hasOlder: page.hasMore, hasNewer: false }));
    return false;
  }

  /** It is said anew, and that has begun: it and what followed are on another branch now. */
  async cutBefore(entry: string): Promise<void> {
    let at = this.#rows.value.findIndex(({ id }) => id === entry);
    if (at === -1) {
      if (!this.#hasNewer.value) await this.loadLatest(this.#rows.value.at(-1));
      // Whoever has gone to another place meanwhile stays there.
      if (this.#hasNewer.value) return;
      // Stored by now, it is shown as it comes.
      at = this.#rows.value.findLastIndex((row) => row.role === 'user' || isTurnEnd(row));
      if (this.#rows.value[at]?.role !== 'user') return;
    }
    batch(() => {
      this.#rows.value = this.#rows.value.slice(0, at);
      this.#hasNewer.value = false;
    });
  }

  /** What was said in a turn that has not ended: it is shown as it comes. */
  cutUnended(): void {
    const { value: rows } = this.#rows;
    const end = rows.findLastIndex(isTurnEnd);
    const said = rows.findIndex(({ role }, i) => i > end && role === 'user');
    if (end !== -1 && said !== -1) this.#rows.value = rows.slice(0, said);
  }

  /** A page with an entry in its middle. False: it is not on this branch. */
  loadAround(entry: string): Promise<boolean> {
    return this.#orLatest(async () => {
      const page = await this.#get({ limit: PAGE, around: entry });
      const last = page.data.at(-1);
      const newer = last === undefined ? undefined : await this.#get({ limit: 1, after: last.id });
      const hasNewer = (newer?.data.length ?? 0) > 0;
      batch(() => this.#replace(page, { hasOlder: page.hasMore, hasNewer }));
      return true;
    });
  }

  async loadOlder(): Promise<void> {
    const [first] = this.#rows.value;
    if (this.#isBusy || !this.#hasOlder.value || first === undefined) return;
    await this.#once(async () => {
      const page = await this.#get({ limit: PAGE, before: first.id });
      if (this.#rows.value[0] !== first) return;
      batch(() => {
        this.#rows.value = [...page.data, ...this.#rows.value];
        this.#hasOlder.value = page.hasMore;
      });
    });
  }

  async loadNewer(): Promise<void> {
    if (!this.#isBusy && this.#hasNewer.value) await this.#once(() => this.#grow());
  }

  /** What was stored since. Where a summary came, or another branch, what is shown has changed too. */
  async catchUp(): Promise<void> {
    if (this.#hasNewer.value) return;
    let hasMore = true;
    while (hasMore)
      hasMore = await this.#orLatest(() => this.#grow({ isNews: true }), this.#rows.value.at(-1));
  }

  /** Answers whether there is more where it went on: not where all was loaded anew, or somebody is elsewhere by now. */
  async #grow({ isNews = false } = {}): Promise<boolean> {
    const last = this.#rows.value.at(-1);
    if (last === undefined) return this.loadLatest();
    const page = await this.#get({ limit: PAGE, after: last.id });
    if (this.#rows.value.at(-1) !== last) return false;
    // A summary that came since what is shown was loaded covers some of it; an older one is told there already.
    const isCovered = page.data.some(({ role, seq }) => role === 'compaction' && seq > this.#loadedAt);
    if (isCovered && !isNews) return this.loadAround(last.id);
    // Somebody was on another branch meanwhile: there may be more of them beside what is shown.
    if (isCovered || (isNews && page.data.some(({ details }) => details?.['customType'] === 'reprise.leaf')))
      return this.loadLatest(last);
    batch(() => {
      if (page.data.length > 0) this.#rows.value = [...this.#rows.value, ...page.data];
      this.#hasNewer.value = page.hasMore;
      this.#view.value = page.session;
    });
    return page.hasMore;
  }

  #replace(page: HistoryPage, ends: { readonly hasOlder: boolean; readonly hasNewer: boolean }): void {
    this.#rows.value = page.data;
    this.#loadedAt = page.session.lastSeq;
    this.#view.value = page.session;
    this.#hasOlder.value = ends.hasOlder;
    this.#hasNewer.value = ends.hasNewer;
  }

  #get(query: { limit: number; after?: string; before?: string; around?: string }): Promise<HistoryPage> {
    return this.#session().history({ ...query, marks: true }, { signal: this.#signal });
  }

  /** False: what it begins at is on a branch that was left, and the newest page of this one is shown instead. */
  async #orLatest<T>(work: () => Promise<T>, behind?: HistoryRow): Promise<T | false> {
    try {
      return await work();
    } catch (error) {
      if (!(error instanceof RepriseError) || error.code !== 'INVALID_INPUT') throw error;
      return this.loadLatest(behind);
    }
  }

  async #once(work: () => Promise<unknown>): Promise<void> {
    this.#isBusy = true;
    try {
      await this.#orLatest(work, this.#rows.value.at(-1));
    } finally {
      this.#isBusy = false;
    }
  }
}
