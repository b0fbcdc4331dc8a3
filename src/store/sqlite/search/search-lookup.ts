import type { SearchLack, SearchQuery, SearchResult } from '../../port/search.ts';
import { SearchHits } from '../../search/search-hits.ts';
import {
  compareSearchPlaces,
  parseSearchCursor,
  SEARCH_BUDGET_MS,
  searchWords,
} from '../../search/search-query.ts';
import { findSession, getSession } from '../session-row.ts';
import type { Steps } from '../threads/steps.ts';
import { type Scan, scanSession, sessionFilter, wantedBy } from './search.ts';
import { gramQuery } from './search-grams.ts';
import type { Candidate } from './search-index.ts';
import type { IndexerContext } from './search-indexer.ts';

/**
 * Up to this many candidates are sorted by time. With more, the newest lines are tested one by one, and matches turn
 * up soon.
 */
const FEW = 2000;
const PER_STEP = 50;
const PER_LOOK = 200;
/** Approximate number of lines that one read of a transcript returns. */
const RUN_LINES = 30;
const LATEST = { at: Number.MAX_SAFE_INTEGER, doc: 0 };

interface Lookup extends Scan {
  readonly context: IndexerContext;
  readonly query: SearchQuery;
  readonly words: readonly string[];
  readonly deadline: number;
  /** Whether the query includes a session. */
  readonly isOpen: (id: string) => boolean;
  /** Queries the index. @returns `undefined` if it cannot answer now; `searchIndexed` then reads everything. */
  readonly ask: <T>(work: () => T) => T | undefined;
}

/**
 * Searches with the index and reads the lines that the index lacks, so everything committed before the search is
 * found. The index only names candidates; each candidate line is read and checked.
 */
export function* searchIndexed(context: IndexerContext, query: SearchQuery): Steps<SearchResult> {
  const { db, source, backlog, file } = context;
  const words = searchWords(query.text);
  const hits = new SearchHits(words, query);
  if (query.sessionId !== undefined) getSession(db, query.sessionId);
  if (words.length === 0) return hits.result();
  let isDeaf = false;
  const ask: Lookup['ask'] = (work) => {
    const answer = file.use(work);
    isDeaf ||= answer === undefined;
    return answer;
  };
  const lookup: Lookup = {
    ...{ ask, context, query, words, hits, db, source },
    wanted: wantedBy(words),
    deadline: performance.now() + (query.budgetMs ?? SEARCH_BUDGET_MS),
    isOpen: openSessions(context, query),
  };
  // Take the backlog before querying the index. Lines indexed from now on are read here too, but counted once.
  backlog.look();
  const era = eraOf(context);
  let due = backlog.due();
  const late = yield* fromIndex(lookup);
  if (eraOf(context) !== era) {
    // The index was replaced, found damaged, or lost something meanwhile. Read what it did not cover.
    backlog.look();
    due = backlog.due();
  }
  // A query failed, so the index may have missed candidates in any session.
  if (isDeaf) due = backlog.all();
  const lack = late ?? (yield* fromTails(lookup, due)) ?? unread(lookup);
  return lack === undefined ? hits.result() : hits.result(lack, backlog.progress());
}

function eraOf({ file, index }: IndexerContext): string | undefined {
  return file.use(() => index.era());
}

/** Checks candidates newest first until the page is full. */
function* fromIndex(lookup: Lookup): Steps<SearchLack | undefined> {
  const { context, query, words, deadline, hits, isOpen } = lookup;
  const start = query.after === undefined ? undefined : parseSearchCursor(query.after);
  for (const candidates of candidatesOf(lookup, gramQuery(words))) {
    const wanted = candidates.filter((one) => start === undefined || compareSearchPlaces(start, one) < 0);
    for (const run of runsOf(wanted)) {
      if (hits.isFullAt(run[0])) return undefined;
      if (isOpen(run[0].id)) judge(context, run, hits);
      if (performance.now() > deadline) return 'time';
      yield;
    }
    if (performance.now() > deadline) return 'time';
    yield;
  }
  return undefined;
}

type Run = [Candidate, ...Candidate[]];

/** Groups candidates that are close together: reading one reads the lines around it anyway. */
function* runsOf(candidates: readonly Candidate[]): Generator<Run, void> {
  let run: Run | undefined;
  for (const one of candidates) {
    const isNear = one.id === run?.[0].id && Math.abs(one.seq - run[0].seq) < RUN_LINES;
    if (run !== undefined && isNear) run.push(one);
    else {
      if (run !== undefined) yield run;
      run = [one];
    }
  }
  if (run !== undefined) yield run;
}

function* candidatesOf(
  { context: { index }, query, ask }: Lookup,
  grams: ReturnType<typeof gramQuery>,
): Generator<Candidate[], void> {
  const { sessionId } = query;
  const few = ask(() => index.few(grams, FEW, sessionId)) ?? [];
  if (few !== 'many') {
    yield few.sort(compareSearchPlaces);
    return;
  }
  const first = query.after === undefined ? LATEST : { at: parseSearchCursor(query.after).at + 1, doc: 0 };
  // Candidates with the same time can be sorted only when all of them are known.
  let moment: Candidate[] = [];
  const named = function* (): Generator<Candidate[], void> {
    moment.sort(compareSearchPlaces);
    for (let from = 0; from < moment.length; from += PER_STEP)
      yield ask(() => moment.slice(from, from + PER_STEP).filter(({ doc }) => index.has(grams, doc))) ?? [];
    moment = [];
  };
  for (let before: Pick<Candidate, 'at' | 'doc'> | undefined = first; before !== undefined; ) {
    const place: Pick<Candidate, 'at' | 'doc'> = before;
    const page: Candidate[] = ask(() => index.newest(place, PER_LOOK, sessionId)) ?? [];
    for (const one of page) {
      if (one.at !== moment[0]?.at) yield* named();
      moment.push(one);
    }
    before = page.at(-1);
    yield [];
  }
  yield* named();
}

function judge({ db, source }: IndexerContext, run: Run, hits: SearchHits): void {
  const { id } = run[0];
  const seqs = new Set(run.map(({ seq }) => seq));
  let to = Math.max(...seqs);
  for (const from = Math.min(...seqs); to >= from; ) {
    const page = db.snapshot(() => {
      const row = findSession(db, id);
      if (row === undefined || row.seq < from) return undefined;
      const found = source.lines(row, { from, to: Math.min(to, row.seq), backward: true });
      return { ...found, session: { id, agentId: row.agent_id } };
    });
    if (page === undefined) return;
    for (const { seq, entry } of page.lines) if (seqs.has(seq)) hits.offer(page.session, seq, entry);
    to = page.from - 1;
  }
}

/** Reads the lines that the index lacks, the newest sessions first. */
function* fromTails(
  lookup: Lookup,
  due: readonly { readonly id: string; readonly seq: number }[],
): Steps<SearchLack | undefined> {
  for (const { id, seq } of due) {
    if (!lookup.isOpen(id)) continue;
    for (const _step of scanSession(lookup, id, { from: seq + 1 })) {
      if (performance.now() > lookup.deadline) return 'indexing';
      yield;
    }
  }
  return undefined;
}

/** Reports `indexing` if only the header was read of some sessions. */
function unread({ db }: Lookup): SearchLack | undefined {
  return db.row('SELECT 1 FROM sessions WHERE seq = 0 LIMIT 1') === undefined ? undefined : 'indexing';
}

function openSessions({ db }: IndexerContext, query: SearchQuery): (id: string) => boolean {
  const { where, values } = sessionFilter(query);
  const known = new Map<string, boolean>();
  return (id) => {
    let isOpen = known.get(id);
    if (isOpen === undefined) {
      const sql = `SELECT 1 FROM sessions WHERE id = ? AND status = 'open' ${where}`;
      isOpen = db.row(sql, id, ...values) !== undefined;
      known.set(id, isOpen);
    }
    return isOpen;
  };
}
