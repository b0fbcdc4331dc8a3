import type { SearchQuery, SearchResult } from '../../port/search.ts';
import { recentOf } from '../../rules/session-state.ts';
import { SearchHits } from '../../search/search-hits.ts';
import { SEARCH_BUDGET_MS, searchWords } from '../../search/search-query.ts';
import type { Database } from '../database.ts';
import type { LineSource } from '../read/line-source.ts';
import { createTextFilter } from '../read/text-filter.ts';
import { findSession, getSession } from '../session-row.ts';
import type { Steps } from '../threads/steps.ts';

const SESSIONS_PER_STEP = 500;

interface Place {
  readonly id: string;
  readonly last_at: string;
}

/**
 * Scans all transcripts, newest sessions and newest lines first. Each step sees the store at that time, so sessions
 * may appear, disappear and grow meanwhile. Lines stored before the search began are found even if their session
 * moves in the list.
 */
export function* searchSessions(db: Database, source: LineSource, query: SearchQuery): Steps<SearchResult> {
  const deadline = performance.now() + (query.budgetMs ?? SEARCH_BUDGET_MS);
  const words = searchWords(query.text);
  const hits = new SearchHits(words, query);
  if (query.sessionId !== undefined) getSession(db, query.sessionId);
  if (words.length === 0) return hits.result();
  const scan: Scan = { db, source, wanted: wantedBy(words), hits };
  const newest = db.row<{ n: number | null }>('SELECT max(rowid) AS n FROM sessions')?.n ?? 0;
  const seen = new Set<string>();
  // A session with a new line moves ahead of the scan position. Repeat until a pass finds no new session.
  for (let left = true; left; ) {
    left = false;
    for (let page = recent(db, newest, query); page.length > 0; page = recent(db, newest, query, page)) {
      yield;
      for (const { id } of page) {
        if (seen.has(id)) continue;
        seen.add(id);
        left = true;
        for (const _step of scanSession(scan, id)) {
          if (performance.now() > deadline) return hits.result('time');
          yield;
        }
      }
      if (performance.now() > deadline) return hits.result('time');
    }
  }
  return hits.result();
}

export interface Scan {
  readonly db: Database;
  readonly source: LineSource;
  readonly wanted: (bytes: Buffer) => boolean;
  readonly hits: SearchHits;
}

/** Tests raw bytes for all words before the lines are parsed. */
export function wantedBy(words: readonly string[]): (bytes: Buffer) => boolean {
  // White space may be written in several ways, so the words of a phrase are tested one by one.
  const filters = words.flatMap((word) => word.split(' ')).filter((word) => word !== '');
  // Longer words are rarer, so test them first.
  const longestFirst = [...new Set(filters)].sort((a, b) => b.length - a.length);
  const wanted = longestFirst.map((word) => createTextFilter(word));
  return (bytes) => wanted.every((filter) => filter(bytes));
}

/** SQL conditions and values for the sessions that a query covers. */
export function sessionFilter({ agentId, channel, sessionId }: SearchQuery): {
  readonly where: string;
  readonly values: string[];
} {
  const given = Object.entries({ agent_id: agentId, channel, id: sessionId }).flatMap(([column, value]) =>
    value === undefined ? [] : [{ column, value }],
  );
  return {
    where: given.map(({ column }) => `AND ${column} = ?`).join(' '),
    values: given.map(({ value }) => value),
  };
}

/** Open sessions that existed when the search began, newest first. */
function recent(db: Database, newest: number, query: SearchQuery, before?: readonly Place[]): Place[] {
  const last = before?.at(-1);
  const { where, values } = sessionFilter(query);
  return db.rows<Place>(
    `SELECT id, last_at FROM sessions WHERE status = 'open' AND rowid <= ? ${where}
     ${last === undefined ? '' : 'AND (recent, last_at, id) < (?, ?, ?)'}
     ORDER BY recent DESC, last_at DESC, id DESC LIMIT ${SESSIONS_PER_STEP}`,
    newest,
    ...values,
    ...(last === undefined ? [] : [recentOf(last.last_at), last.last_at, last.id]),
  );
}

/**
 * Scans a session backwards from its last line, one page at a time. Ends early if the session is deleted or purged
 * meanwhile.
 */
export function* scanSession(
  { db, source, wanted, hits }: Scan,
  id: string,
  { from = 1 }: { readonly from?: number } = {},
): Steps<void> {
  let to = Number.POSITIVE_INFINITY;
  while (to >= from) {
    const page = db.snapshot(() => {
      const row = findSession(db, id);
      // No lines: the transcript has not been read yet.
      if (row?.status !== 'open' || row.seq < from) return undefined;
      const found = source.lines(row, { from, to: Math.min(to, row.seq), backward: true, wanted });
      return { ...found, session: { id, agentId: row.agent_id } };
    });
    if (page === undefined) return;
    for (const { seq, entry } of page.lines.toReversed()) hits.offer(page.session, seq, entry);
    yield;
    to = page.from - 1;
  }
}
