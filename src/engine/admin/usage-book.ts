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
  /** Only of one agent. */
  readonly agentId?: string;
  /** How long to read at most before answering with what is known; by default 1000 ms. */
  readonly budgetMs?: number;
}

type BookStore = Pick<Store, 'list' | 'read' | 'notes' | 'stats'>;

/** What has to be known of a session to count it. */
interface Listed extends CountedFrom {
  readonly id: string;
  readonly lastSeq: number;
  readonly lastAt: string;
}

const BUDGET_MS = 1000;
const SESSIONS_PER_PAGE = 1000;
const LINES_PER_PAGE = 500;
const NOTES_AT_ONCE = 100;
/** So often all sessions are compared: those that were purged, and those that changed without becoming the newest. */
const COMPARE_MS = 60_000;
/** Transcripts that are rewritten all the time are nobody's; the next question tries again. */
const MAX_PASSES = 3;

/**
 * What was used, by day, agent and model, over all sessions. Made of the transcripts alone, beside the appends: each line
 * is read once, whoever wrote it, and what a session comes to is noted with the line it was counted up to. So an answer
 * costs what was said since the last one, of any process, and a note that is missing or does not hold any more is only
 * counted anew (I-75, docs/decisions/0057).
 */
export class UsageBook {
  readonly #store: BookStore;
  readonly #closed: AbortSignal;
  readonly #compareMs: number;
  /** Up to which line each session is in the sums. */
  readonly #counted: Map<string, number> = new Map();
  readonly #agents: Map<string, UsageSums> = new Map();
  /** Notes that could not be written. */
  readonly #held: Map<string, Note> = new Map();
  /** Those that could not be read; they need not be among the newest. */
  readonly #unread: Map<string, Listed> = new Map();
  #fresh: Note[] = [];
  /** Nothing is known yet, or something cannot be taken back out of the sums. */
  #isWrong = true;
  /** To whether every line is in the sums. */
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

  /** One reads for all who ask, and reads on when they do not wait any longer. False: something is not in the sums yet. */
  async #catchUp(budgetMs: number): Promise<boolean> {
    // What began before this question may have passed what is asked about.
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

  /** All sessions now and then, else the newest, as far as they say something new. */
  async #list(isAll: boolean): Promise<{ listed: ReadonlyMap<string, Listed>; isWhole: boolean }> {
    const isWhole = isAll || performance.now() - this.#comparedAt >= this.#compareMs;
    const listed = new Map<string, Listed>(isWhole ? [] : this.#unread);
    if (isWhole) this.#unread.clear();
    let pages = 0;
    for (let cursor: string | null | undefined; cursor !== null && !this.#closed.aborted; pages++) {
      // All of them from the oldest on: one that is spoken in meanwhile moves on to a page that is still to come.
      const page = await this.#listPage(listed, {
        order: isWhole ? 'asc' : 'desc',
        ...(cursor !== undefined && { cursor }),
      });
      const hasNews = page.sessions.some(({ id, lastSeq }) => this.#counted.get(id) !== lastSeq);
      // A new message makes its session one of the newest.
      cursor = isWhole || hasNews ? page.cursor : null;
    }
    // From the newest on it moves to a page that was passed.
    if (!isWhole && pages > 1) await this.#listPage(listed, { order: 'desc' });
    return { listed, isWhole };
  }

  /** An import adds sessions that are as old as their messages, so they are not among the newest. */
  async #lacksSome(listed: ReadonlyMap<string, Listed>): Promise<boolean> {
    const isNew = (id: string): boolean => !this.#counted.has(id);
    const { sessions } = await this.#store.stats();
    return sessions > this.#counted.size + [...listed.keys()].filter(isNew).length;
  }

  /** A session that is met twice is what it was the last time. */
  async #listPage(
    listed: Map<string, Listed>,
    query: Pick<ListQuery, 'order' | 'cursor'>,
  ): Promise<SessionPage> {
    const page = await this.#store.list({ ...query, status: 'any', limit: SESSIONS_PER_PAGE });
    for (const { id, agentId, parentId, lastSeq, lastAt } of page.sessions)
      listed.set(id, { id, agentId, hasParent: parentId !== undefined, lastSeq, lastAt });
    return page;
  }

  /** By the notes of the sessions that are there. */
  async #beginAnew(listed: ReadonlyMap<string, Listed>): Promise<void> {
    this.#agents.clear();
    this.#counted.clear();
    this.#isWrong = false;
    const take = (note: Note): void => {
      const there = listed.get(note.id);
      const session = there === undefined ? undefined : fromNote(note);
      if (session === undefined || this.#counted.has(note.id)) return;
      // Looked at more closely later.
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

  /** False: not all of them could be read; what is left is tried again with the next question. */
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
        // Purged meanwhile: there is nothing left to count.
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
    // Where only its header is known yet, the store says so, or has read it since.
    const lastSeq = listed.lastSeq || (await this.#store.read(id, { limit: 1 })).lastSeq;
    const note = this.#held.get(id) ?? (await this.#store.notes.get(USAGE_NOTES, id));
    const noted = note === undefined ? undefined : fromNote(note);
    // The last line that was counted is read again: where it is another one now, all of them may be.
    const holds = noted !== undefined && noted.seq <= lastSeq && (await this.#isSame(id, noted));
    const session = holds ? noted : newlyCounted(listed);
    const known = this.#counted.get(id);
    let before: CountedSession | undefined;
    if (known !== undefined) {
      before = note?.seq === known ? fromNote(note) : undefined;
      if (before === undefined) {
        // Another process has counted on since: what is in our sums is counted again, if it can be.
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
      // Lines that cannot be read are missing in the page, and count as nothing.
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
      // To be read only, full, or away: they are of use here all the same.
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

/** Undefined: it takes longer. */
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
