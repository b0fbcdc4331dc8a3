import { setImmediate as nextRound } from 'node:timers/promises';
import { RepriseError } from '../../errors.ts';
import { isGone } from '../../store/port/nobody.ts';
import type { Note } from '../../store/port/notes.ts';
import type { ListQuery, SessionPage, Store } from '../../store/port/store.ts';
import type { Entry } from '../../transcript/entry.ts';
import {
  type CountedFrom,
  type CountedSession,
  fromNote,
  newlyCounted,
  toNote,
  USAGE_NOTES,
} from './usage-note.ts';
import { reportOf, type UsageOverview, type UsagePeriod, UsageSums } from './usage-sums.ts';

export interface UsageQuery extends UsagePeriod {
  /** Limits the report to one agent. */
  readonly agentId?: string;
  /** Time limit for reading before the answer is returned with what is known; 1000 ms by default. */
  readonly budgetMs?: number;
}

type BookStore = Pick<Store, 'list' | 'read' | 'notes' | 'stats'>;

/** The fields of a session that counting needs. */
interface Listed extends CountedFrom {
  readonly id: string;
  readonly lastSeq: number;
  readonly lastAt: string;
}

const BUDGET_MS = 1000;
const SESSIONS_PER_PAGE = 1000;
const LINES_PER_PAGE = 500;
const NOTES_AT_ONCE = 100;
/** Interval of full comparisons. They find purged sessions, and sessions that changed without becoming the newest. */
const COMPARE_MS = 60_000;
/** Limit of passes over transcripts that keep changing; the next query tries again. */
const MAX_PASSES = 3;

/**
 * Usage by day, agent and model over all sessions. It is computed from the transcripts outside of appends: each line
 * is read once, whichever process wrote it, and the sums of a session are cached in a note with the last counted
 * line. So a query costs only the lines added since the last one, and a missing or outdated note only causes a
 * recount (I-75).
 */
export class UsageBook {
  readonly #store: BookStore;
  readonly #closed: AbortSignal;
  readonly #compareMs: number;
  /** The last counted line of each session. */
  readonly #counted: Map<string, number> = new Map();
  readonly #agents: Map<string, UsageSums> = new Map();
  /** Notes that could not be written. */
  readonly #held: Map<string, Note> = new Map();
  /** Sessions that could not be read; they need not be among the newest. */
  readonly #unread: Map<string, Listed> = new Map();
  #fresh: Note[] = [];
  /** True if nothing is known yet, or if the sums contain something that cannot be subtracted. */
  #isWrong = true;
  /** Resolves to whether every line is in the sums. */
  #reading: Promise<boolean> | undefined;
  #comparedAt = Number.NEGATIVE_INFINITY;
  #progress = { done: 0, total: 0 };

  constructor(
    store: BookStore,
    closed: AbortSignal,
    { compareMs = COMPARE_MS }: { readonly compareMs?: number } = {},
  ) {
    this.#store = store;
    this.#closed = closed;
    this.#compareMs = compareMs;
  }

  async look({ from, to, agentId, budgetMs = BUDGET_MS }: UsageQuery): Promise<UsageOverview> {
    const isUpToDate = await this.#catchUp(budgetMs);
    const agents = [...this.#agents].filter(([id]) => agentId === undefined || id === agentId);
    return {
      ...reportOf(agents, { from, to }),
      complete: isUpToDate,
      ...(!isUpToDate && { progress: { ...this.#progress } }),
    };
  }

  /**
   * All callers share one pass, which continues after their time limit. @returns false if the sums are incomplete.
   */
  async #catchUp(budgetMs: number): Promise<boolean> {
    // A pass that started before this query may have missed the lines it asks about.
    if (this.#reading !== undefined && (await inTime(this.#reading, budgetMs)) === undefined) return false;
    this.#reading ??= this.#readAll().finally(() => {
      this.#reading = undefined;
    });
    return (await inTime(this.#reading, budgetMs)) ?? false;
  }

  async #readAll(): Promise<boolean> {
    let { listed, isWhole } = await this.#list(this.#isWrong);
    if (!isWhole && (await this.#lacksSome(listed))) ({ listed, isWhole } = await this.#list(true));
    if (isWhole) this.#isWrong ||= [...this.#counted.keys()].some((id) => !listed.has(id));
    let isRead = false;
    for (let pass = 0; pass < MAX_PASSES && !this.#closed.aborted; pass++) {
      if (this.#isWrong) await this.#beginAnew(listed);
      isRead = await this.#readThese(
        listed
          .values()
          .filter(({ id, lastSeq }) => this.#counted.get(id) !== lastSeq)
          .toArray(),
      );
      if (!this.#isWrong) break;
      if (!isWhole) ({ listed, isWhole } = await this.#list(true));
    }
    if (isWhole && !this.#isWrong) this.#comparedAt = performance.now();
    return isRead && !this.#isWrong;
  }

  /** Lists all sessions at intervals, otherwise the newest ones that changed. */
  async #list(isAll: boolean): Promise<{ listed: ReadonlyMap<string, Listed>; isWhole: boolean }> {
    const isWhole = isAll || performance.now() - this.#comparedAt >= this.#compareMs;
    const listed = new Map<string, Listed>(isWhole ? [] : this.#unread);
    if (isWhole) this.#unread.clear();
    let pages = 0;
    for (let cursor: string | null | undefined; cursor !== null && !this.#closed.aborted; pages++) {
      // For a full list go from the oldest on: a session with a new message moves to a page that is still to come.
      const page = await this.#listPage(listed, {
        order: isWhole ? 'asc' : 'desc',
        ...(cursor !== undefined && { cursor }),
      });
      const hasNews = page.sessions.some(({ id, lastSeq }) => this.#counted.get(id) !== lastSeq);
      // A new message makes its session one of the newest.
      cursor = isWhole || hasNews ? page.cursor : null;
    }
    // From the newest on, a session with a new message moves to a page that was already read.
    if (!isWhole && pages > 1) await this.#listPage(listed, { order: 'desc' });
    return { listed, isWhole };
  }

  /**
   * Whether sessions are missing: an import adds sessions that are as old as their messages, so they are not among
   * the newest.
   */
  async #lacksSome(listed: ReadonlyMap<string, Listed>): Promise<boolean> {
    const isNew = (id: string): boolean => !this.#counted.has(id);
    const { sessions } = await this.#store.stats();
    return sessions > this.#counted.size + [...listed.keys()].filter(isNew).length;
  }

  /** If a session appears twice, the later state counts. */
  async #listPage(
    listed: Map<string, Listed>,
    query: Pick<ListQuery, 'order' | 'cursor'>,
  ): Promise<SessionPage> {
    const page = await this.#store.list({ ...query, status: 'any', limit: SESSIONS_PER_PAGE });
    for (const { id, agentId, parentId, lastSeq, lastAt } of page.sessions)
      listed.set(id, { id, agentId, hasParent: parentId !== undefined, lastSeq, lastAt });
    return page;
  }

  /** Starts over with the notes of the existing sessions. */
  async #beginAnew(listed: ReadonlyMap<string, Listed>): Promise<void> {
    this.#agents.clear();
    this.#counted.clear();
    this.#isWrong = false;
    const take = (note: Note): void => {
      const there = listed.get(note.id);
      const session = there === undefined ? undefined : fromNote(note);
      if (session === undefined || this.#counted.has(note.id)) return;
      // The note is checked in detail later.
      if (note.seq === there?.lastSeq && session.at !== there.lastAt) return;
      this.#counted.set(note.id, note.seq);
      this.#sumsOf(session.agentId).addAll(session.sums, 1);
    };
    for (const note of this.#held.values()) take(note);
    for (let after: string | null | undefined; after !== null && !this.#closed.aborted; ) {
      const page = await this.#store.notes.list(USAGE_NOTES, after === undefined ? {} : { after });
      page.notes.forEach(take);
      after = page.next;
    }
  }

  /** @returns false if some sessions could not be read; the next query tries them again. */
  async #readThese(due: readonly Listed[]): Promise<boolean> {
    this.#progress = { done: 0, total: due.reduce((sum, { lastSeq }) => sum + lastSeq, 0) };
    for (const session of due) {
      if (this.#closed.aborted) return false;
      try {
        await this.#read(session);
        this.#progress.done += session.lastSeq;
        this.#unread.delete(session.id);
      } catch (error) {
        if (!(error instanceof RepriseError)) throw error;
        // Purged meanwhile, so nothing is left to count.
        if (isGone(error)) this.#unread.delete(session.id);
        else this.#unread.set(session.id, session);
      }
      if (this.#fresh.length >= NOTES_AT_ONCE) await this.#writeNotes();
    }
    await this.#writeNotes();
    return this.#unread.size === 0;
  }

  async #read(listed: Listed): Promise<void> {
    const { id } = listed;
    // If only the session's header is known, the read reports that, or the transcript was read since.
    const lastSeq = listed.lastSeq || (await this.#store.read(id, { limit: 1 })).lastSeq;
    const note = this.#held.get(id) ?? (await this.#store.notes.get(USAGE_NOTES, id));
    const noted = note === undefined ? undefined : fromNote(note);
    // The last counted line is read again: if it differs, all lines may have changed.
    const holds = noted !== undefined && noted.seq <= lastSeq && (await this.#isSame(id, noted));
    const session = holds ? noted : newlyCounted(listed);
    const known = this.#counted.get(id);
    let before: CountedSession | undefined;
    if (known !== undefined) {
      before = note?.seq === known ? fromNote(note) : undefined;
      if (before === undefined) {
        // Another process has counted further. The part in our sums is counted again, if possible.
        this.#isWrong ||= !holds;
        before = newlyCounted(listed);
        await this.#readOn(before, id, { to: known, isExact: true });
      }
    }
    await this.#readOn(session, id, { to: lastSeq });
    if (this.#closed.aborted) return;
    if (before !== undefined) this.#sumsOf(before.agentId).addAll(before.sums, -1);
    this.#sumsOf(session.agentId).addAll(session.sums, 1);
    this.#counted.set(id, session.seq);
    this.#fresh.push(toNote(id, session));
  }

  async #isSame(id: string, { seq, at }: CountedSession): Promise<boolean> {
    const { entries } = await this.#store.read(id, { from: seq, limit: 1 });
    return entries[0]?.seq === seq && entries[0].entry.timestamp === at;
  }

  async #readOn(
    session: CountedSession,
    id: string,
    { to, isExact = false }: { readonly to: number; readonly isExact?: boolean },
  ): Promise<void> {
    while (session.seq < to && !this.#closed.aborted) {
      const limit = isExact ? Math.min(LINES_PER_PAGE, to - session.seq) : LINES_PER_PAGE;
      const { entries } = await this.#store.read(id, { from: session.seq + 1, limit });
      // Lines that cannot be read are missing in the page and are not counted.
      const reached = Math.min(session.seq + limit, to);
      session.count(entries.map(({ entry }) => entry as Entry));
      session.seq = Math.max(entries.at(-1)?.seq ?? 0, reached);
      await nextRound();
    }
  }

  async #writeNotes(): Promise<void> {
    const notes = this.#fresh;
    this.#fresh = [];
    if (notes.length === 0) return;
    try {
      await this.#store.notes.put(USAGE_NOTES, notes);
      for (const { id } of notes) this.#held.delete(id);
    } catch (error) {
      // The store is read-only, full or unreachable. The notes are still useful in this process.
      if (!(error instanceof RepriseError)) throw error;
      for (const note of notes) this.#held.set(note.id, note);
    }
  }

  #sumsOf(agentId: string): UsageSums {
    const sums = this.#agents.get(agentId) ?? new UsageSums();
    this.#agents.set(agentId, sums);
    return sums;
  }
}

/** @returns `undefined` if the work takes longer than the limit. */
async function inTime<T>(work: Promise<T>, budgetMs: number): Promise<T | undefined> {
  let timer: NodeJS.Timeout | undefined;
  const late = new Promise<undefined>((resolve) => {
    timer = setTimeout(() => resolve(undefined), budgetMs);
    timer.unref();
  });
  try {
    return await Promise.race([work, late]);
  } finally {
    clearTimeout(timer);
  }
}
