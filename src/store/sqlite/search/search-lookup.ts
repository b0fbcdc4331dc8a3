import type { SearchLack, SearchQuery, SearchResult } from '../../port/store.ts';
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

/** Fewer are sorted by time; of more the newest are looked for one by one, which are soon found. */
const FEW = 2000;
const PER_STEP = 50;
const PER_LOOK = 200;
/** So many lines are one look at a transcript, about. */
const RUN_LINES = 30;
const LATEST = { at: Number.MAX_SAFE_INTEGER, doc: 0 };

interface Lookup extends Scan {
  readonly context: IndexerContext;
  readonly query: SearchQuery;
  readonly words: readonly string[];
  readonly deadline: number;
  /** Whether hits of a session are wanted. */
  readonly isOpen: (id: string) => boolean;
  /** Asks the index; undefined where it cannot answer now, which is remembered. */
  readonly ask: <T>(work: () => T) => T | undefined;
}

/**
 * Asks the index, and reads what it does not have yet: what was committed before the search is found, however far the
 * index is. It only names lines; whether they hold the words is judged by reading them, as everywhere.
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
  // Before the index is asked: what it takes in from now on is read here too, and counts once.
  backlog.look();
  const era = eraOf(context);
  let due = backlog.due();
  const late = yield* fromIndex(lookup);
  if (eraOf(context) !== era) {
    // It was found damaged, was replaced, or lost something meanwhile: what it did not name has to be read.
    backlog.look();
    due = backlog.due();
  }
  // However much of the sessions it has: it has not said where the words may be.
  if (isDeaf) due = backlog.all();
  const lack = late ?? (yield* fromTails(lookup, due)) ?? unread(lookup);
  return lack === undefined ? hits.result() : hits.result(lack, backlog.progress());
}

function eraOf({ file, index }: IndexerContext): string | undefined {
  return file.use(() => index.era());
}

/** Newest first, until there are enough. */
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

/** Those that stand near each other are read at once: the lines around one have to be read anyhow. */
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
  // Of the same moment: in order only when all of them are known.
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

/** What the index does not have, the newest sessions first. */
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

/** Sessions of which only the header was read yet. */
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
