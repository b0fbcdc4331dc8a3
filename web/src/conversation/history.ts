import { batch, type ReadonlySignal, signal } from '@preact/signals';
import {
  type ClientSession,
  type HistoryPage,
  type HistoryRow,
  RepriseError,
  type SessionView,
} from 'reprise/client';

/** A few screens, so that opening takes the same time for a session of any length. */
const PAGE = 100;
const MAX_PAGE = 1000;

function isTurnEnd({ details }: HistoryRow): boolean {
  return details?.['customType'] === 'reprise.turn';
}

/** The loaded part of a session's history: one contiguous range that grows at both ends. */
export class HistoryWindow {
  readonly #session: () => ClientSession;
  readonly #signal: AbortSignal;
  readonly #rows = signal<readonly HistoryRow[]>([]);
  readonly #view = signal<SessionView | undefined>(undefined);
  readonly #hasOlder = signal(false);
  readonly #hasNewer = signal(false);
  #isBusy = false;
  /** The last sequence number when all shown rows were last loaded. */
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

  /** The newest turn that has ended. */
  get lastTurn(): { readonly turnId: string } | undefined {
    for (const { details } of this.#rows.value.toReversed()) {
      const data = details?.['data'];
      if (details?.['customType'] !== 'reprise.turn' || typeof data !== 'object' || data === null) continue;
      if ('turnId' in data && typeof data.turnId === 'string') return { turnId: data.turnId };
    }
    return undefined;
  }

  setView(view: SessionView): void {
    this.#view.value = view;
  }

  /**
   * Loads the newest page, as long as what was shown before, so that nothing jumps. With `behind`, it does nothing if
   * the last row has changed meanwhile, because the user has moved elsewhere. @returns false: there is nothing newer.
   */
  async loadLatest(behind?: HistoryRow): Promise<false> {
    const limit = Math.min(MAX_PAGE, Math.max(PAGE, this.#rows.value.length));
    const page = await this.#get({ limit });
    if (behind === undefined || this.#rows.value.at(-1) === behind)
      batch(() => this.#replace(page, { hasOlder: page.hasMore, hasNewer: false }));
    return false;
  }

  /** Removes a message that was replaced, and everything after it: they are on another branch now. */
  async cutBefore(entry: string): Promise<void> {
    let at = this.#rows.value.findIndex(({ id }) => id === entry);
    if (at === -1) {
      if (!this.#hasNewer.value) await this.loadLatest(this.#rows.value.at(-1));
      // The user has moved to another part of the history meanwhile.
      if (this.#hasNewer.value) return;
      // The new message is stored by now, and is shown by the live view instead.
      at = this.#rows.value.findLastIndex((row) => row.role === 'user' || isTurnEnd(row));
      if (this.#rows.value[at]?.role !== 'user') return;
    }
    batch(() => {
      this.#rows.value = this.#rows.value.slice(0, at);
      this.#hasNewer.value = false;
    });
  }

  /** Removes the rows of a turn that has not ended, because the live view shows them. */
  cutUnended(): void {
    const { value: rows } = this.#rows;
    const end = rows.findLastIndex(isTurnEnd);
    const said = rows.findIndex(({ role }, i) => i > end && role === 'user');
    if (end !== -1 && said !== -1) this.#rows.value = rows.slice(0, said);
  }

  /**
   * Loads a page with an entry in its middle. @returns false if the entry is not on this branch.
   */
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

  /** Loads new entries. A new compaction or branch also changes rows that are already shown. */
  async catchUp(): Promise<void> {
    if (this.#hasNewer.value) return;
    let hasMore = true;
    while (hasMore)
      hasMore = await this.#orLatest(() => this.#grow({ isNews: true }), this.#rows.value.at(-1));
  }

  /**
   * Loads the next page. @returns whether to continue: false after a full reload, or if the user has moved elsewhere.
   */
  async #grow({ isNews = false } = {}): Promise<boolean> {
    const last = this.#rows.value.at(-1);
    if (last === undefined) return this.loadLatest();
    const page = await this.#get({ limit: PAGE, after: last.id });
    if (this.#rows.value.at(-1) !== last) return false;
    // A compaction newer than the loaded rows covers some of them; an older one is already reflected.
    const isCovered = page.data.some(({ role, seq }) => role === 'compaction' && seq > this.#loadedAt);
    if (isCovered && !isNews) return this.loadAround(last.id);
    // The leaf moved to another branch meanwhile, so the shown rows may have new branches.
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

  /**
   * If the entry to load from is on another branch, shows the newest page instead. @returns false in that case.
   */
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
